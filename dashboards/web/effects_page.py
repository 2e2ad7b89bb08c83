"""The page "What works?": the search's results by value, axis and pair, described and not tested."""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

import streamlit as st

from skipstack.dashboards.reports.exploration.report import about
from skipstack.dashboards.reports.pictures.picture import Drawn
from skipstack.dashboards.reports.pictures.search_pictures import search_charts
from skipstack.dashboards.web.downloads import whole_report
from skipstack.dashboards.web.elements import chart, charts, report, sentence
from skipstack.dashboards.web.snapshot import snapshot
from skipstack.dashboards.web.trial_filters import chosen_axes, chosen_trials, trials_table

if TYPE_CHECKING:
    from skipstack.search.analysis.exploration.exploration import Exploration

VALUES, AXES, TRIALS, COSTS = "Which values?", "Which axes, and which together?", "Which trials?", "At what cost?"

MOST_AXES: Final = 6
"""The most axes that are drawn at first: the most important ones."""


def effects_page(path: Path) -> None:
    """The page. It shows one question at a time, so that only its charts are drawn."""
    of = snapshot(path)
    seen = of.explored
    with st.expander("The report", key="report", on_change="rerun") as folded:
        if folded.open:  # it costs more than the page
            report(whole_report(of), titled=False, said=of.verdict)
    sentence(about(seen.config.search), pale=True)
    if seen.seen.trials["score"].notna().sum() < 2:
        sentence("Fewer than two trials have a score: there is nothing to compare yet.")
        return
    asked = st.segmented_control(
        "Question", list(QUESTIONS), default=VALUES, key="question", bind="query-params", required=True, wrap=True
    )
    charts(QUESTIONS[asked or VALUES](seen), f"works {path} {asked}")


def _of_search(seen: "Exploration", *names: str) -> Iterator[Drawn]:
    found = {each.heading: each for each in search_charts(seen)}
    return (found[name] for name in names)


def _values(seen: "Exploration") -> Iterator[Drawn]:
    from skipstack.dashboards.charts.slices import slices

    yield from _of_search(seen, "Effects of values")
    axes = chosen_axes(seen, MOST_AXES)
    trials = chosen_trials(seen)
    none = "" if axes and len(trials) else "no axis is chosen" if len(trials) else "no trial is chosen"
    yield Drawn("Slices", none or (lambda: slices(trials, seen.measure, axes)))


def _axes(seen: "Exploration") -> Iterator[Drawn]:
    from skipstack.dashboards.charts.fields import means_over, ranks_over

    yield from _of_search(seen, "Importance of axes", "Pairs of axes")
    axes = list(seen.domains)
    trials = chosen_trials(seen)
    if len(axes) < 2 or not len(trials):
        yield Drawn("Two axes", "this takes two axes and a trial")
        return
    first = chosen_axes(seen, 2, key="two axes", label="Two axes", exactly=2)
    if len(first) != 2:
        yield Drawn("Two axes", "choose two axes")
        return
    yield Drawn("Scores over two axes", lambda: means_over(trials, seen.measure, *first))
    yield Drawn("Ranks over two axes", lambda: ranks_over(trials, seen.measure, *first))


def _trials(seen: "Exploration") -> Iterator[Drawn]:
    from skipstack.dashboards.charts.coordinates import parallel_coordinates
    from skipstack.dashboards.charts.distribution import distribution
    from skipstack.dashboards.charts.footprint import footprint
    from skipstack.search.analysis.exploration.footprint import footprint as placed

    trials = chosen_trials(seen)
    axes = chosen_axes(seen, MOST_AXES)
    none = "" if len(trials) and trials["score"].notna().any() else "no trial with a score is chosen"
    lines = Drawn("Trials across the axes", none or (lambda: parallel_coordinates(trials, seen.measure, axes)))
    chart(lines, "works across the axes")  # as wide as the page
    yield Drawn("Distribution of scores", none or (lambda: distribution(trials, seen.measure)))
    few = "" if len(trials) > 2 and axes else "this takes three trials"
    yield Drawn("Footprint", none or few or (lambda: footprint(placed(trials, seen.domains), trials, seen.measure)))
    trials_table(seen, trials)


def _costs(seen: "Exploration") -> Iterator[Drawn]:
    from skipstack.dashboards.charts.costs import score_against_cost

    yield from _of_search(seen, "Score and training time", "Score and parameters")
    trials = seen.seen.trials
    none = "" if trials["latency"].notna().any() else "latency is no objective of this study"
    yield Drawn("Score and latency", none or (lambda: score_against_cost(trials, seen.measure, "latency")))
    yield from _of_search(seen, "Expected best")


QUESTIONS: Final[Mapping[str, Callable[["Exploration"], Iterator[Drawn]]]] = {
    VALUES: _values,
    AXES: _axes,
    TRIALS: _trials,
    COSTS: _costs,
}
