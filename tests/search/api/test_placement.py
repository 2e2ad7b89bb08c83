"""A study is resumed as it was started: on which engine, on what share of a device, into which store of MLflow."""

import errno
import shutil
import sys
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

import skipstack
from skipstack.dashboards.cli import main
from skipstack.search.api import run as running
from skipstack.search.api.options import Execution, cluster
from skipstack.search.api.run_options import RunOptions
from skipstack.search.execution.driver.driver import Driver
from skipstack.search.execution.engines.serial import SerialEngine
from skipstack.search.ledger.events import Placed
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.study.record.reading import read_study
from tests.dashboards.fuzzing import Nobody
from tests.search.toy import ToyWorker

QUICK = ("--set", "data.corpus.train=20", "--set", "data.corpus.dev=10", "--trials", "2")
STORE = "http://127.0.0.1:9/mlflow"
PASSWORD = "c0rrect-h0rse"

Command = Callable[..., object]


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[dict[str, Any]]:
    """What each command started: the engine with its options, and the store of the runs."""
    all_started: list[dict[str, Any]] = []

    class Interrupted(SerialEngine):
        def run(self, driver: Driver) -> None:
            raise KeyboardInterrupt

    def start(execution: Execution, runs: object) -> SerialEngine:
        options = {field.name: getattr(execution, field.name) for field in fields(RunOptions)}
        told = {name: value for name, value in options.items() if name not in ("also", "code", "tracking_uri")}
        all_started.append({**told, "address": cluster(execution.address)})
        return Interrupted(ToyWorker)

    class Told(Nobody):
        def record(self, uri: str, folder: Path, *, private: bool, compare: bool) -> None:
            all_started[-1]["store"] = None if private else uri

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Execution, "start", start)
    monkeypatch.setattr(running, "TrackingProcess", Told)
    return all_started


def command(*arguments: str) -> object:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["skipstack", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
    return ended.value.code


def test_a_study_whose_driver_could_write_nothing_is_resumed_as_it_was_started(
    started: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Driver, "__init__", full)
        assert command("search", "quickstart", *QUICK, "--out", "study", "--engine", "serial") != 0
    assert command("resume", "study") == 130
    assert [each["engine"] for each in started] == ["serial", "serial"]


def test_resume_does_as_the_command_before_it_unless_it_is_told_otherwise(started: list[dict[str, Any]]) -> None:
    where = ("--address", "10.0.0.1:6379", "--gpus-per-trial", "0.25", "--device", "cpu", "--system-metrics")
    where += ("--concurrent", "3", "--cpus-per-trial", "2")
    assert command("search", "quickstart", *QUICK, "--out", "study", *where, "--tracking-uri", STORE) == 130
    first = {"engine": "ray", "address": "10.0.0.1:6379", "gpus_per_trial": 0.25, "device": "cpu", "store": STORE}
    first |= {"system_metrics": True, "concurrent": 3, "cpus_per_trial": 2, "trials_per_program": 1}
    assert started == [first]
    assert command("resume", "study") == 130
    assert command("extend", "study", "--trials", "1") == 130
    with pytest.raises(KeyboardInterrupt):
        skipstack.resume("study")
    assert started == [first] * 4
    other = ("--address", "local", "--gpus-per-trial", "auto", "--no-system-metrics", "--concurrent", "auto")
    assert command("resume", "study", *other) == 130
    assert command("resume", "study") == 130
    otherwise = {"address": None, "gpus_per_trial": "auto", "system_metrics": False, "concurrent": "auto"}
    assert started[4:] == [{**first, **otherwise}] * 2
    told = [event for event in Ledger(Path("study/ledger")).read() if isinstance(event, Placed)]
    assert len(told) == 2, "what stays as it is, is not written again"


def test_resume_holds_as_many_trials_as_before_whichever_engine_runs_them(started: list[dict[str, Any]]) -> None:
    serial = ("--engine", "serial", "--trials-per-program", "4")
    assert command("search", "quickstart", *QUICK, "--out", "study", *serial) == 130
    assert command("resume", "study") == 130
    assert command("resume", "study", "--engine", "ray") == 130
    assert [(each["engine"], each["trials_per_program"]) for each in started] == [
        ("serial", 4),
        ("serial", 4),
        ("ray", 4),
    ]


@pytest.mark.usefixtures("started")
def test_the_hours_of_a_study_stay_until_it_is_given_others(tmp_path: Path) -> None:
    assert command("search", "quickstart", *QUICK, "--out", "study", "--hours", "2") == 130
    for options, hours in (((), 2.0), (("--hours", "0.5"), 0.5), ((), 0.5)):
        assert command("resume", "study", *options) == 130
        assert read_study(tmp_path / "study").study.search.hours == hours
    with pytest.raises(KeyboardInterrupt):
        skipstack.resume("study", hours=3)
    assert read_study(tmp_path / "study").study.search.hours == 3.0
    with pytest.raises(skipstack.UserError, match=r"^got --enough and --hours \(allowed: one of them\)$"):
        skipstack.resume("study", hours=3, enough=True)


def test_a_study_that_was_copied_names_what_it_would_contact_and_waits_for_a_yes(
    started: list[dict[str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    """Whoever sends a study must not learn what the environment of its reader has for that address."""
    address = "10.0.0.1:6379"
    command("search", "quickstart", *QUICK, "--out", "sent", "--address", address, "--tracking-uri", STORE)
    shutil.copytree("sent", "received")
    before = Ledger(Path("received/ledger")).read()
    for given, lacking in (((), f"--address {address!r}"), (("--address", "local"), f"--tracking-uri {STORE!r}")):
        capsys.readouterr()
        assert command("resume", "received", *given) == 2
        told = capsys.readouterr().err
        assert lacking in told
        assert told.count("\n") == 1
    assert len(started) == 1
    assert Ledger(Path("received/ledger")).read() == before
    assert command("resume", "received", "--address", "local", "--tracking-uri", STORE) == 130
    assert command("resume", "received") == 130, "it is known here from now on"
    assert [each["address"] for each in started[1:]] == [None, None]


def test_secrets_are_never_written_down(started: list[dict[str, Any]]) -> None:
    store = f"http://ann:{PASSWORD}@127.0.0.1:9/mlflow?key={PASSWORD}"
    command("search", "quickstart", *QUICK, "--out", "study", "--tracking-uri", store)
    command("resume", "study")
    assert [each["store"] for each in started] == [store, STORE]
    assert [
        path for path in Path("study").rglob("*") if path.is_file() and PASSWORD.encode() in path.read_bytes()
    ] == []


def test_the_store_of_the_environment_is_remembered_and_its_secrets_are_taken_from_there(
    started: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = f"http://ann:{PASSWORD}@127.0.0.1:9/mlflow"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", secret)
    command("search", "quickstart", *QUICK, "--out", "study")
    command("resume", "study")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:9/another")
    command("resume", "study")
    monkeypatch.delenv("MLFLOW_TRACKING_URI")
    command("resume", "study")
    assert [each["store"] for each in started] == [secret, secret, STORE, STORE]


def test_a_store_of_the_environment_that_is_not_asked_for_hinders_nothing(
    started: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    command("search", "quickstart", *QUICK, "--out", "study", "--tracking-uri", STORE)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "gopher://127.0.0.1:9")
    assert command("resume", "study") == 130
    assert command("resume", "study", "--tracking-uri", f"{STORE}/2") == 130
    assert [each["store"] for each in started] == [STORE, STORE, f"{STORE}/2"]


def test_a_copy_does_not_ask_for_what_the_environment_names_nor_for_a_cluster_that_is_not_joined(
    started: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    address = "10.0.0.1:6379"
    command("search", "quickstart", *QUICK, "--out", "sent", "--address", address, "--tracking-uri", STORE)
    shutil.copytree("sent", "received")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", STORE)
    assert command("resume", "received", "--engine", "serial") == 130
    monkeypatch.delenv("MLFLOW_TRACKING_URI")
    assert command("resume", "received", "--engine", "ray") == 130
    assert [(each["address"], each["store"]) for each in started] == [(address, STORE), (None, STORE), (None, STORE)]


def test_without_an_address_the_cluster_is_that_of_the_environment_and_local_is_remembered(
    started: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    command("search", "quickstart", *QUICK, "--out", "here")
    command("search", "quickstart", *QUICK, "--out", "local", "--address", "local")
    command("search", "quickstart", *QUICK, "--out", "named", "--address", "10.0.0.1:6379")
    monkeypatch.setenv("RAY_ADDRESS", "10.0.0.2:6379")
    command("search", "quickstart", *QUICK, "--out", "there")
    for study in ("here", "local", "named", "there"):
        command("resume", study)
    for empty in ("", "local"):
        monkeypatch.setenv("RAY_ADDRESS", empty)
        command("resume", "there")
    monkeypatch.delenv("RAY_ADDRESS")
    command("resume", "there")
    begun, resumed, elsewhere = started[:4], started[4:8], started[8:]
    assert [each["address"] for each in begun] == [None, None, "10.0.0.1:6379", "auto"]
    assert [each["address"] for each in resumed] == ["auto", None, "10.0.0.1:6379", "auto"]
    assert [each["address"] for each in elsewhere] == [None, None, None]


def test_a_copy_of_a_study_that_ran_on_a_cluster_of_its_own_does_so_again(
    started: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    command("search", "quickstart", *QUICK, "--out", "sent", "--address", "local")
    shutil.copytree("sent", "received")
    monkeypatch.setenv("RAY_ADDRESS", "10.0.0.2:6379")
    assert command("resume", "received") == 130
    assert [each["address"] for each in started] == [None, None]


@pytest.mark.parametrize("store", ["sqlite:///runs.db", "runs"])
def test_a_store_by_a_relative_path_is_the_same_from_another_folder(
    store: str, started: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    command("search", "quickstart", *QUICK, "--out", "study", "--tracking-uri", store)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    command("resume", str(tmp_path / "study"))
    assert started[1]["store"] == store.replace("runs", f"{tmp_path}/runs")
