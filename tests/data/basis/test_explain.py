from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from skipstack.data.basis.explain import explain, place
from skipstack.data.basis.fields import fields
from skipstack.models.configs.cells import GateKind, ShortcutConfig
from skipstack.models.configs.model import StackConfig
from skipstack.models.configs.training import TrainingConfig
from skipstack.spaces.config import Axis, SpaceConfig
from skipstack.spaces.trial import TrialConfig


def failure(value: Any, model: type[BaseModel] = TrialConfig) -> ValidationError:
    with pytest.raises(ValidationError) as caught:
        model.model_validate(value)
    return caught.value


KINDS = {"model.stack": "recurrent", "model.embedder": "tokens"}
"""What a mapping on the way to a field is one of."""


OPTIMISERS = "sgd, adam, adamw, adagrad, lazy_adam"


def nested(path: str, value: Any) -> Any:
    names = path.split(".")
    for depth in reversed(range(len(names))):
        inside = ".".join(names[:depth])
        value = ({"kind": KINDS[inside]} if inside in KINDS else {}) | {names[depth]: value}
    return value


DOMAINS = "one of choice, named, ordinal, randint, lograndint, uniform, loguniform, normal, lognormal"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (
            nested("model.stack.dpeth", 3),
            f"model.stack.dpeth: unknown key 'dpeth' (nearest: 'depth'; allowed: {', '.join(fields(StackConfig))})",
        ),
        (
            nested("model.stack.shortcut.gate", "nnoe"),
            "model.stack.shortcut.gate: unknown value 'nnoe' "
            f"(nearest: 'none'; allowed: {', '.join(get_args(GateKind))})",
        ),
        (nested("model.stack.depth", -1), "model.stack.depth: got -1 (allowed: an integer from 0)"),
        (nested("model.stack.depth", "x"), "model.stack.depth: got 'x' (allowed: an integer from 0)"),
        (
            nested("model.embedder", {"kind": "tokens", "dropout": 1}),
            "model.embedder.dropout: got 1 (allowed: a number from 0 below 1)",
        ),
        (nested("training.clip_norm", -1.5), "training.clip_norm: got -1.5 (allowed: a number above 0, or null)"),
        (
            nested("training.optimiser", {"kind": "adm"}),
            f"training.optimiser.kind: unknown kind 'adm' (nearest: 'adam'; allowed: {OPTIMISERS})",
        ),
        (
            nested("training.optimiser", {"momentum": 0}),
            f"training.optimiser: 'kind' is missing (allowed: {OPTIMISERS})",
        ),
        (
            nested("training.optimiser", 3),
            "training.optimiser: got 3 (allowed: a mapping with kind sgd or adam or adamw or adagrad or lazy_adam)",
        ),
        (
            nested("training.optimiser", {"kind": "sgd", "momentun": 0.9}),
            "training.optimiser.momentun: unknown key 'momentun' "
            "(nearest: 'momentum'; allowed: kind, learning_rate, momentum)",
        ),
        (
            nested("training.optimiser", {"kind": "adam", "beta1": 2}),
            "training.optimiser.beta1: got 2 (allowed: a number from 0 below 1)",
        ),
        (nested("data.corpus", {"kind": "named"}), "data.corpus: 'name' is missing (allowed: text)"),
        (
            nested("model.stack.composition", [0, -1]),
            "model.stack.composition: got [0, -1] (allowed: an integer from 0 to 5, or input, or a list, "
            "each an integer from 0, or input)",
        ),
        (
            nested("model.embedder", {"kind": "tokens", "window": 2}),
            "model.embedder: a window has a token in the middle: got 2, allowed 0 or an odd number",
        ),
        (
            nested("model.embedder.spelling", {"kind": "lstm"}),
            "model.embedder.spelling.kind: unknown kind 'lstm' (nearest: 'blstm'; allowed: cnn, cnns, blstm)",
        ),
        (
            nested("model.embedder.spelling", 3),
            "model.embedder.spelling: got 3 (allowed: a mapping with kind cnn or cnns or blstm, or null)",
        ),
        (
            nested("model.embedder.spelling", {"filter": 8}),
            "model.embedder.spelling.filter: unknown key 'filter' "
            "(nearest: 'filters'; allowed: kind, size, filters, width, highways)",
        ),
        (
            nested("model.embedder.spelling", {"kind": "blstm", "hidden": 0}),
            "model.embedder.spelling.hidden: got 0 (allowed: an integer from 1)",
        ),
        (3, "got 3 (allowed: a mapping of data, model, training)"),
        (
            nested("model.stack.shortcut.hidden", 3),
            f"model.stack.shortcut.hidden: unknown key 'hidden' (allowed: {', '.join(fields(ShortcutConfig))})",
        ),
        (
            nested("training.learning_rate", 0.1),
            "training.learning_rate: unknown key 'learning_rate' "
            f"(nearest: 'optimiser.learning_rate'; allowed: {', '.join(fields(TrainingConfig))})",
        ),
        (
            nested("training.optimiser", {"kind": "adam", "momentum": 0.9}),
            "training.optimiser.momentum: unknown key 'momentum' "
            "(nearest: 'momentum of kind sgd'; allowed: kind, learning_rate, beta1, beta2, epsilon)",
        ),
        (
            nested("training.optimiser", {"kind": "Adam"}),
            f"training.optimiser.kind: unknown kind 'Adam' (nearest: 'adam'; allowed: {OPTIMISERS})",
        ),
    ],
)
def test_a_mistake_is_told_with_its_path_and_what_is_allowed(value: Any, message: str) -> None:
    assert explain(failure(value), TrialConfig) == message


def test_a_value_that_another_kind_allows_is_told_with_that_kind() -> None:
    told = explain(failure(nested("data.corpus", {"kind": "numbers", "train": "train.tsv"})), TrialConfig)
    assert told.startswith(
        "data.corpus.train: got 'train.tsv' for kind numbers (allowed: an integer from 1; for kind columns or "
    )
    assert told.endswith(": text, or a list of 1 or more, each text)")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"choice": [1], "when": {"a.b": 3}}, "when.a.b: got 3 (allowed: a list of 1 or more, each any JSON value)"),
        ({"loguniform": [1]}, "loguniform: got [1] (allowed: a list of 2: a number and a number, or null)"),
        ({"loguniform": [0, 1]}, "got bounds [0.0, 1.0] (allowed for loguniform: bounds above 0)"),
        ({"named": {}}, "named: got {} (allowed: a mapping that is not empty, or null)"),
        ({"choice": []}, "choice: got [] (allowed: a list of 1 or more, each any JSON value, or null)"),
        (
            {"choice": [1], "real": [0, 1]},
            f"got choice and uniform (allowed: {DOMAINS})",
        ),
        (
            {},
            f"got no domain (allowed: {DOMAINS})",
        ),
    ],
)
def test_mappings_and_lists_inside_a_config_are_followed_too(value: Any, message: str) -> None:
    assert explain(failure(value, Axis), Axis) == message
    inside = explain(failure({"axes": {"model.stack.depth": value}}, SpaceConfig), SpaceConfig)
    assert inside.replace("axes.model.stack.depth.", "").replace("axes.model.stack.depth: ", "") == message


def test_the_line_is_that_of_the_path_or_of_what_is_around_it() -> None:
    error = failure(nested("model.stack.depth", -1))
    lines = {(): 1, ("model",): 2, ("model", "stack"): 3, ("model", "stack", "depth"): 4}
    assert explain(error, TrialConfig, lines=lines, file="a.yaml").startswith("a.yaml:4: model.stack.depth: ")
    del lines["model", "stack", "depth"]
    assert explain(error, TrialConfig, lines=lines, file="a.yaml").startswith("a.yaml:3: model.stack.depth: ")
    assert explain(error, TrialConfig, file="--set x=0").startswith("--set x=0: model.stack.depth: ")


LEAVES = sorted(TrialConfig().flatten())
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 9) | st.floats(allow_nan=True) | st.text(max_size=100),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@given(st.sampled_from(LEAVES), JUNK)
def test_whatever_is_wrong_is_told_in_one_line_at_its_place(leaf: str, junk: Any) -> None:
    tree = TrialConfig().model_dump(mode="json")
    *parents, name = leaf.split(".")
    inner = tree
    for parent in parents:
        inner = inner[parent]
    inner[name] = junk
    try:
        TrialConfig.model_validate(tree)
    except ValidationError as error:
        where = place(error, TrialConfig)
        # At the leaf or inside it, or at the config around it where two fields contradict each other.
        assert where[: len(parents) + 1] in ((*parents, name), tuple(parents))
        message = explain(error, TrialConfig, file="study.yaml", lines={(): 1})
        assert message.startswith("study.yaml:1: ")
        assert len(message.splitlines()) == 1
        assert "pydantic" not in message
        assert "Input should" not in message
