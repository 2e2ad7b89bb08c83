"""Small spaces: when a hint to train all of them whole is given, and whether its costs are those of the searches."""

from typing import Any

import pytest

from skipstack.search.api.planning.small_space import FEW, small_space
from tests.search.made_up import DEPTH, HIDDEN, RATE, study

TWO = {DEPTH: {"choice": [1, 3]}}
ASHA = {"kind": "asha", "grace": 1, "reduction": 3}


def of(axes: dict[str, Any], **search: Any) -> tuple[int, int, int] | None:
    found = small_space(study(axes, **{"proposer": "grid", "scheduler": ASHA, **search}))
    return None if found is None else (found.configs, found.epochs, found.expected)


def test_of_two_configs_the_second_is_never_trained_to_its_end_unless_nothing_is_stopped() -> None:
    """The base has its 6 epochs; the other is better or worse than it at the rung of epoch 1, or of epoch 3."""
    found = of(TWO)
    assert found is not None
    configs, epochs, expected = found
    assert (configs, epochs) == (2, 12)
    assert 7 <= expected <= 9


def test_it_says_what_to_write_and_what_that_costs() -> None:
    assert str(small_space(study(TWO, proposer="grid", scheduler=ASHA))).startswith(
        "hint: the space has only 2 configs; `scheduler: none`, under `search` in the study file, trains each to its "
        "end, for 12 epochs in all instead of about "
    )


@pytest.mark.parametrize(
    ("axes", "search"),
    [
        (TWO, {"scheduler": "none"}),
        (TWO, {"trials": 1}),
        ({}, {}),
        ({RATE: {"log": [0.01, 0.1]}}, {"proposer": "random"}),
        ({HIDDEN: {"integer": [1, FEW + 1]}}, {}),
        (TWO, {"seeds": 4, "scheduler": {**ASHA, "resource": "seeds"}}),
    ],
)
def test_nothing_is_said_where_it_would_change_nothing_or_cost_much(axes: Any, search: Any) -> None:
    assert of(axes, **search) is None
