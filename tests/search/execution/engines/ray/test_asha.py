"""Stopping-ASHA takes the decisions of Ray Tune's own, wherever Ray's is sound: epochs 1, 2, ... and finite scores."""

import random
from collections.abc import Callable
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skipstack.search.strategy.schedulers.config import AshaConfig
from skipstack.search.strategy.schedulers.halving import Asha
from tests.search.strategy.schedulers.traces import Report, trace

pytestmark = pytest.mark.filterwarnings("ignore")  # ray's own warnings are not ours to mend


def rays(config: AshaConfig, maximum: int, trials: int) -> Callable[[Report], str]:
    """Ray's answer to a report: ``CONTINUE`` or ``STOP``."""
    from ray.tune.schedulers import AsyncHyperBandScheduler  # takes seconds: only where it is needed

    theirs = AsyncHyperBandScheduler(
        time_attr="epoch",
        metric="score",
        mode="max",
        max_t=maximum,
        grace_period=config.grace,
        reduction_factor=config.reduction,
        brackets=1,
    )
    stand_ins = [SimpleNamespace(trial_id=str(trial)) for trial in range(trials)]
    for stand_in in stand_ins:
        theirs.on_trial_add(None, stand_in)
    return lambda report: str(
        theirs.on_trial_result(None, stand_ins[report[0]], {"epoch": report[1], "score": report[2]})
    )


@given(st.integers(0, 10**9), st.integers(1, 4), st.integers(2, 5), st.integers(0, 60), st.integers(1, 60))
@settings(max_examples=100)
def test_decisions_equal_rays_own_scheduler_on_well_formed_traces(
    seed: int, grace: int, reduction: int, longer: int, trials: int
) -> None:
    """Each trial reports epochs 1, 2, ..., all interleaved at random. The scores are distinct, and no cutoff between
    two of them equals a third: where it does, Ray's rounding decides.
    """
    config, maximum = AshaConfig(grace=grace, reduction=reduction), grace + longer
    ours, theirs = Asha(config, maximum), rays(config, maximum, trials)
    draw = random.Random(seed)
    picks = ((draw.randrange(999), draw.gauss(0, 1)) for _ in range(400))
    for report, decision in trace(ours, picks, trials):
        assert theirs(report) == ("CONTINUE" if decision.action == "continue" else "STOP")


def test_the_traces_reach_rungs_often_and_stop_and_spare_there() -> None:
    """Otherwise the comparison would say little."""
    draw = random.Random(0)
    picks = ((draw.randrange(999), draw.gauss(0, 1)) for _ in range(400))
    decided = [decision.action for _, decision in trace(Asha(AshaConfig(), 30), picks, 60) if decision.rung]
    assert decided.count("stop") > 20
    assert decided.count("continue") > 20
