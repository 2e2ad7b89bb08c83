"""Checks the promises of every scheduler. ``skipstack check`` runs these checks on users' own schedulers, the tests
also on the built-in ones.

The check ``elsewhere`` runs this module as a program in other processes (``models/conformance/elsewhere.py``).
"""

import math
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Final

import skipstack.search.strategy.schedulers.config  # noqa: F401 (it registers the built-in kinds)
from skipstack.data.basis.errors import UserError
from skipstack.data.basis.user_code.configs import OwnConfig
from skipstack.models.conformance.elsewhere import check_elsewhere, print_answers
from skipstack.models.conformance.pieces import Failure, Suite, Unchecked, on_each_subject
from skipstack.models.conformance.randomness import check_randomness
from skipstack.search.strategy.schedulers.own import OwnCodeScheduler
from skipstack.search.strategy.schedulers.scheduler import Decision, Scheduler

MODULE: Final = "skipstack.search.strategy.schedulers.conformance"
"""The path of this module, which is not ``__name__`` if it runs as a program."""

EPOCHS: Final = 6
"""The number of epochs of a trial that completes."""

LIVES: Final = 25
"""The number of studies in which a user's scheduler is checked."""

BAD: Final = (math.nan, math.inf, -math.inf)

Pick = tuple[int, float]
"""A random draw: a number that determines which running trial reports next, and the score that this trial reports."""


@dataclass(frozen=True)
class SchedulerSubject:
    """A scheduler to check in a study. ``make``: creates the scheduler, each time anew. ``picks``, ``trials`` and
    ``workers``: as for the function ``life``. ``cut``: the number of events that are replayed before promotions are
    compared (``replays``).
    """

    make: Callable[[], Scheduler]
    picks: Sequence[Pick]
    trials: int
    workers: int
    cut: int = 0

    def life(self, scheduler: Scheduler, *, failing: bool = False) -> Iterator["SchedulerEvent"]:
        """Drive ``scheduler``, and yield the events. ``failing``: whether some trials fail."""
        return life(scheduler, self.picks, trials=self.trials, workers=self.workers, failing=failing)


@dataclass(frozen=True)
class SchedulerEvent:
    """An event in the life of a scheduler: a report and the decision on it. Without a score, it is the promotion of a
    paused trial or, if ``ended``, the end of a trial.
    """

    trial: int
    epoch: int = 0
    score: float | None = None
    seconds: float = 0.0
    ended: bool = False
    decision: Decision | None = None


def life(
    scheduler: Scheduler, picks: Iterable[Pick], *, trials: int, workers: int, failing: bool = False
) -> Iterator[SchedulerEvent]:
    """Drive a scheduler as the driver does, and yield the events.

    A free worker takes a trial to promote or else a new trial. Once all trials have started, it also takes a paused
    trial that needed to wait for them. Each of ``picks`` makes one running trial report or, if ``failing``, sometimes
    fail. ``trials``: the number of trials. ``workers``: the number of trials that run at once.
    """
    running: set[int] = set()
    born = 0
    for pick, score in picks:
        while len(running) < workers:
            trial = scheduler.promotable()
            if trial is None and born == trials:
                trial = scheduler.promotable(trials)
            if trial is not None:
                scheduler.promoted(trial)
                yield SchedulerEvent(trial)
            elif born < trials:
                trial, born = born, born + 1
            else:
                break
            assert trial not in running
            running.add(trial)
        if not running:
            return
        trial = sorted(running)[pick % len(running)]
        if failing and pick % 11 == 0:
            running.remove(trial)
            scheduler.ended(trial)
            yield SchedulerEvent(trial, ended=True)
            continue
        epoch, seconds = scheduler.spending.last(trial) + 1, pick % 7 / 2
        decision = scheduler.report(trial, epoch, score, seconds)
        if decision.action != "continue":
            running.remove(trial)
        yield SchedulerEvent(trial, epoch, score, seconds, decision=decision)


def replay(scheduler: Scheduler, event: SchedulerEvent) -> Decision | None:
    """Report an event to another scheduler, and return its decision; None if the event is no report."""
    if event.score is not None:
        return scheduler.report(event.trial, event.epoch, event.score, event.seconds)
    if event.ended:
        scheduler.ended(event.trial)
    else:
        scheduler.promoted(event.trial)
    return None


def replays(subject: SchedulerSubject) -> None:
    """If the events of a study are replayed, the scheduler makes the same decisions and promotes the same trials."""
    replayed = subject.make()
    for number, event in enumerate(list(subject.life(subject.make(), failing=True))):
        if number >= subject.cut and event.score is None and not event.ended:
            due = (replayed.promotable(), replayed.promotable(subject.trials))
            if event.trial not in due:
                raise Failure(f"it promoted trial {event.trial}, and promotes {due[0]} if the same events are replayed")
        if (decision := replay(replayed, event)) != event.decision:
            raise Failure(
                f"trial {event.trial}, epoch {event.epoch}: it decided {_action(event.decision)!r}, and decides "
                f"{_action(decision)!r} if the same reports are replayed: a resumed study would be refused"
            )


def _action(decision: Decision | None) -> str | None:
    return None if decision is None else decision.action


def diverged(subject: SchedulerSubject) -> None:
    """A score that is not finite stops its trial and has no effect on other trials, as if the trial had failed."""
    scheduler, other = subject.make(), subject.make()
    for event in subject.life(scheduler):
        if event.score is not None and not math.isfinite(event.score):
            if event.decision != Decision("stop", diverged=True):
                raise Failure(f"it decided {_action(event.decision)!r} on the score {event.score} (allowed: to stop)")
            other.ended(event.trial)
        elif replay(other, event) != event.decision:
            raise Failure("its decisions depend on scores of other trials that are not finite")
        for trials in (None, subject.trials):
            if scheduler.promotable(trials) != other.promotable(trials):
                raise Failure("its promotions depend on scores that are not finite")


def ends(subject: SchedulerSubject) -> None:
    """A trial ends once; reports after its end are refused; no comparison stops it before the scheduler's earliest
    epoch; rungs are below the resource of a trial that completes.
    """
    scheduler = subject.make()
    if scheduler.earliest > scheduler.maximum:
        raise Failure(f"earliest is {scheduler.earliest} (allowed: up to {scheduler.maximum}, the epochs of a trial)")
    if list(scheduler.rungs) != sorted({rung for rung in scheduler.rungs if rung < scheduler.spending.whole}):
        raise Failure(f"rungs are {scheduler.rungs} (allowed: ascending, below {scheduler.spending.whole})")
    over: set[int] = set()
    epochs: Counter[int] = Counter()
    for event in subject.life(scheduler, failing=True):
        if event.trial in over:
            raise Failure(f"trial {event.trial} goes on after its end")
        epochs[event.trial] += event.score is not None
        decision = event.decision
        if event.ended or (decision is not None and decision.action in ("stop", "complete")):
            over.add(event.trial)
        if decision is None:
            continue
        if decision.rung not in (None, *scheduler.rungs) or (decision.action == "pause" and decision.rung is None):
            raise Failure(f"it decided {decision.action!r} at rung {decision.rung} (allowed: {scheduler.rungs})")
        if decision.action == "stop" and not decision.diverged and epochs[event.trial] < scheduler.earliest:
            raise Failure(f"it stopped a trial after epoch {event.epoch} (earliest: {scheduler.earliest})")
        if decision.action != "continue" and _reports(scheduler, event):
            raise Failure(f"it takes a report of trial {event.trial} after it decided {decision.action!r}")


def _reports(scheduler: Scheduler, event: SchedulerEvent) -> bool:
    """Whether the scheduler accepts a further report of the event's trial."""
    try:
        scheduler.report(event.trial, event.epoch + 1, 0.0)
    except ValueError as error:
        return not str(error).startswith(f"trial {event.trial} reports epoch")
    return True


def randomness(subject: SchedulerSubject) -> None:
    """The global random states of Python and numpy are neither read nor changed."""
    check_randomness(lambda: [event.decision for event in subject.life(subject.make(), failing=True)])


PROMISES: Final[Mapping[str, Callable[[SchedulerSubject], None]]] = {
    each.__name__: each for each in (replays, diverged, ends, randomness)
}
"""The promises of every scheduler by name."""


@dataclass(frozen=True)
class SchedulerSpecimen:
    """A user's scheduler to check. ``piece``: its config, with defaults in all fields."""

    piece: OwnConfig

    @cached_property
    def subjects(self) -> list[SchedulerSubject]:
        """The scheduler in random studies. Raises Unchecked if it does not support their number of epochs."""
        try:
            self.piece.build(EPOCHS)
        except UserError as error:
            raise Unchecked(f"it does not support trials of {EPOCHS} epochs: {error}") from None
        draw = random.Random(0)
        scores = [*(number / 10 for number in range(10)), *BAD]
        return [
            SchedulerSubject(
                partial(OwnCodeScheduler, self.piece, EPOCHS),
                [(draw.randrange(1000), draw.choice(scores)) for _ in range(120)],
                trials=draw.randint(1, 20),
                workers=draw.randint(1, 6),
            )
            for _ in range(LIVES)
        ]


def answer(specimen: SchedulerSpecimen) -> Any:
    """Return the decisions of a scheduler in each study, as JSON."""
    return [[_action(event.decision) for event in each.life(each.make())] for each in specimen.subjects]


def elsewhere(specimen: SchedulerSpecimen) -> None:
    """Other processes, in which Python orders sets differently, make the same decisions."""
    said = (
        "another process decides otherwise: its decisions depend on the order of a set, which differs there, or on "
        "what the process did before"
    )
    check_elsewhere(specimen, MODULE, answer, said)


SCHEDULER_SUITE: Final = Suite(
    {**{name: on_each_subject(promise) for name, promise in PROMISES.items()}, "elsewhere": elsewhere},
    SchedulerSpecimen,
)
"""The checks of users' own schedulers."""


if __name__ == "__main__":
    print_answers("scheduler", SchedulerSpecimen, answer)
