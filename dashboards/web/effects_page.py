"""The page "What works?": the results of the search by value, axis and pair of axes, described and not tested."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from skipstack.dashboards.reports.exploration.report import about
from skipstack.dashboards.reports.pictures.picture import Drawn
from skipstack.dashboards.reports.pictures.search_pictures import objective_charts, search_chart
from skipstack.dashboards.reports.study_report import study_report
from skipstack.dashboards.web.elements import charts, empty, link, report, sentence, verdict
from skipstack.dashboards.web.page_names import BELIEVE
from skipstack.dashboards.web.section import Element, Section
from skipstack.dashboards.web.snapshot import Snapshot, is_short, snapshot, version_of
from skipstack.dashboards.web.trial_filters import Chosen, alike, chosen_of, filters
from skipstack.dashboards.web.trials_table import trials_table
from skipstack.dashboards.web.view import View
from skipstack.data.basis.counted import counted

if TYPE_CHECKING:
    from skipstack.search.analysis.exploration.exploration import Exploration

VALUES, AXES, TRIALS, COSTS = "Which values?", "Which axes, and which together?", "Which trials?", "At what cost?"


def effects_page(view: View) -> Sequence[Section]:
    """The page "What works?". It answers one question at a time, so only the charts for this question are drawn."""
    of = snapshot(view.path)
    seen = of.explored
    if seen.seen.trials["score"].notna().sum() < 2:
        few = (
            "It takes two trials with a score to show the effects of values, which axes matter and which together, the "
            "trials across the axes, and what a score costs."
        )
        return [Section("verdict", lambda: [verdict(of.verdict), empty(few)])]
    *_, asked = (VALUES, *view.chosen("question", QUESTIONS, "question"))
    chosen = chosen_of(view, seen)
    slow = asked == AXES and not is_short(version_of(view.path))  # the importance of axes takes seconds
    intervals = f"<p>{link(view.to(BELIEVE), 'The interval of each change')}</p>"
    confirmed = [intervals] if of.frames.confirms else []
    return [
        Section("verdict", lambda: [verdict(of.verdict, of.answers), *confirmed, _questions(view, asked)]),
        Section("filters", lambda: [filters(view, seen, chosen)]),
        Section("charts", lambda: charts(QUESTIONS[asked](seen, chosen)), when="soon" if slow else "now"),
        *([Section("trials", lambda: [trials_table(view, seen, chosen.trials)])] if asked == TRIALS else []),
        Section("about", lambda: [sentence(about(seen, confirmed=of.frames.confirms, folder=view.study), pale=True)]),
        # The report takes longer to compute than the rest of the page, so it is computed when it is opened.
        Section("report", partial(_report, view, of), when="opened", title="The report"),
    ]


def _questions(view: View, asked: str) -> str:
    entries = (link(view.address(question=each), each, current=each == asked) for each in QUESTIONS)
    return f'<nav class="tabs" aria-label="Question">{"".join(entries)}</nav>'


def _report(view: View, of: Snapshot) -> Iterator[Element]:
    yield report(study_report(of.frames), view.trial, titled=False, said=of.verdict)


def values_charts(seen: "Exploration", chosen: Chosen) -> Iterator[Drawn]:
    """Yield the charts of the effects of values, and of the trials' scores over each axis."""
    from skipstack.dashboards.charts.slices import slices

    trials, after = alike(seen, chosen), chosen.after
    few = "no trial is chosen" if after is None else f"no chosen trial was trained for {counted(after, 'epoch')}"
    none = "no axis is chosen" if not chosen.axes else "" if trials["dev"].notna().any() else few
    draw = partial(slices, trials, seen.measure, chosen.axes, names=chosen.names, log=chosen.log, after=after)
    yield search_chart("Effects of values", seen)
    yield Drawn("Slices", none or draw, wide=True)


def _axes(seen: "Exploration", chosen: Chosen) -> Iterator[Drawn]:
    from skipstack.dashboards.charts.fields import means_over, ranks_over

    two = chosen.axes[:2]
    few = "" if len(two) == 2 and len(chosen.trials) else "this takes two axes and a trial"
    for what, draw in (("Scores", means_over), ("Ranks", ranks_over)):
        drawn = partial(draw, chosen.trials, seen.measure, *two, names=chosen.names, log=chosen.log)
        yield Drawn(f"{what} over two axes", few or drawn)
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
