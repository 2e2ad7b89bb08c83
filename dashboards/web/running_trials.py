"""Shows the trials in training: their curves, and the score that each trial needs at its next rung to continue."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np

from skipstack.dashboards.reports.next_hour import next_hour
from skipstack.dashboards.reports.pictures.picture import Drawn
from skipstack.dashboards.reports.wording import NONE, counted_rung
from skipstack.dashboards.web.elements import chart, empty, heading, sentence, table
from skipstack.dashboards.web.section import Element
from skipstack.data.tasks.measure import Measure
from skipstack.search.strategy.schedulers.config import Resource
from skipstack.search.strategy.schedulers.scheduler import Ahead

if TYPE_CHECKING:
    import pandas as pd

    from skipstack.dashboards.web.following import SearchSoFar, StudyNow

HEADING: Final = "Training now"

EXPLAINED: Final = (
    "Score now: of the last epoch. Needs now: the score with which the trial would go on if it came to its next rung "
    "now; this moves as others come there."
)

IDLE: Final = "No trial is being trained. The curves of those that train stand here, with the scores that they need."

PLACE: Final = '<div style="min-height: 36rem">'
"""Opens the element of the chart and the table. It keeps its height when they are missing, so that the page does not
jump.
"""

MOST: Final = 20
"""The maximum number of training trials that are listed."""


def running_trials(progressed: "SearchSoFar", *, goes_on: bool) -> Iterator[Element]:
    """Yield the curves of the trials in training, and the score that each trial needs at its next rung.

    With several objectives, a sentence says instead that no single score decides. Without training trials, a sentence
    takes their place. ``goes_on``: whether trials come and go, so that space is kept for them.
    """
    search, ahead = progressed.search, progressed.ahead
    yield heading(HEADING)
    if ahead is None:
        yield sentence("Trials are compared on several objectives, so no single score decides which go on.", pale=True)
        return
    yield PLACE if goes_on else "<div>"
    if ahead:
        yield chart(training_chart(progressed))
        curves, measure, resource = search.curves(), search.measure, search.config.search.resource
        rows = [_row(number, ahead[number], curves, measure, resource) for number in sorted(ahead)[:MOST]]
        yield table(("", "epochs", "score now", "needs now"), rows, name=HEADING)
        left_out = f" {MOST} of {len(ahead):,} trials are listed." if len(ahead) > MOST else ""
        yield sentence(f"{EXPLAINED}{left_out}", pale=True)
    else:
        yield empty(IDLE if goes_on else "No trial is being trained.")
    yield "</div>"


def training_chart(progressed: "SearchSoFar") -> Drawn:
    """The chart of the trials in training: their curves and, if rungs are numbers of epochs, the scores needed at the
    rungs ahead. There is no chart if seeds race (are trained in groups).
    """
    search, ahead = progressed.search, progressed.ahead or {}
    if search.config.search.seeds_race:
        return Drawn(HEADING, "seeds race")
    from skipstack.dashboards.charts.ahead import running_curves

    curves = search.curves()
    curves = curves[curves["trial"].isin(list(ahead)) & np.isfinite(curves["dev"])]
    rungs = _thresholds(ahead if search.config.search.resource == "epochs" else {})
    no_curve = "" if len(curves) else "none of them has trained an epoch yet"
    draw = partial(running_curves, curves, rungs, search.measure, epochs=search.base.epochs)
    return Drawn(HEADING, no_curve or draw)


def _thresholds(ahead: dict[int, tuple[Ahead, ...]]) -> "pd.DataFrame":
    """A row for each rung ahead of any trial: the rung, the number of its results, and the score that it requires."""
    import pandas as pd

    every = dict.fromkeys((each.rung, each.results, each.needed) for rungs in ahead.values() for each in rungs)
    return pd.DataFrame(list(every), columns=["rung", "results", "needed"])


def _row(
    number: int, rungs: Sequence[Ahead], curves: "pd.DataFrame", measure: Measure, resource: Resource
) -> list[str]:
    own = curves[curves["trial"] == number]
    known = [NONE, "0"] if own.empty else [measure.written(own["score"].iloc[-1]), f"{own['epoch'].iloc[-1]}"]
    score, epochs = known
    if not rungs:
        return [f"trial {number}", epochs, score, "nothing: it is stopped at no rung ahead"]
    return [f"trial {number}", epochs, score, needed_in_words(rungs[0], resource, measure)]


def next_hour_of(standing: "StudyNow", progressed: "SearchSoFar") -> Iterator[Element]:
    """Yield what the next hour is likely to bring for a study that runs."""
    search = progressed.search
    told = next_hour(
        left=standing.total - standing.ended,
        per_minute=standing.per_minute,
        seconds_left=standing.seconds_left,
        continued=search.continued,
        raced=search.config.search.seeds_race,
        proposer=search.config.search.proposer.kind,
        several=len(search.objectives) > 1,
        measure=standing.measure,
    )
    if sentences := list(told):
        yield heading("The next hour")
        yield sentence(" ".join(sentences))


def needed_in_words(ahead: Ahead, resource: Resource, measure: Measure) -> str:
    """The score that a rung requires, in words, or a note that it has no threshold yet. ``at least 91.20 at 3 epochs (5
    there)`` means that 5 trials have reached the rung of 3 epochs.
    """
    place = f"at {counted_rung(ahead.rung, resource)} ({ahead.results:,} there)"
    if ahead.needed is None:
        return f"no threshold yet {place}"
    return f"{'better than' if ahead.above else 'at least'} {measure.written(ahead.needed)} {place}"
