"""Describes, in lines for the user, the trials that a study takes from earlier studies."""

from collections.abc import Iterator, Mapping

from skipstack.data.basis.counted import counted
from skipstack.search.ledger.events import Suggested, WarmStarted


def summary(event: WarmStarted) -> str:
    """Return a line with the number of trials that the proposer learns from, and the number that can be reused."""
    reusable = sum(each.recording is not None for each in event.observed)
    return (
        f"warm start: {counted(len(event.observed), 'trial')} of {event.study}, {reusable} of them reusable as they are"
        f"{_without(event.left_out)}"
    )


def tried_first(event: Suggested) -> Iterator[str]:
    """Yield a line for each earlier study on another corpus, with the trials of that study that are tried first. The
    most similar corpus comes first.
    """
    for study, alike in sorted(event.similarities.items(), key=lambda each: -each[1]):
        trials = [str(each.trial) for each in event.suggestions if each.study == study]
        which = f"trial{'s' if trials[1:] else ''} {', '.join(trials)}" if trials else "no trial"
        without = _without(event.left_out.get(study, {}))
        yield f"warm start: {study}, another corpus, similarity {alike:.2f}: {which} tried first{without}"


def _without(left_out: Mapping[str, int]) -> str:
    return "".join(f", {count} {why} left out" for why, count in left_out.items())
