"""The machines that a cluster's autoscaler can add to it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from skipstack.search.execution.engines.capacity import SMALLEST, Resources, in_words, slots


@dataclass(frozen=True, slots=True)
class MachineType:
    """A kind of machine that may join: the resources of each, and how many there may be; ``most`` None: any number."""

    name: str
    has: Resources
    most: int | None = None


@dataclass(frozen=True, slots=True)
class Autoscaling:
    """The machines that may join. ``types``: their kinds, None if the autoscaler does not tell them; ``most``: the
    largest number of all together, None: any; ``head``: the resources of the machine that is always there.
    """

    types: tuple[MachineType, ...] | None = None
    most: int | None = None
    head: Resources = field(default_factory=dict)

    def may_hold(self, trial: Resources) -> bool:
        """Whether some machine that may join has room for a trial, as far as is known."""
        return self.types is None or any(slots([each.has], trial) for each in self.types)

    def slots(self, trial: Resources) -> int | None:
        """Number of such trials that run in parallel once all machines have joined; None if nothing bounds it."""
        if self.types is None:
            return None
        left, count = self.most, slots([self.head], trial)
        kinds = [(slots([each.has], trial), each.most) for each in self.types]
        for room, most in sorted(kinds, key=lambda kind: -kind[0]):
            machines = least(left, most)
            if room and machines is None:
                return None
            count += room * (machines or 0)
            left = None if left is None else left - (machines or 0)
        return count

    def in_words(self) -> str:
        """The machines that may join, in words: ``2 CPUs and no GPU (worker, up to 4)``."""
        if self.types is None:
            return "machines that the cluster's autoscaler may start"
        return "; ".join(
            f"{in_words({'cpu': each.has.get('CPU', 0.0), 'gpu': each.has.get('GPU', 0.0)})} ({each.name}"
            + (")" if (most := least(each.most, self.most)) is None else f", up to {most})")
            for each in self.types
        )


def least(*bounds: int | None) -> int | None:
    """The smallest of the bounds, where None stands for no bound."""
    return min((bound for bound in bounds if bound is not None), default=None)


def needed(
    gpus_per_trial: float | Literal["auto"],
    device: str,
    machines: Sequence[Resources],
    autoscaling: Autoscaling,
    *,
    cpus: float = 1.0,
) -> Resources:
    """The least that a trial needs of one machine, before the resources of each trial are settled: with ``auto`` a part
    of a GPU if the cluster has GPUs or may get some.
    """
    if gpus_per_trial != "auto":
        return {"cpu": cpus, "gpu": float(gpus_per_trial)} if gpus_per_trial else {"cpu": cpus}
    everywhere = [*machines, *(each.has for each in autoscaling.types or ())]
    some = {"cpu": cpus, "gpu": SMALLEST}
    return some if device != "cpu" and any(slots([has], some) for has in everywhere) else {"cpu": cpus}
