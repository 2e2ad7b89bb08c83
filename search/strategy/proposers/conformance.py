"""Checks the promises of every proposer. ``skipstack check`` runs these checks on users' own proposers, the tests also
on the built-in ones.

The check ``elsewhere`` runs this module as a program in other processes (``models/conformance/elsewhere.py``).
"""

import json
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Final

import skipstack.search.strategy.proposers.config  # noqa: F401 (it registers the built-in kinds)
from skipstack.data.basis.errors import UserError
from skipstack.data.basis.frozen import canonical_json
from skipstack.data.basis.user_code.configs import OwnConfig
from skipstack.models.conformance.elsewhere import check_elsewhere, print_answers
from skipstack.models.conformance.pieces import Failure, Suite, Unchecked, on_each_subject
from skipstack.models.conformance.randomness import check_randomness
from skipstack.search.ledger.events import Reason
from skipstack.search.strategy.objectives.pareto import Vector
from skipstack.search.strategy.proposers.own import OwnCodeProposer
from skipstack.search.strategy.proposers.proposer import Curve, Proposer
from skipstack.spaces.space import Point, Space, SpaceConfig

MODULE: Final = "skipstack.search.strategy.proposers.conformance"
"""The path of this module, which is not ``__name__`` if it runs as a program."""

LENGTH: Final = 14
"""The number of trials in each study that the checks simulate."""

FINITE: Final = Space(
    SpaceConfig.model_validate(
        {
            "axes": {
                "model.stack.depth": {"choice": [1, 2, 3]},
                "model.stack.composition": {"choice": [1, 2, 5], "when": {"model.stack.depth": [2, 3]}},
                "training.optimiser.kind": {"choice": ["sgd", "adam"]},
                "training.optimiser.momentum": {
                    "choice": [0.0, 0.9],
                    "when": {"training.optimiser.kind": ["sgd"]},
                },
            },
            "constraints": ["shortcut_in_use"],
        }
    )
)
"""15 points: 5 stacks (compositions 2 and 5 have no shortcut at depth 2) and 3 optimisers."""

MIXED: Final = Space(
    SpaceConfig.model_validate(
        {
            "axes": {
                "training.optimiser.kind": {"choice": ["sgd", "adam"]},
                "model.stack.depth": {"choice": [1, 3, 5]},
                "model.stack.hidden": {"integer": [8, 64]},
                "training.optimiser.learning_rate": {"log": [1e-4, 1e-1]},
                "training.optimiser.momentum": {"real": [0.0, 0.9], "when": {"training.optimiser.kind": ["sgd"]}},
                "training.optimiser.beta1": {"real": [0.5, 0.95], "when": {"training.optimiser.kind": ["adam"]}},
                "training.optimiser.beta2": {"real": [0.9, 0.999], "when": {"training.optimiser.kind": ["adam"]}},
            }
        }
    )
)
"""Conditional axes, choices, integers and real numbers."""


@dataclass(frozen=True)
class ProposerSubject:
    """A proposer to check. ``make``: creates it, each time anew. ``objectives``: the number of its objectives."""

    make: Callable[[], Proposer]
    space: Space
    objectives: int = 1

    def life(self, seed: int, proposer: Proposer | None = None) -> list["ProposerEvent"]:
        """The events of ``LENGTH`` trials of ``proposer``; None means a new proposer."""
        return list(live(proposer or self.make(), seed, LENGTH, objectives=self.objectives))


@dataclass(frozen=True)
class ProposerEvent:
    """An event in the life of a proposer: trial ``number`` was proposed or, if there is a ``reason``, it ended."""

    number: int
    point: Point
    reason: Reason | None = None
    curve: Curve = ()
    further: Vector = ()


def live(proposer: Proposer, seed: int, trials: int, parallel: int = 4, objectives: int = 1) -> Iterator[ProposerEvent]:
    """Drive a proposer, and yield the events. Up to ``parallel`` trials run at once, and end in any order for any
    reason. ``seed``: determines order, reasons and scores.
    """
    draw = random.Random(seed)
    running: dict[int, Point] = {}
    number, left = 0, True
    while running or (left and number < trials):
        if left and number < trials and len(running) < parallel and (not running or draw.random() < 0.6):
            point = proposer.ask(number)
            left = point is not None or (proposer.waits and bool(running))
            if point is None:
                continue
            proposer.proposed(number, point)
            running[number] = point
            yield ProposerEvent(number, point)
            number += 1
        else:
            ending = draw.choice(list(running))
            reasons: list[Reason] = ["completed", "completed", "stopped", "stopped", "diverged", "failed"]
            reason = draw.choice(reasons)
            curve = [(epoch, draw.random()) for epoch in range(1, draw.randint(2, 6))]
            if reason == "diverged":
                curve[-1] = (curve[-1][0], float("nan"))
            further = tuple(-float(draw.randint(1000, 9000)) for _ in range(objectives - 1))
            proposer.ended(ending, reason, curve, further)
            yield ProposerEvent(ending, running.pop(ending), reason, curve, further)


def replay(proposer: Proposer, event: ProposerEvent) -> None:
    """Report an event to another proposer. The keys of the point are sorted, since their order must not matter."""
    if event.reason is None:
        proposer.proposed(event.number, json.loads(canonical_json(event.point)))
    else:
        proposer.ended(event.number, event.reason, event.curve, event.further)


def points(subject: ProposerSubject) -> None:
    """Each proposed point is allowed, is plain JSON, and was not proposed before."""
    proposed = [each.point for each in subject.life(0) if each.reason is None]
    if not proposed:
        raise Failure("it proposes no point")
    for number, point in enumerate(proposed):
        if (why := subject.space.refusal(point)) is not None:
            raise Failure(f"the point of trial {number}: {why}")
        if json.loads(json.dumps(point)) != point:
            raise Failure(f"the point of trial {number}, {point}, is another one after JSON")
    if len({canonical_json(point) for point in proposed}) < len(proposed):
        raise Failure("it proposes a point twice")


def asking(subject: ProposerSubject) -> None:
    """Asking changes nothing: the proposer gives the same point if it is asked again, or if it was asked for another
    trial before.
    """
    asked, quiet = subject.make(), subject.make()
    for event in subject.life(5, quiet):
        asked.ask(99)
        replay(asked, event)
    expected = quiet.ask(LENGTH)
    if [asked.ask(LENGTH), asked.ask(LENGTH)] != [expected, expected]:
        raise Failure("the same history gives other points after further questions: it keeps state between them")


def replays(subject: ProposerSubject) -> None:
    """If the history of a study is replayed up to any trial, the proposer gives the same next point as in the study."""
    for seed in (0, 1):
        lived, replayed = subject.make(), subject.make()
        asked = 0
        for event in live(lived, seed, LENGTH, objectives=subject.objectives):
            replay(replayed, event)
            asked += event.reason is None
            if event.number % 5 == 0:
                mine, theirs = lived.ask(asked), replayed.ask(asked)
                if (theirs, list(theirs or ())) != (mine, list(mine or ())):  # in the same order, too
                    raise Failure(
                        f"after {asked} trials it proposes {theirs} if their history is replayed, and {mine} if not: "
                        "a resumed study would go on otherwise"
                    )


def randomness(subject: ProposerSubject) -> None:
    """The global random states of Python and numpy are neither read nor changed."""
    check_randomness(lambda: [each.point for each in subject.life(0)])


PROMISES: Final[Mapping[str, Callable[[ProposerSubject], None]]] = {
    each.__name__: each for each in (points, asking, replays, randomness)
}
"""The promises of every proposer by name."""


@dataclass(frozen=True)
class ProposerSpecimen:
    """A user's proposer to check. ``piece``: its config, with defaults in all fields."""

    piece: OwnConfig

    @cached_property
    def subjects(self) -> list[ProposerSubject]:
        """The proposer on each space that it supports. Raises Unchecked if it supports none."""
        found, refusals = [], []
        for space in (FINITE, MIXED):
            try:
                self.piece.build(space)
            except UserError as error:
                refusals.append(str(error))
            else:
                found.append(ProposerSubject(partial(OwnCodeProposer, self.piece, space, 3), space))
        if not found:
            raise Unchecked(f"it supports neither space of the check: {'; '.join(refusals)}")
        return found


def answer(specimen: ProposerSpecimen) -> Any:
    """Return the points that a proposer proposes on each space, as JSON."""
    return [[list(each.point.items()) for each in subject.life(7)] for subject in specimen.subjects]


def elsewhere(specimen: ProposerSpecimen) -> None:
    """Other processes, in which Python orders sets differently, propose the same points."""
    said = (
        "another process proposes other points: they depend on the order of a set, which differs there, or on what the "
        "process did before"
    )
    check_elsewhere(specimen, MODULE, answer, said)


PROPOSER_SUITE: Final = Suite(
    {**{name: on_each_subject(promise) for name, promise in PROMISES.items()}, "elsewhere": elsewhere},
    ProposerSpecimen,
)
"""The checks of users' own proposers."""


if __name__ == "__main__":
    print_answers("proposer", ProposerSpecimen, answer)
