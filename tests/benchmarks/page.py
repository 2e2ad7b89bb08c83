"""Figures that benchmarks have measured last, kept in ``figures.json``, as the page ``docs/benchmarks.md``.

A benchmark calls ``record``, which replaces its own rows in both.
"""

import json
import platform
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from string import ascii_lowercase
from typing import Final

from skipstack.data.basis.system import load_average
from tests.benchmarks.machine import hardware, version_of
from tests.benchmarks.questions import QUESTIONS, Question
from tests.compat.sets import PROJECT
from tests.pages import ROOT

FIGURES: Final = Path(__file__).with_name("figures.json")
PAGE: Final = ROOT / "docs" / "benchmarks.md"
CHANGED: Final = 0.1
"""A value that differs from the one before by more than this share is printed beside it: noise is smaller."""

ABOUT: Final = """# Benchmarks

How fast skipstack is on CPUs: a table for each question, with other tools beside where there are some. **No GPU has
been measured yet.** `make bench` measures everything again, in hours; `make bench FILE=layers` one file of benchmarks,
whose rows alone are then replaced. Below a table stands when and on what it was measured, by letters where its rows
differ in that. Compare figures of one run only: the same machine is up to a half slower while it is busy. Earlier
figures are in the history of this page (`git log -p docs/benchmarks.md`).
"""

GPU: Final = """## How fast is it on a GPU?

Nobody has measured that yet. On a machine with a GPU, `make gpu-check` does, in [ten minutes](guide/gpu-check.md).
What presets launch, move and keep there is [counted](gpu-counts.md) on a simulated one.
"""

Value = float | Sequence[float]
"""A number, or the smallest and the largest of several."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A row of the table of a question. ``values`` by column; ``unit``: of all of them, unless columns name their own.
    ``load``: the machine's load average when it was measured; None where nobody noted it.
    """

    question: str
    row: str
    unit: str
    values: Mapping[str, Value]
    date: str
    hardware: str
    versions: Mapping[str, str]
    load: int | None = None

    @property
    def key(self) -> tuple[str, str, str]:
        """Identity of the row: a later figure with the same one takes its place."""
        return self.question, self.row, self.unit


def kept() -> list[Figure]:
    """Figures in the order of the page."""
    return [Figure(**each) for each in json.loads(FIGURES.read_text())]


def record(question: str, rows: Mapping[str, Mapping[str, Value]], unit: str = "") -> None:
    """Print and keep what was measured just now, by row and column, and write the page anew."""
    libraries = {name: version_of(name) for name in QUESTIONS[question].libraries}
    every = {each.key: each for each in kept()}
    load = load_average()
    for row, values in rows.items():
        figure = Figure(
            question=question,
            row=row,
            unit=unit,
            values={column: _rounded(value) for column, value in values.items()},
            date=datetime.now(UTC).date().isoformat(),
            hardware=hardware(),
            versions={
                "skipstack": PROJECT["version"],
                "Python": platform.python_version(),
                **{name: version for name, version in libraries.items() if version is not None},
            },
            load=None if load is None else round(load),
        )
        print(_printed(figure, every.get(figure.key)))
        every[figure.key] = figure
    order = list(QUESTIONS)
    lines = [json.dumps(asdict(each)) for each in sorted(every.values(), key=lambda each: order.index(each.question))]
    FIGURES.write_text("[\n" + ",\n".join(lines) + "\n]\n")
    PAGE.write_text(page(kept()))


def _rounded(value: Value) -> Value:
    return float(f"{value:.4g}") if isinstance(value, int | float) else [float(f"{each:.4g}") for each in value]


def _printed(figure: Figure, before: Figure | None) -> str:
    def cell(column: str, value: Value) -> str:
        old = None if before is None else before.values.get(column)
        numbers = isinstance(value, int | float) and isinstance(old, int | float)
        changed = numbers and abs(value - old) > CHANGED * abs(old)  # type: ignore[operator, arg-type]
        return f"{column} {_shown(value)}" + (f" (it was {_shown(old)})" if changed and old is not None else "")

    cells = ", ".join(cell(column, value) for column, value in figure.values.items())
    return f"{figure.question}: {figure.row}{f', {figure.unit}' if figure.unit else ''}: {cells}"


def page(figures: Iterable[Figure]) -> str:
    """The page."""
    found = {name: list(each) for name, each in groupby(figures, key=lambda each: each.question)}
    titles = [question.title for question in QUESTIONS.values()] + [GPU.splitlines()[0].removeprefix("## ")]
    contents = [f"- [{title}](#{_anchor(title)})" for title in titles]
    sections = [_section(question, found.get(name, [])) for name, question in QUESTIONS.items()]
    return "\n".join([ABOUT, *contents, "", *("\n".join(each) for each in sections), GPU])


def _anchor(title: str) -> str:
    return re.sub(r"[^\w\s-]", "", title).lower().replace(" ", "-")


def _section(question: Question, figures: Sequence[Figure]) -> Iterator[str]:
    about = textwrap.fill(" ".join(question.about.split()), 120, break_long_words=False, break_on_hyphens=False)
    yield from (f"## {question.title}", "", about, "")
    if not figures:
        yield from ("Not measured by this version yet.", "")
    else:
        runs = list(dict.fromkeys(map(_run, figures)))
        yield from _table(figures, runs)
        yield from ("", *(_measured(place, run, figures, len(runs)) for place, run in enumerate(runs)))
    yield from (f"- `make bench FILE={question.benchmark}`", "")


def _table(figures: Sequence[Figure], runs: Sequence[str]) -> Iterator[str]:
    units = list(dict.fromkeys(each.unit for each in figures))
    columns = list(dict.fromkeys(column for each in figures for column in each.values))
    further = [*(["unit"] if len(units) > 1 else []), *(["run"] if len(runs) > 1 else [])]
    yield _line(units[0] if len(units) == 1 else "", [*columns, *further])
    yield "|---|" + "---:|" * len(columns) + "---|" * len(further)
    for each in figures:
        cells = [_shown(each.values[column]) if column in each.values else "" for column in columns]
        cells += [each.unit] if len(units) > 1 else []
        cells += [ascii_lowercase[runs.index(_run(each))]] if len(runs) > 1 else []
        yield _line(each.row, cells)


def _line(name: str, cells: Sequence[str]) -> str:
    return f"| {' | '.join((name, *cells))} |"


def _run(figure: Figure) -> str:
    """Says when, on what and with which versions a figure was measured."""
    return ", ".join((figure.date, figure.hardware, *(f"{name} {each}" for name, each in figure.versions.items())))


def _measured(place: int, run: str, figures: Sequence[Figure], runs: int) -> str:
    loads = sorted({each.load for each in figures if _run(each) == run and each.load is not None})
    beside = f", load {' to '.join(map(str, dict.fromkeys((loads[0], loads[-1]))))}" if loads else ""
    return f"- {f'{ascii_lowercase[place]}: ' if runs > 1 else ''}{run}{beside}"


def _shown(value: Value) -> str:
    """Three digits, or all of a whole number."""
    if isinstance(value, int | float):
        return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
    return " to ".join(dict.fromkeys(map(_shown, value)))


if __name__ == "__main__":
    PAGE.write_text(page(kept()))
