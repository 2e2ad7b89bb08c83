import pytest

from skipstack.data.basis.fields import fields
from skipstack.data.formats.columns import ColumnCorpus
from skipstack.models.configs.feedback import FeedbackConfig
from skipstack.models.configs.model import StackConfig
from skipstack.spaces.paths import present, read, typed, unknown_path, written
from skipstack.spaces.space import Space, SpaceConfig
from skipstack.spaces.trial import TrialConfig

BASE = TrialConfig().model_dump(mode="json")


@pytest.mark.parametrize(
    ("path", "given", "typed_value"),
    [
        ("training.optimiser.learning_rate", 1, 1.0),
        ("model.stack.composition", (0, 0, 1), [0, 0, 1]),
        ("model.stack.composition", 2, 2),
        ("training.clip_norm", None, None),
        ("training.optimiser", {"kind": "sgd"}, {"kind": "sgd", "learning_rate": 0.02, "momentum": 0.0}),
        ("data.corpus.train", 60, 60),
        ("data.corpus.train", "train.tsv", "train.tsv"),
        ("data.corpus.train", "60", "60"),
    ],
)
def test_a_value_takes_the_type_of_its_field(path: str, given: object, typed_value: object) -> None:
    result = typed(path, given)  # type: ignore[arg-type]
    assert result == typed_value
    assert type(result) is type(typed_value)


@pytest.mark.parametrize(
    ("path", "given", "message"),
    [
        ("model.stack.depth", -1, r"got -1 \(allowed: an integer from 0\)"),
        ("model.stack.depth", 1.5, r"got 1.5 \(allowed: an integer from 0\)"),
        ("training.optimiser.learning_rate", float("inf"), "got Infinity"),
        ("model.stack.directions", "forwards", r"nearest: 'forward'; allowed: both, forward, backward\)"),
        ("training.optimiser", {"kind": "sgd", "beta1": 0.9}, "a mapping with kind sgd or adam"),
        ("data.corpus.train", 0, "an integer from 1 or text"),
    ],
)
def test_a_value_that_no_field_takes_is_refused_with_what_is_allowed(path: str, given: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        typed(path, given)  # type: ignore[arg-type]


def test_writing_leaves_the_old_tree_alone() -> None:
    changed = written(BASE, "model.stack.depth", 3)
    assert read(changed, "model.stack.depth") == 3
    assert read(BASE, "model.stack.depth") == 7
    assert written(changed, "model.stack.depth", 7) == BASE


def test_another_kind_starts_with_its_own_defaults_and_none_of_the_old_fields() -> None:
    tuned = written(BASE, "training.optimiser.learning_rate", 0.5)
    adam = written(tuned, "training.optimiser.kind", "adam")
    assert read(adam, "training.optimiser.learning_rate") == 0.001
    assert not present(adam, "training.optimiser.momentum")
    assert written(tuned, "training.optimiser.kind", "sgd") == tuned


def test_an_unknown_path_is_told_with_the_nearest_and_its_siblings() -> None:
    siblings = dict.fromkeys(f"model.stack.{name}" for kind in (StackConfig, FeedbackConfig) for name in fields(kind))
    assert unknown_path("path", "model.stack.dpth") == (
        f"unknown path 'model.stack.dpth' (nearest: 'model.stack.depth'; allowed: {', '.join(siblings)})"
    )
    assert "allowed: data, model, training)" in unknown_path("path", "stakc.depth")


def test_what_is_held_out_may_vary_like_any_field() -> None:
    """The fields are recorded only where something is held out; axes find them all the same."""
    corpus = {"kind": "columns", "train": "a", "test": "b", "held_out": 0.2}
    axes = {path: {"choice": values} for path, values in (("held_out", [0.1, 0.2]), ("held_out_seed", [0, 1]))}
    config = {
        "base": {"data": {"corpus": corpus}},
        "axes": {f"data.corpus.{name}": axis for name, axis in axes.items()},
    }
    space = Space(SpaceConfig.model_validate(config))
    corpora = [config.data.corpus for config in map(space.config, space.enumerate()) if isinstance(config, TrialConfig)]
    drawn = {(each.held_out, each.held_out_seed) for each in corpora if isinstance(each, ColumnCorpus)}
    assert drawn == {(0.1, 0), (0.1, 1), (0.2, 0), (0.2, 1)}


def test_a_field_that_configs_leave_out_may_vary_like_any_field() -> None:
    path = "model.stack.shortcut.cell_output"
    base = TrialConfig.model_validate({"model": {"stack": {"composition": 2, "shortcut": {"topology": "both_gated"}}}})
    tree = base.model_dump(mode="json")
    assert "cell_output" not in tree["model"]["stack"]["shortcut"]
    assert (present(tree, path), read(tree, path)) == (True, "original")
    assert not any(present(*each) for each in ((tree, f"{path}s"), (tree, f"{path}.x"), ({}, path)))
    with pytest.raises(KeyError):
        read(written(tree, "model.stack.kind", "feedback"), path)
    depth, read_too = "model.stack.depth", {path: ["original"]}
    axes = {path: {"choice": ["original", "updated"]}, depth: {"choice": [3, 5], "when": read_too}}
    space = Space(SpaceConfig.model_validate({"base": tree, "axes": axes}))
    points = list(space.enumerate())
    assert points == [{path: "original", depth: 3}, {path: "original", depth: 5}, {path: "updated"}]
    assert [space.point(space.config(point)) for point in points] == points
    assert space.base_point()[path] == "original"


def test_arguments_of_a_function_are_not_filled_in_as_configs_are() -> None:
    arguments = {"training": {"optimiser": 1, "l2": 0.5}}
    assert not present(arguments, "training.penalised")


def test_another_kind_of_corpus_draws_nothing_unless_told() -> None:
    tree = written(TrialConfig().model_dump(mode="json"), "data.corpus.kind", "columns")
    assert read(tree, "data.corpus.held_out_seed") == 0
    assert read(tree, "data.corpus.dev") is None


SKIP = "model.stack.skip.kind"


def test_the_kind_of_a_section_that_is_null_is_null() -> None:
    fixed = written(BASE, SKIP, "fixed")
    assert (read(BASE, SKIP), read(fixed, SKIP), read(fixed, "model.stack.skip.reach")) == (None, "fixed", 3)
    assert present(BASE, SKIP)
    assert not present(BASE, "model.stack.skip.reach")
    assert written(fixed, SKIP, None) == BASE == written(BASE, SKIP, None)
    assert not present(BASE, "training.clip_norm.kind")
    assert typed(SKIP, None) is None
    with pytest.raises(ValueError, match=r"unknown value 'lstm' \(.*allowed: fixed, attention, dynamic, null\)"):
        typed(SKIP, "lstm")
    with pytest.raises(ValueError, match=r"allowed: sgd, "):
        typed("training.optimiser.kind", None)


def test_axes_of_a_kind_that_may_be_null_vary_with_the_kinds_that_have_them() -> None:
    axes = {
        SKIP: {"named": {"none": None, "fixed": "fixed", "dynamic": "dynamic"}},
        "model.stack.skip.reach": {"choice": [2, 5]},
        "model.stack.skip.share": {"choice": [0.5, 1.0]},
    }
    space = Space(SpaceConfig.model_validate({"base": {"model": {"stack": {"depth": 1}}}, "axes": axes}))
    skips = [space.config(point).model_dump(mode="json")["model"]["stack"]["skip"] for point in space.enumerate()]
    kept = [None if skip is None else (skip["kind"], skip["reach"], skip.get("share")) for skip in skips]
    dynamic = [("dynamic", reach, share) for reach in (2, 5) for share in (0.5, 1.0)]
    assert kept == [None, ("fixed", 2, None), ("fixed", 5, None), *dynamic]
    assert all(space.point(space.config(point)) == point for point in space.enumerate())
