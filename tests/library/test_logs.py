"""What a function says, from the library to whoever reads it: terminal, command, report, page, MLflow."""

import re
import subprocess
import sys
import threading
import warnings
from collections.abc import Mapping
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import Any

import mlflow
import pytest

import skipstack
from skipstack.dashboards.commands import log as command
from skipstack.dashboards.web.page_names import GOING, TAKE
from skipstack.search.execution.workers.trial_log import TrialLog
from skipstack.search.ledger.events import Ended
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.record.reading import read_study
from tests.command_line import refusal, typed
from tests.dashboards.web.shown import Opened, write
from tests.search.made_up import history, study
from tests.search.publishing.tracking.studies import ablated
from tests.search.publishing.tracking.studies import history as told_events
from tests.test_house import ROOT

STUDY: dict[str, Any] = {
    "axes": {"x": {"choice": [0, 1, 2]}},
    "search": {"proposer": "grid", "scheduler": "none"},
}


def telling(config: Mapping[str, Any], report: Any) -> None:
    """Of three, one says nothing, one all sorts of things, and one fails."""
    for epoch in (1, 2):
        if config["x"]:
            print(f"epoch {epoch} of x = {config['x']}")
            warnings.warn(f"x may be {config['x']}", stacklevel=1)
        if config["x"] == 2 and epoch == 2:
            raise RuntimeError("no further")
        report(score=float(config["x"]))


def shown_as_ever(*warning: Any) -> None:
    """As Python shows a warning, which pytest would keep to itself."""
    sys.stderr.write(warnings.formatwarning(*warning[:4]))


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> tuple[skipstack.Study, str]:
    """The study, and what it showed on stderr."""
    folder = tmp_path_factory.mktemp("logs") / "told"
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("default")
        patch.setattr(warnings, "showwarning", shown_as_ever)
        shown: list[str] = []
        patch.setattr(sys.stderr, "write", shown.append)
        skipstack.search(STUDY, telling, trials=3, seeds=1, epochs=2, out=folder, engine="serial", progress=True)
    return skipstack.open(folder), "".join(shown)


def by_value(study: skipstack.Study) -> list[int]:
    """The numbers of the trials whose x is 0, 1 and 2."""
    return [int(number) for number in study.trials().sort_values("axis.x").index]


def said(answer: str) -> list[str]:
    return [line[20:] for line in answer.splitlines()]


@pytest.mark.long
def test_the_command_prints_what_a_trial_said(told: tuple[skipstack.Study, str]) -> None:
    study, _ = told
    silent, loud, failed = by_value(study)
    answer = typed("log", study.folder, silent)
    assert (answer.out, answer.error) == ("", f"trial {silent} has printed nothing\n")
    head, first, warned, _, second, *_ = said(typed("log", study.folder, loud).out)
    assert head.startswith("-- attempt 1, seed 0, on ")
    assert (first, second) == ("epoch 1 of x = 1", "epoch 2 of x = 1")
    assert warned.endswith("UserWarning: x may be 1")
    lines = said(typed("log", study.folder, failed).out)
    assert "Traceback (most recent call last):" in lines
    assert 'raise RuntimeError("no further")' in [line.strip() for line in lines]
    assert "RuntimeError: no further" in lines


@pytest.mark.long
def test_a_failed_trial_names_the_command_in_the_terminal_and_in_the_report(
    told: tuple[skipstack.Study, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    study, shown = told
    number = by_value(study)[2]
    prints = f"`skipstack log {study.folder} {number}`"
    assert re.search(rf"trial {number} failed: RuntimeError: no further; at .*; its log: {re.escape(prints)}\n", shown)
    assert "epoch 1 of x = 1" not in shown, "stdout is not stderr"
    report = typed("report", study.folder, "--full").out
    assert typed("report", study.folder).out.endswith("; faults.\n")
    assert f"failed: trial {number}; what was said there:\n  {prints.strip('`')}\n" in report
    assert prints.strip("`") in typed("report", study.folder, "--format", "markdown", "--full").out


@pytest.mark.long
def test_the_pages_show_the_log_of_the_trial_that_failed_and_of_any_other(told: tuple[skipstack.Study, str]) -> None:
    study, _ = told
    silent, loud, failed = by_value(study)
    folder = study.folder.parent
    assert "RuntimeError: no further" in Opened(folder, GOING, study="told").text
    assert "epoch 2 of x = 1" in Opened(folder, GOING, study="told", trial=loud).text
    assert f"Trial {silent} has printed nothing." in Opened(folder, GOING, study="told", trial=silent).text
    assert "There is no trial 3 yet (allowed: 0 to 2)." in Opened(folder, GOING, study="told", trial=3).text
    assert "epoch 2 of x = 1" in Opened(folder, TAKE, study="told", one=loud, other=failed).text


@pytest.mark.long
def test_mlflow_has_the_logs_that_say_something(told: tuple[skipstack.Study, str]) -> None:
    study, _ = told
    client = mlflow.MlflowClient(f"sqlite:///{study.folder}/mlflow.db")
    runs = client.search_runs([each.experiment_id for each in client.search_experiments()])
    trials = {int(run.data.tags["skipstack.trial"]): run for run in runs if "skipstack.trial" in run.data.tags}
    silent, *others = by_value(study)
    for number, run in trials.items():
        log = Path(run.info.artifact_uri.removeprefix("file://")) / "log.txt"
        assert log.exists() == (number in others), number
        if number in others:
            assert log.read_text() == typed("log", study.folder, number).out
    assert silent in trials


def test_who_asks_for_a_trial_that_is_not_there_is_told_which_are(tmp_path: Path) -> None:
    folder = write(tmp_path / "a study", history(study(trials=30), seed=1))
    assert f"{folder}: got trial 99 (nearest: 29; allowed: 0 to 29)" in refusal("log", folder, 99)
    assert "got trial -1 (nearest: 0;" in refusal("log", folder, "--", -1)
    assert "got 'two', not a whole number" in refusal("log", folder, "two")
    assert "--ablation: got 1, which the study does not have (allowed: without it)" in refusal(
        "log", folder, 0, "--ablation", 1
    )
    assert "no study here" in refusal("log", tmp_path, 0)
    assert typed("log", folder, 7).error == "trial 7 has printed nothing\n"  # as of a version before


def test_the_trials_of_an_ablation_have_logs_of_their_own(tmp_path: Path) -> None:
    events = told_events()
    folder = write(tmp_path / "study", [*events, *ablated(events)])
    for of, said_there in ((None, "of the search"), (1, "of the ablation")):
        log = TrialLog(StudyFolder(folder, of).trial(3), "-- attempt 1", several=False)
        log.begin()
        log.hear(said_there + "\n")
        log.close()
    for more in ([], ["--follow"]):
        assert said(typed("log", folder, 3, *more).out)[1:] == ["of the search"]
        assert said(typed("log", folder, 3, "--ablation", 1, *more).out)[1:] == ["of the ablation"]
    assert StudyFolder(folder, 1).log_command(3) == f"skipstack log {folder} 3 --ablation 1"
    assert "got 2, which the study does not have (allowed: --ablation 1)" in refusal("log", folder, 3, "--ablation", 2)
    assert "got trial 9 (nearest: 4; allowed: 0 to 4)" in refusal("log", folder, 9, "--ablation", 1)


def logging(folder: Path, trial: int) -> TrialLog:
    log = TrialLog(StudyFolder(folder).trial(trial), "-- attempt 1", several=False)
    log.begin()
    return log


@pytest.mark.slow
def test_whoever_reads_only_the_beginning_of_a_log_ends_quietly(tmp_path: Path) -> None:
    folder = write(tmp_path / "study", history(study(trials=3), seed=1))
    log = logging(folder, 1)
    log.hear("a line\n" * 20_000)
    log.close()
    code = "from skipstack.dashboards.cli import main; main()"
    for follow in ([], ["--follow"]):
        typed = [sys.executable, "-P", "-c", code, "log", str(folder), "1", *follow]
        with subprocess.Popen(
            typed,
            env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT / "src"), "HOME": str(tmp_path)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stdout is not None
            assert process.stdout.readline().endswith("-- attempt 1\n")
            process.stdout.close()
            assert process.stderr is not None
            assert process.stderr.read() == ""
        assert process.returncode == 0


def test_a_log_is_followed_until_its_trial_has_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "EVERY", 0.01)
    events = list(history(study(trials=30), seed=1))
    place = next(place for place, event in enumerate(events) if isinstance(event, Ended) and event.trial)
    ends = events[place]
    assert isinstance(ends, Ended)
    folder = write(tmp_path / "study", events[:place])
    log = logging(folder, ends.trial)
    log.hear("before\n")
    asked, looks = threading.Event(), command.LogFile.news

    def looked(file: Any) -> str:
        asked.set()
        return looks(file)

    def going_on() -> None:
        asked.wait()
        for number in range(100):
            log.hear(f"{number}\n")
        log.close()
        driver.append(*events[place:])

    monkeypatch.setattr(command.LogFile, "news", looked)
    with Ledger(folder / "ledger") as driver:
        writer = threading.Thread(target=going_on)
        writer.start()
        answer = typed("log", folder, ends.trial, "--follow")
        writer.join()
    assert said(answer.out) == ["-- attempt 1", "before", *map(str, range(100))]
    assert not answer.error


def test_a_log_is_followed_no_further_than_the_life_of_the_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "EVERY", 0.01)
    folder = write(tmp_path / "study", islice(history(study(trials=30), seed=1), 61))
    trial = next(number for number, each in read_study(folder).trials.items() if each.reason is None)
    log, running, looks = logging(folder, trial), ExitStack(), command.LogFile.news
    running.enter_context(Ledger(folder / "ledger").kept())

    def looked(file: Any) -> str:
        news = looks(file)
        if "-- attempt 1" in news:
            log.hear("the last words\n")
            log.close()
            running.close()
        return news

    monkeypatch.setattr(command.LogFile, "news", looked)
    answer = typed("log", folder, trial, "--follow")
    assert said(answer.out) == ["-- attempt 1", "the last words"]
    assert answer.error == (
        f"trial {trial} has not ended, but no process runs this study now (`skipstack resume {folder}` continues it)\n"
    )


def test_a_hostile_log_moves_no_cursor_and_no_pipe_is_waited_for(tmp_path: Path) -> None:
    import os

    folder = write(tmp_path / "study", history(study(trials=3), seed=1))
    log = StudyFolder(folder).log(0)
    log.parent.mkdir(parents=True)
    log.write_bytes(b"2026-01-01 00:00:00 \x1b[2J\xff\n")
    assert typed("log", folder, 0).out == "2026-01-01 00:00:00 \\x1b[2J\ufffd\n"
    log.unlink()
    os.mkfifo(log)
    assert "cannot be read (it is no ordinary file)" in refusal("log", folder, 0)


@pytest.mark.slow
def test_on_ray_a_function_is_heard_and_a_process_that_dies_too(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    def telling(config: Mapping[str, Any], report: Any) -> None:
        import os
        import signal

        print(f"I print {config['x']}")
        os.write(2, b"I am C\n")
        warnings.warn("I warn", stacklevel=1)
        report(score=0.5)
        if config["x"] == 1:
            raise RuntimeError("I raise")
        if config["x"] == 2:
            os.kill(os.getpid(), signal.SIGSEGV)

    folder = tmp_path / "study"
    with warnings.catch_warnings():
        warnings.simplefilter("default")  # ray's own
        study = skipstack.search(
            {**STUDY, "search": {**STUDY["search"], "retries": 0}},
            telling,
            trials=3,
            seeds=2,
            epochs=2,
            out=folder,
            progress=True,
        )
    shown = capfd.readouterr()
    for number, value in zip(by_value(study), (0, 1, 2), strict=True):
        lines = typed("log", folder, number).out.splitlines()
        for seed in (0, 1):
            its = [line[28:] for line in lines if line[20:28] == f"seed {seed}: "]
            assert its[:2] == [f"I print {value}", "I am C"]
        assert [line.endswith("UserWarning: I warn") for line in lines].count(True) == 1
        if value:
            end = "RuntimeError: I raise" if value == 1 else "Fatal Python error: Segmentation fault"
            assert [line for line in lines if line.endswith(end)]
            assert f"its log: `skipstack log {folder} {number}`" in shown.err
    assert not re.search("I print|I am C|I warn|I raise", shown.out)  # Ray itself tells of the process that died
