"""Runs that train together: each as by itself, bit for bit, whoever joins and leaves."""

import json
from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from skipstack.data.basis.frozen import canonical_json
from skipstack.models.configs.inputs import EmbedderConfig
from skipstack.models.configs.model import ModelConfig
from skipstack.models.configs.shared import apart_on_cpu, in_common
from skipstack.models.configs.training import TrainingConfig
from skipstack.models.training.loop import EpochReport
from skipstack.models.training.together import Part, Run, Together
from tests.models.corpora import small_corpus

CORPUS = small_corpus(train=16, dev=8)
CPU = torch.device("cpu")
MODEL: dict[str, Any] = {
    "embedder": {"word_size": 16, "capital_size": 0, "affix_characters": 0, "window": 0, "dropout": 0.25},
    "stack": {"depth": 1, "hidden": 16, "composition": 0, "dropout": 0.5},
    "initial_scale": 1.0,
}
"""Rows fill vector registers, as those of the presets do: with others, torch rounds by a number's place in memory."""
SKIP = {"kind": "dynamic", "reach": 4, "policy_hidden": 8, "share": 0.5, "entropy_weight": 0.1}
TRAINING: dict[str, Any] = {
    "epochs": 4,
    "batch_size": 8,
    "optimiser": {"kind": "adam", "learning_rate": 0.01},
    "clip_norm": 1.0,
    "l2": 0.001,
}
SCHEDULES = (
    {"kind": "constant"},
    {"kind": "halving", "tolerance": 0.5},
    {"kind": "linear"},
    {"kind": "decay", "factor": 0.5, "after": 1},
    {"kind": "cosine", "warmup": 0.5},
)
OWN: dict[str, st.SearchStrategy[Any]] = {
    "training.optimiser.learning_rate": st.sampled_from([0.003, 0.01, 0.05]),
    "training.schedule": st.sampled_from(SCHEDULES),
    "training.epochs": st.sampled_from([3, 9]),
    "training.l2": st.sampled_from([0.001, 0.01]),
    "training.clip_norm": st.sampled_from([0.05, 0.3, 5.0]),
    "model.embedder.dropout": st.sampled_from([0.0, 0.25, 0.6]),
    "model.stack.dropout": st.sampled_from([0.0, 0.5, 0.1]),
    "model.stack.forget_bias": st.sampled_from([0.0, 1.0]),
    "model.stack.skip.share": st.sampled_from([0.0, 0.5, 0.9]),
    "model.stack.skip.entropy_weight": st.sampled_from([0.0, 0.1, 0.4]),
    "model.stack.skip.entropy_decay": st.sampled_from([1.0, 0.5]),
    "model.stack.skip.previous_bias": st.sampled_from([0.0, 2.0]),
    "model.initial_scale": st.sampled_from([1.0, 0.3]),
    "model.initial_range": st.sampled_from([None, 0.1]),
}
"""What lanes may differ in."""
APART = {
    "training.batch_size": 4,
    "training.optimiser.kind": "sgd",
    "training.l2": 0.0,
    "training.clip_norm": None,
    "training.precision": "float64",
    "model.stack.hidden": 32,
    "model.stack.normalisation": "layer",
    "model.stack.skip": None,
    "model.stack.skip.reach": 5,
    "model.embedder.word_size": 32,
    "model.head": {"kind": "crf"},
}
"""What keeps runs apart."""


@pytest.fixture(autouse=True)
def _one_thread() -> Any:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def run(changes: dict[str, Any] | None = None, seeds: tuple[int, ...] = (1,), *, skips: bool = True) -> Run:
    tree = json.loads(json.dumps({"model": MODEL, "training": TRAINING}))
    tree["model"]["stack"]["skip"] = dict(SKIP) if skips else None
    for path, value in (changes or {}).items():
        *parents, name = path.split(".")
        inner = tree
        for parent in parents:
            inner = inner[parent]
        inner[name] = value
    return Run(
        model=ModelConfig.model_validate(tree["model"]),
        training=TrainingConfig.model_validate(tree["training"]),
        corpus=CORPUS,
        seeds=seeds,
        order_seed=3,
        device=CPU,
    )


def told(report: EpochReport) -> list[object]:
    return [report.epoch, report.train_loss, report.dev_loss, report.dev_score, report.learning_rate]


def solo(own: Run, epochs: int) -> tuple[list[list[object]], dict[str, torch.Tensor]]:
    training = own.program([own])
    return [told(training.run_epoch()) for _ in range(epochs)], training.state_dict()


def same(state: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    return state.keys() == other.keys() and all(torch.equal(state[name], other[name]) for name in state)


def check_lanes_equal_solo_runs(runs: list[Run]) -> None:
    """Runs that train together report, and end with, what each does by itself."""
    together = Together()
    parts = [together.join(each) for each in runs]
    assert together.company(parts[0]) == parts
    found = [[told(part.run_epoch()) for part in parts] for _ in range(2)]
    for number, each in enumerate(runs):
        reports, state = solo(each, 2)
        assert [epoch[number] for epoch in found] == reports
        assert same(parts[number].state_dict(), state)


CHANGES = st.fixed_dictionaries(OWN)


@settings(max_examples=3)
@given(st.lists(st.tuples(CHANGES, st.sampled_from([(1,), (2, 5)])), min_size=2, max_size=3))
def test_runs_that_differ_in_all_that_lanes_may_differ_in_equal_solo_runs(drawn: list[Any]) -> None:
    check_lanes_equal_solo_runs([run(changes, seeds) for changes, seeds in drawn])


@settings(max_examples=4)
@given(st.data())
def test_a_run_equals_the_solo_run_whoever_joins_pauses_and_leaves(data: st.DataObject) -> None:
    together = Together()
    rates = [0.003, 0.01, 0.03]
    runs = [run({"training.optimiser.learning_rate": rate}, skips=False) for rate in rates]
    expected = [solo(each, 3) for each in runs]
    parts: dict[int, Part] = {}
    saved: dict[int, dict[str, torch.Tensor]] = {}
    done = dict.fromkeys(range(3), 0)
    for _ in range(10):
        number = data.draw(st.sampled_from(range(3)))
        if number not in parts:
            parts[number] = together.join(runs[number])
            if number in saved:
                parts[number].load_state_dict(saved.pop(number))
        elif done[number] < 3 and data.draw(st.booleans()):
            assert told(parts[number].run_epoch()) == expected[number][0][done[number]]
            done[number] += 1
        elif parts[number].waits:
            saved[number] = parts[number].copied()
            parts.pop(number).leave()
    for number, part in parts.items():
        while done[number] < 3:
            assert told(part.run_epoch()) == expected[number][0][done[number]]
            done[number] += 1
        assert same(part.state_dict(), expected[number][1])


ODD: dict[str, Any] = {"model.stack.hidden": 37, "model.embedder.word_size": 23}
"""Rows that fill no vector registers."""
FEEDBACK: dict[str, Any] = {"kind": "feedback", "hidden": 37, "label_size": 11, "context": 3, "dropout": 0.5}
MAPS: dict[str, Any] = {"kind": "feature_maps", "word_size": 23, "maps": 19, "sets": 3}
THREE = {"model.stack.depth": 3, "model.stack.composition": 2}


@pytest.mark.first(4)
@pytest.mark.parametrize(
    "changes",
    [
        ODD,
        {**ODD, "model.head": {"kind": "crf"}},
        {**ODD, "model.head": {"kind": "margin"}},
        {**ODD, "model.embedder.window": 3, "model.embedder.window_gate": True},
        {**ODD, "model.embedder.spelling": {"kind": "cnn", "size": 13, "filters": 19, "highways": 1}},
        {**ODD, **THREE},
        *({**ODD, **THREE, "model.stack.cell": each} for each in ("gru", "min_gru", "min_lstm")),
        {**ODD, **THREE, "model.stack.shortcut": {"topology": "both_two_gates", "gate": "scaled"}},
        {**ODD, "model.embedder": MAPS},
        *({"model.stack": {**FEEDBACK, "variant": each}} for each in ("e", "j", "i", "i_and_e")),
        {"model.stack": FEEDBACK, "training.pretraining": {"word_epochs": 1, "label_epochs": 1, "hidden": 13}},
        {"model.stack": {**FEEDBACK, "directions": "both", "feedback": "distribution"}},
    ],
)
def test_lanes_of_any_width_equal_solo_runs(changes: dict[str, Any]) -> None:
    rates = [{"training.optimiser.learning_rate": rate} for rate in (0.003, 0.01, 0.03)]
    runs = [run({**changes, **rate}, (seed,), skips=False) for seed, rate in enumerate(rates)]
    assert all(apart_on_cpu(each.model, each.training) is None for each in runs)
    check_lanes_equal_solo_runs(runs)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"model.stack.skip": SKIP}, "skip dynamic"),
        ({"model.stack.cell": "simple"}, "cell simple"),
        ({"training.precision": "bfloat16"}, "precision bfloat16"),
        ({**THREE, "model.stack.shortcut": {"gate": "sigmoid_below_previous"}}, "gate sigmoid_below_previous"),
        ({"model.head": {"kind": "biaffine"}}, "head biaffine"),
    ],
)
def test_what_torch_multiplies_in_a_loop_stays_apart_on_a_cpu(changes: dict[str, Any], why: str) -> None:
    config = run(changes, skips=False)
    assert apart_on_cpu(config.model, config.training) == why


def test_an_epoch_of_a_company_is_trained_once() -> None:
    together, ticks = Together(), list[str]()
    parts = [together.join(run({"training.optimiser.learning_rate": rate}, skips=False)) for rate in (0.01, 0.02)]
    reports = [part.run_epoch(_noted(name, ticks)) for part, name in zip(parts, "ab", strict=True)]
    assert set(ticks) == {"a"}
    assert reports[0].seconds == reports[1].seconds
    late = together.join(run(skips=False))
    assert together.company(late) == [late]  # the others are an epoch ahead
    late.run_epoch()
    assert together.company(late) == [*parts, late]


def _noted(name: str, ticks: list[str]) -> Callable[[], None]:
    return lambda: ticks.append(name)


def test_an_error_of_an_epoch_together_is_nobody_s_unless_it_comes_again() -> None:
    """As where the memory for all is missing: each has it by itself."""
    together, failures = Together(), ["of all"]

    def fail_once() -> None:
        if failures:
            raise RuntimeError(failures.pop())

    runs = [run(seeds=(seed,), skips=False) for seed in (1, 2)]
    parts = [together.join(each) for each in runs]
    found = [told(part.run_epoch(fail_once)) for part in parts]
    assert found == [solo(each, 1)[0][0] for each in runs]


def test_an_error_of_one_ends_no_other() -> None:
    def fail() -> None:
        raise RuntimeError("of one")

    together, runs = Together(), [run(seeds=(seed,), skips=False) for seed in (1, 2)]
    parts = [together.join(each) for each in runs]
    with pytest.raises(RuntimeError, match="of one"):
        parts[0].run_epoch(fail)
    parts[0].leave()
    reports, state = solo(runs[1], 2)
    assert [told(parts[1].run_epoch()) for _ in range(2)] == reports
    assert same(parts[1].state_dict(), state)


@pytest.mark.parametrize("kind", ["layer", "rms"])
@pytest.mark.parametrize("seeds", [(1,), (2, 5)], ids=str)
def test_normalised_layers_with_residual_connections_equal_solo_runs(kind: str, seeds: tuple[int, ...]) -> None:
    stack = {**MODEL["stack"], "depth": 3, "cell": "gru", "normalisation": kind, "residual": True}
    check_lanes_equal_solo_runs([run({"model.stack": stack}, each, skips=False) for each in ((3,), seeds)])


@pytest.mark.parametrize("path", APART)
def test_what_a_program_has_once_keeps_runs_apart(path: str) -> None:
    assert run({path: APART[path]}).kind() != run().kind()


def test_other_orders_corpora_and_places_keep_runs_apart() -> None:
    plain = run()
    corpus = small_corpus(train=16, dev=8)
    changes: list[dict[str, Any]] = [{"order_seed": 4}, {"corpus": corpus}, {"beside": 1}]
    for change in changes:
        given = {name: getattr(plain, name) for name in plain.__slots__}
        assert Run(**{**given, **change}).kind() != plain.kind()
        assert Run(**given).kind() == plain.kind()


def test_language_models_start_at_the_scale_that_they_have_in_common() -> None:
    pretrained = {"training.pretraining": {"word_epochs": 1}}
    for ranged in ({}, {"model.initial_range": 0.1}):
        ours, theirs = ({**pretrained, **ranged, "model.initial_scale": scale} for scale in (1.0, 0.3))
        assert run(ours).kind() != run(theirs).kind()
        words = []
        for changes in (ours, theirs):
            program = run(changes).program([run(changes)])
            program.pretrain()
            assert program.model.embedder.words is not None
            words.append(program.model.embedder.words.table)
        assert not torch.equal(*words), "they start from other words"


def test_configs_in_common_are_configs() -> None:
    model, training = in_common(run().model, run().training)
    assert ModelConfig.model_validate_json(canonical_json(model)) == model
    assert TrainingConfig.model_validate_json(canonical_json(training)) == training
    assert isinstance(model.embedder, EmbedderConfig)
