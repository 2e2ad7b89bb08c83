"""Users' own proposers: their base class, the past trials that they are given, and the proposer that calls them.

A proposer of one's own is a class in a file of own code beside the study::

    class Near(OwnProposer):
        class Config(Frozen):
            kind: Literal["near"] = "near"

        def propose(self, trials: Sequence[PastTrial], random: np.random.Generator) -> Point | None:
            best = ranked(trials)[:1]
            return next(self.space.neighbours(dict(best[0].point), random)) if best else self.space.sample(random)
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, ClassVar, Final, Literal, final

import numpy as np

from skipstack.data.basis.errors import UserError
from skipstack.data.basis.seeding import generator
from skipstack.data.basis.user_code.configs import OwnConfig, Part
from skipstack.data.basis.user_code.files import errors_placed
from skipstack.search.ledger.events import SCORELESS, Reason
from skipstack.search.strategy.objectives.pareto import Vector
from skipstack.search.strategy.proposers.proposer import Curve, ProposedPoints, Proposer
from skipstack.search.strategy.proposers.ranks import Rank, best_first
from skipstack.spaces.domains import Json
from skipstack.spaces.space import Point, Space

TRIES: Final = 5
"""The number of calls of a user's proposer that may fail to give a new, allowed point before one is drawn at random."""


@dataclass(frozen=True, slots=True)
class PastTrial:
    """A trial, as a proposer of one's own sees it.

    ``number``: its number in the study; None for a trial of an earlier study (``search.warm_start``). ``point``: its
    value for each active axis. ``state``: ``running``, ``paused``, or the reason why it ended, such as ``completed``,
    ``stopped`` or ``diverged``. ``curve``: pairs of an epoch and its score, ascending by epoch; higher scores are
    better. It is empty until the trial first pauses or ends, and if the trial diverged or failed. ``further``: its
    values in the objectives other than the score; larger is better.
    """

    number: int | None
    point: Mapping[str, Json]
    state: Literal["running", "paused"] | Reason = "running"
    curve: Curve = ()
    further: Vector = ()

    @property
    def rank(self) -> Rank | None:
        """The key by which built-in proposers rank trials; None without a score."""
        return Rank.of("completed" if self.state == "completed" else "stopped", self.curve, self.further)

    @property
    def score(self) -> float | None:
        """The best score of a completed trial, or the last score of any other; None without a score."""
        return None if self.rank is None else self.rank.objectives[0]


def ranked(trials: Sequence[PastTrial]) -> list[PastTrial]:
    """The trials with a score, the best first, in the order of the built-in proposers.

    Completed trials come first, then the others, those with more epochs before those with fewer. Of trials with equally
    many epochs, the one with the better score comes first or, with several objectives, with the better non-dominated
    rank.
    """
    scored = [(trial, rank) for trial in trials if (rank := trial.rank) is not None]
    return [scored[place][0] for place in best_first([rank for _, rank in scored])]


class OwnProposer(ABC):
    """The base of users' proposers. A proposer has a class ``Config``, a subclass of ``Frozen`` with a ``kind``.

    ``config``: its config. ``space``: the space of the study: ``sample`` draws an allowed point, ``neighbours`` yields
    the allowed points that differ on one axis from a point, ``domains`` has the values of each axis. The constructor
    may raise UserError for a space that the proposer does not support.

    An instance is created for each call of ``propose``. So the point depends on the arguments of ``propose`` alone, and
    a study that was interrupted goes on with the same points.
    """

    part: ClassVar[Part] = "proposer"

    def __init__(self, config: Any, space: Space) -> None:
        self.config = config
        self.space = space

    @abstractmethod
    def propose(self, trials: Sequence[PastTrial], random: np.random.Generator) -> Point | None:
        """The point (a value for each active axis) of the next trial; None if there is none now.

        ``trials``: the trials of earlier studies, and then all trials of this study so far, by number. ``random``: the
        only source of randomness; it derives from the study's seed and the trial's number.

        If the point was proposed before or breaks a rule of the space, this is called again with the same ``random``,
        which gives further numbers. After ``TRIES`` such points, a point is drawn at random. After None, this is called
        again when a running trial has ended; without running trials, no further trial starts.
        """


@final
class OwnCodeProposer(Proposer):
    """Calls a proposer of the user's own for each point, and passes it the past trials of the study.

    ``own``: the config of the user's proposer. ``seed``: the study's seed. Raises UserError if the user's code is not
    loaded, and for any error of this code, with the file and, if known, the line.
    """

    waits = True  # the user's proposer may have no point until a running trial has ended

    def __init__(self, own: OwnConfig, space: Space, seed: int) -> None:
        self._own = own
        self._space = space
        self._seed = seed
        self._seen = ProposedPoints(space)
        self._earlier: list[PastTrial] = []
        self._trials: dict[int, PastTrial] = {}
        with errors_placed(own):
            own.build(space)  # may refuse the space

    def ask(self, number: int) -> Point | None:
        """The user's point for trial ``number``, or a random point after ``TRIES`` points that are not new or not
        allowed. None if the user's proposer has none, or if the space is exhausted.
        """
        source = generator(self._seed, "own proposer", number)
        for _ in range(TRIES):
            with errors_placed(self._own):
                given = self._own.build(self._space).propose((*self._earlier, *self._trials.values()), source)
                if given is None:
                    return None
                point = self._fitting(given)
            if point not in self._seen and self._space.allowed(point):
                return point
        return self._seen.unseen(source)

    def proposed(self, number: int, point: Point) -> None:
        """Record that trial ``number`` runs at ``point``."""
        self._seen.add(point)
        self._trials[number] = PastTrial(number, _read_only(point))

    def promoted(self, number: int, point: Point) -> None:
        """Record that the paused trial ``number`` runs again. Its reports so far stay known."""
        self._trials[number] = replace(self._trials[number], state="running")

    def paused(self, number: int, curve: Curve, further: Vector = ()) -> None:
        """Record that trial ``number`` paused after the reports ``curve``."""
        self._trials[number] = replace(self._trials[number], state="paused", curve=tuple(curve), further=further)

    def ended(self, number: int, reason: Reason, curve: Curve, further: Vector = ()) -> None:
        """Record that trial ``number`` ended, with its reports ``curve`` unless it diverged or failed."""
        self._trials[number] = _ended(number, self._trials[number].point, reason, curve, further)

    def observed(self, point: Point, reason: Reason, curve: Curve, further: Vector = ()) -> None:
        """Record a trial of an earlier study."""
        self._earlier.append(_ended(None, _read_only(point), reason, curve, further))

    def _fitting(self, given: object) -> Point:
        """A point that the user's proposer gave, in plain JSON values and in the order of the axes. Raises UserError if
        it does not fit the axes.
        """
        if not isinstance(given, Mapping):
            raise UserError(f"got {given!r} as a point (allowed: a value for each active axis by its path, or None)")
        try:
            point: Point = json.loads(json.dumps(dict(given), allow_nan=False, default=_plain))
        except (TypeError, ValueError) as error:
            raise UserError(f"got the point {given!r}: {error} (allowed: JSON values)") from None
        self._space.tree(point)
        return self._space.compose(lambda path, _: point[path])


def _plain(value: object) -> object:
    """The Python value of a number of numpy. Raises TypeError for any other value."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} is no JSON value")


def _ended(number: int | None, point: Mapping[str, Json], reason: Reason, curve: Curve, further: Vector) -> PastTrial:
    known = () if reason in SCORELESS else tuple(curve)
    return PastTrial(number, point, reason, known, further if known else ())


def _read_only(point: Point) -> Mapping[str, Json]:
    return MappingProxyType(dict(point))
