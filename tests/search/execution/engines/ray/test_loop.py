"""The loop of a study against a cluster that is played: which slots it opens, and what passes through them."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ray import cloudpickle

from skipstack.data.basis.errors import NoGpuError, UserError
from skipstack.search.execution.driver.driver import Driver
from skipstack.search.execution.driver.faults import DIED, DeviceBrokenError, Fault, WorkersSilentError
from skipstack.search.execution.driver.measuring_on_test import Measurement
from skipstack.search.execution.engines.capacity import Allotment, GpuShares, Resources, share_of, slots
from skipstack.search.execution.engines.ray import loop as module
from skipstack.search.execution.engines.ray.gpu_failures import GpuFailures, ProcessGpus
from skipstack.search.execution.engines.ray.loop import StudyLoop
from skipstack.search.execution.engines.ray.orders import ChangeTrials, MeasureTrial, Order, PrepareProcess
from skipstack.search.execution.engines.ray.sharing import ALONE, Sharing
from skipstack.search.execution.engines.ray.worker_process import Greeting
from skipstack.search.execution.workers.programs import program_of
from skipstack.search.ledger.events import Promoted
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.strategy.schedulers.config import HyperbandConfig
from skipstack.search.study.task import TrialTask, Worker
from tests.search.changed import searched
from tests.search.execution.engines.test_capacity import Counted
from tests.search.toy import ToyWorker, open_toy, run_toy, toy_driver, toy_study

pytestmark = pytest.mark.filterwarnings("default")  # ray's own warnings are not ours to mend

GIB = 2**30
CARD = ProcessGpus("ab", "host (10.0.0.1)", ())


@dataclass
class Process:
    """A slot's process, which is played: it takes orders as Ray's would, and keeps workers of toys."""

    gpus: ProcessGpus = CARD
    orders: list[Order] = field(default_factory=list)
    workers: dict[int, Worker] = field(default_factory=dict)
    measures: Measurement | None = None
    killed: bool = False

    @property
    def order(self) -> Any:
        return SimpleNamespace(remote=lambda order: self.orders.append(cloudpickle.loads(order)))

    def step(self) -> dict[int, Any]:
        """What it gives of each trial."""
        for order in self.orders:
            if isinstance(order, ChangeTrials):
                for number in order.left:
                    del self.workers[number]
                self.workers |= {task.number: ToyWorker(task) for task in order.joined}
            elif isinstance(order, MeasureTrial):
                self.measures = order.measurement
        self.orders.clear()
        if self.measures is not None:
            measured, self.measures = self.measures, None
            return {measured.task.number: ToyWorker.test(measured.task)}
        return {number: worker.run_epoch() for number, worker in self.workers.items()}


class Played:
    """Tune and a cluster, which give each slot that is opened a process, as far as there is room."""

    def __init__(self, loop: StudyLoop, machines: list[Resources]) -> None:
        self.loop, self.machines = loop, machines
        self.processes: dict[str, Process] = {}
        self.opened = 0
        self.most = 0

    def turn(self) -> None:
        """A step of Tune's: slots are opened, start, and end a step each."""
        self.open()
        self.loop.turn()
        for name in list(self.loop.slots):
            if self.loop.finished:
                return
            if name not in self.processes and len(self.processes) < self.room(name):
                self.start(name)
            elif name in self.processes:
                self.step(name)

    def room(self, name: str) -> int:
        return slots(self.machines, self.loop.slots[name].resources)

    def open(self) -> list[Resources]:
        found: list[Resources] = []
        while (resources := self.loop.open(f"slot {self.opened}")) is not None:
            self.opened += 1
            found.append(resources)
        return found

    def start(self, name: str, gpus: ProcessGpus = CARD) -> Process:
        process: Any = Process(gpus)
        self.processes[name] = process
        assert self.loop.greeted(name, Greeting(process, gpus))
        assert isinstance(process.orders[0], PrepareProcess)
        return self.processes[name]

    def step(self, name: str, outcomes: dict[int, Any] | None = None) -> None:
        process = self.processes[name]
        given = process.step() if outcomes is None else outcomes
        if not self.loop.returned(name, given, process.gpus):
            del self.processes[name]
        self.most = max(self.most, sum(len(slot.tasks) for slot in self.loop.slots.values()))

    def run(self) -> None:
        for _ in range(10_000):
            if self.loop.finished:
                return
            self.turn()
        raise AssertionError("it does not end")


@contextmanager
def playing(
    path: Path,
    *,
    cpus: float = 2.0,
    gpus: float = 0.0,
    shares: bool = False,
    asks: int = 0,
    share: float = 0.0,
    sharing: Sharing = ALONE,
    concurrent: int | None = None,
    said: list[str] | None = None,
    **study: Any,
) -> Iterator[tuple[Played, Driver]]:
    """A study on one machine. With ``shares``, the memory of each trial is counted, which is over after ``asks``."""
    machines: list[Resources] = [{"CPU": cpus, "GPU": gpus}]
    counted = GpuShares(80 * GIB, lambda task: Counted(len(task.seeds) * GIB, asks)) if shares else None
    resources = {"cpu": 1.0, "gpu": share} if share else {"cpu": 1.0}
    allotment = Allotment({"cpu": 1.0, "gpu": 0.01} if shares else resources, "", counted)
    allocator: Any = SimpleNamespace(allotment=allotment)
    folder = open_toy(path, searched(toy_study(**{"trials": 6, "proposer": "grid", **study.pop("toy", {})}), **study))
    with Ledger(folder.ledger) as ledger:
        driver = toy_driver(folder, ledger)
        loop = StudyLoop(
            driver,
            PrepareProcess(ToyWorker, None),
            allocator,
            capacity=lambda: machines,
            most_slots=lambda needs: slots(machines, needs),
            gpu_failures=GpuFailures(),
            say=(said if said is not None else []).append,
            look=lambda: None,
            on_idle=lambda: None,
            part=lambda task: None,
            on_late_files=lambda trial: None,
            sharing=sharing,
            concurrent=concurrent,
        )
        yield Played(loop, machines), driver


def test_a_study_passes_through_as_many_slots_as_there_is_room_for_and_is_that_of_the_serial_engine(
    tmp_path: Path,
) -> None:
    with playing(tmp_path / "played", scheduler="none") as (played, driver):
        played.run()
    alone = run_toy(open_toy(tmp_path / "alone", searched(toy_study(trials=6, proposer="grid"), scheduler="none")))
    assert played.opened == played.most == 2, "processes are kept from trial to trial, and for measurements"
    for number, trial in alone.trials.items():
        mine = driver.record.trials[number]
        assert (mine.reason, mine.reports.scores, mine.tested) == (trial.reason, trial.reports.scores, trial.tested)


@pytest.mark.parametrize(("concurrent", "most"), [(1, 1), (3, 3), (9, 4)])
def test_no_more_trials_run_than_may_at_a_time(concurrent: int, most: int, tmp_path: Path) -> None:
    with playing(tmp_path, cpus=4.0, concurrent=concurrent) as (played, _):
        played.run()
    assert played.most == played.opened == most


def test_no_more_slots_are_opened_than_trials_are_ready(tmp_path: Path) -> None:
    with playing(tmp_path, cpus=64.0, toy={"trials": 3}) as (played, _):
        assert len(played.open()) == 3
        played.run()
    assert played.opened == 3


class Straggling(Played):
    """Trial 0 ends no epoch until no other trial runs, and all epochs take longer than a process needs to start."""

    def __init__(self, loop: StudyLoop, machines: list[Resources]) -> None:
        super().__init__(loop, machines)
        self.turns: Counter[str] = Counter()

    def step(self, name: str, outcomes: dict[int, Any] | None = None) -> None:
        self.turns[name] += 1
        tasks = self.loop.slots[name].tasks
        waits = 0 in tasks and any(slot.tasks for other, slot in self.loop.slots.items() if other != name)
        if not waits and (not tasks or self.turns[name] % 4 == 0):
            super().step(name, outcomes)


def test_slots_that_have_closed_are_opened_again_for_trials_that_are_promoted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "IDLE_SECONDS", -1.0)  # a slot without work closes at once
    hyperband = HyperbandConfig.model_validate({"kind": "hyperband", "grace": 1, "reduction": 2})
    toy = {"trials": 8, "epochs": 8}  # one bracket, of which half go on after an epoch
    with playing(tmp_path, cpus=8.0, toy=toy, scheduler=hyperband) as (played, driver):
        played = Straggling(played.loop, played.machines)
        promoted: set[int] = set()
        driver.listen(lambda event: promoted.update([event.trial] if isinstance(event, Promoted) else []))
        together = 0
        while not played.loop.finished:
            played.turn()
            running = {number for slot in played.loop.slots.values() for number in slot.tasks}
            together = max(together, len(running & promoted))
    assert together > 1


def by_depth(task: TrialTask) -> TrialTask:
    """Stands for ``program_of``: trials of one depth share a process."""
    config: Any = task.config
    return replace(task, number=0, config=config.model_copy(update={"training": None}), folder=Path(), attempt=1)


def depth(task: TrialTask) -> int:
    config: Any = task.config
    return int(config.model.stack.depth)


def test_trials_of_one_program_share_a_process_and_others_do_not(tmp_path: Path) -> None:
    with playing(tmp_path, cpus=1.0, sharing=Sharing(3, by_depth), toy={"trials": 9}, scheduler="none") as (
        played,
        driver,
    ):
        while not played.loop.finished:
            played.turn()
            for slot in played.loop.slots.values():
                assert len(slot.tasks) <= 3
                assert len({depth(task) for task in slot.tasks.values()}) <= 1
    assert played.most == 3
    assert {trial.reason for trial in driver.record.trials.values()} == {"completed"}


@pytest.mark.parametrize(("concurrent", "most"), [(2, 2), (4, 4), (None, 9)])
def test_trials_that_share_processes_count_each(concurrent: int | None, most: int, tmp_path: Path) -> None:
    sharing = Sharing(3, by_depth)
    with playing(tmp_path, cpus=4.0, sharing=sharing, concurrent=concurrent, toy={"trials": 9}, scheduler="none") as (
        played,
        _,
    ):
        played.run()
    assert played.most == most


def test_a_slot_takes_of_a_gpu_what_a_program_of_all_its_trials_takes(tmp_path: Path) -> None:
    sharing = Sharing(3, partial(program_of, trials=3))
    with playing(tmp_path, cpus=4.0, gpus=1.0, shares=True, sharing=sharing) as (played, _):
        (resources, *_) = played.open()
        played.start("slot 0")
        played.step("slot 0", {})
        change = played.processes["slot 0"].orders[-1]
        assert isinstance(change, ChangeTrials)
        lanes = sum(len(task.seeds) for task in change.joined)
        assert len(change.joined) == 3
        assert resources["gpu"] == share_of(lanes * GIB, 80 * GIB)
        assert {task.gpu_share for task in change.joined} == {resources["gpu"]}


def test_while_memory_is_counted_no_more_trials_are_proposed_than_have_room(tmp_path: Path) -> None:
    with playing(tmp_path, cpus=3.0, gpus=1.0, shares=True, asks=20) as (played, driver):
        proposed: dict[int, int] = {}
        """The most at a time, by the number of open slots."""
        for _ in range(200):
            played.open()
            proposed[played.opened] = len(driver.record.trials)
        assert proposed == {0: 1, 1: 3, 3: 3}
        played.run()
    assert len(driver.record.trials) == 6
    assert played.most == 3


@pytest.mark.parametrize("held", [1, 3])
def test_a_process_that_dies_costs_its_trials_a_retry_each_by_itself(
    held: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "failures", lambda processes: [None for _ in processes])
    dead: Any = SimpleNamespace(is_clear=lambda: True, fault=lambda: Fault("crashed", DIED))
    monkeypatch.setattr(StudyLoop, "_death", lambda *_: dead)
    sharing = ALONE if held == 1 else Sharing(3, lambda task: replace(by_depth(task), config=None))  # type: ignore[arg-type]
    with playing(tmp_path, cpus=1.0, sharing=sharing, toy={"trials": 3}, scheduler="none", retries=1) as (
        played,
        driver,
    ):
        while not any(slot.tasks for slot in played.loop.slots.values()):
            played.turn()
        del played.processes["slot 0"]
        played.loop.died("slot 0", "")
        played.run()
    trials = driver.record.trials.values()
    assert [len(trial.retries) for trial in trials] == ([1, 0, 0] if held == 1 else [1, 1, 1])
    assert {trial.reason for trial in trials} == {"completed"}
    assert ("3 trials shared it" in driver.record.trials[0].retries[0].message) == (held == 3)


def test_where_tunes_loop_ends_all_that_ran_goes_on_in_other_slots(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    killed: list[Any] = []
    monkeypatch.setattr(module.ray, "kill", killed.append)
    monkeypatch.setattr(module, "failures", lambda processes: [None for _ in processes])
    with playing(tmp_path, scheduler="none", retries=0) as (played, driver):
        while not all(slot.tasks for slot in played.loop.slots.values()) or len(played.loop.slots) < 2:
            played.turn()
        processes = list(played.processes.values())
        played.processes.clear()
        played.loop.lost("an error of another kind")
        assert killed == processes
        played.run()
    trials = driver.record.trials.values()
    assert {trial.reason for trial in trials} == {"completed"}
    assert [[each.cause for each in trial.retries] for trial in trials] == [["lost"], ["lost"], [], [], [], []]


def test_processes_that_die_one_after_another_before_they_greet_interrupt_the_study(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("skipstack.search.execution.engines.ray.deaths.silent", WorkersSilentError)
    with playing(tmp_path) as (played, _):
        played.open()
        for name in ("slot 0", "slot 1"):
            played.loop.died(name, "ImportError: no module named numpy")
        played.open()
        with pytest.raises(WorkersSilentError, match="no module named numpy"):
            played.loop.died("slot 2", "ImportError: no module named numpy")


def test_where_no_process_starts_for_long_a_machine_is_asked_whether_any_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[bool] = []
    monkeypatch.setattr(module, "check_answers", lambda: asked.append(True))
    monkeypatch.setattr(module, "START_SECONDS", 0.0)
    with playing(tmp_path) as (played, _):
        played.open()
        played.loop.turn()
        played.start("slot 0")
        played.loop.turn()
    assert asked == [True]


BROKEN = Fault("crashed", "its GPU failed: AcceleratorError", broken="device")
FENCE = {"cpu": 0.0, "gpu": 1.0}
FIRST, SECOND = ProcessGpus("ab", "host (10.0.0.1)", ("0",)), ProcessGpus("ab", "host (10.0.0.1)", ("1",))


@pytest.fixture
def two_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "machines", lambda: {"ab": ("host", {"CPU": 4.0, "GPU": 2.0})})


@pytest.mark.usefixtures("two_gpus")
def test_a_gpu_that_breaks_trials_gets_no_more_of_them_though_ray_starts_processes_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    with playing(tmp_path, cpus=4.0, gpus=2.0, share=1.0, said=said, scheduler="none", retries=1) as (played, driver):
        while not said:
            breaking(played)
        assert "GPU 0 of machine host (10.0.0.1) is left alone" in said[0]
        ordinary, first, *_ = unborn(played)
        assert played.loop.slots[first].resources == FENCE, "it takes no processor from those that compute"
        elsewhere = played.start(first, SECOND)
        assert not played.loop.greeted(ordinary, Greeting(Process(FIRST), FIRST)), "another fence takes its share"
        (fence,) = (name for name in unborn(played) if played.loop.slots[name].is_fence)
        there = played.start(fence, FIRST)
        monkeypatch.setattr(module, "IDLE_SECONDS", 0.0)
        played.step(first)
        played.step(fence)
        assert first not in played.loop.slots
        assert fence in played.loop.slots
        played.run()
        assert not any(isinstance(order, ChangeTrials) for process in (elsewhere, there) for order in process.orders)
    reasons = [trial.reason for trial in driver.record.trials.values()]
    assert reasons == ["completed"] * 6, "none is tried there again before others, so none pays for the GPU"


def unborn(played: Played) -> list[str]:
    """The slots that are opening."""
    played.open()
    return [name for name in played.loop.slots if name not in played.processes]


def breaking(played: Played) -> None:
    """A process starts on the first GPU, and its trial breaks it."""
    name, *_ = unborn(played)
    played.start(name, FIRST)
    played.step(name, {})
    (number,) = played.loop.slots[name].tasks
    played.step(name, {number: BROKEN})


@pytest.mark.usefixtures("two_gpus")
def test_a_gpu_that_was_there_and_is_gone_is_its_own_fault_and_not_the_user_s(tmp_path: Path) -> None:
    gone = NoGpuError("--device cuda: no GPU here (allowed: auto, cpu)")
    with playing(tmp_path, gpus=2.0, share=1.0) as (played, driver):
        played.open()
        played.start("slot 0", FIRST)
        played.step("slot 0", {})
        assert isinstance(gone, UserError)
        with pytest.raises(NoGpuError):
            played.step("slot 0", {0: gone})
    with playing(tmp_path / "again", gpus=2.0, share=1.0) as (played, driver):
        played.open()
        played.start("slot 0", FIRST)
        played.step("slot 0", {})
        played.step("slot 0")
        played.step("slot 0", {0: gone})
        assert "its GPU is gone" in driver.record.trials[0].retries[0].message


def test_without_another_gpu_the_study_is_interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "machines", lambda: {"ab": ("host", {"CPU": 4.0, "GPU": 1.0})})
    with playing(tmp_path, gpus=1.0, share=1.0, retries=1) as (played, _):
        breaking(played)
        breaking(played)
        with pytest.raises(DeviceBrokenError, match="trials fit nowhere else, and GPU 0 of machine host"):
            breaking(played)


def test_a_trial_that_ran_out_of_memory_gets_a_slot_of_twice_its_size_once_others_have_left(tmp_path: Path) -> None:
    with playing(tmp_path, cpus=2.0, scheduler="none") as (played, driver):
        while len(played.processes) < 2 or not all(slot.tasks for slot in played.loop.slots.values()):
            played.turn()
        (number,) = played.loop.slots["slot 0"].tasks
        played.step("slot 0", {number: Fault("out_of_memory", "MemoryError: no room")})
        played.run()
        assert driver.record.trials[number].share == 2
    assert {trial.reason for trial in driver.record.trials.values()} == {"completed"}
    assert played.opened > 2


def test_what_every_trial_would_meet_is_raised(tmp_path: Path) -> None:
    with playing(tmp_path) as (played, _):
        played.open()
        played.start("slot 0")
        played.step("slot 0", {})
        with pytest.raises(UserError, match="the corpus has gone"):
            played.step("slot 0", {0: UserError("the corpus has gone")})
