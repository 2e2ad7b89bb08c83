"""The last sentence of a search: its best trial beside the base, described and not tested."""

from skipstack.dashboards.reports.wording import listed, settings
from skipstack.data.basis.counted import counted
from skipstack.data.tasks.measure import Measure
from skipstack.search.analysis.exploration.exploration import Exploration
from skipstack.search.analysis.exploration.table import BASE, BEST, Row
from skipstack.search.statistics.descriptive import mean
from skipstack.spaces.changes import changes, chosen


def search_in_a_sentence(found: Exploration) -> str:
    """The best trial of a search, compared with the base.

    The comparison is only described: the best of many trials is flattered. An ablation tests it.
    """
    rows = {row.axis: row for row in found.rows if row.axis in (BASE, BEST)}
    base, best = rows.get(BASE), rows.get(BEST)
    if best is None or found.best_config is None:
        return "No trial has a score, so the axes cannot be compared."
    reached = _score(best, found.measure)
    if best.is_base:
        others = best.scored - 1
        cut = ", as far as they were trained" if found.ends.get("stopped") else ""
        why = f"none of {counted(others, 'other')} reached more{cut}" if others else "no other trial has a score"
        return f"The base itself is the best on dev, with {reached}: {why}."
    named = f"Trial {best.selected}{f', the best of {best.scored} on dev,' if best.scored > 1 else ''}"
    if base is None:
        return f"{named} reaches {reached}; the base has no score that it could be compared with."
    theirs = _score(base, found.measure)
    against = f"what the base reaches, {theirs}" if reached == theirs else f"{reached}, where the base reaches {theirs}"
    cut = "" if base.whole and best.whole else ", although not both were trained to the end"
    differs = listed(settings(chosen(changes(found.best_config, found.base), found.best_config)))
    return (
        f"{named} reaches {against}{cut}; it differs by {differs}. "
        "This is described and not tested: `skipstack ablate` tests it with fresh seeds."
    )


def _score(row: Row, measure: Measure) -> str:
    """``97.31 %``, ``F1 88.10``, ``perplexity 71.02``."""
    number = measure.written(mean(row.dev))
    return f"{number} %" if measure.unit == "%" else f"{measure.unit} {number}"
