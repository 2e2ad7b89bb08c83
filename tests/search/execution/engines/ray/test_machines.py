"""The cluster that is joined: where none starts, none answers, another one runs, or its workers never start."""

import os
import shlex
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import ray
from ray._private import node, services
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from skipstack.data.basis.errors import UserError
from skipstack.search.execution.driver.engine import run_study
from skipstack.search.execution.driver.faults import ClusterLostError, WorkersSilentError
from skipstack.search.execution.engines.ray import loop, machines
from skipstack.search.execution.engines.ray.engine import RayEngine
from skipstack.search.execution.engines.ray.head import check_this_machine
from skipstack.search.execution.engines.ray.machines import joined, own_cpus
from skipstack.search.ledger.events import Interrupted
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.study.record.reading import read_study
from tests.search.toy import ToyWorker, open_toy, toy_driver, toy_study

pytestmark = pytest.mark.filterwarnings("default")  # ray's own warnings are not ours to mend


def test_ray_counts_the_cpus_itself_unless_this_process_may_use_only_some(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(64)))
    assert own_cpus() is None
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3, 4})
    assert own_cpus() == 2


def test_the_last_words_of_a_worker_are_the_last_line_of_the_latest_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machines, "raylet_socket", lambda: tmp_path / "sockets" / "raylet")
    assert machines.last_words() is None
    (tmp_path / "logs").mkdir()
    for age, (name, text) in enumerate(
        [
            ("worker-2.err", ":job_id:1\nno module named numpy\n:actor_name:x\n"),
            ("worker-1.err", "older\n"),
            ("gcs.err", "x"),
        ]
    ):
        (tmp_path / "logs" / name).write_text(text)
        os.utime(tmp_path / "logs" / name, (1000 - age, 1000 - age))
    assert machines.last_words() == "no module named numpy"


def test_a_machine_that_leaves_while_it_is_asked_has_nothing_to_say(monkeypatch: pytest.MonkeyPatch) -> None:
    here, left, lame = (each * 56 for each in "123")
    said: dict[str, str | UserError] = {here: "yes", left: UserError("it died"), lame: UserError("it is lame")}
    there = [list(said), [here, lame]]

    class Asked:
        def __init__(self, _: object, *, scheduling_strategy: NodeAffinitySchedulingStrategy) -> None:
            self.machine = scheduling_strategy.node_id

        def answer(self) -> str | UserError:
            return said[self.machine]

    monkeypatch.setattr(machines, "Question", Asked)
    monkeypatch.setattr(machines, "machines", lambda: {each: (f"host {each[0]}", {}) for each in there.pop(0)})
    answers = machines.asked(str)
    assert [(name, str(answer)) for name, answer in answers] == [("host 1", "yes"), ("host 3", "it is lame")]


def test_a_cluster_of_its_own_that_ray_cannot_start_is_no_address_that_nobody_answers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(**_: object) -> None:
        raise ConnectionError("no token")

    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "init", refuse)
    monkeypatch.setattr(ray, "shutdown", lambda: None)
    before = dict(os.environ)
    message = r"^Ray does not start on this machine \(ConnectionError: no token; allowed: .*--engine serial"
    with pytest.raises(UserError, match=message):
        RayEngine(ToyWorker, address=None, gpus_per_trial=0)
    assert dict(os.environ) == before


THEIRS = """Version mismatch: The cluster was started with:
    Ray: 2.49.2
    Python: 3.11.9
This process on node 10.0.0.1 was started with:
    Ray: {}
    Python: {}
"""


@pytest.mark.parametrize(
    ("ray_here", "python_here", "install"),
    [
        ("2.60.0", "3.11.9", "Ray 2.49.2 (pip install 'ray[tune]==2.49.2')"),
        ("2.49.2", "3.12.1", "Python 3.11.9"),
        ("2.60.0", "3.12.1", "Ray 2.49.2 (pip install 'ray[tune]==2.49.2') and Python 3.11.9"),
    ],
)
def test_a_cluster_of_other_versions_is_one_line_that_says_what_to_install(
    ray_here: str, python_here: str, install: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(**_: object) -> None:
        raise RuntimeError(THEIRS.format(ray_here, python_here))

    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "init", refuse)
    monkeypatch.setattr(ray, "shutdown", lambda: None)
    monkeypatch.setattr("skipstack.search.execution.engines.ray.engine.check_address", lambda address: None)
    with pytest.raises(UserError) as refused:
        RayEngine(ToyWorker, address="10.0.0.1:6379", gpus_per_trial=0)
    assert str(refused.value) == (
        "--address 10.0.0.1:6379: the cluster runs Ray 2.49.2 on Python 3.11.9, and this process Ray "
        f"{ray_here} on Python {python_here} (allowed: the cluster's: {install})"
    )


@pytest.mark.cluster
def test_ray_that_takes_too_long_to_start_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its raylet never says that it is there, and a second is a minute."""

    def nobody(*_: object) -> None:
        raise RuntimeError("no node of this number")

    began = time.monotonic()
    fast = {**vars(time), "monotonic": lambda: began + 60 * (time.monotonic() - began)}
    monkeypatch.setattr(services, "get_node", nobody)
    monkeypatch.setattr(node, "time", SimpleNamespace(**fast))
    with pytest.raises(UserError, match=r"^Ray did not start within 30 s \(allowed: once more"):
        RayEngine(ToyWorker, address=None, gpus_per_trial=0)
    assert not ray.is_initialized()


def test_while_an_engine_runs_another_one_is_refused_and_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray, "is_initialized", lambda: True)
    monkeypatch.setattr(machines, "_is_ours", True)
    before = dict(os.environ)
    with pytest.raises(UserError, match=r"a study runs on Ray in this process already \(allowed: after it, or"):
        RayEngine(ToyWorker, address=None, gpus_per_trial=0)
    assert dict(os.environ) == before


def test_machines_that_do_not_answer_interrupt_a_study(monkeypatch: pytest.MonkeyPatch) -> None:
    silence = UserError("no answer within 120 s")
    monkeypatch.setattr(machines, "last_words", lambda: "Exec format error")
    monkeypatch.setattr(machines, "asked", lambda question: [("one", silence), ("two", "answer")])
    machines.check_answers()
    monkeypatch.setattr(machines, "asked", lambda question: [("one", silence), ("two", silence)])
    with pytest.raises(WorkersSilentError, match=r"machine one: no answer within 120 s; .* log: Exec format error"):
        machines.check_answers()


@pytest.mark.cluster
def test_the_raylet_of_this_machine_is_found_and_its_end_too() -> None:
    with joined(None):
        check_this_machine()
        (raylet,) = (Path(each["RayletSocketName"]) for each in ray.nodes())
        assert list((raylet.parents[1] / "logs").glob("raylet.*"))
        raylet.unlink()
        with pytest.raises(ClusterLostError, match="ray does not run on this machine any more"):
            check_this_machine()


@pytest.mark.cluster
def test_a_study_whose_workers_never_start_ends_in_order_with_what_they_last_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "broken python"
    broken.write_text("#!/bin/sh\necho 'the interpreter is broken' >&2\nexec sleep 1000\n")
    broken.chmod(0o755)
    monkeypatch.setattr(machines, "worker_interpreter", lambda: {"py_executable": shlex.quote(str(broken))})
    monkeypatch.setattr(loop, "START_SECONDS", 20.0)
    monkeypatch.setattr(machines, "ANSWER_SECONDS", 20.0)
    engine: Any = RayEngine(ToyWorker, address=None, gpus_per_trial=0.0)
    folder = open_toy(tmp_path / "study", toy_study(trials=2))
    try:
        with (
            Ledger(folder.ledger) as ledger,
            pytest.raises(
                WorkersSilentError, match=r"no answer within 20\.0 s; the last line of a worker's log: the interp"
            ),
        ):
            run_study(toy_driver(folder, ledger), engine)
    finally:
        engine.close()
    assert isinstance(Ledger(folder.ledger).read()[-1], Interrupted)


@pytest.mark.cluster
def test_workers_start_from_an_interpreter_whose_path_has_a_space(tmp_path: Path) -> None:
    place = tmp_path / "a folder"
    place.mkdir()
    (place / "venv").symlink_to(sys.prefix)
    python, study, root = place / "venv" / "bin" / "python", tmp_path / "study", Path(__file__).parents[5]
    subprocess.run([python, "-m", "tests.search.toy_on_ray", study], cwd=root, check=True, timeout=250)
    assert read_study(study).finished
