"""Who is heard: functions that print, warn, log and raise, in this process and in one of their own."""

import logging
import os
import re
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable
from functools import partial
from io import StringIO
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from skipstack.search.execution.workers.function_worker import FunctionWorkers
from skipstack.search.execution.workers.logged import LoggedWorkers
from skipstack.search.execution.workers.reporting import Report
from skipstack.search.study.record.folder import LOG
from skipstack.search.study.task import TrialTask
from skipstack.spaces.function import FunctionConfig
from tests.search.functions import Config, Function
from tests.test_house import ROOT

pytestmark = pytest.mark.filterwarnings("default")


def task(folder: Path, *, seeds: tuple[int, ...] = (0,), attempt: int = 1) -> TrialTask:
    config = FunctionConfig.model_validate(
        {"function": {"name": "f", "file": "f.py", "source": "0" * 16, "epochs": 9}, "x": 1.0}
    )
    return TrialTask(
        number=3,
        config=config,
        seeds=seeds,
        order_seed=0,
        lanes="auto",
        folder=folder,
        device="cpu",
        attempt=attempt,
    )


def trained(folder: Path, function: Function, *, own_process: bool = False, **options: Any) -> list[str]:
    """The lines of the log of a trial, without their times, once it is over."""
    worker = LoggedWorkers(FunctionWorkers(function), own_process=own_process)(task(folder, **options))
    try:
        while worker.run_epoch() is not None:
            pass
    except RuntimeError:
        pass
    finally:
        worker.close()
    return [line[20:] for line in (folder / LOG).read_text().splitlines()]


def telling(config: Config, report: Report) -> None:
    """Prints, warns, logs and raises."""
    print("I print")
    report(score=0.5)
    print("I err", file=sys.stderr)
    warnings.warn("I warn", stacklevel=1)
    logging.getLogger("theirs").warning("I log")
    raise RuntimeError("I raise")


def test_all_that_a_function_says_is_in_its_log_and_shown_as_before(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def shown_as_ever(*warning: Any) -> None:
        sys.stderr.write(warnings.formatwarning(*warning[:4]))

    monkeypatch.setattr(warnings, "showwarning", shown_as_ever)  # pytest's own keeps them
    before = sys.stdout, sys.stderr
    first, *lines = trained(tmp_path, telling)
    assert (sys.stdout, sys.stderr) == before
    assert re.fullmatch(rf"-- attempt 1, seed 0, on \S+, process {os.getpid()}; times are UTC", first)
    assert lines[:2] == ["I print", "I err"]
    assert re.fullmatch(r".*test_logged.py:\d+: UserWarning: I warn", lines[2])
    assert "Traceback (most recent call last):" in lines
    assert f'  File "{__file__}", line {telling.__code__.co_firstlineno + 7}, in telling' in lines
    assert lines[-2] == "RuntimeError: I raise"
    shown = capsys.readouterr()
    assert shown.out == "I print\n"
    assert "I err\n" in shown.err
    assert "UserWarning: I warn" in shown.err
    assert "Traceback" not in shown.err


def test_log_records_that_reach_stderr_are_heard_through_handlers_that_were_there_before(tmp_path: Path) -> None:
    def logs(config: Config, report: Report) -> None:
        logging.getLogger("theirs").warning("I log")
        report(score=0.5)

    handler = logging.StreamHandler(sys.stderr)
    root = logging.getLogger()
    root.addHandler(handler)
    stream = handler.stream
    try:
        assert "I log" in trained(tmp_path, logs)
    finally:
        root.removeHandler(handler)
    assert handler.stream is stream


def test_two_seeds_that_take_turns_are_told_apart(tmp_path: Path) -> None:
    def taking_turns(config: Config, report: Report) -> None:
        for epoch in (1, 2):
            print(f"{config['seed']} in {epoch}")
            helper = threading.Thread(target=print, args=(f"thread of {config['seed']}",))
            helper.start()
            helper.join()
            print("no end", end="")
            report(score=0.5)
        if config["seed"] == 7:
            raise RuntimeError("I raise")

    head, *lines = trained(tmp_path, taking_turns, seeds=(5, 7))
    assert head.startswith("-- attempt 1, seeds 5, 7, on ")
    turns = [
        f"seed {seed}: {said}"
        for epoch in (1, 2)
        for seed in (5, 7)
        for said in (f"{seed} in {epoch}", f"thread of {seed}", "no end")
    ]
    assert lines[: len(turns)] == turns
    assert lines[len(turns)] == "seed 7: Traceback (most recent call last):"
    assert "seed 7: RuntimeError: I raise" in lines


def test_trials_of_two_studies_in_threads_of_one_process_are_heard_apart(tmp_path: Path) -> None:
    both = threading.Barrier(2, timeout=60)
    before = sys.stdout, sys.stderr

    def meeting(config: Config, report: Report) -> None:
        for epoch in range(1, 4):
            both.wait()
            print(f"{report.folder.parent.name} {epoch}")
            report(score=0.5)

    studies = [threading.Thread(target=trained, args=(tmp_path / name, meeting)) for name in ("a", "b")]
    for study in studies:
        study.start()
    for study in studies:
        study.join()
    for name in ("a", "b"):
        lines = [line[20:] for line in (tmp_path / name / LOG).read_text().splitlines()]
        assert lines[1:] == [f"{name} {epoch}" for epoch in (1, 2, 3)]
    assert (sys.stdout, sys.stderr) == before


def test_what_a_function_puts_in_the_place_of_a_stream_stays_there(tmp_path: Path) -> None:
    own = StringIO()
    before = sys.stdout

    def exchanging(config: Config, report: Report) -> None:
        print("heard")
        sys.stdout = own
        report(score=0.5)
        print("kept")

    try:
        lines = trained(tmp_path, exchanging)
        assert sys.stdout is own
    finally:
        sys.stdout = before
    assert lines[1:] == ["heard"] or lines[1:] == ["heard", "kept"]
    assert own.getvalue() == "kept\n"


def test_a_function_that_keeps_a_stream_is_heard_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before, kept = sys.stdout, list[Any]()

    def keeping(config: Config, report: Report) -> None:
        kept.append(sys.stdout)
        report(score=0.5)

    try:
        trained(tmp_path / "first", keeping)
        sys.stdout = kept[0]
        print("by nobody")

        def printing(config: Config, report: Report) -> None:
            print("once")
            report(score=0.5)

        assert trained(tmp_path / "second", printing)[1:] == ["once"]
    finally:
        sys.stdout = before
    assert capsys.readouterr().out == "by nobody\nonce\n"
    assert (tmp_path / "first" / LOG).read_text() == ""


def test_a_worker_that_cannot_be_made_and_a_measurement_that_fails_are_in_the_log(tmp_path: Path) -> None:
    class Broken(FunctionWorkers):
        def __call__(self, task: TrialTask) -> Any:
            raise RuntimeError("no worker")

        def test(self, task: TrialTask) -> Any:
            raise RuntimeError("no weights")

    workers = LoggedWorkers(Broken(telling), own_process=False)
    for call in (workers, workers.test):
        with pytest.raises(RuntimeError):
            call(task(tmp_path))
    lines = [line[20:] for line in (tmp_path / LOG).read_text().splitlines()]
    assert [line for line in lines if line.startswith(("--", "RuntimeError"))] == [
        f"-- attempt 1, seed 0, on {os.uname().nodename}, process {os.getpid()}; times are UTC",
        "RuntimeError: no worker",
        f"-- on the test split, on {os.uname().nodename}, process {os.getpid()}; times are UTC",
        "RuntimeError: no weights",
    ]


PROCESS = """
import os, sys
from pathlib import Path
folder = Path(sys.argv[1])
for number, name in ((1, "out"), (2, "err")):
    file = os.open(folder / f"worker-{os.getpid()}.{name}", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(file, number)
"""
"""A process of its own, whose descriptors have files as Ray's workers have."""


def in_own_process(folder: Path, function: str, *, code: int = 0) -> tuple[list[str], str]:
    """The log of a trial whose function is written in ``function``, and all that the process wrote."""
    program = PROCESS + dedent(function) + "\nfrom tests.search.execution.workers.test_logged import trained\n"
    program += "trained(folder / 'trial', function, own_process=True, seeds=(0, 1))\n"
    ran = subprocess.run(
        [sys.executable, "-P", "-c", program, str(folder)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'src'}"},
        check=False,
        timeout=300,
    )
    wrote = "".join(path.read_text() for path in sorted(folder.glob("worker-*")))
    assert ran.returncode == code, wrote
    return [line[20:] for line in (folder / "trial" / LOG).read_text().splitlines()], wrote


@pytest.mark.slow
def test_in_a_process_of_its_own_c_code_children_and_forks_are_heard_once_and_in_order(tmp_path: Path) -> None:
    (_, *lines), wrote = in_own_process(
        tmp_path,
        """
        import ctypes, multiprocessing, subprocess, sys, warnings

        def function(config, report):
            for epoch in (1, 2):
                print("python")
                os.write(2, b"descriptor\\n")
                print("python again")
                ctypes.CDLL(None).puts(b"C")
                subprocess.run([sys.executable, "-c", "print('child')"], check=True)
                fork = multiprocessing.get_context("fork").Process(target=print, args=("fork",))
                fork.start()
                fork.join()
                warnings.warn("I warn", stacklevel=1)
                report(score=0.5)
        """,
    )
    said = ["python", "descriptor", "python again", "child", "fork", "C"]
    turns = [(seed, [line for line in lines if line.startswith(f"seed {seed}: ")]) for seed in (0, 1)]
    for seed, its in turns:
        told = [line.removeprefix(f"seed {seed}: ") for line in its]
        assert sorted(line for line in told if line in said) == sorted(2 * said)
        assert [line for line in told if line in said[:3]] == 2 * said[:3]
    assert "".join(lines).count("UserWarning: I warn") == 1, "Python tells it once, in each attempt anew"
    for each in said:
        assert wrote.count(f"{each}\n") >= 4, "Ray's files stay complete"


@pytest.mark.slow
def test_a_process_that_dies_of_a_fault_leaves_its_traceback(tmp_path: Path) -> None:
    lines, _ = in_own_process(
        tmp_path,
        """
        import ctypes

        def function(config, report):
            print("before")
            report(score=0.5)
            ctypes.string_at(0)
        """,
        code=-11,
    )
    whole = (tmp_path / "trial" / LOG).read_text()
    assert "seed 0: before\n" in whole
    assert "seed 1: before\n" in whole
    assert "Fatal Python error: Segmentation fault" in whole
    assert re.search(r'File "<string>", line \d+ in function', whole)
    assert lines[0].startswith("-- attempt 1, seeds 0, 1, on ")


def test_a_killed_process_leaves_what_it_had_printed(tmp_path: Path) -> None:
    lines, _ = in_own_process(
        tmp_path,
        """
        import signal

        def function(config, report):
            print("last words")
            os.kill(os.getpid(), signal.SIGKILL)
        """,
        code=-9,
    )
    assert lines[1:] == ["seed 0: last words"]


def test_a_trial_that_does_nothing_loses_less_than_a_millisecond(tmp_path: Path) -> None:
    """By what it does: a handful of calls for each epoch, none of which waits for a disk."""
    calls: list[str] = []

    def counted(name: str, call: Callable[..., Any], *given: object) -> Any:
        calls.append(name)
        return call(*given)

    with pytest.MonkeyPatch.context() as patch:
        for name in ("open", "write", "ftruncate", "fsync"):
            call = getattr(os, name)
            patch.setattr(os, name, partial(counted, name, call))
        trained(tmp_path, lambda config, report: report(score=0.5))
    assert calls.count("open") == 1
    assert calls.count("fsync") == 0
    assert len(calls) <= 12, calls
