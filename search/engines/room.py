"""What a cluster has room for: where trials fit, which share of a GPU each needs, and what each gets."""

import logging
import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, Protocol, TypeVar

from skipstack.data.basis.errors import UserError
from skipstack.data.basis.system import GPU_CONTEXT
from skipstack.search.driver.measuring_on_test import Measurement
from skipstack.search.driver.task import TrialTask

LOG = logging.getLogger(__name__)

LOOKED_AT = 2.0
"""Seconds between two looks at a cluster, which grows and shrinks."""

SLACK = 1e-9

MARGIN: Final = 1.25
"""Times what is counted: buffers of single operations, and what the allocator cannot use."""

STEPS: Final = 100
"""Shares are whole hundredths, so that trials of like size take turns in one process."""

SMALLEST = 0.01
"""The least share that ``auto`` gives."""

Resources = Mapping[str, float]
"""Amounts by name. What is ``cpu`` and ``gpu`` of a trial is ``CPU`` and ``GPU`` of a machine, as ray has it."""

Machines = Mapping[str, tuple[str, Resources]]
"""By id: the name of a machine, and what it has."""

Given = TypeVar("Given", TrialTask, Measurement)
"""What a worker is given: to train or to measure."""

Answers = Sequence[tuple[str, int | UserError]]
"""Of each machine that has GPUs, the bytes of its first: (machine, answer)."""


class Machine:
    """What is free of a machine: CPUs together, and each GPU by itself, since a share is always of one GPU."""

    def __init__(self, has: Resources) -> None:
        self._cpus = has.get("CPU", 0.0)
        self._gpus = [1.0] * int(has.get("GPU", 0.0))

    def room(self, trial: Resources) -> tuple[float, ...] | None:
        """What would be left, the scarcer first, once ``trial`` is here; None where it does not fit.

        The least of these is the best home, as ray has it: a part of a GPU goes where the least of one is left, and
        who needs no GPU keeps off machines that have some.
        """
        devices, cpus = self._devices(trial), self._cpus - trial["cpu"]
        if devices is None or cpus < -SLACK:
            return None
        return (self._gpus[devices[0]] - min(1.0, trial["gpu"]) if devices else float(len(self._gpus)), cpus)

    def take(self, trial: Resources) -> tuple[int, ...]:
        """Let in a trial that fits; the GPUs that it takes."""
        devices = self._devices(trial)
        assert devices is not None, "it does not fit"
        self._change(trial, devices, -1)
        return devices

    def leave(self, trial: Resources, devices: tuple[int, ...]) -> None:
        """A trial that was let in, with the GPUs that it took."""
        self._change(trial, devices, 1)

    def _devices(self, trial: Resources) -> tuple[int, ...] | None:
        share = trial.get("gpu", 0.0)
        if share >= 1:
            free = [place for place, left in enumerate(self._gpus) if left >= 1 - SLACK]
            return tuple(free[: int(share)]) if len(free) >= share else None
        if not share:
            return ()
        fitting = [(left, place) for place, left in enumerate(self._gpus) if left >= share - SLACK]
        return (min(fitting)[1],) if fitting else None

    def _change(self, trial: Resources, devices: tuple[int, ...], sign: int) -> None:
        self._cpus += sign * trial["cpu"]
        for place in devices:
            self._gpus[place] += sign * min(1.0, trial["gpu"])


class Capacity:
    """The room of a cluster whose machines ``machines`` tells. Trials are let in, and leave; ``gpus_taken`` is told how
    many GPUs they take then, parts of one added up. ``most``: so many are let in at a time, however much room there is.

    Each is given a place as ray would: on one machine, on whole GPUs or on a part of one. Those without a place wait.
    """

    def __init__(
        self,
        machines: Callable[[], Sequence[Resources]],
        gpus_taken: Callable[[float], None] = lambda gpus: None,
        *,
        most: int | None = None,
    ) -> None:
        self._look = machines
        self._most = most
        self._gpus_taken = gpus_taken
        self._amounts: list[dict[str, float]] = []
        self._machines: list[Machine] = []
        self._looked = -math.inf
        self._placed: dict[str, tuple[Resources, Machine, tuple[int, ...]]] = {}
        self._waiting: dict[str, Resources] = {}

    @property
    def inside(self) -> int:
        """How many have been let in: those with a place, and those that wait."""
        return len(self._placed) + len(self._waiting)

    @property
    def machines(self) -> Sequence[Resources]:
        """Those that there are."""
        self._current()
        return self._amounts

    def is_full(self) -> bool:
        """Whether a trial waits that was let in: so one at a time does, and no machine; or whether ``most`` are in."""
        self._current()
        return bool(self._waiting) or (self._most is not None and len(self._placed) >= self._most)

    def has_idle_cpu(self) -> bool:
        """Whether nobody takes a CPU somewhere, and nobody waits."""
        self._current()
        return not self._waiting and any(machine.room({"cpu": 1.0}) is not None for machine in self._machines)

    def take(self, trial: str, ordinary: Resources, share: int) -> Resources:
        """Let a trial in. What it takes: ``share`` times the ``ordinary``, and no more than one machine has."""
        self._current()
        taken = enlarged(ordinary, share, self._amounts)
        self._waiting[trial] = taken
        self._place()
        return taken

    def has_room(self, ordinary: Resources, share: int) -> bool:
        """Whether a trial would have a place at once."""
        self._current()
        taken = enlarged(ordinary, share, self._amounts)
        return any(machine.room(taken) is not None for machine in self._machines)

    def leave(self, trial: str) -> None:
        """A trial is over, or its attempt is."""
        self._waiting.pop(trial, None)
        if trial in self._placed:
            taken, machine, devices = self._placed.pop(trial)
            machine.leave(taken, devices)
        self._place()

    def _place(self) -> None:
        """Give a place to whoever waits and fits somewhere, in their order."""
        for trial, taken in list(self._waiting.items()):
            homes = [(left, place) for place, each in enumerate(self._machines) if (left := each.room(taken))]
            if homes:
                machine = self._machines[min(homes)[1]]
                self._placed[trial] = taken, machine, machine.take(taken)
                del self._waiting[trial]
        self._gpus_taken(sum(taken.get("gpu", 0.0) for taken, *_ in self._placed.values()))

    def _current(self) -> None:
        now = time.monotonic()
        if now - self._looked < LOOKED_AT:
            return
        self._looked = now
        amounts = [{name: machine.get(name, 0.0) for name in ("CPU", "GPU")} for machine in self._look()]
        if amounts == self._amounts:
            return
        self._amounts, self._machines = amounts, [Machine(each) for each in amounts]
        self._waiting = {trial: taken for trial, (taken, *_) in self._placed.items()} | self._waiting
        self._placed = {}
        self._place()


def slots(machines: Iterable[Resources], trial: Resources) -> int:
    """How many such trials fit side by side into ``machines``."""
    count = 0
    for has in machines:
        cpus, gpus, share = has.get("CPU", 0.0), int(has.get("GPU", 0.0)), trial.get("gpu", 0.0)
        room = int(cpus / trial["cpu"] + SLACK)
        if share:
            room = min(room, gpus // int(share) if share >= 1 else gpus * int(1 / share + SLACK))
        count += room
    return count


def enlarged(ordinary: Resources, share: int, machines: Iterable[Resources]) -> Resources:
    """``share`` times what a trial ordinarily takes, as far as one machine has it all.

    Of a GPU at most its whole, since a trial computes on one; the ordinary where no machine has even that.
    """
    homes = [machine for machine in machines if slots([machine], ordinary)]
    largest = [
        {name: _shared(amount, share, most=home[name.upper()]) for name, amount in ordinary.items()} for home in homes
    ]
    return max(largest, key=lambda taken: (taken.get("gpu", 0.0), taken["cpu"]), default=ordinary)


def _shared(amount: float, share: int, *, most: float) -> float:
    wanted = min(amount * share, 1.0) if amount < 1 else amount * share
    return max(amount, min(wanted, most))


class Counting(Protocol):
    """The bytes that training a trial holds at most, while somebody else counts them."""

    def is_over(self) -> bool:
        """Whether there is an answer, or none will come any more."""

    def answer(self) -> int | UserError:
        """Wait for the bytes; an error where they could not be counted."""


class GpuShares:
    """Shares of GPUs that have ``device`` bytes each; ``count`` begins to count what a trial holds.

    A trial takes (``GPU_CONTEXT`` + ``MARGIN`` * memory) / device, rounded up. Ray packs trials into GPUs by their
    shares, and a trial that takes more than its own is the one that runs out of memory, never its neighbour
    (``models/ground/device_memory.py``).
    Trials of one config and as many seeds are counted once.
    """

    def __init__(self, device: int, count: Callable[[TrialTask], Counting]) -> None:
        self.device = device
        self._count = count
        self._counting: dict[tuple[str, int], Counting] = {}
        """Counts under way, each of which the cluster keeps an answer for."""
        self._memory: dict[tuple[str, int], int | UserError] = {}
        """The bytes that were counted."""

    def on(self, device: int) -> "GpuShares":
        """The shares of GPUs of another size; nothing is counted again."""
        if device == self.device:
            return self
        other = GpuShares(device, self._count)
        other._counting, other._memory = self._counting, self._memory
        return other

    def is_known(self, task: TrialTask) -> bool:
        """Whether ``share`` would answer at once; if not, its memory is being counted from now on."""
        key = _counted_as(task)
        return key in self._memory or self._counted(key, task).is_over()

    def share(self, task: TrialTask) -> float:
        """The ordinary share of a trial, at most a whole GPU; that too where counting fails, as for lack of memory."""
        key = _counted_as(task)
        if key not in self._memory:
            self._memory[key] = answer = self._counted(key, task).answer()
            del self._counting[key]
            if isinstance(answer, UserError):
                LOG.warning("trial %d gets a whole GPU: its memory could not be counted (%s)", task.number, answer)
        return self._share_of(self._memory[key])

    @property
    def usual(self) -> float:
        """The mean share of the trials that were counted, rounded up; the smallest before the first."""
        shares = [self._share_of(memory) for memory in self._memory.values()]
        return math.ceil(sum(shares) / len(shares) * STEPS - SLACK) / STEPS if shares else SMALLEST

    def _share_of(self, memory: int | UserError) -> float:
        if isinstance(memory, UserError):
            return 1.0
        return share_of(memory, self.device)

    def _counted(self, key: tuple[str, int], task: TrialTask) -> Counting:
        if key not in self._counting:
            self._counting[key] = self._count(task)
        return self._counting[key]


def share_of(memory: int, device: int) -> float:
    """The share of a GPU that has ``device`` bytes for a trial of which so much ``memory`` was counted."""
    return min(1.0, math.ceil((GPU_CONTEXT + MARGIN * memory) / device * STEPS) / STEPS)


def _counted_as(task: TrialTask) -> tuple[str, int]:
    """What a trial's memory depends on: its config and the number of its seeds."""
    return task.config.identity, len(task.seeds)


@dataclass(frozen=True, slots=True)
class Allotment:
    """``resources``: what each trial gets; with ``shares``, its own share of a GPU besides. ``words`` tell the user."""

    resources: Resources
    words: str
    shares: GpuShares | None = None

    def is_known(self, task: TrialTask) -> bool:
        """Whether ``ordinary`` would answer at once; if not, it is being found out from now on."""
        return self.shares is None or self.shares.is_known(task)

    def after(self, former: "Allotment | None") -> "Allotment":
        """The same; what was counted for the ``former`` one is not counted again."""
        if self.shares is None or former is None or former.shares is None:
            return self
        return replace(self, shares=former.shares.on(self.shares.device))

    @property
    def usual(self) -> Resources:
        """What trials take of a machine on the average."""
        return self.resources if self.shares is None else {**self.resources, "gpu": self.shares.usual}

    def ordinary(self, task: TrialTask) -> Resources:
        """What a trial takes as long as it does not run out of memory."""
        return self.resources if self.shares is None else {**self.resources, "gpu": self.shares.share(task)}

    def confined(self, task: TrialTask, taken: Resources) -> TrialTask:
        """The trial, which computes on what it has taken: without a share of a GPU on a CPU, and never on another's."""
        share = taken.get("gpu", 0.0)
        if not share:
            return replace(task, device="cpu")
        device = "cuda" if task.device == "auto" else task.device
        return replace(task, device=device, gpu_share=share if share < 1 else None)

    def placed(self, name: str, given: Given, capacity: Capacity) -> tuple[Resources, Given]:
        """What ``given`` takes of ``capacity`` as ``name``, and the task or the measurement as it computes there."""
        if isinstance(given, Measurement):
            taken = capacity.take(name, self.ordinary(given.task), given.task.share)
            task, *training = (self.confined(each, taken) for each in (given.task, *given.training))
            return taken, Measurement(task, tuple(training))
        taken = capacity.take(name, self.ordinary(given), given.share)
        return taken, self.confined(given, taken)


def allotted(
    gpus_per_trial: float | Literal["auto"],
    device: str,
    machines: Sequence[Resources],
    *,
    cpus_per_trial: int = 1,
    sizes: Callable[[], Answers],
    count: Callable[[TrialTask], Counting],
    each: str = "trial",
) -> Allotment:
    """What trials on ``device`` get of ``machines``: ``cpus_per_trial``, and a share of a GPU. ``auto``: on GPUs as
    much as each needs, without them a CPU alone. ``each``: who gets it, in words, where that is a program of several.

    GPUs that torch finds on no machine are left alone, and the words say so. Raises UserError where ``device`` is a GPU
    and there is none to have, where torch finds the GPUs of some machines alone, and where not a single trial fits.
    """
    cpus = float(cpus_per_trial)
    if gpus_per_trial == "auto":
        with_gpus = [machine for machine in machines if machine.get("GPU")]
        needed = with_gpus and device != "cpu"
        made = _by_need(cpus, sizes(), count, machines, each) if needed else _fixed(cpus, 0.0, machines, each)
    else:
        made = _fixed(cpus, gpus_per_trial, machines, each)
    if device not in ("auto", "cpu") and "gpu" not in made.resources:
        raise UserError(
            f"--device {device}: {made.words} (allowed: GPUs that torch finds, and a share of them above 0)"
        )
    if not slots(machines, made.resources):
        raise nowhere(made.resources, machines)
    return made


def nowhere(trial: Resources, machines: Sequence[Resources], joining: str = "") -> UserError:
    """What is said of a trial that fits no machine. ``joining``: what machines have that may join, if any may."""
    more = f"; what may join has: {joining}" if joining else ""
    return UserError(
        f"no trial fits: it needs {in_words(trial)}, and {described(machines)}{more} (allowed: larger machines, or a "
        "smaller --gpus-per-trial or --cpus-per-trial)"
    )


def nothing_known(*_: object) -> int:
    """What is answered where no networks are trained: GPUs are then left alone."""
    raise UserError("nothing is known of its GPUs")


def in_words(resources: Resources) -> str:
    """``1 CPU and 0.25 of a GPU``."""
    cpus, gpus = resources.get("cpu", 0.0), resources.get("gpu", 0.0)
    if 0 < gpus < 1:
        return f"{_counted(cpus, 'CPU')} and {gpus:g} of a GPU"
    return f"{_counted(cpus, 'CPU')} and {_counted(gpus, 'GPU')}"


def _fixed(cpus: float, gpus: float, machines: Sequence[Resources], each: str) -> Allotment:
    resources = {"cpu": cpus, "gpu": float(gpus)} if gpus else {"cpu": cpus}
    words = f"each {each} gets {in_words(resources)}: {slots(machines, resources)} side by side"
    return Allotment(resources, words)


def _by_need(
    cpus: float, answers: Answers, count: Callable[[TrialTask], Counting], machines: Sequence[Resources], each: str
) -> Allotment:
    found = [answer for _, answer in answers if not isinstance(answer, UserError)]
    missing = "; ".join(f"machine {name}: {answer}" for name, answer in answers if isinstance(answer, UserError))
    if not found:
        left = _fixed(cpus, 0.0, machines, each)
        return replace(left, words=f"{left.words}; GPUs are left alone ({missing})")
    if missing:
        raise UserError(f"--gpus-per-trial auto: torch finds the GPUs of other machines, but {missing}")
    smallest = min(found)
    words = (
        f"each {each} gets {_counted(cpus, 'CPU')} and as much of a GPU as it needs; the smallest GPU has "
        f"{smallest / 1e9:.1f} GB"
    )
    return Allotment({"cpu": cpus, "gpu": SMALLEST}, words, GpuShares(smallest, count))


def described(machines: Sequence[Resources]) -> str:
    """What each machine has: ``the machines have: 8 CPUs and 1 GPU (3 times)``."""
    kinds = Counter(in_words({"cpu": has.get("CPU", 0.0), "gpu": has.get("GPU", 0.0)}) for has in machines)
    each = (kind if times == 1 else f"{kind} ({times} of them)" for kind, times in kinds.items())
    return f"the machines have: {'; '.join(each)}"


def _counted(amount: float, unit: str) -> str:
    return f"no {unit}" if not amount else f"{amount:g} {unit}" + ("" if amount == 1 else "s")
