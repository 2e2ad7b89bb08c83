"""The space of shortcuts and skips together: every network has all six of what it varies, and reads them."""

from collections import Counter
from itertools import product
from typing import Any

import numpy as np
import pytest

from skipstack.data.store.stored import StoredCorpus
from skipstack.search.study.config import StudyConfig
from skipstack.search.study.study_files.study_file import load_study
from skipstack.spaces.domains import Choice
from skipstack.spaces.one_network import network_identity
from skipstack.spaces.space import Point, Space
from skipstack.spaces.trial import as_network
from tests.search.test_flagship import corpus, trains

__all__ = ["corpus"]  # a fixture

TOPOLOGY, GATE, COMPOSITION = "model.stack.shortcut.topology", "model.stack.shortcut.gate", "model.stack.composition"
WINDOW, REACH, SHARE = "model.embedder.window", "model.stack.skip.reach", "model.stack.skip.share"
SIX = (TOPOLOGY, GATE, COMPOSITION, WINDOW, REACH, SHARE)
DEPTH = "model.stack.depth"
SCALES = pytest.mark.parametrize("scale", [None, "small"])


def study(scale: str | None) -> StudyConfig:
    return load_study("joint", scale=scale)[0]


def takers(composition: int, depth: int) -> list[int]:
    """Return the layers with a shortcut, by the descriptions of wu2017's types."""
    layers = range(2, depth + 1)
    return {
        1: list(layers),  # from the first layer to all following
        2: [3, 5, 7, 9][: (depth - 1) // 2],  # a chain of span 1
        3: [layer for layer in layers if layer in (4, 7, 10)],  # a chain of span 2
        4: [layer for layer in layers if layer > 3],  # nested, span 2
        5: [layer for layer in layers if layer > 2],  # nested, span 1
    }[composition]


@SCALES
def test_all_six_meet_on_each_of_a_thousand_points(scale: str | None) -> None:
    config = study(scale)
    space, source = Space(config.space), np.random.default_rng(64)
    seen: dict[str, set[Any]] = {path: set() for path in SIX}
    for point in (space.sample(source) for _ in range(1000)):
        model = as_network(space.config(point)).model
        stack, embedder = model.stack, model.embedder
        assert stack.kind == "recurrent"
        assert embedder.kind == "tokens"
        assert stack.cell == "lstm"
        composition = stack.composition
        assert isinstance(composition, int)
        shortcuts = takers(composition, stack.depth)
        assert 0 < len(shortcuts) < stack.depth  # the others read an earlier state
        assert stack.shortcut.topology != "both_ungated"  # which reads no gate
        assert stack.shortcut.gate != "none"
        assert embedder.window > 1
        assert stack.skipping == "all"
        assert stack.skip is not None
        assert stack.skip.kind == "dynamic"
        assert stack.skip.reach > 1
        assert stack.skip.share > 0
        for path in SIX:
            seen[path].add(point[path])
    for path, values in seen.items():
        domain = space.domains[path]
        assert isinstance(domain, Choice)
        assert values == set(domain.values)


@pytest.mark.first(1)
@SCALES
def test_no_two_points_are_the_same_network(scale: str | None) -> None:
    space, base = Space(study(scale).space), Space(study(scale).space).base_point()
    axes = [path for path in (TOPOLOGY, GATE, COMPOSITION, DEPTH) if path in space.domains]
    domains = [space.domains[path] for path in axes]
    networks = Counter[str]()
    for values in product(*(domain.values for domain in domains if isinstance(domain, Choice))):
        point = {**base, **dict(zip(axes, values, strict=True))}
        if space.allowed(point):
            networks[network_identity(space.config(point))] += 1
    depths = 1 if scale else 3
    assert len(networks) == (10 * 9 - 1) * 5 * depths  # the highway has no linear gate
    assert set(networks.values()) == {1}
    for path in (WINDOW, REACH, SHARE):
        domain = space.domains[path]
        assert isinstance(domain, Choice)
        moved = {network_identity(space.config({**base, path: value})) for value in domain.values}
        assert len(moved) == len(domain.values)


def test_the_recipe_is_that_under_which_networks_differ() -> None:
    recipes, _ = load_study("wu2017/recipes", overrides=["model.initial_scale=1.0"])
    printed = recipes.space.base
    for scale in (None, "small"):
        ours = as_network(study(scale).space.base)
        epochs = {"epochs": ours.training.epochs}
        assert ours.training == as_network(printed).training.model_copy(update=epochs)
        assert ours.model.initial_scale == 1.0
        assert ours.model.embedder == as_network(printed).model.embedder


def test_it_is_of_any_corpus() -> None:
    own = "data.corpus={kind: columns, train: a.tsv, dev: b.tsv, test: c.tsv}"
    named, _ = load_study("joint", scale="small", corpus="pmb-ccg-en")
    mine, _ = load_study("joint", scale="small", overrides=[own])
    assert named.space.axes == mine.space.axes == study("small").space.axes


def test_an_axis_that_is_fixed_leaves_the_other_five() -> None:
    fixed, _ = load_study("joint", overrides=[f"{COMPOSITION}=4"])
    assert fixed.space.axes.keys() == study(None).space.axes.keys() - {COMPOSITION}
    plain, _ = load_study("joint", overrides=["model.stack.skip=null"])
    assert plain.space.axes.keys() == study(None).space.axes.keys() - {REACH, SHARE}


@pytest.mark.parametrize("seed", range(3))
def test_points_build_and_train_a_step(seed: int, corpus: StoredCorpus) -> None:
    space = Space(study("small").space)
    point: Point = space.sample(np.random.default_rng(seed))
    trains(space, point, corpus, seed)
