"""Models that a function gives with its reports: which of them stays, after kills too, and how they travel."""

from collections.abc import Callable
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from skipstack.search.execution.driver.driver import Driver
from skipstack.search.execution.driver.engine import run_study
from skipstack.search.execution.driver.retention import Retention
from skipstack.search.execution.engines.ray.copying.chunks import chunks
from skipstack.search.execution.engines.ray.copying.file_server import FileServer
from skipstack.search.execution.engines.ray.copying.scratch import files_of
from skipstack.search.execution.engines.serial import SerialEngine
from skipstack.search.execution.workers.call_models import CallModels
from skipstack.search.execution.workers.function_worker import FunctionWorkers
from skipstack.search.execution.workers.reporting import Report
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.study.record.call_models import models_of
from skipstack.search.study.record.folder import MODELS, StudyFolder
from skipstack.search.study.record.reading import read_study
from skipstack.search.study.record.study_record import StudyRecord
from tests.search.functions import LINE, Config, Function, open_function, searched
from tests.search.killing import DyingLedger, Killed, appends

NONE: dict[str, Any] = {**LINE, "search": {**LINE["search"], "scheduler": "none"}}
PROMOTING: dict[str, Any] = {
    **LINE,
    "search": {**LINE["search"], "scheduler": {"kind": "asha", "variant": "promotion", "reduction": 2}},
}
CURVE = {0: (1.0, 5.0, 2.0, 3.0, 2.0), 1: (2.0, 1.0, 4.0, 3.0, 1.0)}
"""By seed. Seed 0 is best after epoch 2, seed 1 after 3; and so are, as the first of equals, their means after 2."""


def score(config: Config, epoch: int) -> float:
    return CURVE[config["seed"]][epoch - 1] - config["x"]


def content(config: Config, epoch: int) -> bytes:
    return f"x {config['x']}, seed {config['seed']}, epoch {epoch}".encode()


def giving(config: Config, report: Report) -> None:
    """A folder with two files at each epoch."""
    model = report.folder / "model"
    (model / "deep").mkdir(parents=True, exist_ok=True)
    for epoch in range(1, 6):
        (model / "weights.bin").write_bytes(content(config, epoch))
        (model / "deep" / "notes").write_text("the same")
        report(score=score(config, epoch), model=model)


def restoring(config: Config, report: Report) -> None:
    """Goes on where it was, so that it gives no model of an earlier epoch again."""
    report.restore()
    model = report.folder / "weights.bin"
    for epoch in range(report.epoch + 1, 6):
        model.write_bytes(content(config, epoch))
        report.checkpoint(b"", epoch=epoch)
        report(score=score(config, epoch), epoch=epoch, model=str(model))


def rarely(config: Config, report: Report) -> None:
    """Seed 0 gives one at epochs 1 and 4, seed 1 none."""
    for epoch in range(1, 6):
        model = report.folder / "weights.bin"
        model.write_bytes(content(config, epoch))
        report(score=score(config, epoch), model=model if config["seed"] == 0 and epoch in (1, 4) else None)


def run(folder: StudyFolder, function: Function, ledger: Ledger) -> StudyRecord:
    with ledger:
        driver = Driver(folder, ledger, device="cpu", clock=lambda: 1.0)
        driver.listen(Retention(folder, lambda: driver.record))
        run_study(driver, SerialEngine(FunctionWorkers(function)))
        return driver.record


def kept(folder: StudyFolder) -> dict[tuple[int, int], tuple[int, bytes]]:
    """The epoch and the weights of the model of each trial and seed."""
    return {
        (trial.number, seed): (model.epoch, next(path for path in weights(model.path)).read_bytes())
        for trial in read_study(folder.path).trials.values()
        for seed, model in models_of(trial, folder.trial(trial.number)).items()
    }


def weights(path: Path) -> list[Path]:
    return [path] if path.is_file() else list(path.rglob("weights.bin"))


def best(scores: dict[int, float]) -> int:
    return max(scores, key=lambda epoch: (scores[epoch], -epoch))


@pytest.mark.first(1)
@pytest.mark.parametrize("function", [giving, restoring])
def test_of_each_seed_the_model_of_the_trial_s_best_epoch_stays(function: Function, tmp_path: Path) -> None:
    folder = open_function(tmp_path, function, PROMOTING, trials=4, seeds=2, epochs=5)
    record = run(folder, function, Ledger(folder.ledger))
    assert len({len(trial.reports) for trial in record.trials.values()}) > 1, "some are stopped"
    for trial in record.trials.values():
        reported = range(1, len(trial.reports) + 1)
        epoch = best({each: fmean(CURVE[seed][each - 1] for seed in (0, 1)) for each in reported})
        for seed in (0, 1):
            expected = epoch, content({"x": trial.point["x"], "seed": seed}, epoch)
            assert kept(folder)[trial.number, seed] == expected
            own = folder.trial(trial.number) / MODELS / f"seed-{seed}"
            assert len(list(own.iterdir())) == 1, "no other is left"


@pytest.mark.slow
@pytest.mark.parametrize("function", [giving, restoring])
def test_a_driver_killed_at_any_append_leaves_the_models_of_one_that_was_not(
    function: Function, tmp_path: Path
) -> None:
    whole = open_function(tmp_path / "whole", function, NONE, trials=2, seeds=2, epochs=5)
    run(whole, function, Ledger(whole.ledger))
    expected = kept(whole)
    assert len(expected) == 4
    for kill in range(3, appends(whole), appends(whole) // 4 | 1):
        folder = open_function(tmp_path / str(kill), function, NONE, trials=2, seeds=2, epochs=5)
        with pytest.raises(Killed):
            run(folder, function, DyingLedger(folder.ledger, kill, after=kill % 2 == 1))
        run(folder, function, Ledger(folder.ledger))
        assert kept(folder) == expected


def test_a_seed_that_seldom_gives_one_keeps_that_of_its_best_epoch(tmp_path: Path) -> None:
    folder = open_function(tmp_path, rarely, NONE, trials=1, seeds=2, epochs=5)
    run(folder, rarely, Ledger(folder.ledger))
    assert {key: epoch for key, (epoch, _) in kept(folder).items()} == {(0, 0): 4}


@pytest.mark.slow
def test_models_of_as_many_trials_stay_as_the_study_says(tmp_path: Path) -> None:
    few = {**NONE, "search": {**NONE["search"], "keep_checkpoints": 2}}
    folder = open_function(tmp_path, giving, few, trials=5, seeds=2, epochs=5)
    record = run(folder, giving, Ledger(folder.ledger))
    assert {trial for trial, _ in kept(folder)} == {trial.number for trial in record.ranked()[:2]}


def test_a_trial_without_a_score_keeps_none(tmp_path: Path) -> None:
    def diverging(config: Config, report: Report) -> None:
        path = report.folder / "weights.bin"
        path.write_bytes(b"1")
        report(score=1.0, model=path)
        report(score=float("nan"), model=path)

    folder = open_function(tmp_path, diverging, NONE, trials=1, seeds=1)
    assert run(folder, diverging, Ledger(folder.ledger)).trials[0].reason == "diverged"
    assert not (folder.trial(0) / MODELS).exists()


def test_the_file_server_takes_them_from_another_machine_and_they_stay(tmp_path: Path) -> None:
    study, here, given = StudyFolder(tmp_path / "study"), tmp_path / "here", tmp_path / "weights.bin"
    study.trials.mkdir(parents=True)
    given.write_bytes(b"12345")
    models = CallModels(here, Path("seed-0"), attempt=1, scores=())
    models.write(given, 1)
    models.scored(1, 0.5)
    server = FileServer(study)
    server.over(0)
    for chunk in chunks(here, files_of(here)):
        server.take(0, 1, chunk)
    (found,) = study.trial(0).rglob("weights.bin")
    assert found.read_bytes() == b"12345"


def absent(config: Config, report: Report) -> None:
    report(score=1.0, model="nowhere.pt")


def trained(config: Config, report: Report) -> None:
    report(score=1.0, model=object())  # type: ignore[arg-type]


def logged(config: Config, report: Report) -> None:
    report.log(model=1.0)


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (absent, "report(model=...): nowhere.pt is not there (allowed: a file or a folder)"),
        (trained, "report(model=...): got object (allowed: the path of a file or a folder)"),
        (logged, "report.log(model=...): the study keeps its own under this name (allowed: another)"),
    ],
)
def test_a_mistake_is_told_in_one_line(function: Callable[..., None], says: str, tmp_path: Path) -> None:
    assert says in searched(tmp_path, function, NONE, trials=1, seeds=1).trials[0].message
