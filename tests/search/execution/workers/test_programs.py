"""Which trials may share a program, and as what it is counted."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from skipstack.search.execution.workers.programs import program_of
from skipstack.search.study.task import TrialTask
from skipstack.spaces.trial import TrialConfig

BASE: dict[str, Any] = {
    "model": {"stack": {"depth": 1, "hidden": 16, "composition": 0, "dropout": 0.5}},
    "training": {"epochs": 4, "optimiser": {"kind": "adam", "learning_rate": 0.01}},
}


def task(number: int = 0, *, model: dict[str, Any] | None = None, rate: float = 0.01, **fields: Any) -> TrialTask:
    tree = {
        "model": {"stack": {**BASE["model"]["stack"], **(model or {})}},
        "training": {"epochs": 4, "optimiser": {"kind": "adam", "learning_rate": rate}},
    }
    made = TrialTask(
        number=number,
        config=TrialConfig.model_validate(tree),
        seeds=(0, 1),
        order_seed=0,
        lanes="auto",
        folder=Path("trials") / str(number),
        device="cpu",
        corpus=Path("corpus"),
    )
    return replace(made, **fields)


@pytest.mark.parametrize(
    "other",
    [
        task(7, rate=0.3),
        task(3, model={"dropout": 0.0}),
        task(2, model={"forget_bias": 1.0}),
        task(1, reported=3, attempt=2, earlier=(5,)),
    ],
)
def test_trials_that_differ_in_scalars_have_one_program(other: TrialTask) -> None:
    assert program_of(other, 4) == program_of(task(), 4)


@pytest.mark.parametrize(
    "other",
    [
        task(model={"hidden": 32}),
        task(seeds=(0, 1, 2)),
        task(order_seed=1),
        task(corpus=Path("another")),
        task(device="cuda"),
    ],
)
def test_trials_that_differ_in_more_have_others(other: TrialTask) -> None:
    assert program_of(other, 4) not in (None, program_of(task(), 4))


def test_a_program_is_counted_with_all_lanes_and_with_what_takes_most() -> None:
    program = program_of(task(model={"dropout": 0.0}), 4)
    assert program is not None
    assert len(program.seeds) == 8
    config: Any = program.config
    assert config.model.stack.dropout > 0
    assert config.model.embedder.dropout > 0


@pytest.mark.parametrize(
    "alone",
    [
        task(time_left=60.0),
        task(share=2),
        task(model={"cell": "simple"}),
        task(model={"skip": {"kind": "fixed"}}),
        task(model={"depth": 3, "composition": 2, "shortcut": {"gate": "sigmoid_below_previous"}}),
    ],
)
def test_who_has_limits_of_its_own_or_might_not_be_as_by_itself_trains_alone(alone: TrialTask) -> None:
    assert program_of(alone, 4) is None


def test_on_a_gpu_networks_share_that_do_not_on_a_cpu() -> None:
    assert program_of(task(model={"cell": "simple"}, device="cuda"), 4) is not None
