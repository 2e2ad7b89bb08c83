"""The GPUs of a cluster, told apart: which of them break trial after trial, and are left alone from then on."""

import socket
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import ray
from ray.exceptions import RayError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from skipstack.search.engines.room import Machines, Resources

IN_A_ROW: Final = 3
"""After so many breaks in a row, without an epoch in between, a card is left alone."""

TRIALS_IN_A_ROW: Final = 2
"""So many trials must have broken there: one alone may be what breaks it."""


@dataclass(frozen=True, slots=True)
class Card:
    """The GPUs of a machine that a process may use, by their numbers there; none, where Ray gave it none.

    ``machine``: the id of its node; ``name``: for people.
    """

    machine: str
    name: str
    gpus: tuple[str, ...]

    @property
    def words(self) -> str:
        """``GPU 3 of machine HOST (ADDRESS)``."""
        if not self.gpus:
            return f"machine {self.name}"
        return f"GPU{'s' if len(self.gpus) > 1 else ''} {' and '.join(self.gpus)} of machine {self.name}"


@lru_cache(maxsize=1)
def this_card() -> Card:
    """That of this process of the cluster."""
    here = ray.get_runtime_context()
    name = f"{socket.gethostname()} ({ray.util.get_node_ip_address()})"
    return Card(here.get_node_id(), name, tuple(here.get_accelerator_ids().get("GPU", ())))


class Cards:
    """What is known of the cards of a cluster while a study runs: breaks in a row, and those that are left alone.

    A card that is left alone is taken by a process that does nothing (``Fence``). Until that has it, and where the
    machine has no other card, no worker starts there. Ray takes no wish about which GPU of a machine it gives.
    """

    def __init__(self) -> None:
        self._row: dict[Card, list[int]] = {}
        """The trials that broke on a card since its last epoch."""
        self._worked: set[Card] = set()
        self._alone: dict[Card, Fence | None] = {}

    @property
    def any_left_alone(self) -> bool:
        """Whether there is one."""
        return bool(self._alone)

    def worked(self, card: Card) -> None:
        """An epoch, or a measurement, came from there."""
        self._row.pop(card, None)
        self._worked.add(card)

    def has_worked(self, card: Card) -> bool:
        """Whether anything ever came from there."""
        return card in self._worked

    def broke(self, card: Card, trial: int) -> bool:
        """A process broke there with this trial; whether the card is left alone because of that, which is new."""
        row = self._row.setdefault(card, [])
        row.append(trial)
        if self.is_left_alone(card) or len(row) < IN_A_ROW or len(set(row)) < TRIALS_IN_A_ROW:
            return False
        self._alone[card] = None
        return True

    def is_left_alone(self, card: Card) -> bool:
        """Whether no trial should be there any more."""
        return card in self._alone

    def left(self, machines: Machines) -> Machines:
        """The machines without the cards that are left alone."""
        found = {}
        for machine, (name, has) in machines.items():
            if not any(each.machine == machine and not each.gpus for each in self._alone):
                found[machine] = (name, {**has, "GPU": max(0.0, has.get("GPU", 0.0) - len(self._gone(machine)))})
        return found

    def avoided(self, machines: Machines) -> frozenset[str]:
        """The machines on which no worker may start now. Fences are put up, as far as that is not done."""
        return frozenset(
            card.machine for card in self._alone if card.machine in machines and not self._is_fenced(card, machines)
        )

    def close(self) -> None:
        """Give up all fences."""
        for fence in self._alone.values():
            if fence is not None:
                fence.close()
        self._alone.clear()

    def _gone(self, machine: str) -> set[str]:
        return {gpu for each in self._alone if each.machine == machine for gpu in each.gpus}

    def _is_fenced(self, card: Card, machines: Machines) -> bool:
        has: Resources = machines[card.machine][1]
        if not card.gpus or has.get("GPU", 0.0) <= len(self._gone(card.machine)):
            return False  # there is nothing else on this machine
        fence = self._alone[card]
        if fence is None:
            fence = self._alone[card] = Fence(card, int(has["GPU"]))
        return fence.is_up()


class Fence:
    """Takes the GPUs of ``card`` for processes that do nothing. One asks for each of the machine's ``gpus``, whole;
    those that get another keep it until these are found, since Ray would give it to them again.
    """

    def __init__(self, card: Card, gpus: int) -> None:
        there = NodeAffinitySchedulingStrategy(card.machine, soft=False)
        self._missing = set(card.gpus)
        self._holders: list[Any] = [
            ray.remote(Holder).options(num_cpus=0, num_gpus=1, scheduling_strategy=there).remote() for _ in range(gpus)
        ]
        self._asked: Mapping[Any, Any] = {holder.gpu.remote(): holder for holder in self._holders}

    def is_up(self) -> bool:
        """Whether the card is held by now."""
        if not self._missing or not self._asked:
            return not self._missing
        done, _ = ray.wait(list(self._asked), num_returns=len(self._asked), timeout=0)
        found = {}
        for each in done:
            with suppress(RayError):  # its machine is lost, and the card with it
                found[ray.get(each)] = self._asked[each]
        if not self._missing <= found.keys():
            return False
        held = [found[gpu] for gpu in self._missing]
        self._end([holder for holder in self._holders if holder not in held])
        self._holders, self._missing = held, set()
        return True

    def close(self) -> None:
        """Let go of all."""
        self._end(self._holders)
        self._holders = []

    @staticmethod
    def _end(holders: list[Any]) -> None:
        for holder in holders:
            with suppress(RayError):
                ray.kill(holder)


class Holder:
    """A process that holds a GPU and does nothing with it."""

    def gpu(self) -> str:
        """Its number on the machine."""
        return this_card().gpus[0]
