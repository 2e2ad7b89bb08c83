"""A study in Optuna's storage, read back with Optuna: every number is the ledger's."""

import json
import math
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import TrialState

from skipstack.data.basis.errors import UserError
from skipstack.search.ledger.events import Ended, Event, Proposed, Reported, Started
from skipstack.search.publishing.tracking.optuna_storage import write_study
from skipstack.search.study.config import StudyConfig
from skipstack.search.study.record.study_record import StudyRecord
from tests.command_line import refusal, typed
from tests.formats.before_files import copied
from tests.search.made_up import AXES, DEPTH, GATE, HIDDEN, RATE, ended, history, opening, proposed, reported, study

SPELLING, DROPOUT, BATCH = "model.embedder.spelling", "model.stack.dropout", "training.batch_size"
SOURCES = "model.stack.composition"
EVERY: dict[str, Any] = {
    **AXES,
    DROPOUT: {"real": [0.1, 0.6]},
    BATCH: {"integer": [1, 32]},
    SPELLING: {"named": {"none": None, "a CNN": {"kind": "cnn"}}},
    "training.clip_norm": {"choice": [None, 1, 5]},
    SOURCES: {"choice": [2, [0, 0, 1], [0, 1, 1]], "when": {DEPTH: [3]}},
}
STATES = {
    "completed": TrialState.COMPLETE,
    "stopped": TrialState.PRUNED,
    "diverged": TrialState.FAIL,
    "failed": TrialState.FAIL,
    None: TrialState.RUNNING,
}


def read_back(events: Sequence[Event], uri: str) -> optuna.Study:
    name = write_study(StudyRecord.of(events), events, uri)
    return optuna.load_study(study_name=name, storage=uri)


Read = tuple[list[Event], optuna.Study]


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> Read:
    """A study of which a trial has not ended yet, and what Optuna reads of it."""
    everything = history(study(EVERY, composition=2, trials=30), seed=5)
    events = [event for event in everything if not (isinstance(event, Ended) and event.trial == 29)]
    return events, read_back(events, f"sqlite:///{tmp_path_factory.mktemp('optuna')}/optuna.db")


@pytest.mark.slow
def test_every_number_that_optuna_reads_is_the_ledgers(read: Read) -> None:
    events, found = read
    assert found.study_name == "skipstack/made-up"
    assert found.directions == [optuna.study.StudyDirection.MAXIMIZE]
    assert found.metric_names == ["accuracy"]
    reasons = {event.trial: event.reason for event in events if isinstance(event, Ended)}
    assert {*reasons.values(), None} == set(STATES)
    started = {event.trial: event.time for event in events if isinstance(event, Started)}
    assert [trial.number for trial in found.trials] == sorted(started)
    for trial in found.trials:
        curve = {each.epoch: each.score for each in events if isinstance(each, Reported) and each.trial == trial.number}
        assert trial.state == STATES[reasons.get(trial.number)]
        assert trial.intermediate_values.keys() == curve.keys()
        for epoch, score in curve.items():
            assert trial.intermediate_values[epoch] == score or math.isnan(score)
            assert math.isnan(trial.intermediate_values[epoch]) == math.isnan(score)
        if trial.state in (TrialState.COMPLETE, TrialState.PRUNED):
            assert trial.value == max(curve.values()) == curve[trial.user_attrs["best_epoch"]]
        else:
            assert trial.value is None
        assert trial.datetime_start == datetime.fromtimestamp(started[trial.number])
        assert (trial.datetime_complete is None) == (trial.number not in reasons)
    assert found.best_value == max(trial.value for trial in found.trials if trial.state == TrialState.COMPLETE)
    tested = {event.trial: list(event.metrics["test_accuracy"]) for event in events if event.kind == "tested"}
    assert {each.number: each.user_attrs["test"] for each in found.trials if "test" in each.user_attrs} == tested


@pytest.mark.slow
def test_axes_are_parameters_and_conditional_ones_are_there_where_they_are_active(read: Read) -> None:
    events, found = read
    distributions = {axis: each for trial in found.trials for axis, each in trial.distributions.items()}
    assert distributions == {
        DEPTH: CategoricalDistribution([1, 3, 5]),
        GATE: CategoricalDistribution(["none", "sigmoid_below"]),
        RATE: FloatDistribution(0.003, 0.03, log=True),
        DROPOUT: FloatDistribution(0.1, 0.6),
        BATCH: IntDistribution(1, 32),
        SPELLING: CategoricalDistribution(["none", "a CNN"]),
        "training.clip_norm": CategoricalDistribution([None, 1.0, 5.0]),
        SOURCES: CategoricalDistribution([2, "[0,0,1]", "[0,1,1]"]),
    }
    points = {event.trial: event.point for event in events if isinstance(event, Proposed)}
    for trial in found.trials:
        own = dict(points[trial.number])
        own[SPELLING] = "none" if own[SPELLING] is None else "a CNN"
        if isinstance(own.get(SOURCES), list):
            own[SOURCES] = json.dumps(own[SOURCES], separators=(",", ":"))
        assert trial.params == own
        assert (GATE in own) == (own[DEPTH] != 1)
        assert (SOURCES in own) == (own[DEPTH] == 3)


def test_steps_logarithms_and_normal_axes_are_those_that_optuna_has(tmp_path: Path) -> None:
    """Optuna has no order of labels, no step by logarithm, and no normal distribution: a range holds what was tried."""
    axes = {
        DEPTH: {"ordinal": [1, 3, 5]},
        RATE: {"lognormal": [-5.0, 1.0]},
        DROPOUT: {"uniform": [0.1, 0.6], "step": 0.1},
        BATCH: {"lograndint": [1, 32]},
        HIDDEN: {"lograndint": [8, 64], "step": 8},
    }
    config = study(axes, trials=2, scheduler="none")
    points = [{DEPTH: 3, RATE: rate, DROPOUT: 0.3, BATCH: 4, HIDDEN: 16} for rate in (0.01, 0.9)]
    events = [*opening(config), *(proposed(config, number, point) for number, point in enumerate(points))]
    for number in (0, 1):
        events += [reported(number, epoch, 0.8, 0.9) for epoch in (1, 2)] + [ended(number)]
    found = read_back(events, f"sqlite:///{tmp_path}/optuna.db")
    assert [trial.params for trial in found.trials] == points
    assert found.trials[0].distributions == {
        DEPTH: CategoricalDistribution([1, 3, 5]),
        RATE: FloatDistribution(math.exp(-9), 0.9, log=True),
        DROPOUT: FloatDistribution(0.1, 0.6, step=0.1),
        BATCH: IntDistribution(1, 32, log=True),
        HIDDEN: IntDistribution(8, 64, step=8),
    }


@pytest.mark.slow
def test_further_objectives_are_made_small(tmp_path: Path) -> None:
    config = study(objectives=["score", "parameters"], scheduler="none")
    first, second = (proposed(config, number, {DEPTH: 1, RATE: rate}) for number, rate in enumerate((0.01, 0.02)))
    known = first.model_copy(update={"parameters": 1200})
    events = [*opening(config), known, second]
    for number in (0, 1):
        events += [reported(number, epoch, 0.8, 0.9) for epoch in (1, 2)] + [ended(number)]
    found = read_back(events, f"sqlite:///{tmp_path}/optuna.db")
    assert [each.name for each in found.directions] == ["MAXIMIZE", "MINIMIZE"]
    assert found.metric_names == ["accuracy", "parameters"]
    assert [(trial.state, trial.values) for trial in found.trials] == [
        (TrialState.COMPLETE, [pytest.approx(0.85), 1200.0]),
        (TrialState.FAIL, None),  # nobody counted its parameters
    ]


@pytest.mark.slow
def test_a_storage_that_has_the_study_or_cannot_be_reached_is_left_as_it_is(tmp_path: Path) -> None:
    config: StudyConfig = study(trials=2)
    events, uri = list(history(config)), f"sqlite:///{tmp_path}/optuna.db"
    read_back(events, uri)
    with pytest.raises(UserError, match="holds a study 'skipstack/made-up' already"):
        write_study(StudyRecord.of(events), events, uri)
    assert len(optuna.load_study(study_name="skipstack/made-up", storage=uri).trials) == 2
    for wrong in ("nonsense", "sqlite:////none/such/optuna.db", "oracle://somewhere/x"):
        with pytest.raises(UserError, match=r"cannot be written: .* \(allowed: a database, as in sqlite:///"):
            write_study(StudyRecord.of(events), events, wrong)


def test_the_command_writes_a_study_of_the_version_before(tmp_path: Path) -> None:
    folder, uri = copied("asha", tmp_path), f"sqlite:///{tmp_path}/optuna.db"
    written = typed("export", folder, "--optuna", uri)
    assert written.code == 0
    assert len(optuna.load_study(study_name=written.out.strip(), storage=uri).trials) == 5
    assert "already" in refusal("export", folder, "--optuna", uri)
    assert "--optuna excludes" in refusal("export", folder, "--optuna", uri, "--best", 1)
    assert "got none of --to, --optuna and --study" in refusal("export", folder)


def test_a_trial_that_was_proposed_when_the_study_was_killed_waits(tmp_path: Path) -> None:
    events = list(history(study(trials=4), seed=1))
    place = next(place for place, event in enumerate(events) if isinstance(event, Proposed) and event.trial == 1)
    killed = events[: place + 1]
    found = read_back(killed, f"sqlite:///{tmp_path}/optuna.db")
    assert [(trial.state, trial.datetime_start) for trial in found.trials][1:] == [(TrialState.WAITING, None)]
