"""What each trial gets of a cluster: a CPU, and a share of a GPU or none. Decided once, before the first trial."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from skipstack.data.basis.errors import UserError
from skipstack.search.driver.task import TrialTask
from skipstack.search.engines.capacity import Resources, slots
from skipstack.search.engines.shares import Counting, GpuShares

Answers = Sequence[tuple[str, int | UserError]]
"""Of each machine that has GPUs, the bytes of its first: (machine, answer)."""

SMALLEST = 0.01
"""The least share that ``auto`` gives."""


@dataclass(frozen=True, slots=True)
class Allotment:
    """``resources``: what each trial gets; with ``shares``, its own share of a GPU besides. ``words`` tell the user."""

    resources: Resources
    words: str
    shares: GpuShares | None = None

    def is_known(self, task: TrialTask) -> bool:
        """Whether ``ordinary`` would answer at once; if not, it is being found out from now on."""
        return self.shares is None or self.shares.is_known(task)

    def ordinary(self, task: TrialTask) -> Resources:
        """What a trial takes as long as it does not run out of memory."""
        return self.resources if self.shares is None else {**self.resources, "gpu": self.shares.share(task)}

    def confined(self, task: TrialTask, taken: Resources) -> TrialTask:
        """The trial, which computes on what it has taken: without a share of a GPU on a CPU, and never on another's."""
        share = taken.get("gpu", 0.0)
        if not share:
            return replace(task, device="cpu")
        limit = None if self.shares is None else self.shares.limit(share)
        return replace(task, device="cuda" if task.device == "auto" else task.device, memory_limit=limit)


def allotted(
    gpus_per_trial: float | Literal["auto"],
    device: str,
    machines: Sequence[Resources],
    *,
    sizes: Callable[[], Answers],
    count: Callable[[TrialTask], Counting],
) -> Allotment:
    """What trials on ``device`` get of ``machines``. ``auto``: on GPUs as much as each needs, without them a CPU alone.

    GPUs that torch finds on no machine are left alone, and the words say so. Raises UserError where ``device`` is a GPU
    and there is none to have, where torch finds the GPUs of some machines alone, and where not a single trial fits.
    """
    if gpus_per_trial == "auto":
        with_gpus = [machine for machine in machines if machine.get("GPU")]
        made = _by_need(sizes(), count, machines) if with_gpus and device != "cpu" else _fixed(0.0, machines)
    else:
        made = _fixed(gpus_per_trial, machines)
    if device not in ("auto", "cpu") and "gpu" not in made.resources:
        raise UserError(
            f"--device {device}: {made.words} (allowed: GPUs that torch finds, and a share of them above 0)"
        )
    if not slots(machines, made.resources):
        raise UserError(
            f"no trial fits: it needs {in_words(made.resources)}, and {_described(machines)} (allowed: larger "
            "machines, or a smaller --gpus-per-trial)"
        )
    return made


def nothing_known(*_: object) -> int:
    """What is answered where no networks are trained: GPUs are then left alone."""
    raise UserError("nothing is known of its GPUs")


def in_words(resources: Resources) -> str:
    """``1 CPU and 0.25 of a GPU``."""
    cpus, gpus = resources.get("cpu", 0.0), resources.get("gpu", 0.0)
    if 0 < gpus < 1:
        return f"{_counted(cpus, 'CPU')} and {gpus:g} of a GPU"
    return f"{_counted(cpus, 'CPU')} and {_counted(gpus, 'GPU')}"


def _fixed(gpus: float, machines: Sequence[Resources]) -> Allotment:
    resources = {"cpu": 1.0, "gpu": float(gpus)} if gpus else {"cpu": 1.0}
    words = f"each trial gets {in_words(resources)}: {slots(machines, resources)} side by side"
    return Allotment(resources, words)


def _by_need(answers: Answers, count: Callable[[TrialTask], Counting], machines: Sequence[Resources]) -> Allotment:
    found = [answer for _, answer in answers if not isinstance(answer, UserError)]
    missing = "; ".join(f"machine {name}: {answer}" for name, answer in answers if isinstance(answer, UserError))
    if not found:
        left = _fixed(0.0, machines)
        return replace(left, words=f"{left.words}; GPUs are left alone ({missing})")
    if missing:
        raise UserError(f"--gpus-per-trial auto: torch finds the GPUs of other machines, but {missing}")
    smallest = min(found)
    words = f"each trial gets 1 CPU and as much of a GPU as it needs; the smallest GPU has {smallest / 1e9:.1f} GB"
    return Allotment({"cpu": 1.0, "gpu": SMALLEST}, words, GpuShares(smallest, count))


def _described(machines: Sequence[Resources]) -> str:
    """What each machine has: ``the machines have: 8 CPUs and 1 GPU (3 times)``."""
    kinds = Counter(in_words({"cpu": has.get("CPU", 0.0), "gpu": has.get("GPU", 0.0)}) for has in machines)
    each = (kind if times == 1 else f"{kind} ({times} of them)" for kind, times in kinds.items())
    return f"the machines have: {'; '.join(each)}"


def _counted(amount: float, unit: str) -> str:
    return f"no {unit}" if not amount else f"{amount:g} {unit}" + ("" if amount == 1 else "s")
