"""Values that events carry: a gain, hours that are over, the rows of an ablation, and what a worker used of its
machine.
"""

from typing import Annotated, Literal

from pydantic import Field, JsonValue, NonNegativeInt, PositiveInt

from skipstack.data.basis.frozen import Frozen

RoleKind = Literal["base", "winner", "beside", "without_several", "without", "alone"]


class Gain(Frozen):
    """The expected gain of further trials: ``trials`` more, which take ``hours`` at the pace so far, raise the best
    score by at most ``most`` in expectation; the seeds of a trial deviate by ``seed_deviation``.

    ``hours`` is the study's ``search.enough.hours``, unless a single trial takes longer.
    """

    trials: PositiveInt
    hours: float
    most: float
    seed_deviation: float


class HoursOver(Frozen):
    """The ``hours`` of a study (``search.hours``), which are over; ``left_out``: trials that were still to start."""

    hours: Annotated[float, Field(gt=0)]
    left_out: NonNegativeInt


class Role(Frozen):
    """The reason for a row: it is the ``base``; a ``winner``; the best config of another search, compared with the best
    winner (``beside``); a winner with several changes taken back (``without_several``), or with one (``without``); or
    the base with one change ``alone``.

    ``winner``: its trial number in its search; ``axis``: the axis of the change, or the path of several changes;
    ``study``: the name of the other search, after its folder.
    """

    kind: RoleKind
    winner: NonNegativeInt | None = None
    axis: str | None = None
    study: str | None = None


class ListedRow(Frozen):
    """A row with all its ``roles``; equal configs share a row. ``point``: in the ablation's space, on its first
    corpus.
    """

    roles: tuple[Role, ...]
    point: dict[str, JsonValue]


class LeftOut(Frozen):
    """A row that the space does not allow, and the reason in one line."""

    role: Role
    why: str


class Usage(Frozen):
    """CPU, memory and GPU use in an epoch, of the ``process`` (its number) that trained it and of its ``machine``.

    ``process_cpu``: percent of one core over the epoch; ``machine_cpu``: percent of all cores, by all processes.
    Memory is in bytes at the epoch's end. ``gpu``: percent of busy time at the epoch's end, by all processes; None if
    the driver does not report it, as for a part of a GPU (MIG). All GPU fields are None without a GPU.
    """

    machine: str
    process: NonNegativeInt
    process_cpu: float
    process_memory: NonNegativeInt
    machine_cpu: float
    machine_memory: NonNegativeInt
    machine_memory_total: NonNegativeInt
    gpu: float | None = None
    gpu_memory: NonNegativeInt | None = None
    gpu_memory_total: NonNegativeInt | None = None
