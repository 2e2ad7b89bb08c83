"""How long a study waits for the next point of `flagship`, free and under three constraints that keep 1 to 2 %."""

import time
from collections.abc import Mapping

import numpy as np
import pytest

from skipstack.search.strategy.proposers.build import proposer
from skipstack.search.strategy.proposers.config import (
    EvolutionConfig,
    ModelBasedConfig,
    PlainProposerConfig,
    ProposerConfig,
)
from skipstack.search.study.study_files.study_file import load_study
from skipstack.spaces.config import Axis
from skipstack.spaces.space import Space
from tests.benchmarks.page import record

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(1200)]

RULES = ("stack.dropout + embedder.dropout < 0.25", "hidden * batch_size <= 1600", "word_size * l2 < 0.0005")

PROPOSERS: Mapping[str, ProposerConfig] = {
    "random": PlainProposerConfig(kind="random"),
    "tpe": ModelBasedConfig(kind="tpe"),
    "prior": ModelBasedConfig(kind="prior"),
    "evolution": EvolutionConfig(),
    "gp": ModelBasedConfig(kind="gp"),
    "grid": PlainProposerConfig(kind="grid"),
    "one_at_a_time": PlainProposerConfig(kind="one_at_a_time"),
}

ASKED = 16
"""Proposals that are measured, after each number of trials."""


def spaces(*, finite: bool = False) -> tuple[Space, Space]:
    """The flagship's space, free and with the rules; ``finite``: with three numbers of each continuous axis."""
    found = []
    for constraints in ((), RULES):
        config = load_study("flagship", overrides=[f"constraints+={rule}" for rule in constraints])[0].space
        if finite:
            few = {
                path: Axis.model_validate({"choice": [domain.low, (domain.low + domain.high) / 2, domain.high]})
                for path, domain in Space(config).domains.items()
                if not domain.finite and "discount" not in path
            }
            left = {path: axis for path, axis in config.axes.items() if "discount" not in path}
            config = config.model_copy(update={"axes": {**left, **few}})
        found.append(Space(config))
    return found[0], found[1]


def waits(space: Space, config: ProposerConfig, trials: int) -> list[float]:
    """CPU milliseconds of each proposal after so many trials with random scores, at random points."""
    asked = proposer(config, space, seed=0, objectives=1, trials=1000)
    source, found = np.random.default_rng(0), []
    for number in range(trials + ASKED):
        started = time.process_time()
        point = asked.ask(number) if number >= trials or config.kind in ("grid", "one_at_a_time") else None
        own = time.process_time() - started
        point = space.sample(source) if point is None else point
        assert space.allowed(point)
        started = time.process_time()
        asked.proposed(number, point)  # a walk looks for its next point here
        found.append(1000 * (own + time.process_time() - started))
        asked.ended(number, "completed", [(27, float(source.random()))])
    return found[trials + 1 :]  # at the first, the proposer takes in all that came before


@pytest.mark.parametrize("name", PROPOSERS)
def test_the_wait_for_a_point(name: str) -> None:
    waited: dict[str, dict[str, float]] = {}
    for how, space in zip(("free", "under constraints"), spaces(finite=name in ("grid", "one_at_a_time")), strict=True):
        row = waited.setdefault(f"{name}, {how}", {})
        for trials in (30, 100, 300):
            found = waits(space, PROPOSERS[name], trials)
            row |= {f"{trials} trials": float(np.median(found)), f"{trials} trials, longest": max(found)}
    record("next point", waited, "ms")
