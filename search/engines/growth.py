"""What may join a cluster: the machines that its autoscaler can start, and how many places to ask of it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from skipstack.search.engines.room import SMALLEST, Resources, in_words, slots

MOST_PLACES: Final = 1000
"""That are asked for at once: packing them into machines takes an autoscaler its time."""


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


class Asking:
    """How many places to ask for, one number after another. Some autoscalers refuse all of a request of which they
    cannot fulfil a part: then half as many are asked for, and more once those are there, until it is known how many
    they are.
    """

    def __init__(self) -> None:
        self._accepted = 0
        self._refused: int | None = None
        """The least that was refused."""

    def places(self, ready: int, have: int, bound: int | None = None) -> int:
        """For ``ready`` trials, where ``have`` places are there; ``bound``: as many as there can ever be."""
        wanted = least(ready, bound, MOST_PLACES)
        assert wanted is not None, "how many are ready is known"
        if self._refused is None or wanted < self._refused:
            return wanted
        if have < self._accepted:
            return self._accepted  # who is refused meanwhile might get none of them
        accepted = min(have, self._refused - 1)
        return (accepted + self._refused) // 2

    def answered(self, places: int, *, accepted: bool) -> None:
        """So many were asked for."""
        if not places:
            return
        if accepted:
            self._accepted = max(self._accepted, places)
            if self._refused is not None and self._refused <= places:  # the cluster is another one by now
                self._refused = None
        else:
            self._refused = least(self._refused, places)
            self._accepted = min(self._accepted, places - 1)

    @property
    def hopeless(self) -> bool:
        """Whether not a single place is to be had."""
        return self._refused is not None and self._refused <= 1
