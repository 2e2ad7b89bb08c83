"""Machines that join in the midst of a study: each is asked once whether it sees its folder, and nobody waits."""

from dataclasses import dataclass

from skipstack.data.basis.errors import UserError
from skipstack.search.execution.engines.new_machines import NewMachines


@dataclass
class Asked:
    """A question that is over once it is ``told`` an answer."""

    told: object = None

    def is_over(self) -> bool:
        return self.told is not None

    def answer(self) -> object:
        return self.told


def test_those_that_join_are_asked_once_and_counted_when_they_answer() -> None:
    asked: dict[str, Asked] = {}

    def ask(machine: str) -> Asked:
        assert machine not in asked, "each is asked once"
        return asked.setdefault(machine, Asked())

    new_machines = NewMachines(["head"], ask)
    assert new_machines.unseeing(["head"]) == 0
    assert not asked, "the head was asked before the study"
    assert new_machines.unseeing(["head", "a", "b", "c"]) == 0
    asked["b"].told = True
    asked["c"].told = UserError("no answer within 120 s")
    assert new_machines.unseeing(["head", "a", "b", "c", "d"]) == 0, "what is not known is not said"
    asked["a"].told = asked["d"].told = False
    assert new_machines.unseeing(["head", "a", "c", "d"]) == 2
    assert new_machines.unseeing(["head", "a", "c", "d"]) == 0, "they are counted once"
