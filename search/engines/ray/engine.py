"""Ray Tune as the engine: our proposals and decisions plugged in, actors kept from trial to trial.

Tune's own search, schedulers, checkpoints, loggers and restore are not used: the driver's ledger replaces them.
"""

import gc
import math
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, nullcontext
from functools import partial
from typing import Any, Literal

import ray
from ray import tune
from ray.exceptions import OutOfMemoryError, RayTaskError, WorkerCrashedError
from ray.tune.error import TuneError
from ray.tune.execution.placement_groups import resource_dict_to_pg_factory
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from skipstack.data.basis.errors import UserError
from skipstack.search.driver.driver import Driver
from skipstack.search.driver.engine import Engine
from skipstack.search.driver.faults import DIED, GONE, Fault
from skipstack.search.driver.interruption import terminated_as_interrupted
from skipstack.search.driver.measuring_on_test import Measurement, measured
from skipstack.search.driver.task import Measured, TrialTask, Workers
from skipstack.search.engines.growth import Growth, needed
from skipstack.search.engines.newcomers import Newcomers
from skipstack.search.engines.ray.actor import TrialActor
from skipstack.search.engines.ray.autoscaler import Demand, growth
from skipstack.search.engines.ray.cards import Cards
from skipstack.search.engines.ray.carrying.carried_workers import CarriedWorkers
from skipstack.search.engines.ray.carrying.keeper import Keeping
from skipstack.search.engines.ray.carrying.mark import Mark
from skipstack.search.engines.ray.carrying.study import carried, gather
from skipstack.search.engines.ray.head import check_this_machine
from skipstack.search.engines.ray.losses import loss_of
from skipstack.search.engines.ray.machines import (
    OF_A_MACHINE,
    Question,
    asked,
    check_address,
    check_answers,
    cluster_in_words,
    joined,
    lost_cluster_interrupts,
    machines,
    not_on,
    on_gpu,
    resources,
)
from skipstack.search.engines.ray.metrics import watched
from skipstack.search.engines.ray.patches import is_patched, patched
from skipstack.search.engines.ray.places import ALONE, Sharing
from skipstack.search.engines.ray.plugins import Plugins, ProposerPlugin, SchedulerPlugin
from skipstack.search.engines.ray.preflight import Answer, Preflight, first_trouble, unseeing
from skipstack.search.engines.ray.process import borrowed
from skipstack.search.engines.room import (
    LOOKED_AT,
    Allotment,
    Capacity,
    Resources,
    allotted,
    described,
    in_words,
    nothing_known,
    nowhere,
    slots,
)
from skipstack.search.engines.settling import Settling
from skipstack.search.record.folder import StudyFolder
from skipstack.search.record.study_record import StudyRecord

MOST_TRIALS = 100_000
"""Side by side, as far as Tune is concerned."""

AWAITED = 1.0
"""Seconds between two looks for the first machine."""

TOLD_EVERY = 30.0
"""Seconds between two lines about machines that have joined or left."""


class RayEngine(Engine):
    """Trials on the actors of a Ray cluster: ``address``, or the one that this process has joined already, or else one
    started here and ended with the study. At its end the process is as it was before, and so is Ray in it.

    Each trial takes ``cpus_per_trial`` and ``gpus_per_trial`` of a GPU (``search/engines/room.py``), and twice as much
    once it ran out of memory. ``concurrent``: so many run at a time, at most; None: as many as fit. For ``auto``,
    workers are asked ``gpu_memory``, the bytes of a GPU, and ``memory``, those that training a trial holds.
    ``sharing``: which trials share a process, which takes all that for them together. Raises UserError where no cluster
    answers, it has not what trials on ``device`` need, or another engine runs in this process.
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
        if is_patched():
            raise UserError("a study runs on Ray in this process already (allowed: after it, or the engine serial)")
        self.worker = worker
        self._concurrent = concurrent
        self._sharing = sharing
        self._where = None if ray.is_initialized() else cluster_in_words(address)
        self._joined = address is not None or ray.is_initialized()
        self._carried: CarriedWorkers | None = None
        """The workers of a study whose files may have to be carried."""
        self._answered = False
        """Whether a worker of this engine has reported anything."""
        self._unseeing: str | None = None
        """How many machines do not see the study's folder, in words."""
        self._newcomers: Newcomers | None = None
        """Who asks the machines that join whether they see it, until that is said."""
        self._looked = self._told = -math.inf
        self._untold = False
        self._leaving = ExitStack()
        self._cards = Cards()
        try:
            for borrowing in (borrowed(), patched(), joined(address)):
                self._leaving.enter_context(borrowing)
            self._leaving.callback(self._cards.close)
            self._settling = Settling(
                lambda: self._cards.left(machines()),
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
            self._demand = self._demanded() if self._joined else None
            there, joining = resources(), Growth(()) if self._demand is None else self._demand.growth
            self._least = needed(gpus_per_trial, device, there, joining, cpus=float(cpus_per_trial))
            if self._demand is None or slots(there, self._least):
                self._settling.begin()
                self._settled()
            elif not joining.may_hold(self._least):
                raise nowhere(self._least, there, joining.in_words())
        except BaseException:
            self.close()
            raise

    @property
    def allotment(self) -> Allotment:
        """What each trial gets of the machines that are there."""
        return self._settling.allotment

    def _settled(self) -> None:
        """Say what each trial gets, on which cluster, and what may join it."""
        may_join = None if self._demand is None else f"what may join has: {self._demand.growth.in_words()}"
        bound = None if self._concurrent is None else f"at most {self._concurrent} at a time"
        self.words = "; ".join(filter(None, [self.allotment.words, bound, self._where, self._unseeing, may_join]))
        self._told, self._untold = time.monotonic(), False

    def preflight(self, folder: StudyFolder, record: Callable[[], StudyRecord]) -> None:
        """Ask every machine of a cluster that was joined; one that was started here runs our own files."""
        if not self._joined:
            return
        self._await_machines(record)
        answers = asked(Preflight.of(folder, record(), carries=self._carries).answer)
        found = [
            (name, Answer(sees=True, trouble=str(said)) if isinstance(said, UserError) else said)
            for name, said in answers
        ]
        trouble = first_trouble([(name, answer.trouble) for name, answer in found])
        if trouble is not None:
            raise UserError(trouble)
        self._unseeing = unseeing(sum(not answer.sees for _, answer in found), len(found))
        self._settled()

    def run(self, driver: Driver) -> None:
        """Keep every slot busy, and one trial more proposed, so that an actor is never without a next one. What has
        trained then measures: a process that has imported torch is there already.
        """
        self._await_machines(lambda: driver.record)
        # Machines that join in the midst of the study are asked when they begin.
        preflight = Preflight.of(driver.folder, driver.record, carries=self._carries) if self._joined else None
        self._carried, driver.turns = None, self._sharing.most
        if preflight is not None and preflight.carries:
            self._carried = self._leaving.enter_context(carried(self.worker, driver, preflight.mark))
            if self._unseeing is None:
                self._newcomers = Newcomers(machines(), partial(_sight, preflight.mark))
        gauges = self._leaving.enter_context(watched(driver))
        capacity = Capacity(self._resources, gauges.taken, most=self._concurrent)
        plugins = Plugins(
            driver,
            self._workers,
            self._settling,
            capacity,
            preflight=preflight,
            cards=self._cards,
            say=lambda words: self.say(words),
            look=lambda: self._look(lambda: max(-(-driver.ready // self._sharing.most), capacity.inside)),
            on_idle=self.on_idle,
            part=lambda task: self._keeper.part(task.number, task.attempt),
            on_late_files=self.on_late_files,
            sharing=self._sharing,
            most=self._concurrent,
        )
        with tempfile.TemporaryDirectory(prefix="skipstack-tune-") as scratch:
            tuner = tune.Tuner(
                tune.with_resources(TrialActor, lambda config: resource_dict_to_pg_factory(config["resources"])),
                tune_config=tune.TuneConfig(
                    search_alg=ProposerPlugin(plugins),
                    scheduler=SchedulerPlugin(plugins),
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
            except KeyboardInterrupt:
                if self._carried is not None and gather(self._carried):
                    plugins.end_workers()
                raise
            except TuneError:
                if plugins.fault is None:
                    raise
            finally:
                self._answered |= plugins.answered
            if plugins.fault is not None:
                with lost_cluster_interrupts():
                    raise plugins.fault

    def test(
        self, measurements: Sequence[Measurement], begun: Callable[[int], None]
    ) -> Iterator[tuple[int, Measured | Fault]]:
        """Side by side, in processes of their own, as many as there is room for. Raises WorkersSilentError where no
        machine answers.
        """
        if measurements and not self._answered:  # a study that only lacks its test: no worker has started yet
            check_answers()
        # A process that has used a GPU measures one trial, since an error may have left it broken.
        test, capacity = (
            {True: ray.remote(max_calls=1)(measured), False: ray.remote(measured)},
            Capacity(self._resources, most=self._concurrent),
        )
        left, waiting = deque(measurements), dict[Any, int]()
        while left or waiting:
            while left and (not waiting or self._has_room(capacity, left[0].task)):
                measurement = left.popleft()
                number = measurement.task.number
                takes, confined = self.allotment.placed(str(number), measurement, capacity)
                gpus = takes.get("gpu", 0)
                here = test[gpus > 0].options(
                    num_cpus=takes["cpu"], num_gpus=gpus, max_retries=0, label_selector=self._avoiding()
                )
                begun(number)
                waiting[here.remote(self._workers, confined)] = number
            self._look(lambda: len(waiting) + len(left))
            with lost_cluster_interrupts():
                done, _ = ray.wait(list(waiting), timeout=None if self._demand is None else LOOKED_AT)
                outcomes = [(each, _outcome(each)) for each in done]
            for each, outcome in outcomes:
                number = waiting.pop(each)
                capacity.leave(str(number))
                yield number, outcome

    def _has_room(self, capacity: Capacity, task: TrialTask) -> bool:
        """Whether a trial would be measured at once."""
        return not capacity.is_full() and capacity.has_room(self.allotment.ordinary(task), task.share)

    def _demanded(self) -> Demand | None:
        """What the cluster's autoscaler is asked for, until this engine leaves; None where there is none."""
        with lost_cluster_interrupts():
            joining = growth()
        if joining is None:
            return None
        demand = Demand(joining)
        self._leaving.callback(demand.withdraw)
        return demand

    def _await_machines(self, record: Callable[[], StudyRecord]) -> None:
        """Where the cluster has no room yet, wait for the machines that it may get. Raises UserError where it gets
        none.
        """
        if self._settling.is_settled:
            return
        assert self._demand is not None, "without an autoscaler, what there is was settled at once"
        trial, joining, known = self._least, self._demand.growth.in_words(), record()
        ready = known.study.search.trials - sum(each.reason is not None for each in known.trials.values())
        self.say(
            f"waiting for a machine with {in_words(trial)}: {described(resources())}; what may join has: {joining}"
        )
        here = threading.current_thread() is threading.main_thread()
        with terminated_as_interrupted() if here else nullcontext():
            while not slots(there := resources(), trial):
                with lost_cluster_interrupts():
                    self._demand.want(self._useful(max(ready, 1)), trial, have=0)
                if self._demand.hopeless:
                    raise nowhere(trial, there, joining)
                time.sleep(AWAITED)
        self._settling.begin()
        self._settled()

    def _useful(self, places: int) -> int:
        """How many of the places that trials could take are asked for: as many as may run at a time."""
        return places if self._concurrent is None else min(places, self._concurrent)

    def _look(self, places: Callable[[], int]) -> None:
        """Now and then at the machines that have joined or left: settle what trials get, and ask for ``places``."""
        now = time.monotonic()
        if not self._joined or now - self._looked < LOOKED_AT:
            return
        self._looked = now
        with lost_cluster_interrupts():
            self._untold |= self._settling.look()
            if self._demand is not None:
                usual = self.allotment.usual
                self._demand.want(self._useful(places()), usual, slots(self._resources(), usual))
            first_unseeing = self._newcomers is not None and self._has_unseeing(self._newcomers)
        if first_unseeing or (self._untold and now - self._told > TOLD_EVERY):
            self._settled()
            self.say(self.words)

    def _has_unseeing(self, newcomers: Newcomers) -> bool:
        """Whether the first machine has joined to which files are carried."""
        there = machines()
        self._unseeing = unseeing(newcomers.unseeing(there), len(there))
        if self._unseeing is not None:
            self._newcomers = None
        return self._unseeing is not None

    def _resources(self) -> list[Resources]:
        """What each machine has, without the GPUs that are left alone."""
        return [has for _, has in self._cards.left(machines()).values()]

    def _avoiding(self) -> dict[str, str]:
        """Ray's label selector of the machines on which a process may start."""
        return not_on(self._cards.avoided(machines())) if self._cards.any_left_alone else {}

    @property
    def _workers(self) -> Workers:
        return self._carried or self.worker

    @property
    def _carries(self) -> bool:
        """Whether files can be carried: by a driver on a machine of the cluster, which others can ask."""
        return not ray.util.client.ray.is_connected()

    def _counting(self, memory: Callable[[TrialTask], int], task: TrialTask) -> Callable[[], int]:
        """What counts the memory that a trial needs, on a machine that may not see its corpus."""
        return partial(memory, task) if self._carried is None else partial(self._carried.reading, memory, task)

    @property
    def _keeper(self) -> Keeping:
        assert self._carried is not None, "files are unsent only where they are carried"
        return self._carried.keeper

    def close(self) -> None:
        """Leave the cluster, one that was started here ends, and give back what was borrowed."""
        gc.collect()  # what Tune has left asks ray to forget it, and ray ends the process that asks after it has gone
        self._leaving.close()


def _sight(mark: Mark, machine: str) -> Question[bool]:
    """A question to a machine, by the id of its node, whether it sees the study's folder."""
    return Question(partial(_sees, mark), scheduling_strategy=NodeAffinitySchedulingStrategy(machine, soft=False))


def _sees(mark: Mark) -> bool:
    """Runs on the machine that is asked."""
    return mark.unseen() is None


def _outcome(reference: "ray.ObjectRef[Measured | Fault]") -> Measured | Fault:
    """What came of measuring a trial; that its process, its machine or its result is gone is a fault, too. Raises what
    the worker raised.
    """
    try:
        outcome: Measured | Fault = ray.get(reference)
        return outcome
    except RayTaskError as error:
        raise error.cause from error  # which is one line, and Ray's a traceback
    except OutOfMemoryError:
        return Fault("out_of_memory", f"{DIED}: it was killed, since memory ran out")
    except WorkerCrashedError:
        check_this_machine()
        return Fault("crashed", DIED)
    except OF_A_MACHINE as error:
        check_this_machine()
        return loss_of(error) or Fault("lost", GONE)
