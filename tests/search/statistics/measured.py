"""Writes what simulated studies measure into the guide: `make statistics`, or `python -m` and this module.

The rows of its tables are what the slow tests make again and compare.
"""

import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Any

from tests.pages import ROOT
from tests.search.statistics.explored import SETTINGS, Setting, described
from tests.search.statistics.forecast import SEARCHES as FORECAST_SEARCHES
from tests.search.statistics.forecast import forecasts
from tests.search.statistics.named import ASKED, Asked, named
from tests.search.statistics.simulated import FAILING, SEEDS, WORLDS, World, experiment
from tests.search.statistics.simulated_folds import (
    CHOSEN,
    CORRECTED,
    ON_TEST,
    PARTITIONS,
    PLAIN,
    VALIDATED,
    Chosen,
    Validated,
)
from tests.search.statistics.simulated_folds import covered as covered_of_folds
from tests.search.statistics.simulated_folds import marked as marked_of_chosen
from tests.search.statistics.simulated_limits import (
    DOCUMENTED,
    RARE,
    SHAPES,
    SPANS,
    Documented,
    Rare,
    Shape,
    covered,
    covered_of_spans,
    marked,
)
from tests.search.statistics.simulated_power import ROWS, stated
from tests.search.statistics.simulated_power import SEEDS as POWER_SEEDS
from tests.search.statistics.simulated_retuning import PLANTED, Planted
from tests.search.statistics.simulated_retuning import marked as marked_if_tuned
from tests.search.statistics.simulated_searches import FRESH_SEEDS, NOTHING, searches
from tests.search.statistics.simulated_sequential import VARYING, Varying, by_chance, trained

REPEATS = 2000
SEARCHES = 20
"""Of recorded trials."""

LIMIT_REPEATS = 1000
"""Of an experiment at a limit, of which each is drawn by itself."""

PAGE = ROOT / "docs" / "calibration.md"


def coverage_row(world: World) -> str:
    """What the intervals of a world cover in percent, how wide they are, and what Student's over the seeds covers."""
    found = experiment(world, REPEATS)
    covered = [f"{100 * found[seeds].covered:.1f}" for seeds in SEEDS]
    wide = [f"{found[seeds].wide:.2f}" for seeds in SEEDS]
    student = [f"{100 * found[seeds].student_covered:.0f}" for seeds in SEEDS]
    return line(world.name, *covered, " / ".join(wide), " / ".join(student))


def power_row(rows: int) -> str:
    """Of families of so many rows: the difference that is stated to be marked in 80 of 100, in how many it is, and the
    same of half of it, with how large it is shown; as stated / as it came.
    """
    found = stated(rows, REPEATS)
    cells = []
    for seeds in POWER_SEEDS:
        each = found[seeds]
        half = " / ".join(f"{100 * share:.0f}" for share in each.half_detected)
        shown = " / ".join(f"{size:.2f}" for size in each.half_overstated)
        cells += [f"{each.smallest:.1f}", f"{100 * each.detected[1]:.0f}", half, shown]
    return line(str(rows), *cells)


def looks_row(world: Varying) -> str:
    """How often chance gets a mark, in percent: at the first look, at the worst one, and there without correction."""
    found = by_chance(world)
    return line(world.name, *(f"{100 * share:.1f}" for share in (found.once, found.worst, found.uncorrected)))


def rounds_row(rows: int) -> str:
    """The seeds of rows that are trained until they are decided, beside those of a fixed design of equal power."""
    found = trained(rows)
    means = (f"{seeds:.1f}" for seeds in found.seeds)
    cells = (f"{found.effect:.2f}", f"{100 * found.marked:.0f}", f"{found.fixed}", *means, f"{100 * found.saved:.0f}")
    return line(str(rows), *cells)


def tuned_row(planted: Planted) -> str:
    """How often a change is said to help, in percent, in ablations as they are and with rows that are tuned again."""
    found = marked_if_tuned(planted)
    return line(planted.name, f"{found.studies}", f"{100 * found.plain:.0f}", f"{100 * found.tuned:.0f}")


def document_row(world: Documented) -> str:
    """What intervals over sentences and over documents cover, in percent."""
    return line(world.name, *(f"{100 * share:.0f}" for share in covered(world, LIMIT_REPEATS)))


def span_row(world: Rare) -> str:
    """What intervals cover in percent, by the spans of the test set."""
    return line(world.name, *(f"{100 * covered_of_spans(world, spans, LIMIT_REPEATS):.0f}" for spans in SPANS))


def shape_row(shape: Shape) -> str:
    """How often chance gets a mark, in percent, by test, for 3, 5 and 10 seeds."""
    found = [marked(shape, seeds, REPEATS) for seeds in POWER_SEEDS]
    return line(SHAPES[shape], *(" / ".join(f"{100 * each[test]:.0f}" for each in found) for test in found[0]))


def search_row(world: World) -> str:
    """How often chance gets a mark, in percent, and what the search's own scores would say."""
    found = searches(world, REPEATS)
    shares = [*(found.family[seeds] for seeds in FRESH_SEEDS), found.winner_exceeds_error, found.winner_interval]
    return line(world.name, *(f"{100 * share:.1f}" for share in shares))


def fold_row(world: Validated) -> str:
    """What intervals over folds cover, in percent, by how they are computed; and how wide the corrected one is."""
    found, wide = covered_of_folds(world, REPEATS)
    return line(world.name, *_percent_of_folds(found), f"{wide:.2f}")


def chosen_row(world: Chosen) -> str:
    """How often a chosen config that is no better is found to be, in percent, by how intervals are computed."""
    return line(world.name, *_percent_of_folds(marked_of_chosen(world, LIMIT_REPEATS)))


def _percent_of_folds(found: Mapping[str, float]) -> list[str]:
    names = (PLAIN, PARTITIONS, CORRECTED, ON_TEST)
    return [f"{100 * found[name]:.0f}" if name in found else "–" for name in names]


def effect_row(setting: Setting) -> str:
    """How many effects have a sign, how many of these are wrong; what bands hold in percent; errors."""
    found = described(setting, SEARCHES)
    return line(
        setting.name,
        f"{found.shown}",
        f"{found.wrong}",
        "–" if found.held is None else f"{100 * found.held:.0f}",
        "–" if found.error is None else f"{found.error:.2f}",
        "–" if found.nothing is None else f"{found.nothing:.2f}",
    )


def named_row(asked: Asked) -> str:
    """In how many searches the first axis is the wrong one, in percent, as version 0.2.0 said it and now; which axes
    are named, and pairs; how many effects have a sign, and how many of these are wrong.
    """
    found = named(asked)
    shares = (found.wrong_before, found.wrong, found.idle, found.pair)
    before, wrong, idle, pair = (f"{round(100 * share, 1):g}" for share in shares)
    right = "–" if found.found is None else f"{100 * found.found:.0f}"
    return line(
        asked.name, f"{asked.searches}", before, wrong, idle, right, pair, f"{found.signs}", f"{found.wrong_signs}"
    )


def forecast_row(proposer: str) -> str:
    """In how many searches no more came than was said, in percent, and how much came of what was said."""
    found = forecasts(proposer)
    shares = (found.formulas, found.recorded, found.stopped, found.held)
    return line(f"`{proposer}`", *(f"{100 * share:.0f}" for share in shares), f"{found.gain:.2f}")


def line(*cells: str) -> str:
    """A row of a table in Markdown."""
    return f"| {' | '.join(cells)} |"


TABLES: Mapping[str, tuple[Callable[[Any], str], Sequence[Any]]] = {
    "coverage": (coverage_row, (*WORLDS, FAILING)),
    "power": (power_row, ROWS),
    "families": (search_row, NOTHING),
    "looks": (looks_row, VARYING),
    "rounds": (rounds_row, ROWS),
    "tuned": (tuned_row, PLANTED),
    "documents": (document_row, DOCUMENTED),
    "spans": (span_row, RARE),
    "shapes": (shape_row, tuple(SHAPES)),
    "folds": (fold_row, VALIDATED),
    "chosen": (chosen_row, CHOSEN),
    "effects": (effect_row, SETTINGS),
    "named": (named_row, ASKED),
    "forecasts": (forecast_row, tuple(FORECAST_SEARCHES)),
}
"""What stands in each table of the page: how a row is made, and of which worlds."""


def rows_of(page: str, table: str) -> list[str]:
    """The rows of a table of the page, without its heading."""
    found = re.search(rf"<!-- {table} -->\n((?:\|.*\n)+)", page)
    assert found is not None, f"the page has no table {table}"
    return found[1].splitlines()[2:]


def written(page: str, made: dict[str, list[str]]) -> str:
    """The page with these rows in its tables."""
    for table, rows in made.items():
        heading = re.search(rf"<!-- {table} -->\n\|.*\n\|.*\n", page)
        assert heading is not None, f"the page has no table {table}"
        end = heading.end() + sum(len(row) + 1 for row in rows_of(page, table))
        page = page[: heading.end()] + "".join(f"{row}\n" for row in rows) + page[end:]
    return page


def made() -> Iterator[tuple[str, list[str]]]:
    """The rows of each table."""
    with ProcessPoolExecutor() as pool:
        for table, (row, worlds) in TABLES.items():
            yield table, list(pool.map(row, worlds))


if __name__ == "__main__":
    for table, rows in made():  # what is made stays where a later one is interrupted
        PAGE.write_text(written(PAGE.read_text(), {table: rows}))
    sys.exit(0)
