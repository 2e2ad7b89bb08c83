"""Reports of trials in any order of arrival, for every scheduler."""

from collections.abc import Iterable, Iterator

from hypothesis import strategies as st

from skipstack.search.strategy.schedulers.conformance import BAD
from skipstack.search.strategy.schedulers.scheduler import Decision, Scheduler

Report = tuple[int, int, float]


def trace(subject: Scheduler, picks: Iterable[tuple[int, float]], trials: int) -> Iterator[tuple[Report, Decision]]:
    """Reports in any order of arrival: each pick is a trial's next epoch, unless that trial is over."""
    epochs = dict.fromkeys(range(trials), 0)
    for pick, score in picks:
        if not epochs:
            return
        trial = list(epochs)[pick % len(epochs)]
        epochs[trial] += 1
        report = (trial, epochs[trial], score)
        decision = subject.report(*report)
        if decision.action != "continue":
            del epochs[trial]
        yield report, decision


# Multiples of 60 interpolate exactly between neighbours for reductions 2 to 6, and tie often.
SCORES = st.integers(0, 9).map(lambda score: 60.0 * score) | st.sampled_from(BAD)
PICKS = st.lists(st.tuples(st.integers(0, 999), SCORES), max_size=120)
