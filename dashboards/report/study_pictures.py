"""The pictures of a study, from its frames; of those that would show nothing, a sentence says why."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from skipstack.dashboards.pages.page import Picture
from skipstack.data.tasks.measure import Measure
from skipstack.search.study.records.study_record import StudyRecord

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, kw_only=True, slots=True)
class StudyFrames:
    """What the pictures of a study are drawn from; None where it was not computed.

    ``trials`` and ``curves`` are those of ``search.frames``; the columns of the others stand with the charts that draw
    them: ``dashboards.charts.effects``, ``importance``, ``pairs``, ``survival`` and ``budgets``.
    """

    trials: "pd.DataFrame"
    curves: "pd.DataFrame"
    effects: "pd.DataFrame | None" = None
    importance: "pd.DataFrame | None" = None
    pairs: "pd.DataFrame | None" = None
    rungs: "pd.DataFrame | None" = None
    budgets: "pd.DataFrame | None" = None


def frames_of(record: StudyRecord) -> StudyFrames:
    """The frames of a study."""
    from skipstack.search import frames

    return StudyFrames(trials=frames.trials(record), curves=frames.curves(record))


def study_pictures(frames: StudyFrames, measure: Measure) -> Sequence[Picture]:
    """All pictures of a study, in the order in which they are read."""
    return tuple(_pictures(frames, measure))


def _pictures(frames: StudyFrames, measure: Measure) -> Iterator[Picture]:
    from skipstack.dashboards.charts.budgets import expected_best
    from skipstack.dashboards.charts.costs import score_against_cost
    from skipstack.dashboards.charts.curves import learning_curves
    from skipstack.dashboards.charts.effects import effects
    from skipstack.dashboards.charts.importance import importance
    from skipstack.dashboards.charts.pairs import pairs
    from skipstack.dashboards.charts.survival import survival

    trials, scored = frames.trials, int(frames.trials["score"].notna().sum())
    rungs = [] if frames.rungs is None else frames.rungs["rung"].tolist()
    few = f"{scored} of the trials have a score, which takes two or more."

    def explored(frame: "pd.DataFrame | None", draw: Callable[..., Any], *rest: Any) -> Callable[[], Any] | str:
        return (lambda: draw(frame, *rest)) if frame is not None and len(frame) else few if scored < 2 else _NOTHING

    yield _picture("Effects of values", explored(frames.effects, effects, measure))
    yield _picture("Importance of axes", explored(frames.importance, importance))
    yield _picture("Pairs of axes", explored(frames.pairs, pairs, measure))
    yield _picture(
        "Learning curves",
        (lambda: learning_curves(frames.curves, trials, measure, rungs=rungs))
        if frames.curves["epoch"].max() > 1
        else "no trial has trained for more than one epoch.",
    )
    yield _picture(
        "Score and training time",
        (lambda: score_against_cost(trials, measure, "seconds")) if scored > 1 else few,
    )
    yield _picture(
        "Score and parameters",
        "parameters are no objective of this study, and were not counted."
        if trials["parameters"].isna().all()
        else (lambda: score_against_cost(trials, measure, "parameters"))
        if scored > 1
        else few,
    )
    yield _picture(
        "Trials at each rung",
        (lambda: survival(frames.rungs)) if len(rungs) else "nothing was stopped at a rung.",
    )
    yield _picture("Expected best", explored(frames.budgets, expected_best, measure))


_NOTHING = "the trials of this study do not tell it."


def _picture(heading: str, drawn: Callable[[], Any] | str) -> Picture:
    """The picture, or the sentence that stands in its place."""
    from skipstack.dashboards.charts.drawing import as_svg, without_words, words

    if isinstance(drawn, str):
        return Picture(heading, f"Left out: {drawn}")
    chart = drawn()
    return Picture(heading, words(chart), as_svg(without_words(chart)))
