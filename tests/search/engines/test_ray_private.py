"""What we take for granted of Ray's own parts. A test that fails here names what an upgrade has moved or changed."""

import inspect
import os
import shlex
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
import ray
from ray._private import node, utils, worker
from ray._private.authentication import authentication_token_setup as authentication
from ray._private.parameter import RayParams
from ray.actor import ActorClass
from ray.air.execution._internal import RayActorManager
from ray.tune.analysis import ExperimentAnalysis
from ray.tune.execution import class_cache, tune_controller

from skipstack.data.basis.errors import UserError
from skipstack.search.api.start import run_study
from skipstack.search.driver.faults import WorkersSilentError
from skipstack.search.driver.task import EpochResult
from skipstack.search.engines import machines, ray_private
from skipstack.search.engines.actor import TrialActor
from skipstack.search.engines.ray_tune import RayEngine
from skipstack.search.engines.token import VARIABLES
from skipstack.search.ledger.events import Interrupted
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.record.reading import read_study
from tests.search.toy import ToyWorker, open_toy, toy_driver, toy_study
from tests.search.tracking.test_tracking import wait_until

pytestmark = pytest.mark.filterwarnings("default")  # ray's own warnings are not ours to mend


def test_ray_asks_its_utils_for_the_command_line_that_it_keeps() -> None:
    assert "entrypoint=ray._private.utils.get_entrypoint_name()" in inspect.getsource(worker), "another name is asked"
    assert utils.get_entrypoint_name() == "skipstack"


def test_ray_prints_the_lines_of_workers_by_a_name_of_its_module() -> None:
    assert "            print_to_stdstream(" in inspect.getsource(worker.listen_error_messages), "by another name"
    worker.print_to_stdstream({"lines": ["a worker died"]}, ignore_prefix=False)


def test_ray_reads_its_mode_and_its_token_again_when_it_is_asked_to() -> None:
    loader = authentication.AuthenticationTokenLoader.instance()
    with pytest.MonkeyPatch.context() as patch:
        for name in VARIABLES:
            patch.delenv(name, raising=False)
        patch.setenv("HOME", "/dev/null")
        ray_private.forget_token()
        assert not loader.has_token(ignore_auth_mode=True)
        patch.setenv("RAY_AUTH_TOKEN", "a" * 64)
        ray_private.forget_token()
        assert loader.has_token(ignore_auth_mode=True)
    ray_private.forget_token()
    assert authentication.get_authentication_mode() == authentication.AuthenticationMode.TOKEN


def test_the_node_of_a_driver_names_its_raylet_s_socket_and_its_logs() -> None:
    assert isinstance(node.Node.raylet_socket_name, property)
    assert list(inspect.signature(node.Node.get_logs_dir_path).parameters) == ["self"]
    assert hasattr(worker.global_worker, "node")


def test_no_dashboard_s_process_starts_where_no_dashboard_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    parameters = inspect.signature(ray_private._start_api_server).parameters
    assert list(parameters) == ["self", "include_dashboard", "raise_on_failure"]
    source = inspect.getsource(node.Node.start_head_processes)
    assert "self.start_api_server(" in source
    assert "include_dashboard=self._ray_params.include_dashboard" in source
    started: list[object] = []
    monkeypatch.setattr(ray_private, "_start_api_server", lambda _, **given: started.append(given["include_dashboard"]))
    for asked in (True, False, None):
        node.Node.start_api_server(object(), include_dashboard=asked, raise_on_failure=False)
    assert started == [True, None]


def test_neither_monitor_starts_where_no_dashboard_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "self.start_monitor()" in inspect.getsource(node.Node.start_head_processes)
    assert "self.start_log_monitor()" in inspect.getsource(node.Node.start_ray_processes)
    started: list[str] = []
    for name in ("monitor", "log_monitor"):
        assert list(inspect.signature(getattr(ray_private, f"_start_{name}")).parameters) == ["self"]
        monkeypatch.setattr(ray_private, f"_start_{name}", lambda _, name=name: started.append(name))
    for asked in (True, False, None):
        here = SimpleNamespace(_ray_params=RayParams(include_dashboard=asked))
        node.Node.start_monitor(here)
        node.Node.start_log_monitor(here)
    assert started == ["monitor", "log_monitor"] * 2


def test_tune_makes_its_actor_manager_by_the_name_that_is_replaced() -> None:
    assert tune_controller.RayActorManager is ray_private.ActorManager
    assert "RayActorManager(resource_manager=" in inspect.getsource(tune_controller.TuneController.__init__)


def test_the_actor_manager_has_the_methods_and_the_actors_that_are_looked_at() -> None:
    def parameters(name: str) -> list[str]:
        return list(inspect.signature(getattr(RayActorManager, name)).parameters)

    assert parameters("next") == ["self", "timeout"]
    assert parameters("_actor_start_resolved") == ["self", "tracked_actor", "future"]
    assert parameters("_actor_task_failed") == ["self", "tracked_actor_task", "exception"]
    assert parameters("_cleanup_actor") == ["self", "tracked_actor"]
    assert "_live_actors_to_ray_actors_resources[tracked_actor]" in inspect.getsource(RayActorManager)


def test_tune_makes_its_classes_of_actors_by_the_name_that_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    assert tune_controller._ActorClassCache is ray_private.ActorClasses
    assert "= _ActorClassCache()" in inspect.getsource(tune_controller.TuneController.__init__), "by another name"
    assert "self._class_cache.get(" in inspect.getsource(tune_controller.TuneController), "it is asked otherwise"
    assert list(inspect.signature(class_cache._ActorClassCache.get).parameters) == ["self", "trainable_cls"]
    assert class_cache.DEFAULT_ENV_VARS == {"PL_DISABLE_FORK": "1"}, "more is asked for than is known"
    for name in class_cache.ENV_VARS_TO_PROPAGATE:
        monkeypatch.delenv(name, raising=False)
    made = ray_private.ActorClasses()
    assert isinstance(made.get(TrialActor), ActorClass)
    assert made.get(TrialActor) is made.get(TrialActor)
    assert "runtime_env" not in made.get(TrialActor)._default_options
    monkeypatch.setenv("AWS_SESSION_TOKEN", "of this session")
    told = ray_private.ActorClasses().get(TrialActor)._default_options["runtime_env"]
    assert told["env_vars"] == {"AWS_SESSION_TOKEN": "of this session"}


class Named(ToyWorker):
    """Leaves the number of its process, and what Tune would have told it."""

    def run_epoch(self) -> EpochResult:
        self.task.folder.mkdir(parents=True, exist_ok=True)
        (self.task.folder / str(os.getpid())).write_text(os.environ["PL_DISABLE_FORK"])
        return super().run_epoch()


@pytest.mark.cluster
def test_trials_train_in_processes_that_were_started_in_advance(tmp_path: Path) -> None:
    def workers() -> set[int]:
        processes = psutil.Process().children(recursive=True)
        return {
            each.pid for each in processes if "default_worker.py" in " ".join(each.cmdline()) or "IDLE" in each.name()
        }

    engine = RayEngine(Named, address=None, gpus_per_trial=0.0)
    try:
        wait_until(lambda: len(workers()) >= len(os.sched_getaffinity(0)))
        before = workers()
        folder = open_toy(tmp_path / "study", toy_study(trials=4))
        with Ledger(folder.ledger) as ledger:
            run_study(toy_driver(folder, ledger), engine)
    finally:
        engine.close()
    left = [path for path in folder.trials.glob("*/*") if path.name.isdigit()]
    assert {int(path.name) for path in left} <= before
    assert {path.read_text() for path in left} == {"1"}


def test_the_last_words_of_a_worker_are_the_last_line_of_the_latest_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker.global_worker, "node", SimpleNamespace(get_logs_dir_path=lambda: str(tmp_path)))
    assert ray_private.last_words() is None
    for age, (name, text) in enumerate(
        [
            ("worker-2.err", ":job_id:1\nno module named numpy\n:actor_name:x\n"),
            ("worker-1.err", "older\n"),
            ("gcs.err", "x"),
        ]
    ):
        (tmp_path / name).write_text(text)
        os.utime(tmp_path / name, (1000 - age, 1000 - age))
    assert ray_private.last_words() == "no module named numpy"


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (
            ConnectionError("no token"),
            r"^Ray does not start on this machine \(ConnectionError: no token; allowed: .*--engine serial",
        ),
        (
            Exception("The current node timed out during startup."),
            r"^Ray did not start within 30 s \(allowed: once more",
        ),
    ],
)
def test_a_cluster_of_its_own_that_does_not_start_is_no_address_that_nobody_answers(
    error: Exception, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = inspect.getsource(node.Node.__init__)
    assert "raylet_start_wait_time_s = 30" in said, "it waits for another time"
    assert ray_private.LATE in said.replace('"\n                        "', ""), "by other words"

    def refuse(**_: object) -> None:
        raise error

    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "init", refuse)
    monkeypatch.setattr(ray, "shutdown", lambda: None)
    with pytest.raises(UserError, match=message):
        RayEngine(ToyWorker, address=None, gpus_per_trial=0)


def test_machines_that_do_not_answer_interrupt_a_study(monkeypatch: pytest.MonkeyPatch) -> None:
    silence = UserError("no answer within 120 s")
    monkeypatch.setattr(ray_private, "last_words", lambda: "Exec format error")
    monkeypatch.setattr(machines, "asked", lambda question: [("one", silence), ("two", "answer")])
    machines.check_answers()
    monkeypatch.setattr(machines, "asked", lambda question: [("one", silence), ("two", silence)])
    with pytest.raises(WorkersSilentError, match=r"machine one: no answer within 120 s; .* log: Exec format error"):
        machines.check_answers()


@pytest.mark.cluster
def test_a_study_whose_workers_never_start_ends_in_order_with_what_they_last_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "broken python"
    broken.write_text("#!/bin/sh\necho 'the interpreter is broken' >&2\nexec sleep 1000\n")
    broken.chmod(0o755)
    monkeypatch.setattr(machines, "worker_interpreter", lambda: {"py_executable": shlex.quote(str(broken))})
    monkeypatch.setattr(ray_private, "START_SECONDS", 20.0)
    engine = RayEngine(ToyWorker, address=None, gpus_per_trial=0.0)
    folder = open_toy(tmp_path / "study", toy_study(trials=2))
    try:
        with (
            Ledger(folder.ledger) as ledger,
            pytest.raises(WorkersSilentError, match="within 20 s; the last line of a worker's log: the interp"),
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
    python, study, root = place / "venv" / "bin" / "python", tmp_path / "study", Path(__file__).parents[3]
    subprocess.run([python, "-m", "tests.search.toy_on_ray", study], cwd=root, check=True, timeout=250)
    assert read_study(study).finished


def test_the_state_that_tune_keeps_for_itself_is_of_no_trial(tmp_path: Path) -> None:
    assert "save_fn=self.save_to_dir" in inspect.getsource(tune_controller.TuneController.checkpoint), "by another name"
    storage = SimpleNamespace(experiment_driver_staging_path=str(tmp_path / "staging"))
    controller = object.__new__(tune_controller.TuneController)
    controller._storage, controller._session_str = storage, "now"
    controller.save_to_dir()
    assert ExperimentAnalysis(str(tmp_path / "staging")).trials == []
