"""A study of several objectives: what is recorded, replayed, reported and tested."""

import json
import math
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from skipstack.dashboards.formats.rendering import render
from skipstack.dashboards.reports.exploration.report import exploration_report
from skipstack.data.basis.errors import UserError
from skipstack.search.api.simulation.recordings import recordings
from skipstack.search.api.simulation.simulation import simulate
from skipstack.search.api.study import exploration_of
from skipstack.search.ledger.events import Proposed, Reported
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.publishing.bundles.export import chosen_trials
from skipstack.search.strategy.objectives.objectives import further, vector
from skipstack.search.study.config import SearchConfig, StudyConfig
from skipstack.search.study.record.reading import read_study
from skipstack.search.study.record.selection import selected
from skipstack.search.study.task import EpochResult
from skipstack.spaces.trial import TrialConfig
from tests.oracles.pareto import dominates
from tests.search.killing import killed_and_resumed
from tests.search.toy import ToyWorker, open_toy, run_toy, toy_study

THREE = ("score", "parameters", "latency")


class TimedWorker(ToyWorker):
    """A deep network reads slowly; its first epoch is the slowest."""

    def run_epoch(self) -> EpochResult:
        result = super().run_epoch()
        return replace(result, latency=self.task.config.model.stack.depth / 10 + 1 / result.epoch)


def count(config: TrialConfig) -> int | None:
    """Small learning rates have small networks here, so that scores and sizes are at odds."""
    return round(1000 * -math.log10(config.training.optimiser.learning_rate)) + config.model.stack.depth


def study(*objectives: str, proposer: str = "tpe", trials: int = 14) -> StudyConfig:
    toy = toy_study(trials=trials, proposer=proposer)
    return toy.model_copy(update={"search": toy.search.model_copy(update={"objectives": objectives})})


run = partial(run_toy, worker=TimedWorker, parameters=count)


def test_only_what_is_sought_is_recorded(tmp_path: Path) -> None:
    for objectives in (("score",), ("score", "parameters"), THREE):
        folder = open_toy(tmp_path / "-".join(objectives), study(*objectives, trials=2))
        record = run(folder)
        events = Ledger(folder.ledger).read()
        sizes = [event.parameters for event in events if isinstance(event, Proposed)]
        times = [event.latency for event in events if isinstance(event, Reported)]
        expected = [count(trial.config) for trial in record.trials.values()]
        assert sizes == (expected if "parameters" in objectives else [None, None])
        assert (None in times) == ("latency" not in objectives)
    assert [trial.latency for trial in record.trials.values()] == [
        pytest.approx(trial.config.model.stack.depth / 10 + 1 / len(trial.reports)) for trial in record.trials.values()
    ], "the least that was measured"


@pytest.mark.slow
@pytest.mark.parametrize("proposer", ["random", "tpe", "evolution"])
def test_the_front_is_what_no_trial_dominates_and_it_is_tested_and_told(proposer: str, tmp_path: Path) -> None:
    record = run(open_toy(tmp_path / "study", study(*THREE, proposer=proposer)))
    vectors = {
        number: (trial.score, -(trial.parameters or 0), -(trial.latency or 0))
        for number, trial in record.trials.items()
        if trial.score is not None
    }
    expected = {
        number
        for number, own in vectors.items()
        if not any(dominates(other, own) for other in vectors.values())  # type: ignore[arg-type]
    }
    assert 1 < len(expected) < len(vectors)
    assert {trial.number for trial in record.front()} == expected
    assert chosen_trials(record, best=None, trial=None, pareto=True) == record.front()
    with pytest.raises(UserError, match="--best and --pareto exclude each other"):
        chosen_trials(record, best=2, trial=None, pareto=True)
    assert expected <= set(selected(record))
    assert all(record.trials[number].tested for number in expected)
    told = json.loads(render(exploration_report(exploration_of(record)), "json"))
    assert told["objectives"] == list(THREE)
    assert {each["trial"]: each["parameters"] for each in told["front"]} == {
        number: record.trials[number].parameters for number in expected
    }
    assert [each["score"] for each in told["front"]] == sorted((each["score"] for each in told["front"]), reverse=True)
    text = render(exploration_report(exploration_of(record)), "text", full=True)
    assert f"Pareto front of score, parameters, latency: {len(expected)} of 14 trials" in text
    best = record.ranked()[0]
    assert f"{best.number}◆" in text
    assert f"{best.parameters:,} parameters" in text
    for form in ("markdown", "csv"):
        assert render(exploration_report(exploration_of(record)), form)  # type: ignore[arg-type]


def test_a_study_of_the_score_alone_has_no_front(tmp_path: Path) -> None:
    record = run(open_toy(tmp_path / "study", study("score")))
    assert record.front() == []
    with pytest.raises(UserError, match="one objective, which has no front"):
        chosen_trials(record, best=None, trial=None, pareto=True)
    assert "Pareto" not in render(exploration_report(exploration_of(record)), "text", full=True)


@pytest.mark.slow
@pytest.mark.parametrize("proposer", ["tpe", "evolution"])
def test_a_driver_killed_at_any_append_goes_on_as_if_it_had_not_been(proposer: str, tmp_path: Path) -> None:
    sought = study(*THREE, proposer=proposer, trials=6)
    killed_and_resumed(tmp_path, lambda path: open_toy(path, sought), run, moments=9)


@pytest.mark.slow
def test_a_rung_keeps_a_small_network_that_the_score_alone_would_stop(tmp_path: Path) -> None:
    alone = run(open_toy(tmp_path / "alone", study("score", proposer="random", trials=40)))
    beside = run(open_toy(tmp_path / "beside", study("score", "parameters", proposer="random", trials=40)))
    stopped = {n for n, trial in alone.trials.items() if trial.reason == "stopped"}
    kept = {n for n in stopped if beside.trials[n].reason == "completed"}
    assert kept
    sizes = {n: trial.parameters or 0 for n, trial in beside.trials.items()}
    assert sum(sizes[n] for n in kept) / len(kept) < sum(sizes.values()) / len(sizes)


def test_a_simulation_ranks_by_the_recorded_objectives(tmp_path: Path) -> None:
    folder = open_toy(tmp_path / "study", study(*THREE, proposer="random"))
    run(folder)
    record = read_study(folder.path)
    recorded = recordings(record, extrapolate=True)
    search = record.study.search
    both = simulate(record, recorded, search, workers=1)
    alone = simulate(record, recorded, search.model_copy(update={"objectives": ("score",)}), workers=1)
    assert (both.stopped, both.epochs) != (alone.stopped, alone.epochs)


def test_less_is_more_of_what_is_beside_the_score() -> None:
    assert vector(further(THREE), {"parameters": 10, "latency": 0.5}) == (-10.0, -0.5)
    assert vector(further(("score", "latency")), {"parameters": 10, "latency": None}) == (-math.inf,)
    assert vector(further(("score",)), {"parameters": 10, "latency": 0.5}) == ()


@pytest.mark.parametrize(
    ("search", "says"),
    [
        ({"objectives": ["parameters", "score"]}, "score first"),
        ({"objectives": ["score", "latency", "latency"]}, "each once"),
        ({"objectives": []}, "got the objectives none"),
        ({"objectives": ["score", "latency"], "scheduler": "median"}, "allowed with several: asha, or none"),
        ({"objectives": ["score", "size"]}, "unknown objective 'size'"),
    ],
)
def test_objectives_that_nobody_can_rank_by_are_refused(search: dict[str, Any], says: str) -> None:
    with pytest.raises(ValidationError, match=says):
        SearchConfig.model_validate(search)
