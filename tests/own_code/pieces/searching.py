"""Proposers and schedulers, as somebody would write them beside a study."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from skipstack.own import Curve, Frozen, OwnProposer, OwnScheduler, PastTrial, Point, Space, UserError, ranked


class Near(OwnProposer):
    """A neighbour of one of the best trials; the first points are random."""

    class Config(Frozen):
        kind: Literal["near"] = "near"
        width: Annotated[int, Field(ge=1)] = 2

    def propose(self, trials: Sequence[PastTrial], random: np.random.Generator) -> Point | None:
        best = ranked(trials)[: self.config.width]
        if not best:
            return self.space.sample(random)
        return next(self.space.neighbours(dict(random.choice(best).point), random), None)  # type: ignore[arg-type]


class Backwards(OwnProposer):
    """Every point of a finite space, the last first; then None."""

    class Config(Frozen):
        kind: Literal["backwards"] = "backwards"

    def __init__(self, config: Config, space: Space) -> None:
        if not space.finite:
            raise UserError("got a continuous axis (allowed: choices)")
        self.points = list(space.enumerate())[::-1]

    def propose(self, trials: Sequence[PastTrial], random: np.random.Generator) -> Point | None:
        begun = [trial.point for trial in trials if trial.number is not None]
        return next((point for point in self.points if point not in begun), None)


class Plateau(OwnScheduler):
    """Stops a trial whose score has not risen for ``patience`` epochs."""

    class Config(Frozen):
        kind: Literal["plateau"] = "plateau"
        patience: Annotated[int, Field(ge=1)] = 1

    def continues(self, trial: int, curves: Mapping[int, Curve]) -> bool:
        scores = [score for _, score in curves[trial]]
        late = scores[-self.config.patience :]
        return len(scores) <= len(late) or max(late) > max(scores[: -len(late)])


class BestHalf(OwnScheduler):
    """Stops a trial that is below half of the trials that reported its epoch."""

    class Config(Frozen):
        kind: Literal["best_half"] = "best_half"

    def continues(self, trial: int, curves: Mapping[int, Curve]) -> bool:
        epoch, score = curves[trial][-1]
        scores = [curve[epoch - 1][1] for curve in curves.values() if len(curve) >= epoch]
        return bool(score >= np.median(scores))
