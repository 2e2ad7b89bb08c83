"""Detects trials of a function that report the same although their configs differ: it may ignore its config."""

from collections.abc import Collection, Sequence
from typing import Final

from skipstack.data.basis.frozen import canonical_json
from skipstack.search.study.record.trial_record import TrialRecord
from skipstack.spaces.short_names import names_by_path

FEWEST: Final = 3
"""The minimum number of trials that report the same."""

FEWEST_COARSE: Final = 10
"""The minimum number of trials if chance alone may make scores equal, such as accuracies on ten examples."""

NAMED: Final = 3
"""The maximum number of trials, and of axes, that the line names."""

Curve = Sequence[tuple[int, float]]


def identical_trials(trials: Collection[TrialRecord]) -> str:
    """Return a line for the user if all ended trials of a function report the same, whatever their config; else empty.

    At least ``FEWEST`` trials with different configs have ended with a score; ``FEWEST_COARSE`` if the scores are
    coarse (``_is_coarse``). A trial that was stopped has the scores of the others as far as it was trained. Networks
    are left out: they read their configs, and one network under two names is not trained twice.
    """
    ended = [trial for trial in trials if trial.reason is not None and trial.score is not None]
    if len(ended) < FEWEST or ended[0].space.fields.model.keeps_weights:
        return ""
    longest: Curve = []
    for trial in ended:  # the first two nearly always differ
        curve = trial.reports.curve
        if curve[: len(longest)] != longest[: len(curve)]:
            return ""
        longest = max(longest, curve, key=len)
    if len({canonical_json(trial.point) for trial in ended}) < (FEWEST_COARSE if _is_coarse(longest) else FEWEST):
        return ""
    numbers = [str(trial.number) for trial in ended]
    which = "trials" if len(ended) <= NAMED else f"all {len(ended):,} trials with a score, such as"
    return (
        f"{which} {_listed(numbers[:NAMED])} reported exactly the same, though they differ in {_differences(ended)}: "
        "the function may ignore its config"
    )


def _is_coarse(curve: Curve) -> bool:
    """Whether the scores of another trial may be equal by chance: at most two differ, and none has three decimals."""
    scores = {score for _, score in curve}
    return len(scores) <= 2 and all(round(score, 2) == score for score in scores)


def _differences(trials: Sequence[TrialRecord]) -> str:
    short = names_by_path(trials[0].space.domains)
    axes = [
        short[axis]
        for axis in trials[0].space.domains
        if len({canonical_json(trial.point.get(axis)) for trial in trials}) > 1
    ]
    further = [f"{len(axes) - NAMED} other axes"] if len(axes) > NAMED + 1 else axes[NAMED:]
    return _listed([*axes[:NAMED], *further])


def _listed(things: Sequence[str]) -> str:
    *others, last = things
    return f"{', '.join(others)} and {last}" if others else last
