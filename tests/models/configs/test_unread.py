"""Configs of one network: training both, weights and losses bit for bit, is the truth that they are held against."""

from collections.abc import Mapping
from functools import cache
from typing import Any

import pytest
import torch

from skipstack.data.basis.frozen import Frozen, canonical_json
from skipstack.models.configs.heads import CrfConfig, MarginConfig
from skipstack.models.configs.model import ModelConfig
from skipstack.models.configs.skips import DynamicSkipConfig
from skipstack.models.configs.training import TrainingConfig
from skipstack.models.configs.unread import without_unread
from skipstack.models.layers.lanes import Lane
from skipstack.models.training.loop import Training
from tests.models.corpora import small_corpus
from tests.models.steps import steps

Model = dict[str, Any]
INPUT: Model = {"word_size": 6, "capital_size": 0, "affix_characters": 0, "window": 0, "dropout": 0.2}


def model(*, embedder: Model | None = None, **stack: Any) -> Model:
    """Three layers with a shortcut, unless something else is said."""
    usual = {"depth": 3, "hidden": 4, "composition": 2, "dropout": 0.3}
    return {"embedder": {**INPUT, **(embedder or {})}, "stack": {**usual, **stack}}


def shortcut(**given: Any) -> Model:
    return model(shortcut=given)


def feedback(**given: Any) -> Model:
    return {"embedder": INPUT, "stack": {"kind": "feedback", "hidden": 4, "context": 2, "label_size": 3, **given}}


def maps(**given: Any) -> Model:
    embedder = {"kind": "feature_maps", "word_size": 6, **given}
    return {"embedder": embedder, "stack": {"depth": 1, "hidden": 4}}


@cache
def trained(text: str) -> tuple[torch.Tensor, Mapping[str, torch.Tensor]]:
    """The losses of six updates, and all weights after them, by their names."""
    run = Training(
        model=ModelConfig.model_validate_json(text),
        training=TrainingConfig(batch_size=4),
        corpus=small_corpus(),
        lanes=[Lane(seed=0), Lane(seed=1)],
        order_seed=0,
        device=torch.device("cpu"),
    )
    return torch.stack(steps(run, 6)), run.model.state_dict()


def truth(one: Model, other: Model) -> bool:
    (losses, weights), (theirs, others) = (trained(canonical_json(each)) for each in (one, other))
    return (
        torch.equal(losses, theirs)
        and weights.keys() == others.keys()
        and all(torch.equal(weight, others[name]) for name, weight in weights.items())
    )


def told(one: Model, other: Model) -> bool:
    mine, theirs = (without_unread(ModelConfig.model_validate(each), vectors=False) for each in (one, other))
    return mine == theirs


def chosen(head: str, **given: Any) -> Model:
    return {**model(depth=1, skip={"kind": "dynamic", "reach": 2, "policy_hidden": 3, **given}), "head": {"kind": head}}


WORDLESS = {"word_size": 0, "capital_size": 3, "window": 3}

SAME: dict[str, tuple[Model, Model]] = {
    "a window of one token": (model(embedder={"window": 0}), model(embedder={"window": 1})),
    "the size of affixes without affixes": (model(embedder={"affix_size": 3}), model()),
    "a gate of words without words": (model(embedder={**WORDLESS, "window_gate": True}), model(embedder=WORDLESS)),
    "what becomes of vectors without any": (model(embedder={"word_vectors": "frozen"}), model()),
    "feature maps that no layer computes": (maps(layers="none", sets=2, maps=9), maps(layers="none")),
    "compositions of the same sources": (model(composition=2), model(composition=5)),
    "a composition and its sources": (model(composition=2), model(composition=[0, 0, 1])),
    "a gate without a shortcut": (model(depth=1, shortcut={"gate": "none"}), model(depth=1)),
    "a topology without a shortcut": (
        model(depth=2, composition=2, shortcut={"topology": "both_gated"}),
        model(depth=2, composition=0),
    ),
    "a gate of the topology without one": (
        shortcut(topology="both_ungated", gate="none"),
        shortcut(topology="both_ungated"),
    ),
    "the probability of no coin": (shortcut(probability=0.3), shortcut()),
    "the output of a cell state that no skip enters": (
        shortcut(topology="hidden_gated", cell_output="updated"),
        shortcut(topology="hidden_gated"),
    ),
    "the output of a block": (shortcut(cell_output="updated"), shortcut()),
    "both gated by no gate, with the output of the updated state": (
        shortcut(topology="both_two_gates", gate="none", cell_output="updated"),
        shortcut(topology="both_ungated", cell_output="updated"),
    ),
    "both gated by no gate": (shortcut(topology="both_gated", gate="none"), shortcut(topology="both_ungated")),
    "two gates that are none": (
        shortcut(topology="both_two_gates", gate="none"),
        shortcut(topology="both_gated", gate="none"),
    ),
    "an ungated output": (
        shortcut(topology="block_output_ungated", gate="none"),
        shortcut(topology="block", gate="none"),
    ),
    "an ungated inside": (
        shortcut(topology="block_internal_ungated", gate="none"),
        shortcut(topology="block", gate="none"),
    ),
    "a gate of the skip that is the layer below": (
        model(composition=[0, 1, 2], shortcut={"gate": "sigmoid_skipped"}),
        model(composition=[0, 1, 2]),
    ),
    "a gate of an input that is below": (
        model(composition=["input", 0, 2], hidden=6, shortcut={"gate": "sigmoid_skipped"}),
        model(composition=["input", 0, 2], hidden=6),
    ),
    "a residual connection of one layer": (model(depth=1, residual=True), model(depth=1)),
    "where one layer is joined": (model(depth=1, join="each_layer"), model(depth=1)),
    "where one direction is joined": (
        model(directions="forward", join="each_layer"),
        model(directions="forward"),
    ),
    "a forget gate that the cell has not": (
        model(cell="simple", forget_bias=1.0, composition=0),
        model(cell="simple", composition=0),
    ),
    "a forget gate that an update gate stands for": (
        model(cell="min_gru", forget_bias=1.0, composition=0),
        model(cell="min_gru", composition=0),
    ),
    "layers that are none": (model(depth=0, hidden=9, dropout=0.1, directions="forward"), model(depth=0)),
    "which of one layer skips": (
        model(depth=1, skip={"kind": "fixed"}, skipping="top"),
        model(depth=1, skip={"kind": "fixed"}),
    ),
    "a skip of a top layer that has a shortcut": (model(skip={"kind": "fixed"}, skipping="top"), model()),
    "the part of a reward that a sentence has as a whole": (chosen("crf", reward_to_go=False), chosen("crf")),
    "the part of a likelihood": (
        chosen("softmax", reward="likelihood", reward_to_go=False),
        chosen("softmax", reward="likelihood"),
    ),
    "the scale of weights that have a range": (
        {**model(), "initial_range": 0.1, "initial_scale": 0.5},
        {**model(), "initial_range": 0.1},
    ),
    "labels that are not fed back": (feedback(variant="e", feedback="gold"), feedback(variant="e")),
    "vectors of labels that hidden layers do not read": (feedback(variant="e", label_size=7), feedback(variant="e")),
    "vectors of labels that are fed back themselves": (feedback(variant="j", label_size=7), feedback(variant="j")),
}

DIFFERENT: dict[str, tuple[Model, Model]] = {
    "a forget gate of a minLSTM": (
        model(cell="min_lstm", forget_bias=1.0, composition=0),
        model(cell="min_lstm", composition=0),
    ),
    "the part of a reward that each tag has of its own": (chosen("softmax", reward_to_go=False), chosen("softmax")),
    "a gate with a shortcut": (shortcut(gate="none"), shortcut()),
    "a composition": (model(composition=1), model(composition=2)),
    "a source": (model(composition="input", hidden=6), model(composition=1, hidden=6)),
    "a gate of an input further down": (
        model(composition="input", hidden=6, shortcut={"gate": "sigmoid_skipped"}),
        model(composition="input", hidden=6),
    ),
    "a topology": (shortcut(topology="block"), shortcut(topology="block_no_output")),
    "the cell state of the output": (
        shortcut(topology="both_ungated", cell_output="updated"),
        shortcut(topology="both_ungated"),
    ),
    "the probability of a coin": (shortcut(gate="bernoulli", probability=0.3), shortcut(gate="bernoulli")),
    "a gate of a skip further down": (shortcut(gate="sigmoid_skipped"), shortcut()),
    "a gate of the skip beside a joined layer": (
        model(composition=[0, 1, 2], join="each_layer", shortcut={"gate": "sigmoid_skipped"}),
        model(composition=[0, 1, 2], join="each_layer"),
    ),
    "a gate of the skip beside a normalised layer": (
        model(composition=[0, 1, 2], normalisation="layer", shortcut={"gate": "sigmoid_skipped"}),
        model(composition=[0, 1, 2], normalisation="layer"),
    ),
    "residual connections": (model(residual=True), model()),
    "normalisation": (model(normalisation="rms"), model(normalisation="layer")),
    "where layers are joined": (model(join="each_layer"), model()),
    "directions": (model(depth=1, directions="forward"), model(depth=1)),
    "a forget gate": (model(forget_bias=1.0), model()),
    "which layers skip": (
        model(composition=0, skip={"kind": "fixed"}, skipping="top"),
        model(composition=0, skip={"kind": "fixed"}),
    ),
    "the share of the previous state beside a fixed skip": (
        model(depth=1, skip={"kind": "fixed", "previous_share": 0.5}),
        model(depth=1, skip={"kind": "fixed"}),
    ),
    "a skip of the bottom layer": (model(skip={"kind": "fixed"}), model()),
    "what becomes of a layer's dropout": (model(dropout=0.1), model()),
    "a window": (model(embedder={"window": 3}), model()),
    "a gate of words": (
        model(embedder={"window": 3, "window_gate": True}),
        model(embedder={"window": 3}),
    ),
    "the size of affixes": (
        model(embedder={"affix_characters": 2, "affix_size": 3}),
        model(embedder={"affix_characters": 2}),
    ),
    "feature maps": (maps(sets=2, maps=9), maps(sets=2, maps=10)),
    "the scale of weights": ({**model(), "initial_scale": 0.5}, model()),
    "labels that are fed back": (feedback(variant="j", feedback="gold"), feedback(variant="j")),
    "vectors of labels": (feedback(variant="i", label_size=7), feedback(variant="i")),
}


@pytest.mark.first(12)
@pytest.mark.parametrize("name", SAME)
def test_configs_of_one_network_are_told_and_train_bit_for_bit_alike(name: str) -> None:
    assert told(*SAME[name])
    assert truth(*SAME[name])


@pytest.mark.first(12)
@pytest.mark.parametrize("name", DIFFERENT)
def test_configs_of_two_networks_are_kept_apart(name: str) -> None:
    assert not told(*DIFFERENT[name])
    assert not truth(*DIFFERENT[name])


@pytest.mark.first(12)
@pytest.mark.parametrize("name", [*SAME, *DIFFERENT])
def test_a_config_without_unread_fields_is_of_the_same_network(name: str) -> None:
    for each in {**SAME, **DIFFERENT}[name]:
        config = without_unread(ModelConfig.model_validate(each), vectors=False)
        assert without_unread(config, vectors=False) == config
        assert truth(each, config.model_dump(mode="json"))


def test_words_of_pretrained_vectors_may_be_frozen() -> None:
    frozen, trainable = (
        without_unread(ModelConfig.model_validate(model(embedder={"word_vectors": how})), vectors=True)
        for how in ("frozen", "trainable")
    )
    assert frozen != trainable


@pytest.mark.parametrize(
    ("config", "field"),
    [(CrfConfig(), "boundary_scores"), (MarginConfig(), "boundary_scores"), (DynamicSkipConfig(), "reward_to_go")],
)
def test_a_field_that_earlier_studies_lack_is_written_only_where_it_is_set(config: Frozen, field: str) -> None:
    assert field not in canonical_json(config)
    assert f'"{field}":false' in canonical_json(config.model_copy(update={field: False}))
