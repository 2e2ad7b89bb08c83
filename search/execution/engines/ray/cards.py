"""The GPUs of a cluster, told apart: which of them break trial after trial, and are left alone from then on."""

import socket
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import ray

from skipstack.search.execution.engines.room import Machines

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

    Ray takes no wish about which GPU of a machine it gives, so slots without work keep others from a card that is left
    alone (``StudyLoop``).
    """

    def __init__(self) -> None:
        self._row: dict[Card, list[int]] = {}
        """The trials that broke on a card since its last epoch."""
        self._worked: set[Card] = set()
        self._alone: set[Card] = set()

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
        self._alone.add(card)
        return True

    def has_broken(self, card: Card, trial: int) -> bool:
        """Whether a trial broke there since the last epoch that came from there."""
        return trial in self._row.get(card, ())

    def is_left_alone(self, card: Card) -> bool:
        """Whether no trial should be there any more."""
        return card in self._alone

    def left(self, machines: Machines) -> Machines:
        """The machines without the cards that are left alone."""
        if not self._alone:
            return machines
        found = {}
        for machine, (name, has) in machines.items():
            if not any(each.machine == machine and not each.gpus for each in self._alone):
                found[machine] = (name, {**has, "GPU": max(0.0, has.get("GPU", 0.0) - len(self._gone(machine)))})
        return found

    def _gone(self, machine: str) -> set[str]:
        return {gpu for each in self._alone if each.machine == machine for gpu in each.gpus}
