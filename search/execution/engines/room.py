"""What a cluster has room for: where trials fit, which share of a GPU each needs, and what each gets."""

import logging
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, Protocol

from skipstack.data.basis.errors import UserError
from skipstack.data.basis.system import GPU_CONTEXT
from skipstack.search.study.task import TrialTask

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

Answers = Sequence[tuple[str, int | UserError]]
"""Of each machine that has GPUs, the bytes of its first: (machine, answer)."""


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
