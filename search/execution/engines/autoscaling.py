"""Describes the machines that a cluster's autoscaler can add, and computes how many trials fit them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from skipstack.search.execution.engines.capacity import SMALLEST, Resources, in_words, slots


@dataclass(frozen=True, slots=True)
class MachineType:
    """A type of machine that may join. ``has``: its resources. ``most``: how many may join; None if unlimited."""

    name: str
    has: Resources
    most: int | None = None


@dataclass(frozen=True, slots=True)
class Autoscaling:
    """The machines that may join the cluster. ``types``: their types; None if unknown. ``most``: the largest number of
    machines of all types; None if unlimited. ``head``: the resources of the cluster's head.
    """

    types: tuple[MachineType, ...] | None = None
    most: int | None = None
    head: Resources = field(default_factory=dict)

    def may_hold(self, trial: Resources) -> bool:
        """Whether a trial fits a machine of some type that may join; True if the types are unknown."""
        return self.types is None or any(slots([each.has], trial) for each in self.types)

    def slots(self, trial: Resources) -> int | None:
        """The number of trials that fit in parallel once all machines have joined; None if unlimited or unknown."""
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
        """The machines that may join, in words, such as ``2 CPUs and no GPU (worker, up to 4)``."""
        if self.types is None:
            return "machines that the cluster's autoscaler may start"
        return "; ".join(
            f"{in_words({'cpu': each.has.get('CPU', 0.0), 'gpu': each.has.get('GPU', 0.0)})} ({each.name}"
            + (")" if (most := least(each.most, self.most)) is None else f", up to {most})")
            for each in self.types
        )


def least(*bounds: int | None) -> int | None:
    """The smallest of the bounds. A bound of None means unlimited."""
    return min((bound for bound in bounds if bound is not None), default=None)


def needed(
    gpus_per_trial: float | Literal["auto"],
    device: str,
    machines: Sequence[Resources],
    autoscaling: Autoscaling,
    *,
    cpus: float = 1.0,
) -> Resources:
    """The least resources that any trial needs, known before resources are allocated. ``gpus_per_trial``: the share of
    a GPU for each trial. ``auto`` means the smallest share; but no GPU if ``device`` is ``cpu``, or if no machine has a
    GPU or may join with one. ``machines``: the resources of each machine. ``autoscaling``: the machines that may join.
    """
    if gpus_per_trial != "auto":
        return {"cpu": cpus, "gpu": float(gpus_per_trial)} if gpus_per_trial else {"cpu": cpus}
    everywhere = [*machines, *(each.has for each in autoscaling.types or ())]
    some = {"cpu": cpus, "gpu": SMALLEST}
    return some if device != "cpu" and any(slots([has], some) for has in everywhere) else {"cpu": cpus}
