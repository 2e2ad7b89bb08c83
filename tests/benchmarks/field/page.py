"""Writes the tables and the picture of docs/field.md from what has been run."""

import math
from collections.abc import Iterator, Sequence
from statistics import fmean
from typing import Any, Final

import altair as alt
import pandas as pd

from skipstack.dashboards.charts.theme import WIDTH, data, finished, looks, strokes
from skipstack.search.statistics.multiple_testing import LEVEL
from tests.benchmarks.field.marks import Ratio, common_seeds, corrected, cost_to_reach, log_regret, ratio
from tests.benchmarks.field.methods import DEFAULT, DEFAULT_STOPPING, RACES, STOPPING_RACES, TRIALS
from tests.benchmarks.field.race import Course
from tests.benchmarks.field.results import Results
from tests.benchmarks.field.tasks import names
from tests.dashboards.charts.drawn import as_svg
from tests.pages import ROOT
from tests.search.statistics.measured import line, written

PAGE: Final = ROOT / "docs" / "field.md"
PICTURE: Final = ROOT / "docs" / "field.svg"
GP: Final = "skipstack: GP"
HALVES: Final = {"open": False, "locked": True}
WORKERS: Final = (1, 4)
NEVER: Final = "–"
STEPS: Final = 60
"""Of a line of the picture."""

DRAWN: Final = (DEFAULT, GP, "skipstack: random", "Optuna: TPE", "Optuna: GP", "Syne Tune: CQR", "SMAC: random forest")
DRAWN_STOPPING: Final = (
    DEFAULT_STOPPING,
    "skipstack: GP, ASHA",
    "skipstack: random, ASHA",
    "Ray Tune: random, ASHA",
    "Ray Tune: Optuna, ASHA",
    "Optuna: TPE, Hyperband",
    "Syne Tune: CQR, ASHA",
)
"""What the picture shows."""


def write(results: Results) -> None:
    """The page with its tables and its picture made again. Its prose is written by hand."""
    PAGE.write_text(written(PAGE.read_text(), tables(results)))
    PICTURE.write_text(as_svg(picture(results)))


def tables(results: Results) -> dict[str, list[str]]:
    """The rows of each table of the page. A table of which nothing was run is left out, here and there."""
    rows = {"cost": list(cost_rows(results))}
    rows["evaluations, all"] = list(evaluation_rows(results, *HALVES.values()))
    for half, lock in HALVES.items():
        rows[f"evaluations, {half}"] = list(evaluation_rows(results, lock))
        for workers in WORKERS:
            rows[f"stopping, {half}, {workers}"] = list(stopping_rows(results, workers, lock))
    return {name: each for name, each in rows.items() if each}


def evaluation_rows(results: Results, *locks: bool) -> Iterator[str]:
    """Of each search the ratios of our regrets to its regrets at the end: of the default, and of the Gaussian process.
    Who is furthest ahead of the default comes first.
    """
    scales = _scales(results, *locks, stopping=False)
    courses = results.of(1, list(scales))
    others = [method for method in RACES if method != DEFAULT]
    beside = [[ratio(courses, own, other, scales) for other in others] for own in (DEFAULT, GP)]
    cells = [marked(each) for each in beside]
    for place in ranked(beside[0]):
        found = beside[0][place]
        assert found is not None
        yield line(
            others[place],
            str(found.tasks),
            str(found.seeds),
            cells[0][place],
            NEVER if others[place] == GP else cells[1][place],
        )


def stopping_rows(results: Results, workers: int, lock: bool) -> Iterator[str]:
    """Of each search the ratio of the default's regrets to its regrets when the budget is spent, and the default's cost
    to its last regret. Who is furthest ahead of the default comes first.
    """
    scales = _scales(results, lock, stopping=True)
    courses = results.of(workers, list(scales))
    others = [method for method in STOPPING_RACES if method != DEFAULT_STOPPING]
    beside = [ratio(courses, DEFAULT_STOPPING, other, scales) for other in others]
    cells = marked(beside)
    for place in ranked(beside):
        found, spent = beside[place], cost_to_reach(courses, DEFAULT_STOPPING, others[place], list(scales))
        assert found is not None
        assert spent is not None
        middle, share = spent
        yield line(
            others[place], str(found.tasks), str(found.seeds), cells[place], _number(middle), f"{100 * share:.0f} %"
        )


def cost_rows(results: Results) -> Iterator[str]:
    """Of each search what a proposal costs, the cheapest first."""
    for method, cost in sorted(results.costs.items(), key=lambda item: item[1].seconds):
        yield line(method, f"{1000 * cost.seconds:,.1f}", str(cost.trials))


def _scales(results: Results, *locks: bool, stopping: bool) -> dict[str, float]:
    """Of the tasks of these halves that have been run."""
    tasks = [name for lock in locks for name in names(stopping=stopping, lock=lock)]
    return {task: results.sizes[task].scale for task in tasks if task in results.sizes}


def marked(ratios: Sequence[Ratio | None]) -> list[str]:
    """A cell for each ratio: ``**0.55** (0.41 to 0.74), .008``; bold if its corrected p is significant."""
    return [_cell(each, p) for each, p in zip(ratios, corrected(ratios), strict=True)]


def ranked(ratios: Sequence[Ratio | None]) -> list[int]:
    """The places of the ratios that are known, the largest first."""
    known = [(each.value, place) for place, each in enumerate(ratios) if each is not None]
    return [place for _, place in sorted(known, reverse=True)]


def _cell(found: Ratio | None, p: float | None) -> str:
    if found is None:
        return NEVER
    if found.low is None or found.high is None or p is None:
        return _number(found.value)
    value = f"**{_number(found.value)}**" if p < LEVEL else _number(found.value)
    return f"{value} ({_number(found.low)} to {_number(found.high)}), {_p(p)}"


def _p(value: float) -> str:
    return (
        "<.001"
        if value < 0.001
        else "1"
        if value >= 0.995
        else f"{value:.3f}"[1:]
        if value < 0.1
        else f"{value:.2f}"[1:]
    )


def _number(value: float) -> str:
    return NEVER if math.isinf(value) else f"{value:.2f}"


# --- the picture ------------------------------------------------------------------------------------------------------


def picture(results: Results) -> Any:
    """The mean regret over the evaluations of a race in which nothing is stopped, and over the cost of one in which
    trials are, on the open half.
    """
    whole = lines(results, DRAWN, 1, stopping=False)
    stopped = lines(results, DRAWN_STOPPING, WORKERS[-1], stopping=True)
    panels = [_panel(whole, "evaluations"), _panel(stopped, "share of the budget")]
    return finished(
        alt.vconcat(*panels, spacing=20).resolve_scale(color="independent", strokeDash="independent"),
        "What is missing to the best",
        "Regret in units of each task's scale, a geometric mean over the open half of the tasks and the seeds. Above: "
        "nothing is stopped. Below: trials are stopped, four workers.",
    )


def lines(results: Results, methods: Sequence[str], workers: int, *, stopping: bool) -> pd.DataFrame:
    """The points of the lines: ``kind``, ``x`` and ``regret``."""
    sizes = {task: results.sizes[task] for task in names(stopping=stopping, lock=False) if task in results.sizes}
    courses, rows = results.of(workers, sizes), []
    for method in methods:
        seeds = common_seeds(courses, [method], list(sizes))
        for step in range(1, STEPS + 1) if seeds else ():
            share = step / STEPS
            reached = [
                log_regret(_after(courses[method, task, seed], share, size.budget, stopping=stopping), size.scale)
                for task, size in sizes.items()
                for seed in seeds
            ]
            rows.append(
                {"kind": method, "x": share if stopping else share * TRIALS, "regret": math.exp(fmean(reached))}
            )
    return pd.DataFrame(rows, columns=["kind", "x", "regret"])


def _after(course: Course, share: float, budget: float, *, stopping: bool) -> float:
    return course.after(cost=share * budget) if stopping else course.after(reports=share * TRIALS)


def _panel(frame: pd.DataFrame, title: str) -> Any:
    known = frame[frame["regret"] < math.inf]
    y = alt.Y("regret:Q", title="regret", scale=alt.Scale(type="log"))
    kinds = looks(list(dict.fromkeys(known["kind"])))
    x = alt.X("x:Q", title=title)
    return (
        alt.Chart(data(known))
        .mark_line(strokeWidth=2)
        .encode(x=x, y=y, **strokes(kinds))
        .properties(width=WIDTH, height=260)
    )
