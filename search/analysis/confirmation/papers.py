"""The figures that papers print, as data (``spaces/papers/*.yaml``): what a study is compared with."""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, ValidationError, model_validator

from skipstack.data.basis.errors import UserError, unknown
from skipstack.data.basis.explain import explain
from skipstack.data.basis.frozen import Frozen
from skipstack.search.study_files.yaml_lines import read_yaml
from skipstack.spaces.domains import Json
from skipstack.spaces.paths import trial_paths, unknown_path

Figure = Annotated[float, Field(ge=0)]
"""As printed: in percent, or a perplexity."""


class PaperRow(Frozen):
    """One row: its scores, as printed, None where the paper has none.

    ``has``: what the config that the row stands for has at these paths, all else being a study's base; None for a
    system that is no config of ours. ``base``: the paper measures its differences from this row.
    """

    label: Annotated[str, Field(min_length=1)]
    dev: Figure | None = None
    test: Figure | None = None
    has: dict[str, Json] | None = None
    base: bool = False

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if self.dev is None and self.test is None:
            raise ValueError(f"row {self.label!r} has no figure (allowed: dev, test or both)")
        for path in self.has or ():
            if path not in trial_paths():
                raise ValueError(unknown_path("path", path))
        return self


class PaperTable(Frozen):
    """A table of a paper, rows in its order, and the preset that makes ours."""

    title: str
    preset: str
    note: str = ""
    rows: tuple[PaperRow, ...]

    @model_validator(mode="after")
    def _has_one_base(self) -> Self:
        bases = [row for row in self.rows if row.base]
        if len(bases) != 1:
            raise ValueError(f"got {len(bases)} base rows (allowed: one)")
        if bases[0].has is None:
            raise ValueError("got a base row that is no config of ours (allowed: one that says what it has)")
        return self

    @property
    def base(self) -> PaperRow:
        """The row that differences are measured from."""
        return next(row for row in self.rows if row.base)


class Paper(Frozen):
    """A paper's tables by name."""

    title: str
    tables: dict[str, PaperTable]


@cache
def papers() -> Mapping[str, Paper]:
    """The papers whose figures come with the project, by short name."""
    folder = Path(str(files("skipstack.spaces"))) / "papers"
    return {path.stem: read_paper(path) for path in sorted(folder.glob("*.yaml"))}


def tables() -> dict[str, PaperTable]:
    """Every table by its full name, such as ``wu2017/table-2``."""
    return {f"{paper}/{name}": table for paper, each in papers().items() for name, table in each.tables.items()}


def find_table(name: str) -> PaperTable:
    """The table of this full name. Raises UserError where there is none."""
    if name not in tables():
        raise UserError(unknown("table", name, tables()))
    return tables()[name]


def read_paper(path: Path) -> Paper:
    """The paper in a YAML file. Raises UserError, with the line, for what is not as it should be."""
    data, lines = read_yaml(path.read_text(encoding="utf-8"), path.name)
    try:
        return Paper.model_validate(data)
    except ValidationError as error:
        raise UserError(explain(error, Paper, lines=lines, file=path.name)) from None
