"""The page "What works?": the results of the search by value, axis and pair of axes, described and not tested."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import streamlit as st

from skipstack.dashboards.reports.exploration.report import about
from skipstack.dashboards.reports.pictures.picture import Drawn
from skipstack.dashboards.reports.pictures.search_pictures import objective_charts, search_chart
from skipstack.dashboards.web.downloads import whole_report
from skipstack.dashboards.web.elements import charts, empty, report, sentence
from skipstack.dashboards.web.snapshot import snapshot
from skipstack.dashboards.web.trial_filters import Chosen, chosen_of, trials_table

if TYPE_CHECKING:
    from skipstack.search.analysis.exploration.exploration import Exploration

VALUES, AXES, TRIALS, COSTS = "Which values?", "Which axes, and which together?", "Which trials?", "At what cost?"


def effects_page(path: Path) -> None:
    """Show the page "What works?" of the study in the folder ``path``. Only the charts for the chosen question are
    drawn.
    """
    of = snapshot(path)
    seen = of.explored
    if seen.seen.trials["score"].notna().sum() < 2:
        empty(
            "What works stands here once two trials have a score: the effects of values, which axes matter and which "
            "together, the trials across the axes, and what a score costs."
        )
        return
    asked = st.segmented_control(
        "Question",
        list(QUESTIONS),
        default=VALUES,
        key="question",
        bind="query-params",
        required=True,
        wrap=True,
        label_visibility="collapsed",
    )
    first = st.container()
    with st.container(key="filters"):
        chosen = chosen_of(seen)
    with first:
        charts(QUESTIONS[asked or VALUES](seen, chosen), f"works {path} {asked}")
    if asked == TRIALS:
        trials_table(seen, chosen.trials)
    sentence(about(seen), pale=True)
    with st.expander("The report", key="report", on_change="rerun") as folded:
        if folded.open:  # the report takes longer than the page, so it is made only when opened
            report(whole_report(of), titled=False, said=of.verdict)


def values_charts(seen: "Exploration", chosen: Chosen) -> Iterator[Drawn]:
    """Yield the charts of the effects of values, and of the trials' scores over each axis."""
    from skipstack.dashboards.charts.slices import slices

    none = "" if chosen.axes and len(chosen.trials) else f"no {'trial' if chosen.axes else 'axis'} is chosen"
    yield search_chart("Effects of values", seen)
    draw = partial(slices, chosen.trials, seen.measure, chosen.axes, names=chosen.names, log=chosen.log)
    yield Drawn("Slices", none or draw, wide=True)


def _axes(seen: "Exploration", chosen: Chosen) -> Iterator[Drawn]:
    from skipstack.dashboards.charts.fields import means_over, ranks_over

    two = chosen.axes[:2]
    few = "" if len(two) == 2 and len(chosen.trials) else "this takes two axes and a trial"
    yield Drawn(
        "Scores over two axes",
        few or (lambda: means_over(chosen.trials, seen.measure, *two, names=chosen.names, log=chosen.log)),
    )
    yield Drawn(
        "Ranks over two axes",
        few or (lambda: ranks_over(chosen.trials, seen.measure, *two, names=chosen.names, log=chosen.log)),
    )
    yield search_chart("Importance of axes", seen)
    yield search_chart("Pairs of axes", seen)


def _trials(seen: "Exploration", chosen: Chosen) -> Iterator[Drawn]:
    from skipstack.dashboards.charts.coordinates import parallel_coordinates
    from skipstack.dashboards.charts.distribution import distribution
    from skipstack.dashboards.charts.footprint import footprint
    from skipstack.search.analysis.exploration.footprint import footprint as placed

    trials, axes, measure = chosen.trials, chosen.axes, seen.measure
    points = seen.seen.points.loc[trials.index]
    none = "" if len(trials) and trials["score"].notna().any() else "no trial with a score is chosen"
    across = partial(parallel_coordinates, trials, measure, axes, names=chosen.names, log=chosen.log)
    yield Drawn("Trials across the axes", none or across, wide=True)
    yield Drawn("Distribution of scores", none or (lambda: distribution(trials, measure)))
    few = "" if len(trials) > 2 and axes else "this takes three trials"
    yield Drawn("Footprint", none or few or (lambda: footprint(placed(points, seen.domains), trials, measure)))


def _costs(seen: "Exploration", chosen: Chosen) -> Iterator[Drawn]:
    from skipstack.dashboards.charts.costs import score_against_cost

    yield search_chart("Score and training time", seen)
    if seen.config.search.reported:
        yield from objective_charts(seen)
        return
    yield search_chart("Score and parameters", seen)
    trials = seen.seen.trials
    none = "" if trials["latency"].notna().any() else "latency is no objective of this study"
    yield Drawn("Score and latency", none or (lambda: score_against_cost(trials, seen.measure, "latency")))


QUESTIONS: Final[Mapping[str, Callable[["Exploration", Chosen], Iterator[Drawn]]]] = {
    VALUES: values_charts,
    AXES: _axes,
    TRIALS: _trials,
    COSTS: _costs,
}
