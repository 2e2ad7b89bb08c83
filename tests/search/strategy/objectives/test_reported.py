"""Studies of a function of several objectives: what it reports, the front of it, and what is refused."""

import json
import math
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Any

import optuna
import pytest

import skipstack
from skipstack.dashboards.formats.rendering import render
from skipstack.dashboards.reports.exploration.report import exploration_report
from skipstack.dashboards.reports.pictures.search_pictures import search_charts
from skipstack.data.basis.errors import UserError
from skipstack.search.analysis.exploration.exploration_frame import exploration_frame
from skipstack.search.analysis.study_frames import StudyFrames
from skipstack.search.api.simulation.recordings import recordings
from skipstack.search.api.simulation.simulation import simulate
from skipstack.search.api.study import exploration_of
from skipstack.search.execution.driver.functions import source_of
from skipstack.search.execution.workers.reporting import Report
from skipstack.search.ledger.ledger import Ledger, events_of
from skipstack.search.publishing.tracking.optuna_storage import write_study
from skipstack.search.publishing.tracking.runs import ExpectedRuns
from skipstack.search.study.config import SearchConfig
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.record.reading import read_study
from skipstack.search.study.record.study_record import StudyRecord
from tests.search.functions import LINE, Config, open_function, run_function, searched

MIXED = {"accuracy": "maximize", "seconds": "minimize", "margin": "maximize"}
"""Directions of which no two neighbours are the same."""


def sought(objectives: Any = MIXED, **search: Any) -> dict[str, Any]:
    plain = {"proposer": "random", "scheduler": "none", "trials": 12, "seeds": 2, "objectives": objectives}
    return {"axes": {"x": {"uniform": [0.0, 4.0]}, "y": {"randint": [0, 3]}}, "search": {**plain, **search}}


def measured(config: Config, epoch: int = 1) -> dict[str, float]:
    x, y, seed = config["x"], config["y"], config["seed"]
    return {
        "accuracy": -((x - 1) ** 2) - (epoch - 2) ** 2 + 0.01 * seed,
        "seconds": x + y + epoch + 0.1 * seed,
        "margin": y - 0.2 * x + 0.3 * seed,
    }


def returning(config: Config) -> dict[str, float]:
    return measured(config)


def reporting(config: Config, report: Report) -> None:
    for epoch in (1, 2, 3):
        accuracy, *_ = (values := measured(config, epoch)).values()
        report(accuracy, seconds=values["seconds"], margin=values["margin"], loss=epoch)


def means(point: Any, epoch: int, seeds: int = 2) -> dict[str, float]:
    own = [measured({**point, "seed": seed}, epoch) for seed in range(seeds)]
    return {name: fmean(each[name] for each in own) for name in MIXED}


def undominated(points: dict[int, dict[str, float]], directions: dict[str, str]) -> set[int]:
    """By the definition: no other is at least as good in everything and better in something."""

    def better(one: float, other: float, direction: str) -> bool:
        return one > other if direction == "maximize" else one < other

    def dominates(one: dict[str, float], other: dict[str, float]) -> bool:
        worse = any(better(other[name], one[name], direction) for name, direction in directions.items())
        return not worse and any(better(one[name], other[name], direction) for name, direction in directions.items())

    return {n for n, own in points.items() if not any(dominates(other, own) for other in points.values())}


@pytest.mark.first(2)
@pytest.mark.parametrize("directions", list(product(["maximize", "minimize"], repeat=3)), ids="-".join)
def test_the_front_is_what_enumeration_finds_whatever_the_directions(
    directions: tuple[str, ...], tmp_path: Path
) -> None:
    objectives = dict(zip(MIXED, directions, strict=True))
    record = searched(tmp_path, returning, sought(objectives, seeds=1))
    points = {number: means(trial.point, 1, seeds=1) for number, trial in record.trials.items()}
    expected = undominated(points, objectives)
    assert {trial.number for trial in record.front()} == expected
    seen = exploration_of(record)
    assert {each.number: seen.values_of(each) for each in seen.front} == {number: points[number] for number in expected}
    best = seen.best or 0
    better = max if directions[0] == "maximize" else min
    assert points[best]["accuracy"] == better(each["accuracy"] for each in points.values())


def test_values_are_means_over_seeds_at_the_best_epoch(tmp_path: Path) -> None:
    record = searched(tmp_path, reporting, sought(), epochs=3)
    frames = StudyFrames.of(record, tmp_path)
    for number, trial in record.trials.items():
        assert trial.best is not None
        assert trial.best.epoch == 2
        row, expected = frames.trials.loc[number], means(trial.point, 2)
        found = {"accuracy": row["dev"], "seconds": row["objective_seconds"], "margin": row["objective_margin"]}
        assert found == pytest.approx(expected)
    curves = frames.curves[(frames.curves["trial"] == 0) & (frames.curves["epoch"] == 3)]
    assert curves["objective_seconds"].tolist() == [
        measured({**record.trials[0].point, "seed": seed}, 3)["seconds"] for seed in (0, 1)
    ]
    assert curves["metric.loss"].tolist() == [3.0, 3.0]


def test_folds_are_averaged_in_each_objective(tmp_path: Path) -> None:
    def validated(config: Config) -> dict[str, float]:
        return {"accuracy": config["x"] + config["fold"], "seconds": config["x"] * config["fold"]}

    objectives = {"accuracy": "minimize", "seconds": "minimize"}
    record = searched(tmp_path, validated, sought(objectives, replicates={"fold": 4}, seeds=1), trials=4)
    for trial in record.trials.values():
        x = trial.point["x"]
        assert (trial.score, *trial.further(record.study.search.further)) == pytest.approx((-x - 1.5, -1.5 * x))


def test_the_report_the_pictures_and_the_frames_name_the_objectives(tmp_path: Path) -> None:
    record = searched(tmp_path, reporting, sought(), epochs=3)
    seen = exploration_of(record)
    front = record.front()
    report = exploration_report(seen)
    text = render(report, "text", full=True)
    assert f"Pareto front of accuracy, seconds, margin: {len(front)} of 12 trials" in " ".join(text.split())
    assert "dev accuracy" in text
    for trial in front:
        assert f"trial {trial.number}: " in text
        assert f"seconds {means(trial.point, 2)['seconds']:.4g}" in text
    assert f"{front[0].number}◆" in text
    assert [each.heading for each in search_charts(seen)][-2:] == ["accuracy and seconds", "accuracy and margin"]
    told = json.loads(render(report, "json"))
    assert told["objectives"] == list(MIXED)
    assert [each["trial"] for each in told["front"]] == [trial.number for trial in front]
    header, *rows = render(report, "csv").splitlines()
    place = header.split(",").index("selected_objective_seconds")
    selected = {row.split(",")[0]: row.split(",")[place] for row in rows}
    assert float(selected["best"]) == pytest.approx(means(front[0].point, 2)["seconds"])
    table = exploration_frame(seen)
    (best,) = table.loc[table["axis"] == "best", "objective_margin"]
    assert best == pytest.approx(means(front[0].point, 2)["margin"])


@pytest.mark.slow
def test_mlflow_and_optuna_have_each_value_and_direction(tmp_path: Path) -> None:
    record = searched(tmp_path / "study", returning, sought(), trials=4)
    runs = ExpectedRuns()
    events = Ledger(tmp_path / "study" / "ledger").read()
    for event in events:
        runs.apply(event)
    assert runs.pending[None, None].params["objectives"] == "accuracy:maximize,seconds:minimize,margin:maximize"
    for number, trial in record.trials.items():
        value, _ = runs.pending[None, number].metrics["objective_seconds", 1]
        assert value == pytest.approx(means(trial.point, 1)["seconds"])
    uri = f"sqlite:///{tmp_path}/optuna.db"
    found = optuna.load_study(study_name=write_study(record, events, uri), storage=uri)
    assert [each.name for each in found.directions] == ["MAXIMIZE", "MINIMIZE", "MAXIMIZE"]
    assert found.metric_names == list(MIXED)
    assert {trial.number for trial in found.best_trials} == {trial.number for trial in record.front()}
    assert [each.values for each in found.trials] == [
        pytest.approx(list(means(trial.point, 1).values())) for trial in record.trials.values()
    ]


def outcome(record: StudyRecord) -> list[Any]:
    further = record.study.search.further
    return [(each.point, each.state, each.dev, each.further(further)) for each in record.trials.values()]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("proposer", "scheduler"), [("tpe", "asha"), ("evolution", {"kind": "asha", "variant": "promotion"})]
)
def test_a_study_that_was_killed_goes_on_as_if_it_had_not_been(proposer: str, scheduler: Any, tmp_path: Path) -> None:
    study = sought(proposer=proposer, scheduler=scheduler)
    whole = searched(tmp_path / "whole", reporting, study, trials=6, epochs=3)
    batches = list(map(events_of, Ledger(tmp_path / "whole" / "ledger").lines()))
    for cut in range(1, len(batches), 9):
        folder = StudyFolder(tmp_path / str(cut))
        with Ledger(folder.ledger) as ledger:
            for batch in batches[:cut]:
                ledger.append(*batch)
        assert outcome(run_function(folder, reporting)) == outcome(whole)
    assert outcome(read_study(tmp_path / "whole")) == outcome(whole)


@pytest.mark.slow
def test_a_rung_keeps_a_trial_of_the_front_that_the_score_alone_would_stop(tmp_path: Path) -> None:
    alone = searched(
        tmp_path / "alone",
        reporting_first,
        sought({"accuracy": "maximize"}, scheduler="asha", seeds=1),
        trials=20,
        epochs=3,
    )
    both = sought({"accuracy": "maximize", "seconds": "minimize"}, scheduler="asha", seeds=1)
    beside = searched(tmp_path / "beside", reporting, both, trials=20, epochs=3)
    stopped = {number for number, trial in alone.trials.items() if trial.reason == "stopped"}
    kept = {number for number in stopped if beside.trials[number].reason == "completed"}
    assert kept
    seconds = {number: means(trial.point, 2)["seconds"] for number, trial in beside.trials.items()}
    assert fmean(seconds[number] for number in kept) < fmean(seconds.values())


def reporting_first(config: Config, report: Report) -> None:
    for epoch in (1, 2, 3):
        report(accuracy=measured(config, epoch)["accuracy"])


def test_a_simulation_ranks_by_what_was_reported(tmp_path: Path) -> None:
    searched(tmp_path / "study", reporting, sought(), trials=16, epochs=3)
    record = read_study(tmp_path / "study")
    recorded, asha = recordings(record), SearchConfig(scheduler="asha").scheduler
    both = record.study.search.model_copy(update={"scheduler": asha})
    alone = both.model_copy(update={"objectives": {"accuracy": "maximize"}})
    ends = [simulate(record, recorded, each, workers=1) for each in (both, alone)]
    assert ends[0].stopped != ends[1].stopped


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (lambda config: {"accuracy": 1.0}, "got accuracy without seconds (allowed: accuracy, seconds, and others"),
        (lambda config: {"accuracy": 1.0, "secnds": 2.0}, "got accuracy, secnds without seconds (nearest: 'secnds'; "),
        (lambda config: 1.0, 'the function returned 1.0 (allowed: {"accuracy": ..., "seconds": ...})'),
        (lambda config: (1.0, 2.0), "the function returned [1.0, 2.0] (allowed: {"),
        (lambda config: {"accuracy": 1.0, "seconds": math.nan}, "report(seconds=...): got nan (allowed: a finite num"),
        (lambda config: {"accuracy": 1.0, "seconds": "much"}, "report(seconds=...): got 'much' (allowed: a number)"),
        (lambda config: {"accuracy": "high", "seconds": 1.0}, "report(accuracy=...): got 'high' (allowed: a number)"),
        (lambda config, report: report(1.0), "got accuracy without seconds"),
        (lambda config, report: report(), "got nothing without accuracy, seconds"),
        (lambda config, report: report(1.0, accuracy=1.0, seconds=1.0), "report(accuracy=...): got it twice"),
        (lambda config, report: report(1.0, seconds=1.0, objective_seconds=1.0), "the study keeps its own under this"),
    ],
)
def test_a_report_that_lacks_an_objective_fails_its_trial_in_one_line(function: Any, says: str, tmp_path: Path) -> None:
    record = searched(tmp_path, function, sought({"accuracy": "maximize", "seconds": "minimize"}), trials=2)
    for trial in record.trials.values():
        assert (trial.state, trial.score) == ("failed", None)
        assert says in trial.message
        assert len(trial.message.splitlines()) == 1
    assert record.front() == []


def test_a_score_that_is_no_number_diverges_as_that_of_a_single_objective_does(tmp_path: Path) -> None:
    def diverging(config: Config) -> dict[str, float]:
        return {"accuracy": math.nan, "seconds": 1.0}

    record = searched(tmp_path, diverging, sought({"accuracy": "maximize", "seconds": "minimize"}), trials=2)
    assert {trial.state for trial in record.trials.values()} == {"diverged"}


@pytest.mark.parametrize(
    ("objectives", "says"),
    [
        (
            {"accuracy": "maximise", "seconds": "minimize"},
            "accuracy: unknown direction 'maximise' (nearest: 'maximize'",
        ),
        ({"accuracy": "up"}, "accuracy: unknown direction 'up' (allowed: maximize, minimize)"),
        ({"accuracy": 1}, "accuracy: unknown direction '1'"),
        ({}, "got no objective (allowed: one or more"),
        ({"accuracy": "maximize", "score": "minimize"}, "got an objective called 'score'"),
        ({"test": "maximize"}, "got an objective called 'test' (allowed: a Python name other than epoch, seed, test"),
        ({"in words": "maximize"}, "got an objective called 'in words'"),
        (["accuracy", "seconds"], "unknown objective 'accuracy' (nearest: 'latency'; allowed: score, "),
        (["score", "latency"], "got score, latency (allowed for a function: what it reports, each with its direction"),
        ("accuracy", "got 'accuracy' (allowed: a list of score, parameters, latency; or of a function a mapping"),
    ],
)
def test_objectives_that_there_cannot_be_are_refused_in_one_line(objectives: Any, says: str, tmp_path: Path) -> None:
    with pytest.raises(UserError) as refused:
        open_function(tmp_path / "study", returning, sought(objectives))
    assert str(refused.value).startswith(("study: search.objectives: ", "search.objectives: "))
    assert says in str(refused.value)
    assert len(str(refused.value).splitlines()) == 1


def test_an_objective_given_twice_or_beside_a_direction_or_to_networks_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "study.yaml"
    file.write_text(
        "axes: {x: {uniform: [0, 4]}}\nsearch:\n  objectives:\n"
        "    loss: minimize\n    size: minimize\n    loss: maximize\n"
    )
    with pytest.raises(UserError, match=r"study.yaml:6: key 'loss' is given twice \(first on line 4\)"):
        skipstack.search(file, returning, out=tmp_path / "twice")
    with pytest.raises(UserError, match="direction: got 'minimize' beside the objectives accuracy, seconds, margin"):
        skipstack.search(LINE, returning, direction="minimize", objectives=MIXED, out=tmp_path / "both")  # type: ignore[arg-type]
    with pytest.raises(UserError, match="got accuracy, seconds, margin with directions for a study that trains netwo"):
        skipstack.search("quickstart", objectives=MIXED, out=tmp_path / "networks")  # type: ignore[arg-type]
    assert [each.name for each in tmp_path.iterdir()] == ["study.yaml"]


def test_a_study_without_named_objectives_is_recorded_as_before() -> None:
    recorded = source_of(returning).model_dump(mode="json")
    assert list(recorded) == ["name", "file", "source", "direction", "epochs"]
    assert SearchConfig().model_dump(mode="json")["objectives"] == ["score"]
