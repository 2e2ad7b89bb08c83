"""The engine on Ray: Ray Tune, by its public parts, opens slots on a cluster, and trials run in them.

Tune's own search, schedulers, checkpoints, loggers and restore are not used: the driver's ledger replaces them.
"""

import gc
import math
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any, Final, Literal

import ray
from ray import tune
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from skipstack.data.basis.errors import UserError, one_line
from skipstack.search.execution.driver.driver import Driver
from skipstack.search.execution.driver.engine import Engine
from skipstack.search.execution.driver.interruption import terminated_as_interrupted
from skipstack.search.execution.engines.allocation import Allocator
from skipstack.search.execution.engines.autoscaling import Autoscaling, needed
from skipstack.search.execution.engines.capacity import (
    LOOKED_AT,
    Allotment,
    Machines,
    Resources,
    allotted,
    described,
    in_words,
    no_capacity,
    nothing_known,
    slots,
)
from skipstack.search.execution.engines.new_machines import NewMachines
from skipstack.search.execution.engines.ray.autoscaler import autoscaling, demanded
from skipstack.search.execution.engines.ray.copying.copying_workers import CopyingWorkers
from skipstack.search.execution.engines.ray.copying.file_server import FileService
from skipstack.search.execution.engines.ray.copying.mark import Mark
from skipstack.search.execution.engines.ray.copying.study import copying, gather
from skipstack.search.execution.engines.ray.gpu_failures import GpuFailures
from skipstack.search.execution.engines.ray.loop import SlotScheduler, SlotSearcher, StudyIsOver, StudyLoop
from skipstack.search.execution.engines.ray.machines import (
    Question,
    asked,
    check_address,
    cluster_in_words,
    joined,
    lost_cluster_interrupts,
    machines,
    on_gpu,
    resources,
)
from skipstack.search.execution.engines.ray.metrics import watched
from skipstack.search.execution.engines.ray.orders import PrepareProcess
from skipstack.search.execution.engines.ray.preflight import Answer, Preflight, first_trouble, unseeing
from skipstack.search.execution.engines.ray.process import borrowed, settings_of_slots, silenced
from skipstack.search.execution.engines.ray.sharing import ALONE, Sharing
from skipstack.search.execution.engines.ray.worker_process import WorkerProcess
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.search.study.task import TrialTask, Workers

MOST_SLOTS: Final = 1000
"""Largest number of open slots: an autoscaler takes its time to place them."""

AWAITED_SECONDS: Final = 1800.0
"""Seconds to wait for the first machine that an autoscaler may start."""

RESTARTS: Final = 3
"""Number of times in a row that Tune's loop is entered again without anything having happened in between."""

RESTARTED_AFTER: Final = 5.0
"""Seconds before Tune's loop is entered again."""

TOLD_EVERY: Final = 30.0
"""Seconds between two lines about machines that have joined or left."""


class RayEngine(Engine):
    """Runs trials in actors of a Ray cluster: the one at ``address``, or the one that this process has already joined,
    or one that is started here and ended with the study. Afterwards the process, and Ray in it, is as it was before.

    Each trial takes ``cpus_per_trial`` and ``gpus_per_trial`` of a GPU (``search/execution/engines/capacity.py``), and
    twice as much once it ran out of memory. ``concurrent``: largest number of trials that run at a time; None: as many
    as fit. For ``auto``, workers answer ``gpu_memory``, the bytes of a GPU, and ``memory``, the bytes that training a
    trial takes. ``sharing``: which trials share a process, which takes these resources for them together. Raises
    UserError if no cluster answers, or if it lacks what trials on ``device`` need.
    """

    def __init__(
        self,
        worker: Workers,
        *,
        address: str | None,
        gpus_per_trial: float | Literal["auto"],
        cpus_per_trial: int = 1,
        concurrent: int | None = None,
        device: str = "auto",
        gpu_memory: Callable[[], int] = nothing_known,
        memory: Callable[[TrialTask], int] = nothing_known,
        sharing: Sharing = ALONE,
    ) -> None:
        if not ray.is_initialized():
            check_address(address)
        self.worker = worker
        self._concurrent = concurrent
        self._sharing = sharing
        self._where = None if ray.is_initialized() else cluster_in_words(address)
        self._joined = address is not None or ray.is_initialized()
        self._copying: CopyingWorkers | None = None
        """The workers of a study whose files may have to be copied."""
        self._unseeing: str | None = None
        """Number of machines that do not see the study's folder, in words."""
        self._new_machines: NewMachines | None = None
        """Asks machines that join whether they see the folder, until the user is told of one that does not."""
        self._machines: Machines = {}
        """The machines of the cluster, as of the last look."""
        self._looked = self._told = -math.inf
        self._untold = False
        self._leaving = ExitStack()
        self._gpu_failures = GpuFailures()
        try:
            for borrowing in (borrowed(), joined(address)):
                self._leaving.enter_context(borrowing)
            self._allocator = Allocator(
                lambda: self._gpu_failures.left(machines()),
                lambda there, answers: allotted(
                    gpus_per_trial,
                    device,
                    there,
                    cpus_per_trial=cpus_per_trial,
                    sizes=lambda: answers,
                    count=lambda task: Question(self._counting(memory, task), max_retries=0),
                    each="trial" if sharing.most == 1 else f"program of up to {sharing.most} trials",
                ),
                partial(on_gpu, gpu_memory) if gpus_per_trial == "auto" and device != "cpu" else None,
            )
            with lost_cluster_interrupts():
                self._autoscaling = autoscaling() if self._joined else None
            there, joining = resources(), self._autoscaling or Autoscaling(())
            self._least = needed(gpus_per_trial, device, there, joining, cpus=float(cpus_per_trial))
            if self._autoscaling is None or slots(there, self._least):
                self._allocator.begin()
                self._put_into_words()
            elif not joining.may_hold(self._least):
                raise no_capacity(self._least, there, joining.in_words())
        except BaseException:
            self.close()
            raise

    @property
    def allotment(self) -> Allotment:
        """The resources of each trial on the machines that are there."""
        return self._allocator.allotment

    def _put_into_words(self) -> None:
        """Put into words what each trial gets, on which cluster, and what may join it."""
        may_join = None if self._autoscaling is None else f"what may join has: {self._autoscaling.in_words()}"
        bound = None if self._concurrent is None else f"at most {self._concurrent} at a time"
        self.words = "; ".join(filter(None, [self.allotment.words, bound, self._where, self._unseeing, may_join]))
        self._told, self._untold = time.monotonic(), False

    def preflight(self, folder: StudyFolder, record: Callable[[], StudyRecord]) -> None:
        """Ask every machine of a cluster that was joined; a cluster that was started here runs this very code."""
        if not self._joined:
            return
        self._await_machines(record)
        answers = asked(Preflight.of(folder, record(), copies=self._copies).answer)
        found = [
            (name, Answer(sees=True, trouble=str(said)) if isinstance(said, UserError) else said)
            for name, said in answers
        ]
        trouble = first_trouble([(name, answer.trouble) for name, answer in found])
        if trouble is not None:
            raise UserError(trouble)
        self._unseeing = unseeing(sum(not answer.sees for _, answer in found), len(found))
        self._put_into_words()

    def run(self, driver: Driver) -> None:
        """Run trials in slots that Tune keeps open (``loop.py``), then measurements, in processes that have imported
        torch already.
        """
        self._await_machines(lambda: driver.record)
        # Machines that join in the midst of the study are asked when they begin.
        preflight = Preflight.of(driver.folder, driver.record, copies=self._copies) if self._joined else None
        self._copying, driver.turns = None, self._sharing.most
        if preflight is not None and preflight.copies:
            self._copying = self._leaving.enter_context(copying(self.worker, driver, preflight.mark))
            if self._unseeing is None:
                self._new_machines = NewMachines(machines(), partial(_sight, preflight.mark))
        gauges = self._leaving.enter_context(watched(driver))
        self._machines = machines()
        loop = StudyLoop(
            driver,
            PrepareProcess(self._copying or self.worker, preflight),
            self._allocator,
            capacity=self._capacity,
            most_slots=self._most_slots,
            gpu_failures=self._gpu_failures,
            say=lambda words: self.say(words),
            look=self._look,
            on_idle=lambda: self.on_idle(),
            part=lambda task: self._server.part(task.number, task.attempt),
            on_late_files=lambda trial: self.on_late_files(trial),
            gpus_taken=gauges.taken,
            sharing=self._sharing,
            concurrent=self._concurrent,
        )
        restarts = 0
        while not loop.finished:
            before = driver.record.events
            try:
                self._tune(loop)
                error: Exception = RuntimeError("it ended before the study")
            except KeyboardInterrupt:
                if self._copying is not None:
                    gather(self._copying)
                loop.end_processes()
                raise
            except Exception as ended:  # noqa: BLE001 (Tune raises errors of any class that it does not know)
                error = ended
            if loop.fault is not None:
                raise loop.fault
            if not loop.finished:
                restarts = 1 if driver.record.events > before else restarts + 1
                with lost_cluster_interrupts():
                    if restarts > RESTARTS:
                        raise error
                    loop.lost(one_line(error))
                time.sleep(RESTARTED_AFTER)

    def _tune(self, loop: StudyLoop) -> None:
        """Run Tune's loop until the study ends, or an error ends the loop."""
        with (
            tempfile.TemporaryDirectory(prefix="skipstack-tune-") as scratch,
            silenced(),
            as_talkative_as_before(),
            ExitStack() as beginning,
        ):
            beginning.enter_context(settings_of_slots())
            loop.on_begun = beginning.close
            tune.Tuner(
                tune.with_resources(WorkerProcess, _placement),
                tune_config=tune.TuneConfig(
                    search_alg=SlotSearcher(loop),
                    scheduler=SlotScheduler(loop),
                    num_samples=-1,  # until the searcher says that it has finished
                    max_concurrent_trials=MOST_SLOTS,
                ),
                run_config=tune.RunConfig(
                    storage_path=scratch,
                    stop=StudyIsOver(loop),
                    verbose=0,
                    checkpoint_config=tune.CheckpointConfig(checkpoint_at_end=False),
                ),
            ).fit()

    def _most_slots(self, needs: Resources) -> int:
        """Number of slots of these resources that the cluster may hold: an autoscaler sees pending ones as demand."""
        most = None if self._autoscaling is None else self._autoscaling.slots(needs)
        if most is None:
            most = MOST_SLOTS if self._autoscaling is not None else slots(self._capacity(), needs)
        return min(most, MOST_SLOTS)

    def _await_machines(self, record: Callable[[], StudyRecord]) -> None:
        """Wait for new machines if the cluster has no room yet. Raises UserError if none comes."""
        if self._allocator.is_allocated:
            return
        assert self._autoscaling is not None, "without an autoscaler, what there is was settled at once"
        trial, joining, known = self._least, self._autoscaling.in_words(), record()
        ready = known.study.search.trials - sum(each.reason is not None for each in known.trials.values())
        ready = max(1, ready if self._concurrent is None else min(ready, self._concurrent))
        self.say(
            f"waiting for a machine with {in_words(trial)}: {described(resources())}; what may join has: {joining}"
        )
        until = time.monotonic() + AWAITED_SECONDS
        with terminated_as_interrupted(), demanded(trial, self._most_slots(trial), ready):
            while not slots(there := resources(), trial):
                if time.monotonic() > until:
                    raise no_capacity(trial, there, f"{joining}, and none came within {AWAITED_SECONDS / 60:g} min")
                time.sleep(LOOKED_AT)
        self._allocator.begin()
        self._put_into_words()

    def _look(self) -> None:
        """Look every few seconds which machines have joined or left, and settle the resources of trials anew."""
        now = time.monotonic()
        if not self._joined or now - self._looked < LOOKED_AT:
            return
        self._looked = now
        with lost_cluster_interrupts():
            self._untold |= self._allocator.look()
            self._machines = machines()
            first_unseeing = self._new_machines is not None and self._has_unseeing(self._new_machines)
        if first_unseeing or (self._untold and now - self._told > TOLD_EVERY):
            self._put_into_words()
            self.say(self.words)

    def _has_unseeing(self, new_machines: NewMachines) -> bool:
        """Whether a first machine has joined that does not see the study's folder, so that files are copied to it."""
        there = machines()
        self._unseeing = unseeing(new_machines.unseeing(there), len(there))
        if self._unseeing is not None:
            self._new_machines = None
        return self._unseeing is not None

    def _capacity(self) -> list[Resources]:
        """The resources of each machine, without the GPUs that are left alone."""
        return [has for _, has in self._gpu_failures.left(self._machines).values()]

    @property
    def _copies(self) -> bool:
        """Whether files can be copied: by a driver on a machine of the cluster, which others can reach."""
        return not ray.util.client.ray.is_connected()

    def _counting(self, memory: Callable[[TrialTask], int], task: TrialTask) -> Callable[[], int]:
        """The function that counts the memory of a trial on a machine, which may not see the trial's corpus."""
        return partial(memory, task) if self._copying is None else partial(self._copying.reading, memory, task)

    @property
    def _server(self) -> FileService:
        assert self._copying is not None, "files are unsent only where they are copied"
        return self._copying.server

    def close(self) -> None:
        """Leave the cluster, which ends if it was started here, and restore what was changed in the process."""
        gc.collect()  # objects that Tune left call ray when they go, and ray ends a process that calls it after its end
        with silenced():
            self._leaving.close()


def _sight(mark: Mark, machine: str) -> Question[bool]:
    """The question to a machine, by the id of its node, whether it sees the study's folder."""
    return Question(partial(_sees, mark), scheduling_strategy=NodeAffinitySchedulingStrategy(machine, soft=False))


def _sees(mark: Mark) -> bool:
    """Runs on the machine that is asked."""
    return mark.unseen() is None


@contextmanager
def as_talkative_as_before() -> Iterator[None]:
    """Restore Tune's verbosity for the user's own runs after the block: each run sets it for the whole process."""
    log = sys.modules.get("ray.tune.utils.log")
    before = getattr(log, "verbosity", None)
    try:
        yield
    finally:
        if log is not None and before is not None:
            log.set_verbosity(before)


def _placement(config: dict[str, Any]) -> tune.PlacementGroupFactory:
    """The resources that a slot requests from the cluster."""
    return tune.PlacementGroupFactory([{name.upper(): amount for name, amount in config["resources"].items()}])
