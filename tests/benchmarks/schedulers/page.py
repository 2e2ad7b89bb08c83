"""Writes the tables and the picture of docs/schedulers.md: `make schedulers`, or `python -m` and this module."""

import math
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from tests.benchmarks.schedulers.measured import FRESH_SEEDS, Found, measured, spread, worst
from tests.benchmarks.schedulers.methods import DEFAULT, GRID, KEPT, METHODS, OTHERS, STUDIES
from tests.benchmarks.schedulers.orders import many_orders
from tests.benchmarks.schedulers.picture import picture
from tests.benchmarks.schedulers.transfer import transferred
from tests.dashboards.charts.drawn import as_svg
from tests.pages import ROOT
from tests.search.statistics.measured import line, written

PAGE: Final = ROOT / "docs" / "schedulers.md"
PICTURE: Final = ROOT / "docs" / "schedulers.svg"
SIDE_BY_SIDE: Final = 4
BESIDE: Final = (
    DEFAULT,
    "random, ASHA",
    "random, ASHA with promotions",
    f"random, {KEPT}",
    GRID,
    "Ray Tune: random, ASHA",
)
"""What is shown with so many trials side by side."""
SHOWN: Final = (DEFAULT, f"TPE, {KEPT}", "random, ASHA", "random, ASHA with promotions", GRID)
"""What is shown on fresh seeds, and on studies that nothing was chosen on."""
NEVER: Final = "–"


def by_method(rows: Iterable[Found]) -> dict[str, list[Found]]:
    """The rows of each method, in the order of the studies."""
    found: dict[str, list[Found]] = {}
    for row in rows:
        found.setdefault(row.method, []).append(row)
    return found


def share_rows(rows: Iterable[Found]) -> Iterator[str]:
    """Of each method the median shares with quartiles, and the worst median."""
    for method, studies in by_method(rows).items():
        yield line(method, *map(share_cell, studies), _percent(worst(studies)))


def fresh_rows(rows: Iterable[Found]) -> Iterator[str]:
    """Of each method the median shares with quartiles; the worst over the studies that the default was chosen on, with
    its spread over draws of seeds.
    """
    for method, studies in by_method(rows).items():
        chosen = [row for row in studies if row.study in STUDIES]
        low, high = map(_percent, spread(chosen))
        yield line(method, *map(share_cell, studies), f"{_percent(worst(chosen))} ({low} to {high})")


def share_cell(row: Found) -> str:
    """``8 % (6–11)``; where not all seeds find the best, in how many it is."""
    quartiles = row.quartiles
    lower, upper = (NEVER if each is None else f"{100 * each:.0f}" for each in (quartiles.lower, quartiles.upper))
    found = sum(map(math.isfinite, row.until))
    missed = "" if found == len(row.until) else f" {found}/{len(row.until)}"
    return f"{_percent(quartiles.median)} ({lower} to {upper}){missed}"


def regret_rows(rows: Iterable[Found]) -> Iterator[str]:
    """Of each method what is missing after a fifth of the grid's epochs, in points."""
    for method, studies in by_method(rows).items():
        yield line(method, *(_points(row.missing.median) for row in studies))


def order_rows(rows: Iterable[Found]) -> Iterator[str]:
    """Of each scheduler the median shares over many orders, the worst, and in how many the best is not found."""
    for method, studies in by_method(rows).items():
        medians = (_finer(row.quartiles.median) for row in studies)
        missed = sum(math.isinf(until) for row in studies for until in row.until)
        yield line(method, *medians, _finer(worst(studies)), f"{missed} of {sum(len(row.until) for row in studies):,}")


def warm_rows(rows: Iterable[Found]) -> Iterator[str]:
    """Of each beginning the median shares with quartiles, and what is missing early."""
    for method, studies in by_method(rows).items():
        yield line(method, *(f"{share_cell(row)}, {_points(row.missing.median)}" for row in studies))


def tables() -> tuple[dict[str, list[str]], Sequence[Found]]:
    """The rows of each table of the page, and the results of one worker."""
    alone, beside = measured(METHODS), measured(BESIDE, workers=SIDE_BY_SIDE)
    rows = {"shares": share_rows(alone), "regret": regret_rows(alone), "side by side": share_rows(beside)}
    fresh = measured(SHOWN, studies=(*STUDIES, *OTHERS), seeds=FRESH_SEEDS)
    rows["fresh"] = fresh_rows(fresh)
    rows["orders"] = order_rows(many_orders())
    rows["orders of others"] = order_rows(many_orders(OTHERS))
    rows["warm"] = warm_rows(transferred())
    return {name: list(each) for name, each in rows.items()}, alone


def _percent(value: float | None) -> str:
    return NEVER if value is None or math.isinf(value) else f"{100 * value:.0f} %"


def _finer(value: float | None) -> str:
    return NEVER if value is None or math.isinf(value) else f"{100 * value:.1f} %"


def _points(value: float | None) -> str:
    return NEVER if value is None else f"{value:.2f}"


if __name__ == "__main__":
    made, alone = tables()
    PAGE.write_text(written(PAGE.read_text(), made))
    PICTURE.write_text(as_svg(picture(alone)))
    sys.exit(0)
