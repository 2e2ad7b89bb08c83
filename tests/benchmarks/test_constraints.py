"""How long a study waits for the next point under three constraints of its own, which keep 1 % of 33 axes."""

import os
import platform
import time
from collections.abc import Mapping

import numpy as np
import optuna
import pytest

from skipstack.search.proposers.build import proposer
from skipstack.search.proposers.config import EvolutionConfig, ModelBasedConfig, PlainProposerConfig, ProposerConfig
from skipstack.search.study_files.study_file import load_study
from skipstack.spaces.space import Space

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(1200)]

RULES = ("stack.dropout + embedder.dropout < 0.25", "hidden * batch_size <= 1600", "word_size * l2 < 0.0005")

PROPOSERS: Mapping[str, ProposerConfig] = {
    "random": PlainProposerConfig(kind="random"),
    "tpe": ModelBasedConfig(kind="tpe"),
    "prior": ModelBasedConfig(kind="prior"),
    "evolution": EvolutionConfig(),
    "gp": ModelBasedConfig(kind="gp"),
}
"""Those that can propose on a space with continuous axes."""


def spaces() -> tuple[Space, Space]:
    """The flagship's space, free and with the rules."""
    ruled = load_study("flagship", overrides=[f"constraints+={rule}" for rule in RULES])[0].space
    return Space(load_study("flagship")[0].space), Space(ruled)


def waits(space: Space, config: ProposerConfig, trials: int) -> list[float]:
    """CPU milliseconds of each proposal after the first half, of trials with random scores."""
    asked = proposer(config, space, seed=0, objectives=1, trials=trials)
    scores, found = np.random.default_rng(0), []
    for number in range(trials):
        started = time.process_time()
        point = asked.ask(number)
        found.append(1000 * (time.process_time() - started))
        assert point is not None
        assert space.allowed(point)
        asked.proposed(number, point)
        asked.ended(number, "completed", [(27, float(scores.random()))])
    return found[trials // 2 :]


@pytest.mark.parametrize("name", PROPOSERS)
def test_the_wait_for_a_point_that_keeps_the_constraints(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    free, ruled = spaces()
    source = np.random.default_rng(0)
    wild = [free.compose(lambda path, domain: domain.sample(source)) for _ in range(2000)]
    share = np.mean([all(rule.holds(free.tree(point), point) for rule in ruled.rules) for point in wild])
    trials = 30 if name == "gp" else 120
    told = []
    for space in (free, ruled):
        found = waits(space, PROPOSERS[name], trials)
        told.append(f"median {np.median(found):.1f}, 95 % below {np.quantile(found, 0.95):.1f}, all {max(found):.1f}")
    with capsys.disabled():
        print(
            f"\n{os.cpu_count()} cores, {platform.machine()}, optuna {optuna.__version__}, {len(ruled.domains)} axes, "
            f"{100 * share:.1f} % kept, {name}, CPU ms a proposal after {trials // 2} trials: without constraints "
            f"{told[0]}; with {len(RULES)} {told[1]}"
        )
