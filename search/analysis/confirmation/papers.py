"""The published scores of papers with which studies are compared, read from ``spaces/papers/*.yaml``."""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, ValidationError, model_validator

from skipstack.data.basis.errors import UserError, unknown
from skipstack.data.basis.explain import explain
from skipstack.data.basis.frozen import Frozen
from skipstack.search.study.study_files.yaml_lines import read_yaml
from skipstack.spaces.domains import Json
from skipstack.spaces.paths import trial_paths, unknown_path

Figure = Annotated[float, Field(ge=0)]
"""A score as the paper prints it: in percent, or a perplexity."""


class PaperRow(Frozen):
    """A row of a paper's table.

    ``dev``, ``test``: the printed scores; None if the paper prints none. ``precision``, ``recall``: the precision and
    recall behind the F1 on test. ``size``: the printed number of parameters, in millions.
    ``has``: the values, by path, in which the row's config differs from a study's base. None for a system that cannot
    be expressed as a config of this project.
    ``otherwise``: values that replace some of ``has`` if a study has no trial with ``has``, such as the values of a
    preset's small scale.
    ``vectors``: whether word embeddings start from pretrained vectors, which may come from any file. None means as in
    the study's base.
    ``base``: whether the paper measures differences from this row.
    """

    label: Annotated[str, Field(min_length=1)]
    dev: Figure | None = None
    test: Figure | None = None
    precision: Figure | None = None
    recall: Figure | None = None
    size: Figure | None = None
    has: dict[str, Json] | None = None
    otherwise: dict[str, Json] = Field(default_factory=dict)
    vectors: bool | None = None
    base: bool = False

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if self.dev is None and self.test is None:
            raise ValueError(f"row {self.label!r} has no figure (allowed: dev, test or both)")
        for path in (*(self.has or ()), *self.otherwise):
            if path not in trial_paths():
                raise ValueError(unknown_path("path", path))
        return self


class PaperTable(Frozen):
    """A table of a paper, with its rows in order.

    ``preset``: the preset that reproduces the table. ``test_set``: the named corpus whose test split is the paper's own
    test set; empty if there is none. ``note``: a remark for readers. ``why``: the reason if the table was not run.
    """

    title: str
    preset: str
    test_set: str = ""
    note: str = ""
    why: str = ""
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
        """The row from which differences are measured."""
        return next(row for row in self.rows if row.base)


class PaperFigure(Frozen):
    """A figure (plot) of a paper, or a table that has no scores of configs.

    ``preset``: the preset of a study with the same result; empty if there is none. ``why``: a description if there is
    nothing to run, or the reason why the figure was not run. ``rows``: scores of other authors that the figure shows.
    """

    title: str
    preset: str = ""
    why: str = ""
    rows: tuple[PaperRow, ...] = ()


class Paper(Frozen):
    """A paper: its ``tables`` of scores by name, and its figures and other tables (``others``) by name. ``note``: a
    remark for readers of any of the tables.
    """

    title: str
    note: str = ""
    tables: dict[str, PaperTable] = Field(default_factory=dict)
    others: dict[str, PaperFigure] = Field(default_factory=dict)


@cache
def papers() -> Mapping[str, Paper]:
    """Return the papers whose scores come with the project, by short name."""
    folder = Path(str(files("skipstack.spaces"))) / "papers"
    return {path.stem: read_paper(path) for path in sorted(folder.glob("*.yaml"))}


def tables() -> dict[str, PaperTable]:
    """Return every table of every paper by its full name, such as ``wu2017/table-2``, with the paper's note."""
    return {
        f"{name}/{label}": table.model_copy(update={"note": "; ".join(filter(None, [table.note, paper.note]))})
        for name, paper in papers().items()
        for label, table in paper.tables.items()
    }


def find_table(name: str) -> PaperTable:
    """Return the table with this full name. Raises UserError if there is none."""
    if name not in tables():
        raise UserError(unknown("table", name, tables()))
    return tables()[name]


def read_paper(path: Path) -> Paper:
    """Read a paper from a YAML file. Raises UserError, with the line, for invalid content."""
    data, lines = read_yaml(path.read_text(encoding="utf-8"), path.name)
    try:
        return Paper.model_validate(data)
    except ValidationError as error:
        raise UserError(explain(error, Paper, lines=lines, file=path.name)) from None
