"""Ray Tune as the engine: our proposals and decisions plugged in, actors kept from trial to trial.

The only file that imports ray. Tune's own search, schedulers, checkpoints, loggers and restore are
not used: the driver's ledger replaces them.
"""

import logging
import os
import socket
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

# Read by Tune when it is imported or run: the ledger is the log, and Ctrl-C is the command line's.
os.environ.setdefault("TUNE_DISABLE_AUTO_CALLBACK_LOGGERS", "1")
os.environ.setdefault("TUNE_DISABLE_SIGINT_HANDLER", "1")
os.environ.setdefault("RAY_AIR_NEW_OUTPUT", "0")
# `ray start` makes clusters that ask for the token in ~/.ray; one without needs RAY_AUTH_MODE=disabled.
os.environ.setdefault("RAY_AUTH_MODE", "token")
os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")

import ray
from ray import tune
from ray._private import worker as ray_worker
from ray.air.execution._internal import RayActorManager
from ray.exceptions import AuthenticationError, RayActorError, RayError, RayTaskError
from ray.tune.error import TuneError
from ray.tune.execution import tune_controller
from ray.tune.execution.placement_groups import resource_dict_to_pg_factory
from ray.tune.execution.tune_controller import TuneController
from ray.tune.experiment import Trial
from ray.tune.schedulers import FIFOScheduler, TrialScheduler
from ray.tune.search import Searcher

from data.errors import UserError, one_line
from search.driver import Driver
from search.events import Metrics
from search.faults import DIED, ClusterLostError, Fault, fault_of, kernel_kills, says_out_of_memory
from search.room import Room
from search.serial import Engine
from search.task import EpochResult, TrialTask, Worker

OBJECT_STORE_BYTES = 100 * 1024 * 1024
"""Of a cluster that we start ourselves: tasks and reports are small, and weights go to files."""

KNOCK_SECONDS = 10

UNBORN = "error raised in its creation task"
"""What ray says of an actor that never lived: another one would not either."""

MOST_TRIALS = 100_000
"""Side by side, as far as Tune is concerned."""

Value = TypeVar("Value")

# A failed trial is told by the ledger and the command line, in one line.
logging.getLogger("ray.tune").setLevel(logging.CRITICAL)


class RayEngine(Engine):
    """Trials on the actors of a Ray cluster: ``address``, or one started here and ended with the study.

    Each trial takes one CPU and ``gpus_per_trial`` of a GPU, twice as much where it ran out of memory. Raises UserError
    where no cluster answers, or it has not the room for a single trial.
    """

    def __init__(self, worker: type[Worker], *, address: str | None, gpus_per_trial: float) -> None:
        self.worker = worker
        self.resources = {"cpu": 1.0, "gpu": gpus_per_trial} if gpus_per_trial else {"cpu": 1.0}
        if address is not None:
            _knock(address)
        try:
            ray.init(
                address=address or "local",  # None would join any cluster that was started on this machine
                include_dashboard=None if address else False,
                object_store_memory=None if address else OBJECT_STORE_BYTES,
                log_to_driver=False,
                logging_level="error",
                configure_logging=True,
            )
        except (ConnectionError, AuthenticationError) as error:
            raise UserError(f"--address {address}: no Ray cluster answers ({one_line(error)})") from error
        if _slots(ray.cluster_resources(), self.resources) == 0:
            self.close()
            raise UserError(f"no trial fits: each needs {self.resources}, the cluster has {ray.cluster_resources()}")

    def run(self, driver: Driver) -> None:
        """Keep every slot busy, and one trial more proposed, so that an actor is never without a next one."""
        plugins = _Plugins(driver, self.worker, Room(self.resources, _nodes))
        with tempfile.TemporaryDirectory(prefix="skipstack-tune-") as scratch:
            tuner = tune.Tuner(
                tune.with_resources(_TrialActor, lambda config: resource_dict_to_pg_factory(config["resources"])),
                tune_config=tune.TuneConfig(
                    search_alg=_ProposerPlugin(plugins),
                    scheduler=_SchedulerPlugin(plugins),
                    num_samples=-1,  # until the proposer says that it has finished
                    max_concurrent_trials=MOST_TRIALS,
                    reuse_actors=True,
                ),
                run_config=tune.RunConfig(
                    storage_path=scratch,
                    verbose=0,
                    checkpoint_config=tune.CheckpointConfig(checkpoint_at_end=False),
                ),
            )
            try:
                with _lost_cluster_told():
                    tuner.fit()
            except TuneError:
                if plugins.fault is None:
                    raise
            if plugins.fault is not None:
                raise plugins.fault

    def test(self, tasks: Sequence[TrialTask]) -> Iterator[tuple[int, Metrics]]:
        """Side by side on the cluster."""
        test = ray.remote(_test).options(num_cpus=self.resources["cpu"], num_gpus=self.resources.get("gpu", 0))
        waiting = {test.remote(self.worker, task): task.number for task in tasks}
        while waiting:
            with _lost_cluster_told():
                (done, *_), _ = ray.wait(list(waiting))
                measured = ray.get(done)
            yield waiting.pop(done), measured

    def close(self) -> None:
        """Leave the cluster; one that was started here ends."""
        ray.shutdown()


class _TrialActor(tune.Trainable):  # type: ignore[misc]
    """One process of the cluster; it trains one trial after another."""

    def setup(self, config: dict[str, Any]) -> None:
        self.worker: Worker | None = None

    def reset_config(self, new_config: dict[str, Any]) -> bool:
        self.setup(new_config)
        return True

    def step(self) -> dict[str, Any]:
        """What the trial gives, or what it raises: Tune does not tell a scheduler why a trial failed."""
        try:
            if self.worker is None:
                self.worker = self.config["worker"](self.config["task"])
            return {"outcome": self.worker.run_epoch()}
        except UserError as mistake:
            return {"outcome": mistake}
        except Exception as error:  # noqa: BLE001 (whatever a trial raises ends that trial, not the study)
            self.worker = None  # and lets go of its memory
            return {"outcome": fault_of(error)}


class _Plugins:
    """What the two plug-ins share: the driver, and which Tune trial is which of ours.

    Tune wraps what a plug-in raises into its own error; ``fault`` keeps what it was.
    """

    def __init__(self, driver: Driver, worker: type[Worker], room: Room) -> None:
        self.driver = driver
        self.worker = worker
        self.room = room
        self.kernel_kills = kernel_kills()
        self.numbers: dict[str, int] = {}
        self.fault: BaseException | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Nothing: Tune pickles its plug-ins for a restore of its own, which we do not use."""
        return {}

    def keep(self, call: Callable[[], Value]) -> Value:
        """The value of ``call``; what it raises is kept and raised."""
        try:
            return call()
        except BaseException as error:
            self.fault = self.fault or error
            raise


class _ProposerPlugin(Searcher):  # type: ignore[misc]
    """Hands the driver's next trial to Tune."""

    def __init__(self, plugins: _Plugins) -> None:
        super().__init__(metric="outcome", mode="max")
        self.plugins = plugins

    def set_max_concurrency(self, max_concurrent: int) -> bool:
        """How many trials run side by side is decided here, by the room for them."""
        return True

    def suggest(self, trial_id: str) -> dict[str, Any] | str | None:
        """A trial for the cluster; None while it is full, or while only a fault could leave another."""
        plugins = self.plugins
        if plugins.keep(plugins.room.is_full):
            return None
        task = plugins.keep(plugins.driver.next)
        if task is None:
            return None if plugins.room.taken else str(Searcher.FINISHED)
        plugins.numbers[trial_id] = task.number
        return {"task": task, "worker": plugins.worker, "resources": plugins.room.take(trial_id, task.share)}

    def on_trial_complete(self, trial_id: str, result: Mapping[str, Any] | None = None, error: bool = False) -> None:
        """The driver knows already, from the scheduler; the room is free again."""
        self.plugins.room.leave(trial_id)

    def save(self, checkpoint_path: str) -> None:
        """The ledger is what is saved."""

    def restore(self, checkpoint_path: str) -> None:
        """The ledger is what is restored."""


class _SchedulerPlugin(FIFOScheduler):  # type: ignore[misc]
    """Hands reports to the driver and its decisions to Tune."""

    def __init__(self, plugins: _Plugins) -> None:
        super().__init__()
        self.plugins = plugins

    def on_trial_result(self, tune_controller: TuneController, trial: Trial, result: dict[str, Any]) -> str:
        number = self.plugins.numbers[trial.trial_id]
        if self.plugins.keep(lambda: self._goes_on(number, result["outcome"])):
            return str(TrialScheduler.CONTINUE)
        del self.plugins.numbers[trial.trial_id]
        return str(TrialScheduler.STOP)

    def on_trial_error(self, tune_controller: TuneController, trial: Trial) -> None:
        number = self.plugins.numbers.pop(trial.trial_id, None)
        if number is not None:  # else only its actor failed, after the end
            self.plugins.keep(_check_machine)
            self.plugins.keep(lambda: self.plugins.driver.faulted(number, self._death(trial)))

    def _death(self, trial: Trial) -> Fault:
        """Why an actor died, as far as ray and the kernel of this machine tell."""
        told = Path(trial.error_file).read_text() if trial.error_file else ""
        if UNBORN in told:
            return Fault("failed", told.split(UNBORN)[1].strip().splitlines()[-1])
        before, self.plugins.kernel_kills = self.plugins.kernel_kills, kernel_kills()
        here = trial.node_ip in (None, ray.util.get_node_ip_address())
        if says_out_of_memory(told) or (here and self.plugins.kernel_kills > before):
            return Fault("out_of_memory", f"{DIED}: it was killed, since memory ran out")
        return Fault("crashed", DIED)

    def _goes_on(self, number: int, outcome: EpochResult | UserError | Fault) -> bool:
        match outcome:
            case EpochResult():
                return self.plugins.driver.report(number, outcome).action == "continue"
            case UserError():
                raise outcome  # no trial would fare better
            case _:
                self.plugins.driver.faulted(number, outcome)
                return False


class _ActorManager(RayActorManager):  # type: ignore[misc]
    """Takes every error of ray's own for the death of the actor.

    Tune 2.60 knows one kind alone. It would end the study where ray kills a worker because its machine runs low on
    memory, which has a kind of its own.
    """

    def _actor_task_failed(self, tracked_actor_task: Any, exception: Exception) -> None:
        if isinstance(exception, RayError) and not isinstance(exception, RayActorError | RayTaskError):
            exception = RayActorError(error_msg=one_line(exception))
        super()._actor_task_failed(tracked_actor_task, exception)


tune_controller.RayActorManager = _ActorManager
# Ray prints the deaths of workers to stdout, where the report belongs; the ledger and the progress tell them.
ray_worker.print_to_stdstream = lambda *_, **__: None


def _knock(address: str) -> None:
    """Refuse an address behind which nothing listens; ray itself would wait for minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not port.isdigit():
        return  # `auto` and the like, which ray looks up
    try:
        socket.create_connection((host, int(port)), timeout=KNOCK_SECONDS).close()
    except OSError as error:
        raise UserError(f"--address {address}: no Ray cluster answers ({one_line(error)})") from error


def _test(worker: type[Worker], task: TrialTask) -> Metrics:
    """Runs in a process of the cluster."""
    return worker.test(task)


@contextmanager
def _lost_cluster_told() -> Iterator[None]:
    """Within, that the cluster is gone is a ClusterLostError."""
    try:
        yield
    except UserError:
        raise
    except RayError as error:
        if isinstance(error, RayTaskError):
            raise
        raise ClusterLostError(f"the Ray cluster does not answer any more ({one_line(error)})") from error


def _check_machine() -> None:
    """Raises ClusterLostError where ray no longer runs on this machine: no actor could start, and none is to blame."""
    node = ray_worker.global_worker.node
    if node is None:  # a client of a cluster elsewhere
        return
    try:
        with socket.socket(socket.AF_UNIX) as knocking:
            knocking.connect(node.raylet_socket_name)
    except OSError as error:
        raise ClusterLostError(f"ray does not run on this machine any more ({one_line(error)})") from error


def _nodes() -> list[Mapping[str, float]]:
    """What each machine of the cluster has. Raises ClusterLostError where this one is not among them any more."""
    _check_machine()
    return [node["Resources"] for node in ray.nodes() if node["Alive"]]


def _slots(cluster: Mapping[str, float], trial: Mapping[str, float]) -> int:
    """How many trials fit side by side."""
    return min(int(cluster.get(name.upper(), 0) / needed + 1e-9) for name, needed in trial.items())
