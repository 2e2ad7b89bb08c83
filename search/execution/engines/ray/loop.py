"""The loop of a study on Ray: Ray Tune opens slots, and trials run in them, one after another or several at a time.

A slot is a process of the cluster that lives as long as there is work that fits it. Tune treats each slot as one of its
own trials, and calls the slot's steps one after another. Before a step, the slot may get orders (``orders.py``). The
events of a slot, and the methods of ``StudyLoop`` that handle them:

    Tune asks for a trial            a slot is opened if the study's ready trials need one more             ``open``
    the slot's process has started   it reports its machine and GPUs, and gets the study's workers       ``greeted``
    a step has ended                 the driver decides on each outcome. The slot gets an order with
                                     the changes of its trials, or ends. A slot without work waits, and
                                     ends its step again                                                ``returned``
    the process dies                 the driver gets a fault for each of its trials, and may retry them     ``died``
    between two of these             machines, hours and overdue trials are checked                         ``turn``
    nothing is left to do            Tune's loop ends, and all slots with it                            ``finished``

The states of a slot, and the fields of ``Slot`` that distinguish them:

    opening    the cluster has no capacity for it yet, or its process starts    no greeting
    busy       it trains or measures                                            tasks, or a measurement
    idle       it has no work                                                   neither
    fencing    it occupies an excluded GPU, to keep other slots off             is_fence

Only the driver decides on trials, and only the driver writes the ledger. If an unknown error ends Tune's loop, all
slots are lost (``lost``), and the engine starts the loop again.
"""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, TypeVar

import ray
from ray.exceptions import RayError

from skipstack.data.basis.errors import NoGpuError, UserError
from skipstack.data.basis.saying import Say
from skipstack.search.execution.driver.driver import Driver
from skipstack.search.execution.driver.faults import DeviceBrokenError, Fault
from skipstack.search.execution.driver.measuring_on_test import Measurement
from skipstack.search.execution.engines.allocation import Allocator
from skipstack.search.execution.engines.capacity import Resources, enlarged, slots
from skipstack.search.execution.engines.ray.copying.copying_workers import PartedError, UnsentResult
from skipstack.search.execution.engines.ray.deaths import Death, Kernel, failures, unborn
from skipstack.search.execution.engines.ray.gpu_failures import IN_A_ROW, GpuFailures, ProcessGpus
from skipstack.search.execution.engines.ray.machines import check_answers, lost_cluster_interrupts, machines
from skipstack.search.execution.engines.ray.orders import ChangeTrials, MeasureTrial, PrepareProcess, give
from skipstack.search.execution.engines.ray.sharing import ALONE, Sharing
from skipstack.search.execution.engines.ray.worker_process import Greeting, breaks
from skipstack.search.ledger.events import LOSSES
from skipstack.search.study.task import EpochResult, Measured, TrialTask

START_SECONDS: Final = 300.0
"""If no open slot has had a running process for so many seconds, all machines are asked whether processes start."""

IDLE_SECONDS: Final = 10.0
"""Seconds after which a slot without work may close, unless it is the last. Starting a process takes 1 to 2 s."""

UNBORN: Final = 3
"""The study is interrupted after this number of processes in a row have died before their first step."""

Job = TrialTask | Measurement
Value = TypeVar("Value")


@dataclass(eq=False, slots=True)
class Slot:
    """A process of the cluster that trains or measures trials, or that is still to start.

    ``resources``: the resources that it takes. ``greeting``: its process and GPUs; None before the process has started.
    ``program``: describes the batched program of its trials (``Sharing``); None if it trains one trial by itself.
    ``tasks``: the trials that it trains, by number. ``measures``: the number of a trial that it measures instead.
    ``is_fence``: whether it takes no work, and only occupies an excluded GPU.
    """

    resources: Resources
    greeting: Greeting | None = None
    program: TrialTask | None = None
    tasks: dict[int, TrialTask] = field(default_factory=dict)
    measures: int | None = None
    is_fence: bool = False
    since: float = field(default_factory=time.monotonic)
    """Time at which the slot was opened, its process started, or it last had work, whichever is latest."""

    @property
    def has_work(self) -> bool:
        """Whether the slot trains or measures a trial."""
        return bool(self.tasks) or self.measures is not None

    @property
    def is_idle(self) -> bool:
        """Whether the slot has no work and can take some."""
        return self.greeting is not None and not self.is_fence and not self.has_work

    @property
    def is_idle_for_long(self) -> bool:
        """Whether the slot has had no work for so long that it may be closed, to free its resources."""
        return not self.has_work and time.monotonic() - self.since > IDLE_SECONDS

    def fits(self, needs: Resources) -> bool:
        """Whether the slot suits a job: it has as many CPUs as the job needs, and 1 to 1.25 times the GPU share."""
        own, needed = self.resources.get("gpu", 0.0), needs.get("gpu", 0.0)
        return self.resources["cpu"] == needs["cpu"] and needed <= own <= 1.25 * needed


class StudyLoop:
    """Connects Tune's slots with the driver of a study: opens slots, gives them trials, and reports the outcomes.

    ``prepare``: the first order to every process. ``allocator`` gives the resources of each trial. ``capacity`` returns
    the resources of each machine. ``most_slots`` returns the largest number of slots with given resources that may be
    open. ``gpu_failures``: records which GPUs break trials. ``say`` tells the user of an excluded GPU. ``look`` is
    called in each turn, to check the machines. ``on_idle`` is called while a CPU is idle. ``part`` is called before an
    ended or paused trial sends its remaining files, and ``on_late_files`` afterwards. ``gpus_taken`` is called with the
    number of GPUs that trials take, whenever this number has changed. ``sharing``: which trials share a slot.
    ``concurrent``: the largest number of trials that run at a time; None means unlimited.
    """

    def __init__(
        self,
        driver: Driver,
        prepare: PrepareProcess,
        allocator: Allocator,
        *,
        capacity: Callable[[], Sequence[Resources]],
        most_slots: Callable[[Resources], int],
        gpu_failures: GpuFailures,
        say: Say,
        look: Callable[[], None],
        on_idle: Callable[[], None],
        part: Callable[[TrialTask], None],
        on_late_files: Callable[[int], None],
        gpus_taken: Callable[[float], None] = lambda gpus: None,
        sharing: Sharing = ALONE,
        concurrent: int | None = None,
    ) -> None:
        self.driver = driver
        self._prepare = prepare
        self._allocator = allocator
        self._capacity = capacity
        self._most_slots = most_slots
        self._gpu_failures = gpu_failures
        self._say = say
        self._look = look
        self._on_idle = on_idle
        self._part = part
        self._on_late_files = on_late_files
        self._tell_gpus = gpus_taken
        self._sharing = sharing
        self._concurrent = math.inf if concurrent is None else concurrent
        self.slots: dict[str, Slot] = {}
        """The open slots, by the names that Tune gave them."""
        self._waiting: list[Job] = []
        """Jobs that wait for a slot: trials from the driver and, once all trials have ended, measurements."""
        self._alone: set[int] = set()
        """Trials that shared a process when it died. Any may have been the cause, so each runs alone from then on."""
        self._parting: set[int] = set()
        """Ended or paused trials whose remaining files are being sent. Other trials may begin meanwhile."""
        self._deaths: list[tuple[Death, Callable[[Fault], None]]] = []
        """Deaths of unclear cause, each with the function to call with the fault."""
        self._unborn = 0
        """Number of processes in a row that died before they returned a ``Greeting``."""
        self._greeted = -math.inf
        self._dry = False
        """Whether the driver had no trial when last asked. It is asked again after the next event or turn."""
        self._gpus = 0.0
        self._unfenced: list[float] = []
        """Shares of excluded GPUs that ended slots have freed. A fence is to be opened for each."""
        self._kernel = Kernel()
        self.on_begun: Callable[[], None] = lambda: None
        """Called at each of Tune's requests for a trial, the first of which shows that Tune's loop has begun."""
        self.finished = False
        """Whether nothing is left to train or to measure."""
        self.fault: BaseException | None = None
        """The first error that was raised in a call by Tune, kept here because Tune wraps or ignores such errors."""

    # Requests and results of Tune

    def open(self, name: str) -> Resources | None:
        """Open a slot, which Tune calls ``name``, and return its resources; None if no further slot is of use now."""
        self.on_begun()
        if not self.slots:
            self.turn()  # without slots, Tune does not call choose_trial_to_run
        if self.finished:
            return None
        if self._unfenced:
            slot = Slot({"cpu": 0.0, "gpu": self._unfenced.pop()}, is_fence=True)
        elif (resources := self._wanted()) is not None:
            slot = Slot(resources)
        else:
            return None
        self.slots[name] = slot
        return slot.resources

    def greeted(self, name: str, greeting: Greeting) -> bool:
        """Handle the start of a slot's process, and return whether the slot stays open."""
        self._greeted, self._unborn = time.monotonic(), 0
        slot = self.slots[name]
        slot.greeting, slot.since = greeting, time.monotonic()
        give(greeting.process, self._prepare)
        if self._avoids_card(slot):
            del self.slots[name]
        return name in self.slots and not self.finished

    def returned(self, name: str, outcomes: Mapping[int, Any], gpus: ProcessGpus) -> bool:
        """Handle the end of a slot's step, given the ``outcomes`` by trial. Return whether the slot stays open."""
        slot, self._dry = self.slots[name], False
        outcomes = {number: self._on_gpus(outcome, gpus) for number, outcome in outcomes.items()}
        left, parting = list[int](), list[int]()
        if any(map(breaks, outcomes.values())):
            self._broke(name, slot, outcomes, gpus)
            return False
        for number, outcome in outcomes.items():
            if slot.measures is not None:
                slot.measures = None
                if isinstance(outcome, UserError):
                    raise outcome  # every measurement would fail in the same way
                self.driver.measured(number, outcome)
            elif not self._stays(slot, number, outcome):
                del slot.tasks[number]
                left.append(number)
            elif number in self._parting:
                parting.append(number)
        if self._avoids_card(slot) or not self._occupied(slot, tuple(left), tuple(parting)):
            del self.slots[name]
        return name in self.slots

    def died(self, name: str, words: str) -> None:
        """Handle the death of a slot's process. ``words``: Tune's record of the error. Raises a UserError if ``UNBORN``
        processes in a row have died before their first step.
        """
        if (slot := self.slots.pop(name, None)) is None:
            return
        if slot.greeting is None:
            self._unborn += 1
            if self._unborn >= UNBORN:
                raise unborn(words)
            return
        process = slot.greeting.process
        self._doomed(slot, self._death(slot.greeting, failures([process])[0], words))

    def lost(self, words: str) -> None:
        """Handle an error that ended Tune's loop and all slots. ``words``: the error in one line."""
        greeted = [each for each in self.slots.values() if each.greeting is not None]
        errors = failures([each.greeting.process for each in greeted if each.greeting is not None])
        self.end_processes()
        for slot, error in zip(greeted, errors, strict=True):
            if error is None:
                self._faulted(slot, Fault("lost", f"Ray Tune's loop ended ({words})"))
            elif slot.greeting is not None:
                self._doomed(slot, self._death(slot.greeting, error, ""))

    def end_processes(self) -> None:
        """Kill all processes of slots."""
        for slot in self.slots.values():
            if slot.greeting is not None:
                ray.kill(slot.greeting.process)
        self.slots.clear()

    def turn(self) -> None:
        """Check machines, deaths, time limits and idle CPUs, and whether anything is left to do."""
        self._dry = False
        self._look()
        self._kernel.look()
        self._hear_deaths()
        if self.driver.hours_are_over():
            self._end_waiting()
        if silent := self.driver.silent():
            self._end_silent(frozenset(silent))
        self._check_starts()
        self._count_gpus()
        if self._has_idle_cpu():
            self._on_idle()
        self.finished = self.finished or self._is_done()

    # Opening slots

    def _wanted(self) -> Resources | None:
        """Return the resources of the next slot to open; None if no further slot is of use. These are the needs of a
        waiting job that no slot will take. Without such a job, they are the needs of a trial that the driver has ready.
        """
        # Asked before ``_unserved``, since a count may end at any time.
        uncounted = sum(self._needs(job) is None for job in self._waiting)
        unserved, allotment = self._unserved(), self._allocator.allotment
        if unserved:
            return next((each for each in unserved if self._may_open(each)), None)
        for slot in self.slots.values():
            if slot.is_idle or (slot.greeting is None and not slot.is_fence and not slot.fits(allotment.usual)):
                return None  # a further slot could take the resources for which a larger slot waits
        if uncounted and allotment.shares is not None and not allotment.shares.has_counted:
            return None  # the next trial is proposed once it is known how many fit a GPU, in case results come first
        if not self._may_open(allotment.usual, only_ready=True, awaited=uncounted):
            return None
        if allotment.shares is None:
            return allotment.resources
        if (task := self._draw()) is None:  # the slot is for this trial, since shares differ
            return None
        self._waiting.append(task)
        needs = self._needs(task)
        return needs if needs is not None and self._may_open(needs) else None

    def _unserved(self) -> list[Resources]:
        """The resources of each waiting job that no opening or idle slot will take."""
        opening = [slot for slot in self.slots.values() if slot.greeting is None or slot.is_idle]
        unserved = []
        for job in self._waiting:
            if (needs := self._needs(job)) is None:
                continue
            slot = next((each for each in opening if each.fits(needs)), None)
            if slot is None:
                unserved.append(needs)
            else:
                opening.remove(slot)
        return unserved

    def _may_open(self, needs: Resources, *, only_ready: bool = False, awaited: int = 0) -> bool:
        """Whether a further slot of these resources is of use: it fits the cluster, and there are jobs for it. Unless
        ``only_ready``, a slot that the cluster cannot hold yet is of use, too, if no open slot suits and no slot is
        opening. ``awaited``: a number of slots that count as open, since they will be as soon as their needs are known.
        """
        among = [each for each in self.slots.values() if not each.is_fence]
        measurements = sum(isinstance(job, Measurement) for job in self._waiting)
        ready = max(-(-self.driver.ready // self._sharing.most), measurements)
        bound = math.inf if self._sharing.most > 1 else self._concurrent
        jobs = ready + sum(each.measures is not None for each in among)
        if len(among) + awaited < min(self._most_slots(needs), bound, jobs):
            return True
        return not only_ready and not any(each.fits(needs) or each.greeting is None for each in among)

    def _needs(self, job: Job) -> Resources | None:
        """The resources that a job needs; None while its memory is being counted."""
        task = job.task if isinstance(job, Measurement) else job
        program = None if isinstance(job, Measurement) else self._program(task)
        counted = task if program is None else replace(program, number=task.number)
        allotment = self._allocator.allotment
        if not allotment.is_known(counted):
            return None
        return enlarged(allotment.ordinary(counted), task.share, self._capacity())

    def _check_starts(self) -> None:
        """Raise WorkersSilentError if no slot's process has started within ``START_SECONDS`` and no machine answers a
        question. Nothing is checked while a slot's process runs.
        """
        opened = [slot.since for slot in self.slots.values()]
        if not opened or any(slot.greeting is not None for slot in self.slots.values()):
            return
        if time.monotonic() - max(min(opened), self._greeted) > START_SECONDS:
            check_answers()
            self._greeted = time.monotonic()  # a machine answers, so the cluster is only busy

    # Giving work to slots

    def _occupied(self, slot: Slot, left: tuple[int, ...], parting: tuple[int, ...]) -> bool:
        """Send a slot orders for its next step, and return whether the slot stays open. The slot gets new work if it
        has none, or if further trials can join its program. ``left``: trials that have left the slot. ``parting``:
        trials that only send files.
        """
        joined: Sequence[TrialTask] = ()
        measurement: Measurement | None = None
        if slot.tasks:
            joined = self._mates(slot, self._free(slot)) if self._sharing.most > 1 else ()
        elif not slot.is_fence:
            job = self._job(slot)
            if isinstance(job, Measurement):
                measurement = job
            elif job is not None:
                slot.program = self._program(job)
                joined = [job, *self._mates(slot, self._free(slot) - 1)]
        change = ChangeTrials(left, parting if len(slot.tasks) > 1 else (), self._taken(slot, joined))
        assert slot.greeting is not None, "it has ended a step"
        if change != ChangeTrials():
            give(slot.greeting.process, change)
        if measurement is not None:
            slot.measures, confined = measurement.task.number, partial(self._confined, slot)
            self.driver.measuring(slot.measures)
            measurement = Measurement(confined(measurement.task), tuple(map(confined, measurement.training)))
            give(slot.greeting.process, MeasureTrial(measurement))
        if slot.tasks or measurement is not None:
            slot.since = time.monotonic()
            return True
        if self.finished or slot.is_fence:
            return not self.finished and (
                self._gpu_failures.is_left_alone(slot.greeting.gpus) or not slot.is_idle_for_long
            )
        return not (self._others_wait(slot) or (slot.is_idle_for_long and len(self.slots) > 1))

    def _avoids_card(self, slot: Slot) -> bool:
        """Whether a slot must end because it has no work and its GPU is excluded. Its share of the GPU then goes to a
        fence. A slot whose resources include no GPU becomes a fence itself, and stays.
        """
        assert slot.greeting is not None, "it has a GPU, or none"
        if slot.is_fence or slot.has_work or not self._gpu_failures.is_left_alone(slot.greeting.gpus):
            return False
        slot.is_fence = not slot.resources.get("gpu")
        if not slot.is_fence:
            self._fence(slot)
        return not slot.is_fence

    def _fence(self, slot: Slot) -> None:
        """Request a fence for the GPU share that a slot frees, since Ray would give the share to the next slot. A fence
        may get another GPU: it then stays open for ``IDLE_SECONDS``, so that a further fence may get the excluded one.
        """
        if slot.resources.get("gpu"):
            self._unfenced.append(slot.resources["gpu"])

    def _job(self, slot: Slot) -> Job | None:
        """Take the next waiting or new job that fits a slot; None if there is none now. A trial that broke the slot's
        GPU comes last, since other trials show whether the GPU is at fault.
        """
        if self._running() >= self._concurrent:
            return None
        for job in self._waiting:
            if self._fits(slot, job) and not self._has_broken(slot, job):
                self._waiting.remove(job)
                return job
        while all(self._has_broken(slot, job) for job in self._waiting) and (task := self._draw()) is not None:
            if self._fits(slot, task) and not self._has_broken(slot, task):
                return task
            self._waiting.append(task)
        again = next((job for job in self._waiting if self._fits(slot, job)), None)
        if again is not None:
            self._waiting.remove(again)
        return again

    def _fits(self, slot: Slot, job: Job) -> bool:
        """Whether a job fits a slot and may begin. False while the job's resources are unknown."""
        needs = self._needs(job)
        return needs is not None and slot.fits(needs) and not self._is_parting(job)

    def _has_broken(self, slot: Slot, job: Job) -> bool:
        """Whether a job is a trial that broke on the slot's GPU since the GPU's last result."""
        assert slot.greeting is not None, "it asks for work"
        return isinstance(job, TrialTask) and self._gpu_failures.has_broken(slot.greeting.gpus, job.number)

    def _others_wait(self, slot: Slot) -> bool:
        """Whether a waiting job does not fit this slot. Another slot might then need this slot's resources."""
        jobs = (job for job in self._waiting if not self._is_parting(job))
        return any(not slot.fits(needs) for job in jobs if (needs := self._needs(job)) is not None)

    def _draw(self) -> TrialTask | None:
        """Take the driver's next trial; None if it has none now."""
        task = None if self._dry else self.driver.next()
        self._dry = task is None
        return task

    def _taken(self, slot: Slot, tasks: Sequence[TrialTask]) -> tuple[TrialTask, ...]:
        """Assign trials to a slot, record that they begin, and return their tasks, limited to the slot's resources."""
        confined = tuple(self._confined(slot, each) for each in tasks)
        for task in confined:
            slot.tasks[task.number] = task
            self.driver.begun(task.number)
        return confined

    def _confined(self, slot: Slot, task: TrialTask) -> TrialTask:
        return self._allocator.allotment.confined(task, slot.resources)

    def _mates(self, slot: Slot, count: float) -> list[TrialTask]:
        """Take up to ``count`` trials that share a slot's program, from the waiting trials and from the driver. Trials
        of the driver that do not share it wait for other slots. No more are taken from the driver once ``Sharing.most``
        jobs wait.
        """
        found: list[TrialTask] = []
        while slot.program is not None and len(found) < count:
            mate = next((job for job in self._waiting if self._is_mate(slot, job)), None)
            if isinstance(mate, TrialTask):
                self._waiting.remove(mate)
                found.append(mate)
            elif len(self._waiting) < self._sharing.most and (task := self._draw()) is not None:
                self._waiting.append(task)
            else:
                break
        return found

    def _is_mate(self, slot: Slot, job: Job) -> bool:
        """Whether a waiting job is a trial that may join the slot's trials, because it shares their program."""
        return isinstance(job, TrialTask) and self._program(job) == slot.program and not self._is_parting(job)

    def _free(self, slot: Slot) -> float:
        """Number of further trials that a slot may take now."""
        return min(self._sharing.most - len(slot.tasks), self._concurrent - self._running())

    def _running(self) -> int:
        """Number of trials that are being trained or measured, in all slots."""
        return sum(len(each.tasks) + (each.measures is not None) for each in self.slots.values())

    def _program(self, task: TrialTask) -> TrialTask | None:
        """The program that a trial may share on the device that trials use now; None if it trains by itself."""
        if task.number in self._alone:
            return None
        allotment = self._allocator.allotment
        return self._sharing.program_of(allotment.confined(task, allotment.resources))

    def _is_parting(self, job: Job) -> bool:
        """Whether a job is a trial whose previous attempt is still sending its remaining files."""
        return isinstance(job, TrialTask) and job.number in self._parting

    # Outcomes of trials

    def _stays(self, slot: Slot, number: int, outcome: Any) -> bool:
        """Pass a trial's outcome to the driver, and return whether the trial stays in its slot."""
        if number in self._parting:
            self._parted(number, outcome)
            return False
        match outcome:
            case EpochResult():
                goes_on = self.driver.report(number, outcome).action == "continue"
            case None:
                self.driver.returned(number)
                return False
            case UserError():
                raise outcome  # every trial would fail in the same way
            case _:
                self.driver.faulted(number, outcome)
                return False
        if goes_on or not isinstance(outcome, UnsentResult):
            return goes_on
        self._parting.add(number)
        self._part(slot.tasks[number])
        return True

    def _parted(self, number: int, outcome: PartedError | UserError | Fault | None) -> None:
        """Note that an ended or paused trial sends no more files. If files are missing that are needed later, the trial
        is trained again. Raises ``outcome`` if it is a UserError.
        """
        if isinstance(outcome, UserError):
            raise outcome
        self._parting.discard(number)
        self._on_late_files(number)

    def _on_gpus(self, outcome: Any, gpus: ProcessGpus) -> Any:
        """Record that a GPU works if ``outcome`` is a result, and return the outcome. If a GPU that has worked before
        is reported as missing, return a fault of the GPU instead.
        """
        if isinstance(outcome, NoGpuError) and self._gpu_failures.has_worked(gpus):
            return Fault("crashed", f"its GPU is gone: {outcome}", broken="device")
        if isinstance(outcome, EpochResult | Measured):
            self._gpu_failures.worked(gpus)
        return outcome

    def _broke(self, name: str, slot: Slot, outcomes: Mapping[int, Any], gpus: ProcessGpus) -> None:
        """End a slot whose process can no longer use its GPU, and report the fault for its trials. If the GPU is
        excluded from now on, the trials count as lost, not as crashed. Raises DeviceBrokenError if trials fit no other
        machine or GPU.
        """
        number, fault = next((number, outcome) for number, outcome in outcomes.items() if breaks(outcome))
        if fault.broken == "device":
            if self._gpu_failures.broke(gpus, number):
                words = f"{IN_A_ROW} times in a row, a trial broke there ({fault.message})"
                self._say(f"{gpus.words} is left alone: {words}")
            if self._gpu_failures.is_left_alone(gpus):
                fault = replace(fault, reason="lost", message=f"{fault.message}; {gpus.words} is left alone")
        for each, outcome in outcomes.items():
            if slot.measures is None and not (breaks(outcome) or self._stays(slot, each, outcome)):
                del slot.tasks[each]
        del self.slots[name]
        self._faulted(slot, fault)
        if self._gpu_failures.is_left_alone(gpus):
            self._fence(slot)
            left = [has for _, has in self._gpu_failures.left(machines()).values()]
            if not slots(left, self._allocator.allotment.resources):
                raise DeviceBrokenError(
                    f"trials fit nowhere else, and {gpus.words} breaks them, {IN_A_ROW} in a row ({fault.message}; "
                    "allowed: GPUs that compute, or --device cpu)"
                )

    def _death(self, greeting: Greeting, error: RayError | None, words: str) -> Death:
        return Death(greeting.process, greeting.gpus.machine, error, words, self._kernel)

    def _doomed(self, slot: Slot, death: Death) -> None:
        """Report the death of a slot's process as a fault of its trials, as soon as the cause is clear."""
        if death.is_clear():
            self._faulted(slot, death.fault())
        else:
            self._deaths.append((death, partial(self._faulted, slot)))

    def _hear_deaths(self) -> None:
        clear = [each for each in self._deaths if each[0].is_clear()]
        self._deaths = [each for each in self._deaths if each not in clear]
        for death, tell in clear:
            tell(death.fault())

    def _faulted(self, slot: Slot, fault: Fault) -> None:
        """Report to the driver the fault that ended a slot's process, once for each trial of the slot. Any of several
        trials may have been the cause, so each is retried alone, unless the machine was lost.
        """
        if slot.measures is not None:
            self.driver.measured(slot.measures, fault)
            return
        trained = [number for number in slot.tasks if number not in self._parting]
        for number in slot.tasks.keys() - set(trained):
            self._parted(number, None)
        if len(slot.tasks) > 1 and fault.reason not in LOSSES:
            words = f"{fault.message}; {len(slot.tasks)} trials shared it, and each is tried again by itself"
            fault = Fault("crashed", words)
            self._alone.update(trained)
        for number in trained:
            self.driver.faulted(number, fault)

    # Trials without time left, and the end

    def _end_waiting(self) -> None:
        """End the waiting trials, because the study's hours are over."""
        ended = [job for job in self._waiting if isinstance(job, TrialTask)]
        self._waiting = [job for job in self._waiting if isinstance(job, Measurement)]
        for task in ended:
            self.driver.not_continued(task.number)

    def _end_silent(self, silent: frozenset[int]) -> None:
        """End the processes of trials whose report is overdue. Other trials of these processes are retried, unless the
        study's hours are over. ``silent``: the numbers of the overdue trials.
        """
        over = self.driver.record.over is not None
        for name, slot in list(self.slots.items()):
            if slot.greeting is None or silent.isdisjoint(slot.tasks):
                continue
            del self.slots[name]
            for number in sorted(slot.tasks):
                if number in silent:
                    self.driver.given_up(number)
                elif over or number in self._parting:
                    self._parted(number, None)
                else:
                    words = "its process was ended, since another trial there was silent"
                    self.driver.faulted(number, Fault("lost", words))
            ray.kill(slot.greeting.process)

    def _is_done(self) -> bool:
        """Whether nothing is left to do. If no trial runs or waits, queue the driver's next trial or, without one, the
        measurements of the selected trials.
        """
        if self._waiting or self._running() or self._parting or self._deaths:
            return False
        if self.driver.ready:
            return False
        if (task := self._draw()) is not None:
            self._waiting.append(task)
            return False
        if not self.driver.over:
            return False
        self.driver.end_paused()
        self._waiting.extend(self.driver.measurements())
        return not self._waiting

    def _count_gpus(self) -> None:
        """Report the number of GPUs that trials take, if it has changed."""
        taken = sum(each.resources.get("gpu", 0.0) for each in self.slots.values() if each.has_work)
        if taken != self._gpus:
            self._gpus = taken
            self._tell_gpus(taken)

    def _has_idle_cpu(self) -> bool:
        """Whether a CPU is idle: no job waits, and either a slot is idle or a further slot would fit the cluster."""
        slots = [slot for slot in self.slots.values() if not slot.is_fence]
        if self._waiting or any(slot.greeting is None for slot in slots):
            return False
        if any(slot.is_idle for slot in slots):
            return True
        has_room = len(slots) < self._most_slots(self._allocator.allotment.usual)
        return has_room and self.driver.ready <= self._running()

    def keep(self, call: Callable[[], Value]) -> Value:
        """Return the value of ``call``. Raise its errors, and keep the first in ``fault``. For a lost cluster, raise
        ClusterLostError.
        """
        try:
            with lost_cluster_interrupts():
                return call()
        except BaseException as error:
            self.fault = self.fault or error
            raise

    def __getstate__(self) -> dict[str, Any]:
        """Return no state: Tune pickles its plug-ins for its own restore, which is not used."""
        return {}
