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
        return f"The base itself is the best on dev, with {reached}: {_others(found, best)}."
    _, short = _whole_and_cut(found)
    stopped = f" {len(short)} of them stopped early," if short and best.scored > 1 else ""
    named = f"Trial {best.selected}{f', the best of {best.scored} on dev,{stopped}' if best.scored > 1 else ''}"
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


def _others(found: Exploration, best: Row) -> str:
    """What the other trials reached: nothing is known of those that were not trained to their ends."""
    whole, cut = ([number for number in those if number != best.selected] for those in _whole_and_cut(found))
    if not whole and not cut:
        return "no other trial has a score"
    parts = []
    if whole and cut:
        who = "the one other that was" if len(whole) == 1 else f"of {len(whole)} others that were"
        its = "its end reached no more" if len(whole) == 1 else "their ends none reached more"
        parts.append(f"{who} trained to {its}")
    elif whole:
        parts.append(
            "the other one reached no more" if len(whole) == 1 else f"none of the {len(whole)} others reached more"
        )
    if cut:
        trials = found.seen.trials.loc[cut]
        was = "was" if len(cut) == 1 else "were"
        who = str(len(cut)) if whole else "the other one" if len(cut) == 1 else f"the {len(cut)} others"
        least, most = int(trials["epochs"].min()), int(trials["epochs"].max())
        after = f"{least}" if least == most else f"{least} to {most}"
        they = "it" if len(cut) == 1 else "they"
        epochs = counted(found.base.epochs, "epoch")
        parts.append(f"{who} {was} stopped after {after} of {epochs}, so it is not known what {they} would reach")
    return "; ".join(parts)


def _whole_and_cut(found: Exploration) -> tuple[list[int], list[int]]:
    """The numbers of the trials with a score that were trained to their ends, and of the others."""
    seen = found.seen
    whole = [number for number in seen.ranked if seen.whole[number]]
    return whole, [number for number in seen.ranked if number not in set(whole)]


def _score(row: Row, measure: Measure) -> str:
    """``97.31 %``, ``F1 88.10``, ``perplexity 71.02``."""
    number = measure.written(mean(row.dev))
    return f"{number} %" if measure.unit == "%" else f"{measure.unit} {number}"
