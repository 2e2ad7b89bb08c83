"""What may join a cluster: the machines that its autoscaler can start."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from skipstack.search.execution.engines.room import SMALLEST, Resources, in_words, slots


@dataclass(frozen=True, slots=True)
class MachineType:
    """Machines of one kind that may join: what each has, and how many there may be; ``most`` None: any number."""

    name: str
    has: Resources
    most: int | None = None


@dataclass(frozen=True, slots=True)
class Growth:
    """``types``: the machines that may join, None where the autoscaler does not tell them; ``most``: of all together,
    None: any number; ``head``: what the machine has that is always there.
    """

    types: tuple[MachineType, ...] | None = None
    most: int | None = None
    head: Resources = field(default_factory=dict)

    def may_hold(self, trial: Resources) -> bool:
        """Whether some machine that may join has room for a trial, as far as is known."""
        return self.types is None or any(slots([each.has], trial) for each in self.types)

    def places(self, trial: Resources) -> int | None:
        """How many such trials the cluster holds side by side once all have joined; None where nothing bounds them."""
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
        """What may join: ``2 CPUs and no GPU (worker, up to 4)``."""
        if self.types is None:
            return "machines that the cluster's autoscaler may start"
        return "; ".join(
            f"{in_words({'cpu': each.has.get('CPU', 0.0), 'gpu': each.has.get('GPU', 0.0)})} ({each.name}"
            + (")" if (most := least(each.most, self.most)) is None else f", up to {most})")
            for each in self.types
        )


def least(*bounds: int | None) -> int | None:
    """The least of bounds, of which None is none."""
    return min((bound for bound in bounds if bound is not None), default=None)


def needed(
    gpus_per_trial: float | Literal["auto"],
    device: str,
    machines: Sequence[Resources],
    growth: Growth,
    *,
    cpus: float = 1.0,
) -> Resources:
    """What a trial needs at least of one machine, before it is known what each gets: with ``auto`` some of a GPU
    wherever the cluster has GPUs or may get some.
    """
    if gpus_per_trial != "auto":
        return {"cpu": cpus, "gpu": float(gpus_per_trial)} if gpus_per_trial else {"cpu": cpus}
    everywhere = [*machines, *(each.has for each in growth.types or ())]
    some = {"cpu": cpus, "gpu": SMALLEST}
    return some if device != "cpu" and any(slots([has], some) for has in everywhere) else {"cpu": cpus}
