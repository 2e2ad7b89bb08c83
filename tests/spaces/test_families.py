"""Whose elements a network has, against what each paper's networks are made of, written down paper by paper."""

from collections import Counter
from collections.abc import Iterator
from typing import Any, get_args

import numpy as np
import pytest

from skipstack.search.study.study_files.study_file import load_study
from skipstack.spaces.config import Axis
from skipstack.spaces.constraints import CONSTRAINTS
from skipstack.spaces.families import Family, families
from skipstack.spaces.space import Space
from skipstack.spaces.trial import TrialConfig

PATHS = {
    "embedder": "model.embedder.kind",
    "stack": "model.stack.kind",
    "depth": "model.stack.depth",
    "composition": "model.stack.composition",
    "cell": "model.stack.cell",
    "skip": "model.stack.skip.kind",
    "head": "model.head.kind",
}
PLAIN = {"embedder": {"tokens"}, "stack": {"recurrent"}, "depth": {1}, "cell": {"lstm"}, "skip": {None}}
NETWORKS: dict[str, list[dict[str, set[Any]]]] = {
    "wu2017": [PLAIN | {"depth": {1, 2, 3, 4, 5, 7}, "head": {"softmax", "crf"}}],
    "collins": [PLAIN | {"cell": {"lstm", "simple", "sutskever"}, "head": {"softmax", "crf"}}],
    "dinarelli2016": [
        PLAIN | {"head": {"softmax", "crf"}},
        {"embedder": {"tokens"}, "stack": {"feedback"}, "head": {"softmax"}},
    ],
    "chen2017": [PLAIN | {"embedder": {"tokens", "feature_maps"}, "head": {"softmax", "crf", "margin"}}],
    "gui2019": [
        PLAIN | {"skip": {None, "fixed", "attention", "dynamic"}, "head": {"softmax", "crf"}},
        PLAIN
        | {"depth": {2}, "composition": {0, 2, 3, 4, 5}, "skip": {"fixed", "attention", "dynamic"}}
        | {"head": {"softmax", "crf"}},
    ],
}
"""Of each paper, what a network may have that is its own or everyone's; a column that is left out may have anything.

The second of gui2019 are language models: types 0 and 2 to 5 have no shortcut in two layers (PAPERS, wu2017 Table 4).
"""

STUDY, _ = load_study("flagship")


def architectures() -> Iterator[tuple[dict[str, Any], TrialConfig]]:
    """The parts of every network of the flagship's architecture, and a network that has them; sizes, inputs and recipe
    stay as in the base.
    """
    kept = {path: STUDY.space.axes[path] for path in PATHS.values()}
    kept["model.stack.shortcut.gate"] = Axis(
        choice=("sigmoid_below", "none"), when={"model.stack.depth": (2, 3, 4, 5, 7)}
    )
    space = Space(STUDY.space.model_copy(update={"axes": kept}))
    for point in space.enumerate():
        config = space.config(point)
        tree = config.model_dump(mode="json")["model"]
        skip = tree["stack"].get("skip")
        parts = {name: point.get(path, "unread") for name, path in PATHS.items()}
        parts |= {"embedder": tree["embedder"]["kind"], "stack": tree["stack"]["kind"], "head": tree["head"]["kind"]}
        if parts["stack"] == "recurrent":
            parts |= {"depth": tree["stack"]["depth"], "cell": tree["stack"]["cell"]}
            parts["skip"] = None if skip is None else skip["kind"]
        yield parts, config


def fits(parts: dict[str, Any], network: dict[str, set[Any]]) -> bool:
    return all(parts[name] in allowed for name, allowed in network.items())


@pytest.mark.slow
def test_one_paper_allows_the_networks_of_each_paper_and_no_others() -> None:
    seen = Counter[tuple[str, ...]]()
    for parts, config in architectures():
        papers = {paper for paper, networks in NETWORKS.items() if any(fits(parts, each) for each in networks)}
        assert CONSTRAINTS["one_paper"].holds(config) == bool(papers), parts
        for paper in get_args(Family):
            assert CONSTRAINTS[f"only_{paper}"].holds(config) == (paper in papers), (paper, parts)
        seen[tuple(sorted(papers))] += 1
    alone = {(paper,) for paper in get_args(Family)}
    assert set(seen) == {(), *alone, tuple(sorted(NETWORKS))}
    assert sum(seen.values()) > 500


def network(**model: Any) -> TrialConfig:
    return TrialConfig.model_validate({"model": model})


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ({"stack": {"depth": 1}}, set()),
        ({"stack": {"depth": 3, "composition": 0}}, {"wu2017"}),
        ({"stack": {"depth": 2, "composition": [0, 1], "skip": {"kind": "fixed"}}}, {"wu2017", "gui2019"}),
        ({"stack": {"depth": 3, "composition": 0, "skip": {"kind": "fixed"}}}, {"wu2017", "gui2019"}),
        ({"stack": {"depth": 2, "composition": 0, "skip": {"kind": "fixed"}}}, {"gui2019"}),
        ({"stack": {"depth": 1, "cell": "feedforward"}}, {"chen2017"}),
        ({"stack": {"depth": 0, "cell": "simple"}}, set()),
        ({"stack": {"depth": 1, "cell": "gru"}}, set()),
        ({"stack": {"depth": 2, "cell": "min_lstm", "composition": 0}}, {"wu2017"}),
        ({"stack": {"depth": 1, "cell": "simple"}, "head": {"kind": "biaffine"}}, {"collins"}),
        ({"embedder": {"kind": "feature_maps", "layers": "none"}, "stack": {"depth": 1}}, set()),
        ({"embedder": {"kind": "feature_maps"}, "stack": {"depth": 0}}, {"chen2017"}),
        ({"embedder": {"kind": "feature_maps"}, "stack": {"kind": "feedback"}}, {"chen2017", "dinarelli2016"}),
        (
            {"embedder": {"kind": "feature_maps"}, "stack": {"depth": 1, "skip": {"kind": "dynamic"}}},
            {"chen2017", "gui2019"},
        ),
        (
            {"stack": {"depth": 2, "cell": "simple", "composition": 0}, "head": {"kind": "margin"}},
            {"collins", "wu2017", "chen2017"},
        ),
    ],
)
def test_networks_have_elements_of_these_papers(model: dict[str, Any], expected: set[str]) -> None:
    assert families(network(**model).model) == expected


def test_inputs_and_recipe_are_open_to_every_network() -> None:
    inputs = {"kind": "tokens", "window": 7, "window_gate": True, "spelling": {"kind": "cnn", "highways": 2}}
    trial = TrialConfig.model_validate(
        {
            "model": {"embedder": inputs, "stack": {"kind": "feedback"}},
            "training": {"optimiser": {"kind": "adagrad"}, "pretraining": None},
        }
    )
    assert families(trial.model) == {"dinarelli2016"}


def test_the_preset_is_the_flagship_under_one_more_constraint() -> None:
    for scale in (None, "small"):
        flagship, one_paper = (load_study(name, scale=scale)[0] for name in ("flagship", "flagship-one-paper"))
        assert one_paper.search == flagship.search
        assert one_paper.space.constraints == (*flagship.space.constraints, "one_paper")
        assert one_paper.space.axes == flagship.space.axes
        assert one_paper.space.base == flagship.space.base


@pytest.mark.slow
def test_the_plain_preset_has_the_flagships_networks_without_any_papers_part() -> None:
    generator = np.random.default_rng(7)
    for scale in (None, "small"):
        flagship, plain = (load_study(name, scale=scale)[0] for name in ("flagship", "flagship-plain"))
        assert plain.search == flagship.search
        assert plain.space.base == flagship.space.base
        left_out = flagship.space.axes.keys() - plain.space.axes.keys()
        assert not any(path.startswith(("data.", "training.")) for path in left_out)
        everything, one_layer = Space(flagship.space), Space(plain.space)
        for _ in range(200):
            config = one_layer.config(one_layer.sample(generator))
            assert not families(config.model)
            assert everything.contains(config)
