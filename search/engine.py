"""Ray Tune as the engine: our proposals and decisions plugged in, actors kept from trial to trial.

The only file that imports ray. Tune's own search, schedulers, checkpoints, loggers and restore are
not used: the driver's ledger replaces them.
"""

import logging
import os
import socket
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
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
from ray.exceptions import AuthenticationError
from ray.tune.error import TuneError
from ray.tune.execution.tune_controller import TuneController
from ray.tune.experiment import Trial
from ray.tune.schedulers import FIFOScheduler, TrialScheduler
from ray.tune.search import Searcher

from data.errors import UserError, one_line
from search.driver import Driver
from search.events import Metrics
from search.serial import Engine
from search.task import EpochResult, TrialTask, Worker

OBJECT_STORE_BYTES = 100 * 1024 * 1024
"""Of a cluster that we start ourselves: tasks and reports are small, and weights go to files."""

KNOCK_SECONDS = 10

Value = TypeVar("Value")

# A failed trial is told by the ledger and the command line, in one line.
logging.getLogger("ray.tune").setLevel(logging.CRITICAL)


class RayEngine(Engine):
    """Trials on the actors of a Ray cluster: ``address``, or one started here and ended with the study.

    Each trial takes one CPU and ``gpus_per_trial`` of a GPU. Raises UserError where no cluster answers, or it has
    not the room for a single trial.
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
        self.slots = _slots(ray.cluster_resources(), self.resources)
        if self.slots == 0:
            self.close()
            raise UserError(f"no trial fits: each needs {self.resources}, the cluster has {ray.cluster_resources()}")

    def run(self, driver: Driver) -> None:
        """Keep every slot busy, and one trial more proposed, so that an actor is never without a next one."""
        plugins = _Plugins(driver, self.worker)
        with tempfile.TemporaryDirectory(prefix="skipstack-tune-") as scratch:
            tuner = tune.Tuner(
                tune.with_resources(_TrialActor, self.resources),
                tune_config=tune.TuneConfig(
                    search_alg=_ProposerPlugin(plugins),
                    scheduler=_SchedulerPlugin(plugins),
                    num_samples=-1,  # until the driver has none left
                    max_concurrent_trials=self.slots + 1,
                    reuse_actors=True,
                ),
                run_config=tune.RunConfig(
                    storage_path=scratch,
                    verbose=0,
                    checkpoint_config=tune.CheckpointConfig(checkpoint_at_end=False),
                ),
            )
            try:
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
            done, _ = ray.wait(list(waiting))
            for reference in done:
                yield waiting.pop(reference), ray.get(reference)

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
            return {"outcome": one_line(error)}


class _Plugins:
    """What the two plug-ins share: the driver, and which Tune trial is which of ours.

    Tune wraps what a plug-in raises into its own error; ``fault`` keeps what it was.
    """

    def __init__(self, driver: Driver, worker: type[Worker]) -> None:
        self.driver = driver
        self.worker = worker
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
    """Hands the driver's next trial to Tune.

    A trial that pauses ends for Tune and frees its actor. Promoted, it is another one for Tune, which goes on from the
    trial's own checkpoint. So Tune never waits for a paused trial, and asks again until the study is over.
    """

    def __init__(self, plugins: _Plugins) -> None:
        super().__init__(metric="outcome", mode="max")
        self.plugins = plugins

    def suggest(self, trial_id: str) -> dict[str, Any] | str | None:
        task = self.plugins.keep(self.plugins.driver.next)
        if task is None:
            return str(Searcher.FINISHED) if self.plugins.driver.over else None
        self.plugins.numbers[trial_id] = task.number
        return {"task": task, "worker": self.plugins.worker}

    def on_trial_complete(self, trial_id: str, result: Mapping[str, Any] | None = None, error: bool = False) -> None:
        """The driver knows already, from the scheduler."""

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
        return self.plugins.keep(lambda: self._heard(self.plugins.numbers[trial.trial_id], result["outcome"]))

    def on_trial_error(self, tune_controller: TuneController, trial: Trial) -> None:
        number = self.plugins.numbers[trial.trial_id]
        if self.plugins.driver.record.trials[number].reason is None:  # else only its actor failed, after it
            self.plugins.keep(lambda: self.plugins.driver.failed(number, "the worker's process died"))

    def _heard(self, number: int, outcome: EpochResult | UserError | str) -> str:
        match outcome:
            case EpochResult():
                goes_on = self.plugins.driver.report(number, outcome).action == "continue"
                return str(TrialScheduler.CONTINUE if goes_on else TrialScheduler.STOP)
            case UserError():
                raise outcome  # no trial would fare better
            case _:
                self.plugins.driver.failed(number, outcome)
                return str(TrialScheduler.STOP)


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


def _slots(cluster: Mapping[str, float], trial: Mapping[str, float]) -> int:
    """How many trials fit side by side."""
    return min(int(cluster.get(name.upper(), 0) / needed + 1e-9) for name, needed in trial.items())
