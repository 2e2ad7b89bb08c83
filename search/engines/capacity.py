"""What a cluster has room for, and how large a share of it each trial takes."""

import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence

LOOKED_AT = 2.0
"""Seconds between two looks at a cluster, which grows and shrinks."""

SLACK = 1e-9

Resources = Mapping[str, float]
"""Amounts by name. What is ``cpu`` and ``gpu`` of a trial is ``CPU`` and ``GPU`` of a machine, as ray has it."""


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
    many GPUs they take then, parts of one added up.

    Each is given a place as ray would: on one machine, on whole GPUs or on a part of one. Those without a place wait.
    """

    def __init__(
        self, machines: Callable[[], Sequence[Resources]], gpus_taken: Callable[[float], None] = lambda gpus: None
    ) -> None:
        self._look = machines
        self._gpus_taken = gpus_taken
        self._amounts: list[dict[str, float]] = []
        self._machines: list[Machine] = []
        self._looked = -math.inf
        self._placed: dict[str, tuple[Resources, Machine, tuple[int, ...]]] = {}
        self._waiting: dict[str, Resources] = {}

    def is_full(self) -> bool:
        """Whether a trial waits that was let in: so one at a time does, and no machine."""
        self._current()
        return bool(self._waiting)

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
