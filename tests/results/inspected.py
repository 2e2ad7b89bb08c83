"""What trained networks do on texts of test: which earlier state each step reads, and how far back the gradient of the
decision reaches (gui2019 Figures 6 and 4).

A source asks for it under ``inspected``, for trials by name. Each is exported, and `skipstack inspect` is run on its
texts. What is kept is a table, in which texts that say the same are one row with their number, and beside it how the
gradient spreads over the first steps.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import pandas as pd

from skipstack.dashboards.formats.markdown import as_markdown
from skipstack.dashboards.formats.page import Cell, Column, Page, Table, TableRow
from skipstack.data.corpora.sources import open_source
from tests.command_line import typed
from tests.results.figures import Figure, StudyFigures

TEXTS: Final = 1000
"""Of the test split, from its beginning."""

Kind = tuple[str, int, str, int, int]
"""A trial's name, a layer's number, the last word of texts, how many steps before it, and how many steps back is read
there (0: no policy chooses)."""


def inspect(study: Path, names: Sequence[str], data_dir: Path | None = None) -> bytes:
    """The table of the trials called ``names``, as Parquet."""
    figures = StudyFigures(study)
    corpus = figures.base.data.corpus
    test = open_source(corpus, data_dir=data_dir, folder=study).read()["test"][:TEXTS]
    texts, norms, shares = Counter[Kind](), defaultdict[Kind, float](float), dict[str, list[float]]()
    for name in names:
        found = _inspected(study, figures[name].trial.number, [text.words for text in test])
        for kind, norm in _steps(name, found["sentences"]):
            texts[kind] += 1
            norms[kind] += norm
        (shares[name],) = (each["shares"] for each in found["layers"] if each["direction"] == "forward")
    order = sorted(texts, key=lambda kind: (names.index(kind[0]), kind))
    rows = [(*kind, texts[kind], round(norms[kind] / texts[kind], 6)) for kind in order]
    table = pd.DataFrame(rows, columns=["trial", "layer", "word", "before", "back", "texts", "norm"])
    table.attrs["shares"] = shares
    return table.to_parquet(index=False)


def _inspected(study: Path, trial: int, texts: Sequence[Sequence[str]]) -> Any:
    """What `skipstack inspect` says of texts."""
    with TemporaryDirectory() as folder:
        bundle, lines = Path(folder) / "bundle", Path(folder) / "texts.txt"
        lines.write_text("".join(f"{' '.join(words)}\n" for words in texts))
        for command in (
            ("export", str(study), "--trial", str(trial), "--to", str(bundle)),
            ("inspect", str(bundle), str(lines), "--format", "json"),
        ):
            answer = typed(*command)
            assert answer.code == 0, answer
        return json.loads(answer.out)


def _steps(name: str, sentences: Sequence[Any]) -> Iterator[tuple[Kind, float]]:
    """Each step of each layer that reads forward, with the norm of the gradient there as a share of the last step's."""
    for sentence in sentences:
        last, words = sentence["words"][-1], len(sentence["words"])
        for layer in sentence["layers"]:
            if layer["direction"] == "forward" and layer["norms"]:
                back = layer["back"] or [0] * words
                for step, (norm, read) in enumerate(zip(layer["norms"], back, strict=True)):
                    yield (name, layer["layer"], last, words - 1 - step, read), norm / layer["norms"][-1]


class Inspected:
    """The kept ``file`` of a study."""

    def __init__(self, file: Path) -> None:
        self.file = file

    @cached_property
    def steps(self) -> pd.DataFrame:
        return pd.read_parquet(self.file)

    @property
    def trials(self) -> tuple[str, ...]:
        """The names of the trials, in the source's order."""
        return tuple(dict.fromkeys(self.steps["trial"]))

    def norm(self, trial: str, before: int) -> Figure:
        """The mean norm of the gradient so many steps before the last one, in percent of that at the last one."""
        rows = self.steps.query("trial == @trial and before == @before")
        share = 100 * float((rows["norm"] * rows["texts"]).sum() / rows["texts"].sum())
        return Figure(share, f"{share:.1f}")

    def norms(self, *befores: int) -> str:
        """Those of all trials, as a table."""
        headings = [f"{before} before" for before in befores]
        return self._table(headings, lambda name: [self.norm(name, before) for before in befores])

    def share(self, trial: str, step: int) -> Figure:
        """The share of a step, 1 for the first, in the gradient of the layer that reads forward: the mean norm over the
        texts that have the step, in percent of the sum of these means over all steps.
        """
        share = 100 * self.steps.attrs["shares"][trial][step - 1]
        return Figure(share, f"{share:.3g}")

    def shares(self, *steps: int) -> str:
        """Those of all trials, as a table."""
        return self._table([f"step {step}" for step in steps], lambda name: [self.share(name, step) for step in steps])

    def read(self, trial: str, back: int) -> Figure:
        """In how many percent of the steps the state so many steps back is read."""
        rows = self.steps.query("trial == @trial")
        share = 100 * float(rows["texts"][rows["back"] == back].sum() / rows["texts"].sum())
        return Figure(share, f"{share:.1f}")

    def found(self, trial: str, length: int) -> Figure:
        """In how many percent of the texts of digits, of one jump, the last step reads the state that the digit points
        at.
        """
        rows = self.steps.query("trial == @trial and before == 0")
        right = rows["back"] == length - 1 - rows["word"].astype(int)
        share = 100 * float(rows["texts"][right].sum() / rows["texts"].sum())
        return Figure(share, f"{share:.1f}")

    def _table(self, headings: Sequence[str], figures: Callable[[str], Sequence[Figure]]) -> str:
        """A row for each trial."""
        rows = tuple(
            TableRow(names=(name,), cells=tuple(Cell(figure.text) for figure in figures(name)), label=name)
            for name in self.trials
        )
        columns = tuple(map(Column, headings))
        return as_markdown(Page("", ((Table(names=("network",), columns=columns, rows=rows),),)))
