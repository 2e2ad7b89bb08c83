"""Allocates the resources of each trial on a cluster's machines, and again whenever machines have joined or left."""

from collections.abc import Callable, Sequence

from skipstack.data.basis.errors import UserError
from skipstack.search.execution.engines.capacity import Allotment, Answers, Counting, Machines, Resources, slots

Allocate = Callable[[Sequence[Resources], Answers], Allotment]
"""Allocates each trial's resources, given the machines' resources and GPU sizes. Raises UserError if no trial fits."""


class Allocator:
    """Allocates the resources of each trial, and again when the cluster's machines change.

    ``machines`` returns the machines of the cluster, by id. ``allocate`` returns the allotment for these machines.
    ``size`` asks the machine with a given id for the bytes of its GPU, without waiting for the answer. If ``size`` is
    None, no machine is asked. Until all machines have answered, trials get the same resources as before.
    """

    def __init__(
        self, machines: Callable[[], Machines], allocate: Allocate, size: Callable[[str], Counting] | None = None
    ) -> None:
        self._machines = machines
        self._allocate = allocate
        self._size = size
        self._asked: dict[str, Counting] = {}
        self._of: Machines = {}
        """The machines for which resources were last allocated."""
        self._allotment: Allotment | None = None

    @property
    def allotment(self) -> Allotment:
        """The present resources of each trial."""
        assert self._allotment is not None, "it was allocated before the first trial"
        return self._allotment

    @property
    def is_allocated(self) -> bool:
        """Whether resources have been allocated."""
        return self._allotment is not None

    def begin(self) -> Allotment:
        """Ask all machines for the sizes of their GPUs, wait, and allocate. Raises the errors of ``allocate``."""
        now = self._machines()
        self._ask(now)
        return self._made(now, [(now[machine][0], each.answer()) for machine, each in self._asked.items()])

    def look(self) -> bool:
        """Allocate again if the machines have changed. Return whether the allotment or its words changed. If a new
        machine cannot report its GPU's size, the sizes of the others count; a trial on that machine reports the reason.
        """
        now, before = self._machines(), self._allotment
        if before is None or now == self._of or not slots([has for _, has in now.values()], before.resources):
            return False  # if no trial fits any machine, there is nothing to allocate
        self._ask(now)
        if not all(each.is_over() for each in self._asked.values()):
            return False
        answers = [(now[machine][0], each.answer()) for machine, each in self._asked.items()]
        known = [(name, answer) for name, answer in answers if not isinstance(answer, UserError)]
        if answers and not known:
            self._of = now
            return False
        return self._made(now, known) != before

    def _ask(self, now: Machines) -> None:
        """Ask each machine with GPUs for the size of its GPU, unless it was asked before."""
        if self._size is not None:
            with_gpus = [machine for machine, (_, has) in now.items() if has.get("GPU")]
            self._asked = {machine: self._asked.get(machine) or self._size(machine) for machine in with_gpus}

    def _made(self, now: Machines, answers: Answers) -> Allotment:
        made = self._allocate([has for _, has in now.values()], answers)
        self._allotment, self._of = made.after(self._allotment), now
        return self._allotment
