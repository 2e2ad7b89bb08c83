"""The capacity of a cluster's machines: where trials fit, which share of a GPU each needs, and what each gets."""

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
"""Factor on the counted memory, for buffers of single operations and what the allocator cannot use."""

STEPS: Final = 100
"""Steps of a GPU: shares are whole hundredths, so that trials of similar size take turns in one process."""

SMALLEST = 0.01
"""The least share that ``auto`` gives."""

Resources = Mapping[str, float]
"""Amounts by name: ``cpu`` and ``gpu`` for a trial, ``CPU`` and ``GPU`` for a machine, as in Ray."""

Machines = Mapping[str, tuple[str, Resources]]
"""The name and the resources of each machine, by its id."""

Answers = Sequence[tuple[str, int | UserError]]
"""Pairs (machine, answer) of each machine that has GPUs: the bytes of its first GPU, or an error."""


def slots(machines: Iterable[Resources], trial: Resources) -> int:
    """Number of such trials that ``machines`` can run in parallel."""
    count = 0
    for has in machines:
        cpus, gpus, share = has.get("CPU", 0.0), int(has.get("GPU", 0.0)), trial.get("gpu", 0.0)
        room = int(cpus / trial["cpu"] + SLACK)
        if share:
            room = min(room, gpus // int(share) if share >= 1 else gpus * int(1 / share + SLACK))
        count += room
    return count


def enlarged(ordinary: Resources, share: int, machines: Iterable[Resources]) -> Resources:
    """The ordinary resources of a trial times ``share``, as far as one machine has them all.

    A share of a GPU grows to one GPU at most, since a trial computes on one. Nothing grows where no machine has room
    for the ordinary resources.
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
    """The peak memory of training a trial in bytes, while it is being counted elsewhere."""

    def is_over(self) -> bool:
        """Whether the answer has arrived, or will not come any more."""

    def answer(self) -> int | UserError:
        """Wait for the number of bytes; an error if they could not be counted."""


class GpuShares:
    """Shares of GPUs that have ``device`` bytes each; ``count`` starts to count the memory of a trial.

    A trial takes (``GPU_CONTEXT`` + ``MARGIN`` * memory) / device, rounded up. Ray packs trials into GPUs by their
    shares, and a trial that takes more than its own share runs out of memory itself, never its neighbour
    (``models/ground/device_memory.py``). Trials with the same config and number of seeds are counted once.
    """

    def __init__(self, device: int, count: Callable[[TrialTask], Counting]) -> None:
        self.device = device
        self._count = count
        self._counting: dict[tuple[str, int], Counting] = {}
        """Counts under way; the cluster keeps an answer for each."""
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
        """Whether ``share`` would return at once; if not, its memory is being counted from now on."""
        key = _counted_as(task)
        return key in self._memory or self._counted(key, task).is_over()

    def share(self, task: TrialTask) -> float:
        """The ordinary share of a trial, at most a whole GPU; a whole GPU if counting fails, as for lack of memory."""
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
    """The share that a trial with ``memory`` counted bytes needs of a GPU with ``device`` bytes."""
    return min(1.0, math.ceil((GPU_CONTEXT + MARGIN * memory) / device * STEPS) / STEPS)


def _counted_as(task: TrialTask) -> tuple[str, int]:
    """The key under which a trial's memory is counted: its config and the number of its seeds."""
    return task.config.identity, len(task.seeds)


@dataclass(frozen=True, slots=True)
class Allotment:
    """The ``resources`` of each trial; with ``shares``, also its own share of a GPU. ``words``: a line for the user."""

    resources: Resources
    words: str
    shares: GpuShares | None = None

    def is_known(self, task: TrialTask) -> bool:
        """Whether ``ordinary`` would return at once; if not, the answer is being found out from now on."""
        return self.shares is None or self.shares.is_known(task)

    def after(self, former: "Allotment | None") -> "Allotment":
        """The same allotment with the memory counts of the ``former`` one, so that nothing is counted again."""
        if self.shares is None or former is None or former.shares is None:
            return self
        return replace(self, shares=former.shares.on(self.shares.device))

    @property
    def usual(self) -> Resources:
        """The mean resources of a trial."""
        return self.resources if self.shares is None else {**self.resources, "gpu": self.shares.usual}

    def ordinary(self, task: TrialTask) -> Resources:
        """The resources of a trial that has not run out of memory."""
        return self.resources if self.shares is None else {**self.resources, "gpu": self.shares.share(task)}

    def confined(self, task: TrialTask, taken: Resources) -> TrialTask:
        """The trial confined to what it has ``taken``: on a CPU without a share of a GPU, never on another's share."""
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
    """Settle the resources of trials on ``device``: ``cpus_per_trial``, and a share of a GPU. ``auto``: as much of a
    GPU as each needs, without GPUs a CPU alone. ``each``: the word for what gets them, if a program of several trials.

    GPUs are left alone if torch finds none on any machine, and the words say so. Raises UserError if ``device`` is a
    GPU and there is none, if torch finds the GPUs of only some machines, and if not a single trial fits.
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
        raise no_capacity(made.resources, machines)
    return made


def no_capacity(trial: Resources, machines: Sequence[Resources], joining: str = "") -> UserError:
    """The error for a trial that fits no machine. ``joining``: the resources of machines that may join, in words."""
    more = f"; what may join has: {joining}" if joining else ""
    return UserError(
        f"no trial fits: it needs {in_words(trial)}, and {described(machines)}{more} (allowed: larger machines, or a "
        "smaller --gpus-per-trial or --cpus-per-trial)"
    )


def nothing_known(*_: object) -> int:
    """Raise UserError, as the answer of studies that train no networks: GPUs are then not used."""
    raise UserError("nothing is known of its GPUs")


def in_words(resources: Resources) -> str:
    """The resources in words: ``1 CPU and 0.25 of a GPU``."""
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
    """The resources of all machines in words: ``the machines have: 8 CPUs and 1 GPU (3 of them)``."""
    kinds = Counter(in_words({"cpu": has.get("CPU", 0.0), "gpu": has.get("GPU", 0.0)}) for has in machines)
    each = (kind if times == 1 else f"{kind} ({times} of them)" for kind, times in kinds.items())
    return f"the machines have: {'; '.join(each)}"


def _counted(amount: float, unit: str) -> str:
    return f"no {unit}" if not amount else f"{amount:g} {unit}" + ("" if amount == 1 else "s")
