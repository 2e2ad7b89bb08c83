"""A network that two points name is trained once, and what is said of it."""

from pathlib import Path
from typing import Any

from skipstack.dashboards.formats.rendering import render
from skipstack.dashboards.reports.exploration.report import exploration_report
from skipstack.search.api.study import exploration_of
from skipstack.search.study.config import StudyConfig
from skipstack.search.study.record.reading import read_study
from tests.search.made_up import DEPTH, GATE, ended, proposed, record_of, reported, study
from tests.search.toy import KeepingWorker, open_toy, run_toy

AXES = {DEPTH: {"choice": [1, 3]}, GATE: {"choice": ["none", "sigmoid_below"]}}


def of_gates(**search: Any) -> StudyConfig:
    """Without a shortcut the gate changes nothing: two of its four configs are one network."""
    return study(AXES, composition=2, proposer="grid", **search)


def test_a_search_trains_a_network_once_whatever_its_names(tmp_path: Path) -> None:
    folder = open_toy(tmp_path / "study", of_gates(scheduler="none"))
    record = run_toy(folder, worker=KeepingWorker)
    by_point = {(trial.point[DEPTH], trial.point[GATE]): trial for trial in record.trials.values()}
    first, second = sorted((by_point[1, gate] for gate in ("none", "sigmoid_below")), key=lambda trial: trial.number)
    assert second.reused is not None
    assert (second.reused.study, second.reused.source) == ("", first.number)
    assert (second.curve, second.test) == (first.curve, first.test)
    assert second.weights_identity == first.config.identity
    assert [trial.reused for trial in record.trials.values() if trial.point[DEPTH] == 3] == [None, None]
    assert read_study(folder.path).trials[second.number].reused == second.reused, "also after the ledger is read again"
    text = " ".join(render(exploration_report(exploration_of(record)), "text", full=True).split())
    assert "1 of them reused, not trained" in text
    assert "several names" not in text


def test_what_was_trained_twice_is_said() -> None:
    """Side by side, or since the first was stopped."""
    config = of_gates()
    points = [{DEPTH: 3, GATE: "sigmoid_below"}, {DEPTH: 1, GATE: "none"}, {DEPTH: 1, GATE: "sigmoid_below"}]
    events = [
        event
        for number, point in enumerate(points)
        for event in (proposed(config, number, point), reported(number, 1, 0.7, 0.8), ended(number, "stopped"))
    ]
    text = " ".join(render(exploration_report(exploration_of(record_of(config, *events))), "text", full=True).split())
    assert "trained more than once under several names, since they differ in fields without use: trials 1 and 2" in text
