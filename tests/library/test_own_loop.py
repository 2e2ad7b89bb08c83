"""A study whose trials a loop of the user's trains: it decides, records and goes on as one that calls a function."""

import errno
import re
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import skipstack
from skipstack.search.api import run
from skipstack.search.execution.driver.driver import Driver
from skipstack.search.execution.driver.faults import OutOfSpaceError
from skipstack.search.execution.workers.reporting import ReportError
from skipstack.search.ledger import segments
from skipstack.search.ledger.events import Reported, Retried
from skipstack.search.ledger.ledger import Ledger
from tests.pages import ROOT
from tests.search.killing import decided

SPACE: dict[str, Any] = {
    "axes": {"x": {"real": [0.0, 1.0]}, "kind": {"choice": ["a", "b"]}},
    "search": {"scheduler": {"kind": "asha", "grace": 1, "reduction": 2, "variant": "promotion"}},
}
SIZE: dict[str, Any] = {"trials": 8, "epochs": 4, "seeds": 2}


def score(config: Any, epoch: int) -> float:
    return -((config["x"] - 0.3) ** 2) * (1 + 1 / epoch) + 0.01 * config["seed"] + (config["kind"] == "b")


def objective(config: Any, report: skipstack.Report) -> None:
    for epoch in range(1, 5):
        report(score=score(config, epoch), epoch=epoch, twice=2 * epoch)


def train(trial: skipstack.AskedTrial) -> None:
    """What ``objective`` does, by a loop."""
    for epoch in range(trial.epoch + 1, 5):
        for seed, config in trial.configs.items():
            trial.report(score=score(config, epoch), seed=seed, twice=2 * epoch)
        if not trial.goes_on:
            break


def smaller(x: float, a__b: int) -> bool:
    """A constraint."""
    return x < a__b


def small(x: float) -> bool:
    """A constraint that no study here has."""
    return x < 0.5


@pytest.fixture(scope="module")
def called(tmp_path_factory: pytest.TempPathFactory) -> list[object]:
    """What happens where a function is called."""
    folder = tmp_path_factory.mktemp("called") / "study"
    skipstack.search(SPACE, objective, engine="serial", out=folder, **SIZE)
    return decided(folder)


def test_a_loop_has_the_trials_decisions_and_curves_of_a_function(called: list[object], tmp_path: Path) -> None:
    with skipstack.begin(SPACE, out=tmp_path / "study", **SIZE) as study:
        while (trial := study.ask()) is not None:
            train(trial)
            assert not trial.goes_on
    assert decided(study.folder) == called
    assert skipstack.open(study.folder).finished


@pytest.mark.first(1)
@pytest.mark.parametrize("left_after", [0, 1, 3, 6])
def test_a_loop_that_leaves_goes_on_where_it_was(left_after: int, called: list[object], tmp_path: Path) -> None:
    folder = tmp_path / "study"
    with skipstack.begin(SPACE, out=folder, **SIZE) as study:
        for _ in range(left_after):
            trial = study.ask()
            assert trial is not None
            train(trial)
    assert not skipstack.open(folder).finished
    with skipstack.begin(folder) as study:
        while (trial := study.ask()) is not None:
            train(trial)
    assert decided(folder) == called


def test_a_study_that_goes_on_takes_what_it_has_and_refuses_anything_else(tmp_path: Path) -> None:
    folder, space = tmp_path / "study", {"axes": {**SPACE["axes"], "a.b": {"choice": [1, 2]}}}
    own: dict[str, Any] = {
        "name": "mine",
        **SIZE,
        "replicates": {"fold": 2},
        "objectives": {"loss": "minimize", "cost": "maximize"},
        "settings": {"search.scheduler": "none", "kind": "b", "axes.a.b": {"choice": [1, 3]}},
        "constraints": [smaller, "b < 4"],
    }
    with skipstack.begin(space, out=folder, **own):
        pass
    with skipstack.begin(folder, out=str(folder), direction="minimize", **own):
        pass
    before = Ledger(folder / "ledger").read()
    of = "for a study that was begun"
    refused: list[tuple[dict[str, Any], str]] = [
        ({"trials": 4}, f"--trials 4: got 4 {of} and has 8 (allowed: to leave it out)"),
        ({"seeds": 1}, f"--seeds 1: got 1 {of} and has 2 (allowed: "),
        ({"epochs": 9}, f"epochs: got 9 {of} and has 4 (allowed: "),
        ({"direction": "maximize"}, f"direction: got 'maximize' {of} and has 'minimize' (allowed: "),
        ({"name": "other"}, f"name: got 'other' {of} and has 'mine' (allowed: "),
        ({"replicates": {"fold": 3}}, f'search.replicates: got {{"fold": 3}} {of} and has {{"fold": 2}} (allowed: '),
        ({"objectives": {"cost": "maximize", "loss": "minimize"}}, 'search.objectives: got {"cost": "maximize", '),
        ({"scale": "small"}, f"scale: got 'small' {of} (allowed: "),
        ({"out": tmp_path / "other"}, f"out: got {tmp_path / 'other'} {of} in {folder} (allowed: "),
        ({"settings": {"search.scheduler": "asha"}}, f'got \'asha\' {of} and has {{"kind": "none"}} (allowed: '),
        ({"settings": {"kind": "a"}}, f"settings kind: got 'a' {of} and has 'b' (allowed: "),
        ({"settings": {"x": 0.5}}, f"settings x: got 0.5 {of} and has an axis of numbers from 0.0 to 1.0 (allowed: "),
        ({"settings": {"axes.a.b": {"choice": [1, 2]}}}, f"{of} and has an axis of 1, 3 (allowed: "),
        ({"settings": {"search.trails": 4}}, "unknown path 'search.trails' (nearest: 'search.trials'"),
        ({"trials": 0}, "--trials 0: search.trials: got 0"),
        ({"constraints": [small]}, "constraints: unknown constraint 'small' (nearest: 'smaller'; allowed: smaller, "),
        ({"constraints": ["x < 0.9"]}, "constraints: unknown constraint 'x < 0.9' ("),
    ]
    for given, said in refused:
        with pytest.raises(skipstack.UserError, match=re.escape(said)):
            skipstack.begin(folder, **given)
    assert Ledger(folder / "ledger").read() == before


@pytest.mark.slow
def test_a_trial_that_was_open_when_its_loop_was_killed_is_handed_out_again(
    called: list[object], tmp_path: Path
) -> None:
    code = (
        "import os, sys; from pathlib import Path; import skipstack; from tests.library import test_own_loop as own\n"
        "study = skipstack.begin(own.SPACE, out=Path(sys.argv[1]), **own.SIZE)\n"
        "own.train(study.ask()); trial = study.ask()\n"
        "for seed, config in trial.configs.items(): trial.report(score=own.score(config, 1), seed=seed, twice=2)\n"
        "os._exit(9)"
    )
    folder = tmp_path / "study"
    assert subprocess.run([sys.executable, "-c", code, str(folder)], check=False).returncode == 9
    with skipstack.begin(folder) as study:
        again = study.ask()
        assert again is not None
        train(again)
        while (trial := study.ask()) is not None:
            train(trial)
    assert decided(folder) == called


@pytest.mark.slow
def test_trials_may_be_trained_side_by_side(tmp_path: Path) -> None:
    def work() -> None:
        while (trial := study.ask()) is not None:
            train(trial)

    with skipstack.begin(SPACE, out=tmp_path / "study", **SIZE) as study, ThreadPoolExecutor(4) as threads:
        for done in [threads.submit(work) for _ in range(4)]:
            done.result()
    record = skipstack.open(study.folder).record
    assert record.finished
    assert len(record.trials) == 8
    for trial in record.trials.values():
        assert [report.epoch for report in trial.reports] == list(range(1, len(trial.reports) + 1))


def test_a_training_may_end_early_or_fail(tmp_path: Path) -> None:
    with skipstack.begin(
        {"axes": SPACE["axes"]}, settings={"search.retries": 1}, trials=2, epochs=4, seeds=1, out=tmp_path / "study"
    ) as study:
        first = study.ask()
        assert first is not None
        assert first.report(score=1.0)
        first.end()
        assert not first.report(score=2.0), "it has ended"
        second = study.ask()
        assert second is not None
        second.fail(RuntimeError("the node\nis gone"))
        assert study.ask() is None or not second.goes_on
    record = skipstack.open(study.folder).record
    assert [len(record.trials[number].reports) for number in (0, 1)] == [1, 0]
    assert record.trials[0].reason == "completed"
    assert record.trials[1].reason == "failed"
    assert record.trials[1].message == "RuntimeError: the node is gone"
    assert not any(isinstance(event, Retried) for event in Ledger(study.folder / "ledger").read())


def test_points_are_asked_of_a_study_that_a_loop_trains(tmp_path: Path) -> None:
    with skipstack.begin({"axes": SPACE["axes"]}, trials=1, epochs=1, seeds=1, out=tmp_path / "study") as study:
        skipstack.open(study.folder).enqueue({"x": 0.75})
        tried = []
        while (trial := study.ask()) is not None:
            tried.append(trial.config["x"])
            trial.report(score=0.0)
    assert tried == [0.5, 0.75]


def test_mistakes_of_a_loop_are_told(tmp_path: Path) -> None:
    half = {"axes": {"kind": {"choice": ["a", "b\ud83d"]}}}
    with pytest.raises(skipstack.UserError, match=r"the study: got half a surrogate pair in .*b\\ud83d'"):
        skipstack.begin(half, out=tmp_path / "half", **SIZE)
    assert not (tmp_path / "half").exists()
    with skipstack.begin(SPACE, out=tmp_path / "study", **SIZE) as study:
        trial = study.ask()
        assert trial is not None
        with pytest.raises(skipstack.UserError, match=r"got no seed for a trial of 2 seeds \(allowed: seed=0"):
            trial.report(score=0.5)
        with pytest.raises(skipstack.UserError, match=r"unknown seed '7' \(nearest|unknown seed '7' \(allowed: 0, 1\)"):
            trial.report(score=0.5, seed=7)
        with pytest.raises(skipstack.UserError, match="has more trials, or open ones"):
            study.finish()
        trial.report(score=0.5, seed=0)
        with pytest.raises(
            ReportError, match=r"report\(seed=0\): got a second epoch before epoch 1 of seed 1 \(allowed"
        ):
            trial.report(score=0.6, seed=0)
        assert trial.report(score=0.5, seed=1), "the first report of seed 0 is kept"
        assert trial.epoch == 1
    with pytest.raises(skipstack.UserError, match=r"as in skipstack\.begin\('"):
        skipstack.resume(study.folder, engine="serial")
    with skipstack.begin(study.folder) as again:
        while (trial := again.ask()) is not None:
            train(trial)
    with pytest.raises(skipstack.UserError, match="the study is at its end"):
        skipstack.begin(study.folder)


@pytest.mark.slow
def test_the_worked_example_finds_the_best_rate(tmp_path: Path) -> None:
    example = ROOT / "docs" / "guide" / "own_loop.py"
    ran = subprocess.run([sys.executable, example], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert ran.stdout.split()[:4] == ["dev", "epochs", "axis.rate", "axis.width"]
    study = skipstack.open(tmp_path / "runs" / "launched")
    assert study.finished
    assert len(study.record.trials) == 12
    assert {trial.reason for trial in study.record.trials.values()} == {"completed", "stopped"}
    assert study.best()["axis.width"].item() == 32


def keeping(trial: skipstack.AskedTrial, folder: Path, *, dies: int | None = None) -> None:
    """Goes on from its checkpoints; dies in the midst of an epoch."""
    reached = {}
    for seed in trial.seeds:
        kept = trial.restore(seed)
        reached[seed] = int(kept.read_bytes()) if kept is not None else 0
    for epoch in range(min(reached.values()) + 1, 4):
        for seed, config in trial.configs.items():
            for batch in (1, 2, 3):
                trial.log(loss=10.0 * epoch + batch, seed=seed)
            model = folder / "weights.bin"
            model.write_bytes(f"{seed} {epoch}".encode())
            trial.artifact(model, seed=seed)
            trial.checkpoint(b"%d" % epoch, seed=seed, epoch=epoch)
            if epoch == dies:
                raise InterruptedError
            trial.report(score=score(config, epoch) - (epoch == 3), seed=seed, epoch=epoch, model=model)


@pytest.mark.slow
def test_a_loop_keeps_checkpoints_models_figures_and_files_as_a_function_does(tmp_path: Path) -> None:
    options: dict[str, Any] = {"trials": 1, "epochs": 3, "seeds": 2, "settings": {"search.scheduler": "none"}}
    with skipstack.begin({"axes": SPACE["axes"]}, out=tmp_path / "study", **options) as study:
        trial = study.ask()
        assert trial is not None
        with pytest.raises(InterruptedError):
            keeping(trial, tmp_path, dies=2)
    with skipstack.begin(tmp_path / "study") as study:
        trial = study.ask()
        assert trial is not None
        assert trial.epoch == 1
        keeping(trial, tmp_path)
        trial.end()
        assert study.ask() is None
    reports = skipstack.open(tmp_path / "study").record.trials[0].reports
    assert [report.metrics["loss"] for report in reports] == [(10.0 * epoch + 2,) * 2 for epoch in (1, 2, 3)]
    kept = tmp_path / "study" / "trials" / "000000"
    for seed in (0, 1):
        assert (kept / "artifacts" / f"seed-{seed}" / "weights.bin").read_bytes() == f"{seed} 3".encode()
    exported = skipstack.open(tmp_path / "study").export(tmp_path / "bundle")
    assert (exported / "model" / "weights.bin").read_bytes() == b"1 2", "seed 1 is the better one, epoch 2 the best"
    assert not list(kept.rglob("checkpoints")), "they go with the end of the trial"


def test_a_trial_that_a_loop_ends_without_a_report_has_failed(tmp_path: Path) -> None:
    space = {"axes": SPACE["axes"]}
    with skipstack.begin(space, trials=2, epochs=4, seeds=2, out=tmp_path / "study") as study:
        for reported in ((), (0,)):
            trial = study.ask()
            assert trial is not None
            for seed in reported:  # not by all seeds, so it has no score
                trial.report(score=1.0, seed=seed)
            trial.end()
    for trial in skipstack.open(study.folder).record.trials.values():
        assert (trial.reason, trial.score) == ("failed", None)
        assert "end() before a report of every seed" in trial.message


@pytest.fixture
def unrecorded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leaves MLflow out, which takes seconds to start."""
    monkeypatch.setattr(run, "is_installed", lambda name: False)


@pytest.mark.usefixtures("unrecorded")
@pytest.mark.parametrize("failing", ["ask", "report", "end", "fail"])
def test_a_write_that_fails_ends_the_study_for_every_thread(
    failing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int, text: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    calls: dict[str, Callable[[], object]] = {
        "ask": lambda: study.ask(),
        "report": lambda: trial.report(score=1.0),
        "end": lambda: trial.end(),
        "fail": lambda: trial.fail("broken"),
    }
    space, size = {"axes": SPACE["axes"]}, {"trials": 3, "epochs": 2, "seeds": 1}
    with ExitStack() as ending:
        study = ending.enter_context(skipstack.begin(space, out=tmp_path / "study", **size))
        trial = study.ask()
        assert trial is not None
        trial.report(score=0.5)
        with monkeypatch.context() as at_once:
            at_once.setattr(segments, "_write", full)
            with pytest.raises(OutOfSpaceError):
                calls[failing]()
        for later in calls.values():  # the disk has room again
            with pytest.raises(OutOfSpaceError):
                later()
        with pytest.raises(OutOfSpaceError, match="continues the study"):
            ending.close()
    with skipstack.begin(tmp_path / "study") as study:
        while (again := study.ask()) is not None:
            while again.report(score=0.5):
                pass
    assert [len(trial.reports) for trial in skipstack.open(study.folder).record.trials.values()] == [2, 2, 2]


@pytest.mark.usefixtures("unrecorded")
def test_a_loop_that_has_left_shares_the_driver_with_no_thread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refused: list[str] = []

    def interrupted(driver: Driver) -> None:  # what the thread of the study does once the loop has left
        for call in (study.ask, lambda: trial.report(score=0.5), trial.end):
            with pytest.raises(skipstack.UserError) as told:
                call()
            refused.append(str(told.value))

    monkeypatch.setattr(Driver, "interrupted", interrupted)
    with skipstack.begin(SPACE, out=tmp_path / "study", trials=2, epochs=4, seeds=1) as study:
        trial = study.ask()
        assert trial is not None
        trial.report(score=0.5)
    assert refused == ["the study has ended (allowed: skipstack.begin with its folder goes on)"] * 3
    assert sum(isinstance(event, Reported) for event in Ledger(study.folder / "ledger").read()) == 1


@pytest.mark.usefixtures("unrecorded")
def test_the_worked_example_trains_an_open_trial_again_without_counting_epochs_twice(tmp_path: Path) -> None:
    example = (ROOT / "docs" / "guide" / "own_loop.py").read_text(encoding="utf-8").split("# %% The study")[0]
    of: dict[str, Any] = {}
    exec(example, of)
    space = {"axes": {"rate": {"uniform": [0.01, 1.0]}, "width": {"choice": [8]}}, "search": {"scheduler": "none"}}
    with skipstack.begin(space, trials=1, epochs=9, seeds=1, direction="minimize", out=tmp_path / "study") as study:
        trial = study.ask()
        assert trial is not None
        losses = [(trial.config["rate"] - 0.03) ** 2 + 1 / (epoch * 8) for epoch in range(1, 10)]
        for loss in losses[:3]:
            trial.report(score=loss)
    with skipstack.begin(study.folder) as study:
        trial = study.ask()
        assert trial is not None
        of["train"](trial)
    reports = skipstack.open(study.folder).record.trials[0].reports
    assert [-report.score for report in reports] == losses


@pytest.mark.usefixtures("unrecorded")
def test_a_loop_that_leaves_between_two_seeds_keeps_the_checkpoints_of_the_last_whole_epoch(tmp_path: Path) -> None:
    space = {"axes": SPACE["axes"], "search": {"scheduler": "none"}}
    with skipstack.begin(space, trials=1, epochs=5, seeds=2, out=tmp_path / "study") as study:
        trial = study.ask()
        assert trial is not None
        for epoch, seed in [(1, 0), (1, 1), (2, 0), (2, 1), (3, 0)]:
            trial.checkpoint(b"%d" % epoch, seed=seed, epoch=epoch)
            trial.report(score=0.1 * epoch, seed=seed, epoch=epoch)
    with skipstack.begin(tmp_path / "study") as study:
        trial = study.ask()
        assert trial is not None
        kept = [trial.restore(seed) for seed in trial.seeds]
        assert [None if path is None else path.read_bytes() for path in kept] == [b"2", b"2"]
