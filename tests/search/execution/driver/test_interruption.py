"""SIGTERM and SIGHUP end a study in order, also where Ctrl-C does nothing."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from pydantic import BaseModel, field_serializer

from skipstack.search.execution.driver.interruption import terminated_as_interrupted
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.study.task import EpochResult, Measured, TrialTask
from tests.search.toy import ToyWorker, open_toy, run_toy, toy_study


def _terminated() -> None:
    with terminated_as_interrupted():
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(5)


@pytest.mark.parametrize("handler", [signal.default_int_handler, signal.SIG_IGN], ids=["as usual", "ignored"])
def test_sigterm_interrupts_also_in_the_background_of_a_script_where_sigint_is_ignored(handler: object) -> None:
    before = signal.signal(signal.SIGINT, handler)  # type: ignore[arg-type]
    try:
        with pytest.raises(KeyboardInterrupt):
            _terminated()
        assert signal.getsignal(signal.SIGINT) is handler
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("first", [signal.SIGHUP, signal.SIGTERM])
def test_a_closed_terminal_interrupts_once_however_often_it_is_told(first: signal.Signals) -> None:
    interrupts = []
    before = signal.signal(signal.SIGINT, lambda *_: interrupts.append(1))
    hangup = signal.getsignal(signal.SIGHUP)
    try:
        with terminated_as_interrupted():
            for number in (first, signal.SIGHUP, signal.SIGHUP):
                os.kill(os.getpid(), number)
        assert interrupts == [1]
        assert signal.getsignal(signal.SIGHUP) is hangup
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_hangup_that_is_ignored_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with terminated_as_interrupted():
            os.kill(os.getpid(), signal.SIGHUP)
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


class Interrupted(BaseModel):
    """Something that is being serialized when the user types Ctrl-C."""

    value: int = 0

    @field_serializer("value")
    def _interrupted(self, value: int) -> int:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(5)
        return value


class WritesAnEpoch(ToyWorker):
    """What a worker keeps of an epoch is serialized."""

    def run_epoch(self) -> EpochResult:
        if self.task.number == 1:
            Interrupted().model_dump(mode="json")
        return super().run_epoch()


class WritesOnTest(ToyWorker):
    """Likewise of a measurement."""

    @classmethod
    def test(cls, task: TrialTask) -> Measured:
        Interrupted().model_dump(mode="json")
        return super().test(task)


@pytest.mark.parametrize("worker", [WritesAnEpoch, WritesOnTest])
def test_an_interruption_amid_a_serializer_is_one_and_no_fault_of_a_trial(
    worker: type[ToyWorker], tmp_path: Path
) -> None:
    folder = open_toy(tmp_path / "study", toy_study(2, epochs=2))
    with pytest.raises(KeyboardInterrupt):
        run_toy(folder, worker=worker)
    kinds = [event.kind for event in Ledger(folder.ledger).read()]
    assert kinds[-1] == "interrupted"
    record = run_toy(folder)
    whole = run_toy(open_toy(tmp_path / "whole", toy_study(2, epochs=2)))
    assert {number: trial.reason for number, trial in record.trials.items()} == {
        number: trial.reason for number, trial in whole.trials.items()
    }
    assert not any(trial.untested for trial in record.trials.values())


COMMAND = """
import os, signal, sys, time
from skipstack.dashboards import cli

def app(standalone_mode):
    print("it runs", flush=True)
    os.kill(os.getpid(), getattr(signal, sys.argv[1]))
    time.sleep(30)

cli.app = app
cli.main()
"""


@pytest.mark.first(1)
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGINT"])
def test_a_command_is_ended_in_order_whenever_the_signal_comes(name: str) -> None:
    """Also while a study is prepared or Ray starts: there is a folder by then, which ``resume`` goes on with."""
    ran = subprocess.run([sys.executable, "-c", COMMAND, name], capture_output=True, text=True, check=False, timeout=60)
    assert (ran.returncode, ran.stdout, ran.stderr) == (130, "it runs\n", "")


def test_a_process_that_a_function_forks_is_ended_by_sigterm_as_any_other() -> None:
    with terminated_as_interrupted():
        process = multiprocessing.get_context("fork").Process(target=time.sleep, args=(60,))
        process.start()
        process.terminate()
        process.join(30)
        assert process.exitcode == -signal.SIGTERM
