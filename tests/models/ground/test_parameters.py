"""Roles of parameters: kept by whatever is done to a network, and what was read from names before."""

from copy import deepcopy
from typing import Any

import pytest
import torch
from torch import nn

from skipstack.data.tasks.tasks import TASKS
from skipstack.models.configs.model import ModelConfig
from skipstack.models.ground.parameters import BIAS, FORM, RECURRENT, SCORE, TABLE, WEIGHT, Role, role_of
from skipstack.models.layers.lanes import Lane
from skipstack.models.layers.lookup import Lookup
from skipstack.models.networks.build import Sizes, build
from skipstack.models.training.gradients import penalise

CPU = torch.device("cpu")
INPUTS = {
    "tokens": {"window_gate": True, "spelling": {"highways": 1}},
    "lstm spellings": {"spelling": {"kind": "blstm"}},
    "feature maps": {"kind": "feature_maps", "word_size": 6},
}
STACKS = {
    "shortcuts": {"composition": 2, "shortcut": {"topology": "both_two_gates", "gate": "linear"}},
    "drawn gates": {"composition": 2, "shortcut": {"gate": "bernoulli_below"}},
    "gru": {"cell": "gru", "composition": [0, 0, 0]},
    "min_lstm": {"cell": "min_lstm", "composition": [0, 0, 0]},
    "simple": {"cell": "simple", "composition": [0, 0, 0]},
    "sutskever": {"cell": "sutskever", "composition": [0, 0, 0]},
    "feedforward": {"cell": "feedforward", "composition": [0, 0, 0]},
    "skips": {"skip": {"kind": "dynamic"}},
    **{f"feedback {variant}": {"kind": "feedback", "variant": variant} for variant in ("e", "j", "i", "i_and_e")},
}
HEADS = ({"kind": "crf"}, {"kind": "biaffine", "arc_size": 4, "relation_size": 3})
NETWORKS: list[dict[str, Any]] = [
    *({"embedder": embedder, "stack": {"depth": 1}} for embedder in INPUTS.values()),
    *({"stack": stack if "kind" in stack else {"depth": 3, **stack}} for stack in STACKS.values()),
    *({"stack": {"depth": 1}, "head": head} for head in HEADS),
]


def network(parts: dict[str, Any]) -> nn.Module:
    config = ModelConfig.model_validate({**parts, "stack": {"hidden": 4, **parts["stack"]}})
    sizes = Sizes(words=9, characters=9, tags=3, task=TASKS["parsing" if config.head.kind == "biaffine" else "tagging"])
    return build(config, sizes=sizes, lanes=[Lane(seed=0)], dtype=torch.float32, device=CPU)[0]


def by_name(name: str) -> Role:
    """Of files that were written while names decided."""
    own = name.rpartition(".")[2]
    if name.endswith(("bias_between", "arcs.bias")):
        return SCORE
    if own.startswith("bias"):
        return BIAS
    return {"recurrent": RECURRENT, "table": TABLE, "bilinear": FORM}.get(own, WEIGHT)


@pytest.mark.parametrize("parts", NETWORKS, ids=str)
def test_every_parameter_has_the_role_of_its_name(parts: dict[str, Any]) -> None:
    roles = {name: role_of(each) for name, each in network(parts).named_parameters()}
    assert roles == {name: by_name(name) for name in roles}


@pytest.mark.parametrize("parts", NETWORKS, ids=str)
def test_the_penalty_counts_every_weight_scores_of_moves_and_of_arcs_among_them_but_no_bias(
    parts: dict[str, Any],
) -> None:
    parameters = dict(network(parts).named_parameters())
    for each in parameters.values():
        each.data.fill_(2.0)
        each.grad = torch.zeros_like(each)
    penalise(parameters, [0.5])
    counted = {name for name, each in parameters.items() if each.grad is not None and each.grad.all()}
    named = {name for name in parameters if not name.rpartition(".")[2].startswith("bias")}
    assert counted == named | ({"head.bias_between", "head.arcs.bias"} & parameters.keys())
    penalise(parameters, [0.5], biases=True)
    for name, each in parameters.items():
        if each.grad is not None:
            assert (each.grad == (2.0 if name in counted else 1.0)).all(), name


def test_a_role_survives_copies_other_numbers_and_values_from_a_file() -> None:
    table = Lookup(2, 3, 4)
    copied = deepcopy(table).double()
    copied.load_state_dict({"table": torch.ones(2, 3, 4)})
    assert role_of(copied.table) is TABLE
    assert copied.table.requires_grad
    assert torch.equal(copied.table, torch.ones(2, 3, 4).double())
    assert not torch.equal(copied.table, table.table.double())
