"""Points that are one network: of every preset, against networks that are built and trained; and how they are told."""

from typing import Any

import numpy as np
import pytest
import torch

from skipstack.data.basis.frozen import canonical_json
from skipstack.data.corpora.config import Corpus, DataConfig
from skipstack.data.corpora.synthetic.grammar import GrammarCorpus
from skipstack.data.corpora.synthetic.numbers import NumbersCorpus
from skipstack.data.store.prepared import PreparedCorpus, prepare
from skipstack.data.store.stored import open_store
from skipstack.data.store.writing import store
from skipstack.models.configs.inputs import LONGEST_AFFIX
from skipstack.models.layers.lanes import Lane
from skipstack.models.training.loop import Training
from skipstack.search.study.study_files.document import presets
from skipstack.search.study.study_files.study_file import load_study
from skipstack.spaces.domains import Choice, Integer
from skipstack.spaces.one_network import OneNetwork, alike, network_identity, one_networks
from skipstack.spaces.space import Point, Space, SpaceConfig
from skipstack.spaces.trial import TrialConfig, as_network
from tests.models.steps import steps

DEPTH, COMPOSITION, GATE = "model.stack.depth", "model.stack.composition", "model.stack.shortcut.gate"
JOIN, DIRECTIONS, RATE = "model.stack.join", "model.stack.directions", "training.optimiser.learning_rate"

SIZES = {"hidden", "label_size", "arc_size", "relation_size", "word_size", "filters", "policy_hidden"}
"""Fields that are made small; different sizes stay different."""

LATER = {"model.head.decoder", "model.stack.skip.entropy_decay"}
"""Axes of which the first updates show nothing: they matter when decisions are taken, or from the second epoch on."""

POINTS = 3

SHORTCUTS: dict[str, Any] = {"model": {"stack": {"kind": "recurrent", "composition": 2}}}
"""A base with a shortcut in layers 3, 5, 7, ..."""


def small(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            name: 3 + inner % 13 if name in SIZES and isinstance(inner, int) and inner else small(inner)
            for name, inner in value.items()
        }
    return value


class Trained:
    """The first updates of networks, each trained once."""

    def __init__(self, folder: Any) -> None:
        self._folder = folder
        self._corpora: dict[str, PreparedCorpus] = {}
        self._found: dict[str, str] = {}

    def __call__(self, config: TrialConfig) -> str:
        """The digest of the losses and weights after four updates of a config, made small."""
        tree = small(config.model.model_dump(mode="json"))
        if "constrained" in tree["head"]:
            tree["head"]["constrained"] = False  # the grammar has no label scheme
        text = canonical_json(tree)
        if text not in self._found:
            run = Training(
                model=type(config.model).model_validate(tree),
                training=config.training.model_copy(update={"batch_size": 4, "pretraining": None, "l2": 0.0}),
                corpus=self._corpus(config),
                lanes=[Lane(seed=0)],
                order_seed=0,
                device=torch.device("cpu"),
            )
            losses = steps(run, 4)
            weights = {name: value.tolist() for name, value in run.model.state_dict().items()}
            self._found[text] = canonical_json([[loss.tolist() for loss in losses], weights])
        return self._found[text]

    def _corpus(self, config: TrialConfig) -> PreparedCorpus:
        corpus: Corpus = GrammarCorpus(train=20, dev=5, test=5)
        if isinstance(config.data.corpus, NumbersCorpus):
            corpus = NumbersCorpus(train=20, dev=5, test=5)
        elif config.model.head.kind == "biaffine":
            corpus = GrammarCorpus(tags="heads", train=20, dev=5, test=5)
        text = canonical_json(corpus.model_dump(mode="json"))
        if text not in self._corpora:
            stored = open_store(store(corpus, root=self._folder, data_dir=None, folder=self._folder))
            self._corpora[text] = prepare(stored, DataConfig(), LONGEST_AFFIX)
        return self._corpora[text]


def moves(space: Space, seed: int) -> list[tuple[str, Point, Point]]:
    """Random points of a space, each beside the same with another value of one axis of the model."""
    generator, found = np.random.default_rng(seed), []
    for _ in range(POINTS):
        point = space.sample(generator)
        for axis in point:
            domain = space.domains[axis]
            if axis in LATER or not axis.startswith("model.") or not isinstance(domain, Choice | Integer):
                continue
            moved = space.moved(point, axis, domain.values[int(generator.integers(len(domain.values)))])
            if moved != point and space.allowed(moved):
                found.append((axis, point, moved))
    return found


@pytest.mark.first(1)
@pytest.mark.parametrize("preset", presets())
def test_of_every_preset_points_of_one_network_are_told_and_no_others(preset: str, tmp_path: Any) -> None:
    space, trained = Space(load_study(preset)[0].space), Trained(tmp_path)
    for axis, *points in moves(space, seed=0):
        one, other = (as_network(space.config(point)) for point in points)
        assert (network_identity(one) == network_identity(other)) == (trained(one) == trained(other)), (axis, points)


def space(axes: dict[str, Any], base: dict[str, Any] | None = None) -> Space:
    return Space(SpaceConfig.model_validate({"base": base or {}, "axes": axes}))


def found(axes: dict[str, Any], base: dict[str, Any] | None = None) -> list[OneNetwork]:
    return one_networks(space(axes, base), np.random.default_rng(0))


def test_it_says_where_an_axis_changes_nothing() -> None:
    axes = {
        DEPTH: {"choice": [1, 2, 3]},
        COMPOSITION: {"choice": [1, 2, 5]},
        GATE: {"choice": ["none", "sigmoid_below"]},
    }
    kinds, gates = ("none", "sigmoid_below"), ((DEPTH, (2,)), (COMPOSITION, (2, 5)))
    assert found(axes) == [
        OneNetwork(axis=COMPOSITION, values=(1, 2, 5), whole=True, always=False, where=(((DEPTH, (1,)),),)),
        OneNetwork(axis=COMPOSITION, values=(2, 5), whole=False, always=True),
        OneNetwork(axis=GATE, values=kinds, whole=True, always=False, where=(((DEPTH, (1,)),), gates)),
    ]


def test_of_a_large_space_it_says_what_draws_show() -> None:
    axes = {
        DEPTH: {"choice": [1, 3]},
        DIRECTIONS: {"choice": ["both", "forward"]},
        JOIN: {"choice": ["top", "each_layer"]},
        RATE: {"log": [0.01, 0.1]},
    }
    (join,) = found(axes)
    assert (join.axis, join.whole, join.always) == (JOIN, True, False)
    assert set(join.where) == {((DEPTH, (1,)),), ((DIRECTIONS, ("forward",)),)}


def test_axes_that_all_networks_read_and_those_with_a_condition_are_not_named() -> None:
    assert (
        found({DEPTH: {"choice": [1, 3]}, GATE: {"choice": ["none", "linear"], "when": {DEPTH: [3]}}}, SHORTCUTS) == []
    )
    assert found({DEPTH: {"choice": [1, 3]}, RATE: {"choice": [0.1, 0.2]}}) == []


def test_the_scale_of_language_models_is_read_beside_a_range_of_weights() -> None:
    """``tests/models/training/test_together.py`` trains both."""
    axes = {"model.initial_scale": {"choice": [0.3, 1.0]}}
    base: dict[str, Any] = {"model": {"initial_range": 0.1}}
    (told,) = found(axes, base)
    assert told.whole
    assert found(axes, {**base, "training": {"pretraining": {"word_epochs": 1}}}) == []


def test_points_of_one_network_differ_in_nothing_else() -> None:
    axes = {DEPTH: {"choice": [1, 3]}, GATE: {"choice": ["none", "linear"]}, RATE: {"choice": [0.1, 0.2]}}
    ours = space(axes, SHORTCUTS)
    points = dict(enumerate(ours.enumerate()))
    same = [tuple(points[number] for number in group) for group in alike(ours, points)]
    assert [[(point[DEPTH], point[GATE], point[RATE]) for point in group] for group in same] == [
        [(1, "none", rate), (1, "linear", rate)] for rate in (0.1, 0.2)
    ]
