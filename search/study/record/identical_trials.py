"""Detects functions that may ignore their config: trials with different configs report the same scores."""

from collections.abc import Collection, Sequence
from typing import Final

from skipstack.data.basis.counted import listed
from skipstack.data.basis.frozen import canonical_json
from skipstack.search.study.record.trial_record import TrialRecord
from skipstack.spaces.short_names import names_by_path

FEWEST: Final = 3
"""The minimum number of different configs for which equal scores are reported to the user."""

FEWEST_COARSE: Final = 10
"""The same minimum if scores may be equal by chance, such as accuracies on ten examples."""

NAMED: Final = 3
"""The maximum number of trials, and of axes, that the line for the user names."""

Curve = Sequence[tuple[int, float]]


def identical_trials(trials: Collection[TrialRecord]) -> str:
    """Return a line for the user if all ended trials of a function report the same scores; otherwise empty.

    The ended trials must have at least ``FEWEST`` different configs; ``FEWEST_COARSE`` if the scores are coarse
    (``_is_coarse``). A stopped trial is compared over the epochs that it has. Empty for trials that train networks,
    since these do not ignore their configs.
    """
    ended = [trial for trial in trials if trial.reason is not None and trial.score is not None]
    if len(ended) < FEWEST or ended[0].space.fields.model.keeps_weights:
        return ""
    longest: Curve = []
    for trial in ended:  # ends soon: the first two nearly always differ
        curve = trial.reports.curve
        if curve[: len(longest)] != longest[: len(curve)]:
            return ""
        longest = max(longest, curve, key=len)
    if len({canonical_json(trial.point) for trial in ended}) < (FEWEST_COARSE if _is_coarse(longest) else FEWEST):
        return ""
    numbers = [str(trial.number) for trial in ended]
    which = "trials" if len(ended) <= NAMED else f"all {len(ended):,} trials with a score, such as"
    return (
        f"{which} {listed(numbers[:NAMED])} reported exactly the same, though they differ in {_differences(ended)}: "
        "the function may ignore its config"
    )


def _is_coarse(curve: Curve) -> bool:
    """Whether two trials may have the same scores by chance: the curve has at most two different scores, and none with
    more than two decimals.
    """
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
    return listed([*axes[:NAMED], *further])
