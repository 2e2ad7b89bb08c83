"""The capacity of a cluster's machines: the number of trials that fit, and the resources of each trial, such as the
share of a GPU.
"""

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
"""Seconds between two checks for machines that have joined or left the cluster."""

SLACK = 1e-9

MARGIN: Final = 1.25
"""Factor on the counted memory, for temporary buffers of operations and for memory lost to fragmentation."""

STEPS: Final = 100
"""Shares are multiples of 1 / ``STEPS``. So similar trials need equal shares, and can use the same process."""

SMALLEST = 0.01
"""The smallest share of a GPU that ``auto`` gives."""

Resources = Mapping[str, float]
"""Amounts of CPUs and GPUs by name: ``cpu`` and ``gpu`` for a trial, ``CPU`` and ``GPU`` for a machine, as in Ray."""

Machines = Mapping[str, tuple[str, Resources]]
"""The name and the resources of each machine, by its id."""

Answers = Sequence[tuple[str, int | UserError]]
"""The name of each machine with GPUs, and its answer: the bytes of its first GPU, or an error."""


def slots(machines: Iterable[Resources], trial: Resources) -> int:
    """Number of trials with the resources ``trial`` that ``machines`` can run in parallel."""
    count = 0
    for has in machines:
        cpus, gpus, share = has.get("CPU", 0.0), int(has.get("GPU", 0.0)), trial.get("gpu", 0.0)
        room = int(cpus / trial["cpu"] + SLACK)
        if share:
            room = min(room, gpus // int(share) if share >= 1 else gpus * int(1 / share + SLACK))
        count += room
    return count


def enlarged(ordinary: Resources, share: int, machines: Iterable[Resources]) -> Resources:
    """The ``ordinary`` resources of a trial times ``share``, as far as a single machine has them: the machine that
    allows the most GPUs or, in a tie, the most CPUs. A share of a GPU grows to one GPU at most. Resources that fit no
    machine are not changed.
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
    """A number of bytes that another process is measuring, such as the peak memory of training a trial."""

    def is_over(self) -> bool:
        """Whether the number has arrived, or is no longer expected."""

    def answer(self) -> int | UserError:
        """Wait for the number of bytes and return it; return an error if the measurement failed."""


class GpuShares:
    """Computes the share of a GPU that each trial needs. ``device``: the bytes of each GPU. ``count`` starts to count
    the bytes of memory of a trial. Trials with the same config and number of seeds are counted once.

    The share of a trial is (``GPU_CONTEXT`` + ``MARGIN`` * memory) / device, rounded up. Ray packs trials into GPUs by
    these shares. A trial that exceeds its share runs out of memory, without affecting other trials on the GPU
    (``models/ground/device_memory.py``).
    """

    def __init__(self, device: int, count: Callable[[TrialTask], Counting]) -> None:
        self.device = device
        self._count = count
        self._counting: dict[tuple[str, int], Counting] = {}
        """Pending counts, by config and number of seeds. Each is dropped once read, since Ray stores it until then."""
        self._memory: dict[tuple[str, int], int | UserError] = {}
        """The counted bytes by config and number of seeds, or the error of a failed count."""

    def on(self, device: int) -> "GpuShares":
        """Return the shares for GPUs of ``device`` bytes, without counting any memory again."""
        if device == self.device:
            return self
        other = GpuShares(device, self._count)
        other._counting, other._memory = self._counting, self._memory
        return other

    def is_known(self, task: TrialTask) -> bool:
        """Whether ``share`` would return without waiting. The first call for a trial starts the count of its memory."""
        key = _counted_as(task)
        return key in self._memory or self._counted(key, task).is_over()

    def share(self, task: TrialTask) -> float:
        """Wait until the trial's memory is counted, and return the share of a GPU that the trial needs. The share is 1
        if the trial needs more than a GPU, or if counting fails, for example for lack of memory.
        """
        key = _counted_as(task)
        if key not in self._memory:
            self._memory[key] = answer = self._counted(key, task).answer()
            del self._counting[key]
            if isinstance(answer, UserError):
                LOG.warning("trial %d gets a whole GPU: its memory could not be counted (%s)", task.number, answer)
        return self._share_of(self._memory[key])

    @property
    def has_counted(self) -> bool:
        """Whether the memory of any trial was counted."""
        return bool(self._memory)

    @property
    def usual(self) -> float:
        """The mean share of the trials counted so far, rounded up; ``SMALLEST`` if there are none."""
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
    """The share that a trial of ``memory`` bytes needs of a GPU of ``device`` bytes."""
    return min(1.0, math.ceil((GPU_CONTEXT + MARGIN * memory) / device * STEPS) / STEPS)


def _counted_as(task: TrialTask) -> tuple[str, int]:
    """The key under which a trial's memory is counted: its config and the number of its seeds."""
    return task.config.identity, len(task.seeds)


@dataclass(frozen=True, slots=True)
class Allotment:
    """The resources that each trial gets. ``resources``: the same for all trials. ``shares``: if not None, gives each
    trial its own share of a GPU, which replaces the ``gpu`` in ``resources``. ``words``: a line for the user.
    """

    resources: Resources
    words: str
    shares: GpuShares | None = None

    def is_known(self, task: TrialTask) -> bool:
        """Whether ``ordinary`` would return without waiting. Starts the memory count, like ``GpuShares.is_known``."""
        return self.shares is None or self.shares.is_known(task)

    def after(self, former: "Allotment | None") -> "Allotment":
        """Return this allotment with the memory counts of the ``former`` one, so that nothing is counted again."""
        if self.shares is None or former is None or former.shares is None:
            return self
        return replace(self, shares=former.shares.on(self.shares.device))

    @property
    def usual(self) -> Resources:
        """The resources of a trial, with the mean share of a GPU over the trials counted so far."""
        return self.resources if self.shares is None else {**self.resources, "gpu": self.shares.usual}

    def ordinary(self, task: TrialTask) -> Resources:
        """The resources of a trial that has not run out of memory. Waits for the count of its memory if necessary."""
        return self.resources if self.shares is None else {**self.resources, "gpu": self.shares.share(task)}

    def confined(self, task: TrialTask, taken: Resources) -> TrialTask:
        """Return the trial's task, limited to the resources ``taken`` for it. With a share of a GPU, it may use that
        share of the GPU's memory. Without a share, it runs on a CPU.
        """
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
    answers: Answers,
    count: Callable[[TrialTask], Counting],
    each: str = "trial",
) -> Allotment:
    """Allocate the resources of each trial.

    ``gpus_per_trial``: the share of a GPU for each trial. ``auto`` means the share that the trial needs, or no GPU if
    no machine has one or ``device`` is ``cpu``. ``device``: the device that trials are to use. ``machines``: the
    resources of each machine. ``cpus_per_trial``: the CPUs for each trial. ``answers``: the sizes of the GPUs; empty if
    no machine was asked, as without ``auto``. ``count`` starts to count the memory of a trial, for ``auto``. ``each``:
    who gets these resources, in the line for the user: ``trial``, or words for several trials that train as one
    program.

    With ``auto``, GPUs are not used if torch finds none on any machine, and the line for the user says so. If torch
    finds the GPUs of only some machines, ``auto`` raises UserError. Raises UserError also if ``device`` is a GPU and
    trials get none, or if no trial fits.
    """
    cpus = float(cpus_per_trial)
    if gpus_per_trial == "auto":
        made = _by_need(cpus, answers, count, machines, each) if answers else _fixed(cpus, 0.0, machines, each)
    else:
        made = _fixed(cpus, gpus_per_trial, machines, each)
    if device not in ("auto", "cpu") and "gpu" not in made.resources:
        why = _why_without(gpus_per_trial, machines, answers)
        raise UserError(
            f"--device {device}: trials get no GPU, since {why} (allowed: GPUs that torch finds and a share of them "
            "above 0, or --device cpu)"
        )
    if not slots(machines, made.resources):
        raise no_capacity(made.resources, machines)
    return made


def _why_without(gpus_per_trial: float | Literal["auto"], machines: Sequence[Resources], answers: Answers) -> str:
    """The reason why trials get no GPU."""
    if gpus_per_trial != "auto":
        return f"--gpus-per-trial is {gpus_per_trial:g}"
    return f"torch finds none ({_missing(answers)})" if answers else described(machines)


def _missing(answers: Answers) -> str:
    """The lines about machines on which torch finds no GPU."""
    return "; ".join(f"machine {name}: {answer}" for name, answer in answers if isinstance(answer, UserError))


def no_capacity(trial: Resources, machines: Sequence[Resources], joining: str = "") -> UserError:
    """Return the error for a trial that fits no machine. ``joining``: the resources that may join, in words."""
    more = f"; what may join has: {joining}" if joining else ""
    return UserError(
        f"no trial fits: it needs {in_words(trial)}, and {described(machines)}{more} (allowed: larger machines, or a "
        "smaller --gpus-per-trial or --cpus-per-trial)"
    )


def nothing_known(*_: object) -> int:
    """Raise UserError. Studies without networks call this instead of measuring memory, so that ``auto`` uses no GPU."""
    raise UserError("nothing is known of its GPUs")


def in_words(resources: Resources) -> str:
    """The resources in words, such as ``1 CPU and 0.25 of a GPU``."""
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
    missing = _missing(answers)
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
    """The resources of all machines in words, such as ``the machines have: 8 CPUs and 1 GPU (3 of them)``."""
    kinds = Counter(in_words({"cpu": has.get("CPU", 0.0), "gpu": has.get("GPU", 0.0)}) for has in machines)
    each = (kind if times == 1 else f"{kind} ({times} of them)" for kind, times in kinds.items())
    return f"the machines have: {'; '.join(each)}"


def _counted(amount: float, unit: str) -> str:
    return f"no {unit}" if not amount else f"{amount:g} {unit}" + ("" if amount == 1 else "s")
