"""Proposers and schedulers with a mistake each, by their names."""

import itertools
import random as python_random
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from skipstack.own import Curve, Frozen, OwnProposer, OwnScheduler, PastTrial, Point

CALLS = itertools.count()
AXES = {"depth", "composition", "kind", "momentum", "hidden", "rate"}


class Raises(OwnProposer):
    class Config(Frozen):
        kind: Literal["raises"] = "raises"

    def propose(self, trials: Sequence[PastTrial], random: np.random.Generator) -> Point | None:
        return dict(trials[5].point)


class OutsideTheSpace(OwnProposer):
    class Config(Frozen):
        kind: Literal["outside_the_space"] = "outside_the_space"

    def propose(self, trials: Sequence[PastTrial], random: np.random.Generator) -> Point | None:
        return self.space.sample(random) | {"model.stack.depth": 4}


class NoPoint(OwnProposer):
    class Config(Frozen):
        kind: Literal["no_point"] = "no_point"

    def propose(self, trials: Sequence[PastTrial], random: np.random.Generator) -> Any:
        return list(self.space.sample(random))


class Nothing(OwnProposer):
    class Config(Frozen):
        kind: Literal["nothing"] = "nothing"

    def propose(self, trials: Sequence[PastTrial], random: np.random.Generator) -> Point | None:
        return None


class Counts(OwnProposer):
    class Config(Frozen):
        kind: Literal["counts"] = "counts"

    def propose(self, trials: Sequence[PastTrial], random: np.random.Generator) -> Point | None:
        return self.space.sample(np.random.default_rng(next(CALLS)))


class GlobalNumbers(OwnProposer):
    class Config(Frozen):
        kind: Literal["global_numbers"] = "global_numbers"

    def propose(self, trials: Sequence[PastTrial], random: np.random.Generator) -> Point | None:
        state = python_random.getstate()
        drawn = python_random.randrange(10**6)
        python_random.setstate(state)
        return self.space.sample(np.random.default_rng([drawn, len(trials)]))


class InAnyOrder(OwnProposer):
    class Config(Frozen):
        kind: Literal["in_any_order"] = "in_any_order"

    def propose(self, trials: Sequence[PastTrial], random: np.random.Generator) -> Point | None:
        return self.space.sample(np.random.default_rng([len(trials), *map(len, AXES)]))


class Unsure(OwnScheduler):
    class Config(Frozen):
        kind: Literal["unsure"] = "unsure"

    def continues(self, trial: int, curves: Mapping[int, Curve]) -> Any:
        return None


class Looks(OwnScheduler):
    class Config(Frozen):
        kind: Literal["looks"] = "looks"

    def continues(self, trial: int, curves: Mapping[int, Curve]) -> bool:
        return curves[trial + 1][0][1] < 1


class Remembers(OwnScheduler):
    class Config(Frozen):
        kind: Literal["remembers"] = "remembers"

    def continues(self, trial: int, curves: Mapping[int, Curve]) -> bool:
        return next(CALLS) % 5 > 0


class Tosses(OwnScheduler):
    class Config(Frozen):
        kind: Literal["tosses"] = "tosses"

    def continues(self, trial: int, curves: Mapping[int, Curve]) -> bool:
        python_random.seed(trial)
        return python_random.random() < 0.9


class Shuffles(OwnScheduler):
    class Config(Frozen):
        kind: Literal["shuffles"] = "shuffles"

    def continues(self, trial: int, curves: Mapping[int, Curve]) -> bool:
        return bool(np.random.default_rng([trial, *map(len, AXES)]).random() < 0.9)
