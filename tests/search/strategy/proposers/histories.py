"""Spaces with conditions, and proposers on them."""

from collections.abc import Callable, Mapping

from skipstack.search.strategy.proposers.config import EvolutionConfig, PathConfig
from skipstack.search.strategy.proposers.conformance import FINITE, MIXED, ProposerSubject
from skipstack.search.strategy.proposers.evolution import Evolution
from skipstack.search.strategy.proposers.gaussian_process import GaussianProcess
from skipstack.search.strategy.proposers.path import Path
from skipstack.search.strategy.proposers.prior import Prior
from skipstack.search.strategy.proposers.proposer import Listed, Proposer, Random, Walk
from skipstack.search.strategy.proposers.tpe import Tpe
from skipstack.spaces.space import Point, Space, SpaceConfig

DEPTH, COMPOSITION, HIDDEN = "model.stack.depth", "model.stack.composition", "model.stack.hidden"
KIND, RATE = "training.optimiser.kind", "training.optimiser.learning_rate"
MOMENTUM, BETA1, BETA2 = "training.optimiser.momentum", "training.optimiser.beta1", "training.optimiser.beta2"

KINDS = Space(
    SpaceConfig.model_validate(
        {
            "axes": {
                KIND: {"choice": ["sgd", "adam"]},
                DEPTH: {"ordinal": [1, 3, 5]},
                COMPOSITION: {"ordinal": [1, 2], "when": {DEPTH: [3]}},
                HIDDEN: {"lograndint": [8, 64], "step": 4},
                RATE: {"lognormal": [-5.0, 1.0]},
                MOMENTUM: {"uniform": [0.0, 0.9], "step": 0.1, "when": {KIND: ["sgd"]}},
                BETA1: {"loguniform": [0.5, 0.95], "step": 0.05, "when": {KIND: ["adam"]}},
            }
        }
    )
)
"""The kinds of domains that MIXED lacks, two of them conditional. Which composition there is, an ordinal decides."""

WIDE = Space(
    SpaceConfig.model_validate(
        {
            "base": {"model": {"stack": {"kind": "recurrent", "depth": 3, "composition": 2}}},
            "axes": {
                KIND: {"choice": ["adam", "sgd"]},
                DEPTH: {"choice": [1, 2, 3, 4, 5]},
                COMPOSITION: {"choice": [1, 2, 5], "when": {DEPTH: [3]}},
                MOMENTUM: {"choice": [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9], "when": {KIND: ["sgd"]}},
            },
            "constraints": ["shortcut_in_use"],
        }
    )
)
"""16 points one axis at a time: the base (SGD, depth 3, composition 2), 1 other optimiser, 3 other depths (2 has no
shortcut), 2 other compositions, 9 other momenta."""

SMALL = EvolutionConfig(population=4, sample=2)
"""So that a short history has children."""


STEPS = PathConfig(
    points=({KIND: "sgd", DEPTH: 5, HIDDEN: 8, RATE: 0.1, MOMENTUM: 0.5},),
    starts=({KIND: "sgd", DEPTH: 1, HIDDEN: 8, RATE: 0.01, MOMENTUM: 0.0},),
    changes={KIND: "adam", DEPTH: 3, HIDDEN: 64, RATE: 0.001, BETA1: 0.8, BETA2: 0.95},
)
"""4 changes at first, and 2 more once Adam is taken: 20 points on the way, if each step has a score."""

Make = Callable[[], Proposer]
MAKERS: Mapping[str, Make] = {
    "grid": lambda: Walk(FINITE, FINITE.enumerate()),
    "one at a time": lambda: Walk(WIDE, WIDE.one_at_a_time()),
    "listed": lambda: Listed(FINITE, list(FINITE.enumerate())[::-1]),
    "path": lambda: Path(MIXED, STEPS),
    "random, finite": lambda: Random(FINITE, seed=3),
    "random, mixed": lambda: Random(MIXED, seed=3),
    "tpe, finite": lambda: Tpe(FINITE, seed=3),
    "tpe, mixed": lambda: Tpe(MIXED, seed=3),
    "tpe, kinds": lambda: Tpe(KINDS, seed=3),
    "tpe, two objectives": lambda: Tpe(MIXED, seed=3, objectives=2),
    "tpe per second, mixed": lambda: Tpe(MIXED, 3, 1, 20),
    "random, kinds": lambda: Random(KINDS, seed=3),
    "prior, kinds": lambda: Prior(KINDS, seed=3),
    "prior, finite": lambda: Prior(FINITE, seed=3),
    "prior, mixed": lambda: Prior(MIXED, seed=3),
    "prior, two objectives": lambda: Prior(MIXED, seed=3, objectives=2),
    "gp, finite": lambda: GaussianProcess(FINITE, seed=3, random_trials=4),
    "gp, mixed": lambda: GaussianProcess(MIXED, seed=3, random_trials=5),
    "gp, kinds": lambda: GaussianProcess(KINDS, seed=3, random_trials=5),
    "gp per second, mixed": lambda: GaussianProcess(MIXED, 3, 1, 20, random_trials=5),
    "gp, two objectives": lambda: GaussianProcess(MIXED, seed=3, objectives=2, random_trials=5),
    "evolution, finite": lambda: Evolution(FINITE, 3, SMALL),
    "evolution, mixed": lambda: Evolution(MIXED, 3, SMALL),
    "evolution, kinds": lambda: Evolution(KINDS, 3, SMALL),
    "evolution, two objectives": lambda: Evolution(MIXED, 3, SMALL),
}


def subject(name: str) -> ProposerSubject:
    """The proposer called ``name`` of ``MAKERS``, on its space."""
    spaces = {"one at a time": WIDE, "grid": FINITE, "listed": FINITE, "finite": FINITE, "kinds": KINDS}
    space = spaces.get(name.split(", ")[-1], MIXED)
    return ProposerSubject(MAKERS[name], space, 2 if name.endswith("two objectives") else 1)


def climb(proposer: Proposer, trials: int, score: Callable[[Point], float]) -> list[float]:
    """The scores of so many trials one after the other, each told to the proposer before it is asked again."""
    scores: list[float] = []
    for number in range(trials):
        point = proposer.ask(number)
        assert point is not None
        proposer.proposed(number, point)
        scores.append(score(point))
        proposer.ended(number, "completed", [(1, scores[-1] - 0.1), (2, scores[-1])])
    return scores
