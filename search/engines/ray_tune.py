"""Ray Tune as the engine: our proposals and decisions plugged in, actors kept from trial to trial.

Tune's own search, schedulers, checkpoints, loggers and restore are not used: the driver's ledger replaces them.
"""

import logging
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeVar

# Read by Tune when it is imported or run: the ledger is the log, and Ctrl-C is the command line's.
os.environ.setdefault("TUNE_DISABLE_AUTO_CALLBACK_LOGGERS", "1")
os.environ.setdefault("TUNE_DISABLE_SIGINT_HANDLER", "1")
os.environ.setdefault("RAY_AIR_NEW_OUTPUT", "0")
# `ray start` makes clusters that ask for the token in ~/.ray; one without needs RAY_AUTH_MODE=disabled.
os.environ.setdefault("RAY_AUTH_MODE", "token")
# A worker that takes no GPU is not to find one.
os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "1")

import ray
from ray import tune
from ray.exceptions import NodeDiedError, OutOfMemoryError, RayTaskError, WorkerCrashedError
from ray.tune.error import TuneError
from ray.tune.execution.placement_groups import resource_dict_to_pg_factory
from ray.tune.execution.tune_controller import TuneController
from ray.tune.experiment import Trial
from ray.tune.schedulers import FIFOScheduler, TrialScheduler
from ray.tune.search import Searcher

from skipstack.data.basis.errors import UserError
from skipstack.search.engines.actor import TrialActor
from skipstack.search.engines.allotment import allotted, nothing_known
from skipstack.search.engines.capacity import Capacity, Resources
from skipstack.search.engines.machines import (
    Question,
    asked,
    check_answers,
    check_this_machine,
    join,
    lost_cluster_interrupts,
    resources,
)
from skipstack.search.engines.preflight import Preflight, first_trouble
from skipstack.search.engines.ray_metrics import published
from skipstack.search.engines.ray_requests import ask_seldom
from skipstack.search.study.driver import Driver
from skipstack.search.study.engine import Engine
from skipstack.search.study.faults import DIED, Fault, kernel_kills, says_out_of_memory
from skipstack.search.study.records.folder import StudyFolder
from skipstack.search.study.records.study_record import StudyRecord
from skipstack.search.study.task import EpochResult, Measured, TrialTask, Workers
from skipstack.search.study.testing import Measurement, measured

UNBORN = "error raised in its creation task"
"""What ray says of an actor that never lived: another one would not either."""

MOST_TRIALS = 100_000
"""Side by side, as far as Tune is concerned."""

Value = TypeVar("Value")
Given = TypeVar("Given", TrialTask, Measurement)

# A failed trial is reported by the ledger and the command line, in one line.
logging.getLogger("ray.tune").setLevel(logging.CRITICAL)
ask_seldom()


class RayEngine(Engine):
    """Trials on the actors of a Ray cluster: ``address``, or one started here and ended with the study.

    Each trial takes one CPU and ``gpus_per_trial`` of a GPU (``search/engines/allotment.py``), and twice as much once
    it ran out of memory. For ``auto``, workers are asked ``gpu_memory``, the bytes of a GPU, and ``memory``, those that
    training a trial holds. Raises UserError where no cluster answers, or it has not what trials on ``device`` need.
    """

    def __init__(
        self,
        worker: Workers,
        *,
        address: str | None,
        gpus_per_trial: float | Literal["auto"],
        device: str = "auto",
        gpu_memory: Callable[[], int] = nothing_known,
        memory: Callable[[TrialTask], int] = nothing_known,
    ) -> None:
        self.worker = worker
        self._joined = address is not None
        self._preflight: Preflight | None = None
        self.answered = False
        """Whether a worker of this engine has reported anything."""
        self._leaving = ExitStack()
        self._leaving.callback(join(address))
        try:
            self.allotment = allotted(
                gpus_per_trial,
                device,
                resources(),
                sizes=lambda: asked(gpu_memory, gpus=0.001),
                count=lambda task: Question(partial(memory, task), max_retries=0),
            )
        except BaseException:
            self.close()
            raise
        self.words = self.allotment.words

    def preflight(self, folder: StudyFolder, record: Callable[[], StudyRecord]) -> None:
        """Ask every machine of a cluster that was joined; one that was started here runs our own files."""
        if not self._joined:
            return
        answers = asked(Preflight.of(folder, record()).trouble)
        trouble = first_trouble([(name, str(said) if isinstance(said, UserError) else said) for name, said in answers])
        if trouble is not None:
            raise UserError(trouble)

    def given(self, trial_id: str, task: Given, capacity: Capacity) -> dict[str, Any]:
        """What an actor is given, with the resources that it takes of ``capacity``."""
        taken, task = self._placed(trial_id, task, capacity)
        return {"task": task, "worker": self.worker, "resources": taken, "preflight": self._preflight}

    def _placed(self, name: str, given: Given, capacity: Capacity) -> tuple[Resources, Given]:
        """What is taken of ``capacity``, and the task or the measurement as it computes there."""
        task = given.task if isinstance(given, Measurement) else given
        taken = capacity.take(name, self.allotment.ordinary(task), task.share)
        if isinstance(given, Measurement):
            task, *training = (self.allotment.confined(each, taken) for each in (task, *given.training))
            return taken, Measurement(task, tuple(training))
        return taken, self.allotment.confined(task, taken)

    def run(self, driver: Driver) -> None:
        """Keep every slot busy, and one trial more proposed, so that an actor is never without a next one. What has
        trained then measures: a process that has imported torch is there already.
        """
        if self._joined:  # machines that join in the midst of the study are asked when they begin
            self._preflight = Preflight.of(driver.folder, driver.record)
        gauges = self._leaving.enter_context(published(driver))
        plugins = _Plugins(driver, self, Capacity(resources, gauges.taken))
        with tempfile.TemporaryDirectory(prefix="skipstack-tune-") as scratch:
            tuner = tune.Tuner(
                tune.with_resources(TrialActor, lambda config: resource_dict_to_pg_factory(config["resources"])),
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
                with lost_cluster_interrupts():
                    tuner.fit()
            except TuneError:
                if plugins.fault is None:
                    raise
            if plugins.fault is not None:
                raise plugins.fault

    def test(self, measurements: Sequence[Measurement]) -> Iterator[tuple[int, Measured | Fault]]:
        """Side by side, in processes of their own. Raises WorkersSilentError where no machine answers."""
        if measurements and not self.answered:  # a study that only lacks its test: no worker has started yet
            check_answers()
        test, capacity, waiting = ray.remote(measured), Capacity(resources), {}
        for measurement in measurements:
            number = measurement.task.number
            takes, confined = self._placed(str(number), measurement, capacity)
            here = test.options(num_cpus=takes["cpu"], num_gpus=takes.get("gpu", 0), max_retries=0)
            waiting[here.remote(self.worker, confined)] = number
        while waiting:
            with lost_cluster_interrupts():
                (done, *_), _ = ray.wait(list(waiting))
                outcome = _outcome(done)
            yield waiting.pop(done), outcome

    def close(self) -> None:
        """Leave the cluster; one that was started here ends."""
        self._leaving.close()


class _Plugins:
    """What the two plug-ins share: the driver, and which Tune trial is which of ours.

    Tune wraps what a plug-in raises into its own error; ``fault`` keeps what it was.
    """

    def __init__(self, driver: Driver, engine: RayEngine, capacity: Capacity) -> None:
        self.driver = driver
        self.engine = engine
        self.capacity = capacity
        self.kernel_kills = kernel_kills()
        self.numbers: dict[str, int] = {}
        self.measured: dict[str, int] = {}
        """Of those that Tune takes for trials and that are measurements, likewise."""
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
        self._held: TrialTask | None = None
        """The driver's next trial, while a worker counts what it needs."""
        self._measurements: Iterator[Measurement] | None = None
        """What is left to measure, once all trials have ended."""

    def set_max_concurrency(self, max_concurrent: int) -> bool:
        """How many trials run side by side is decided here, by the room for them."""
        return True

    def suggest(self, trial_id: str) -> dict[str, Any] | str | None:
        """A trial for the cluster; None while it is full, while it is not known what the next one needs, or while only
        a promotion or a fault could bring another.
        """
        plugins = self.plugins
        if plugins.keep(plugins.capacity.is_full):
            return None
        task, self._held = self._held or plugins.keep(plugins.driver.next), None
        if task is None:
            return plugins.keep(lambda: self._measurement(trial_id)) if plugins.driver.over else None
        if not plugins.keep(partial(plugins.engine.allotment.is_known, task)):
            self._held = task
            return None
        plugins.numbers[trial_id] = task.number
        return plugins.keep(lambda: plugins.engine.given(trial_id, task, plugins.capacity))

    def _measurement(self, trial_id: str) -> dict[str, Any] | str:
        """The next one for the actors that have trained; what they leave is measured after them (``test``)."""
        plugins = self.plugins
        if self._measurements is None:
            plugins.driver.end_paused()
            self._measurements = iter(plugins.driver.measurements() if plugins.engine.answered else ())
        measurement = next(self._measurements, None)
        if measurement is None:
            return str(Searcher.FINISHED)
        plugins.measured[trial_id] = measurement.task.number
        return plugins.engine.given(trial_id, measurement, plugins.capacity)

    def on_trial_complete(self, trial_id: str, result: Mapping[str, Any] | None = None, error: bool = False) -> None:
        """The driver knows already, from the scheduler; the room is free again."""
        self.plugins.capacity.leave(trial_id)

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
        self.plugins.engine.answered = True
        if trial.trial_id in self.plugins.measured:
            self.plugins.keep(lambda: self._measured(self.plugins.measured.pop(trial.trial_id), result["outcome"]))
            return str(TrialScheduler.STOP)
        number = self.plugins.numbers[trial.trial_id]
        if self.plugins.keep(lambda: self._goes_on(number, result["outcome"])):
            return str(TrialScheduler.CONTINUE)
        del self.plugins.numbers[trial.trial_id]
        return str(TrialScheduler.STOP)

    def on_trial_error(self, tune_controller: TuneController, trial: Trial) -> None:
        driver = self.plugins.driver
        for numbers, faulted in ((self.plugins.numbers, driver.faulted), (self.plugins.measured, driver.measured)):
            number = numbers.pop(trial.trial_id, None)
            if number is not None:  # else only its actor failed, after the end
                self.plugins.keep(check_this_machine)
                self.plugins.keep(partial(self._died, trial, partial(faulted, number)))

    def _died(self, trial: Trial, faulted: Callable[[Fault], None]) -> None:
        faulted(self._death(trial))

    def _death(self, trial: Trial) -> Fault:
        """Why an actor died, as far as ray and the kernel of this machine tell."""
        error = Path(trial.error_file).read_text() if trial.error_file else ""
        if UNBORN in error:
            return Fault("failed", error.split(UNBORN)[1].strip().splitlines()[-1])
        before, self.plugins.kernel_kills = self.plugins.kernel_kills, kernel_kills()
        here = trial.node_ip in (None, ray.util.get_node_ip_address())
        if says_out_of_memory(error) or (here and self.plugins.kernel_kills > before):
            return Fault("out_of_memory", f"{DIED}: it was killed, since memory ran out")
        return Fault("crashed", DIED)

    def _measured(self, number: int, outcome: Measured | Fault | UserError) -> None:
        if isinstance(outcome, UserError):
            raise outcome  # no measurement would fare better
        self.plugins.driver.measured(number, outcome)

    def _goes_on(self, number: int, outcome: EpochResult | UserError | Fault | None) -> bool:
        match outcome:
            case EpochResult():
                return self.plugins.driver.report(number, outcome).action == "continue"
            case None:
                self.plugins.driver.returned(number)
                return False
            case UserError():
                raise outcome  # no trial would fare better
            case _:
                self.plugins.driver.faulted(number, outcome)
                return False


def _outcome(reference: "ray.ObjectRef[Measured | Fault]") -> Measured | Fault:
    """What came of measuring a trial; that its process died is a fault, too. Raises what the worker raised."""
    try:
        outcome: Measured | Fault = ray.get(reference)
        return outcome
    except RayTaskError as error:
        raise error.cause from error  # which is one line, and Ray's a traceback
    except OutOfMemoryError:
        return Fault("out_of_memory", f"{DIED}: it was killed, since memory ran out")
    except (WorkerCrashedError, NodeDiedError):
        check_this_machine()
        return Fault("crashed", DIED)
