"""The engine on Ray: Ray Tune opens slots (long-lived processes) on a cluster, and trials run in these slots."""

import gc
import math
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import Final, Literal

import ray
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
from skipstack.search.execution.engines.ray.copying.mark import Mark
from skipstack.search.execution.engines.ray.copying.remote_file_server import FileService
from skipstack.search.execution.engines.ray.copying.study import copying, gather
from skipstack.search.execution.engines.ray.gpu_failures import GpuFailures
from skipstack.search.execution.engines.ray.loop import StudyLoop
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
from skipstack.search.execution.engines.ray.metrics import StudyGauges, watched
from skipstack.search.execution.engines.ray.orders import PrepareProcess
from skipstack.search.execution.engines.ray.preflight import Answer, Preflight, first_trouble, unseeing
from skipstack.search.execution.engines.ray.process import borrowed, silenced
from skipstack.search.execution.engines.ray.sharing import ALONE, Sharing
from skipstack.search.execution.engines.ray.tune_loop import MOST_SLOTS, run_tune
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.search.study.task import TrialTask, Workers

AWAITED_SECONDS: Final = 1800.0
"""Seconds to wait for the first machine that an autoscaler may start."""

RESTARTS: Final = 3
"""Largest number of successive restarts of Tune's loop without progress of the study, before the study fails."""

RESTARTED_AFTER: Final = 5.0
"""Seconds to wait before Tune's loop is restarted after an error."""

TOLD_EVERY: Final = 30.0
"""Minimum seconds between two messages to the user about machines that have joined or left."""


class RayEngine(Engine):
    """Runs trials in actors of a Ray cluster: the cluster at ``address``, or one that this process has joined already.
    Without either, a new cluster is started on this machine. ``close`` ends the new cluster, and restores the settings
    of the process and of Ray. Raises UserError if no cluster answers, or if it has no resources for ``device``.

    ``gpus_per_trial``: the share of a GPU for each trial; ``auto`` means the share that the trial needs
    (``search/execution/engines/capacity.py``). ``cpus_per_trial``: the CPUs for each trial. A trial that ran out of
    memory gets twice these resources, as far as a machine has them. ``concurrent``: the largest number of trials that
    run at a time; None means as many as fit. ``gpu_memory`` returns the bytes of a GPU. ``memory`` returns the bytes
    that training a trial takes. Both are called only for ``auto``, in processes of the cluster. ``sharing``: which
    trials share a process, and so the resources of one trial.
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
        """The workers of the running study if its files may have to be copied between machines; otherwise None."""
        self._unseeing: str | None = None
        """A line for the user about machines that do not see the study's folder; None if all see it."""
        self._new_machines: NewMachines | None = None
        """Asks machines that join whether they see the study's folder. None if files cannot be copied, or once a
        machine is known that does not see the folder.
        """
        self._machines: Machines = {}
        """The machines of the cluster, as last listed."""
        self._looked = self._told = -math.inf
        self._untold = False
        self._gauges: StudyGauges | None = None
        """The published metrics of the running study."""
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
                    answers=answers,
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
        """The present resources of each trial."""
        return self._allocator.allotment

    def _put_into_words(self) -> None:
        """Set ``words`` to a line about the resources of each trial, the cluster, and the machines that may join it."""
        may_join = None if self._autoscaling is None else f"what may join has: {self._autoscaling.in_words()}"
        bound = None if self._concurrent is None else f"at most {self._concurrent} at a time"
        self.words = "; ".join(filter(None, [self.allotment.words, bound, self._where, self._unseeing, may_join]))
        self._told, self._untold = time.monotonic(), False

    def preflight(self, folder: StudyFolder, record: Callable[[], StudyRecord]) -> None:
        """Check that every machine of a cluster that was joined can train the study. A cluster that was started here is
        not checked. Raises UserError with the name of a machine that cannot train.
        """
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
        """Run trials in slots that Tune keeps open (``loop.py``), then the measurements on the test split in the same
        processes, which have already imported torch.
        """
        self._await_machines(lambda: driver.record)
        # Each process checks its machine when it starts, so machines that join during the study are checked, too.
        preflight = Preflight.of(driver.folder, driver.record, copies=self._copies) if self._joined else None
        self._copying, driver.turns = None, self._sharing.most
        if preflight is not None and preflight.copies:
            self._copying = self._leaving.enter_context(copying(self.worker, driver, preflight.mark))
            if self._unseeing is None:
                self._new_machines = NewMachines(machines(), partial(_sight, preflight.mark))
        if self._gauges is None:  # further points may be asked for at the last moment, and the engine then runs again
            self._gauges = self._leaving.enter_context(watched(driver))
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
            gpus_taken=self._gauges.taken,
            sharing=self._sharing,
            concurrent=self._concurrent,
        )
        restarts = 0
        while not loop.finished:
            before = driver.record.events
            try:
                run_tune(loop)
                error: Exception = RuntimeError("it ended before the study")
            except KeyboardInterrupt:
                if self._copying is not None:
                    gather(self._copying)
                loop.end_processes()
                raise
            except Exception as ended:  # noqa: BLE001 (Tune lets errors of any class through)
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

    def _most_slots(self, needs: Resources) -> int:
        """The largest number of slots with these resources to open. Slots that only future machines can hold are
        included, since an autoscaler starts machines for waiting slots.
        """
        most = None if self._autoscaling is None else self._autoscaling.slots(needs)
        if most is None:
            most = MOST_SLOTS if self._autoscaling is not None else slots(self._capacity(), needs)
        return min(most, MOST_SLOTS)

    def _await_machines(self, record: Callable[[], StudyRecord]) -> None:
        """If no trial fits the cluster yet, wait until an autoscaler has added a machine, and allocate the resources of
        trials. Raises UserError if no machine comes within ``AWAITED_SECONDS``.
        """
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
        """Check which machines have joined or left, allocate the resources of trials again, and tell the user of
        changes. Does nothing in a cluster that was started here, or within ``LOOKED_AT`` seconds of the last check.
        """
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
        """Whether a machine has joined that does not see the study's folder. Once one is found, no other is asked."""
        there = machines()
        self._unseeing = unseeing(new_machines.unseeing(there), len(there))
        if self._unseeing is not None:
            self._new_machines = None
        return self._unseeing is not None

    def _capacity(self) -> list[Resources]:
        """The resources of each machine, without GPUs that are excluded after failures."""
        return [has for _, has in self._gpu_failures.left(self._machines).values()]

    @property
    def _copies(self) -> bool:
        """Whether files can be copied to other machines. False in a Ray client, which other machines cannot reach."""
        return not ray.util.client.ray.is_connected()

    def _counting(self, memory: Callable[[TrialTask], int], task: TrialTask) -> Callable[[], int]:
        """Return a function that measures a trial's memory on any machine, after fetching the corpus if necessary."""
        return partial(memory, task) if self._copying is None else partial(self._copying.reading, memory, task)

    @property
    def _server(self) -> FileService:
        assert self._copying is not None, "files are unsent only where they are copied"
        return self._copying.server

    def close(self) -> None:
        """Leave the cluster, or end it if it was started here, and restore the settings of this process."""
        gc.collect()  # Tune's leftover objects call ray when deleted; ray kills a process that calls it after shutdown
        with silenced():
            self._leaving.close()


def _sight(mark: Mark, machine: str) -> Question[bool]:
    """Ask a machine, by its node id, whether it sees the study's folder."""
    return Question(partial(_sees, mark), scheduling_strategy=NodeAffinitySchedulingStrategy(machine, soft=False))


def _sees(mark: Mark) -> bool:
    """Whether this machine sees the folder with the mark. Runs on the machine that is asked."""
    return mark.unseen() is None
