"""Values that events carry: an expected gain, the rows of an ablation, and what a worker used of its machine."""

from typing import Literal

from pydantic import JsonValue, NonNegativeInt, PositiveInt

from skipstack.data.basis.frozen import Frozen

RoleKind = Literal["base", "winner", "beside", "without_several", "without", "alone"]


class Gain(Frozen):
    """``trials`` more, which take ``hours`` at the pace so far, would raise the best score by ``most`` at most, in
    expectation, where the seeds of a trial deviate by ``seed_deviation``.

    ``hours`` is what the study asks about, unless a single trial takes longer.
    """

    trials: PositiveInt
    hours: float
    most: float
    seed_deviation: float


class Role(Frozen):
    """Why a row is there: it is the ``base``; a ``winner``; the best config of another search, put ``beside`` the best
    winner; a winner ``without_several`` of its changes, or ``without`` one, taken back; the base with that change
    ``alone``.

    ``winner``: the number of its trial in its search; ``axis``: the one that the change is about, or where the several
    changes are; ``study``: what the other search is called, after its folder.
    """

    kind: RoleKind
    winner: NonNegativeInt | None = None
    axis: str | None = None
    study: str | None = None


class ListedRow(Frozen):
    """A row, with all its ``roles``: equal configs are one. ``point``: in the ablation's space, on its first corpus."""

    roles: tuple[Role, ...]
    point: dict[str, JsonValue]


class LeftOut(Frozen):
    """A row that cannot be, and why, in one line."""

    role: Role
    why: str


class Usage(Frozen):
    """In an epoch: of the ``process`` (its number) that trained it, of its ``machine``, and of the GPU that it used.

    ``process_cpu``: percent of one core, over the epoch; ``machine_cpu``: percent of all cores, by whatever ran there.
    Memory is in bytes, as it was at the epoch's end. ``gpu``: percent of the time, as the driver saw it then, by all
    that used the GPU; None where it does not say it, as of a part of a GPU (MIG). What is of a GPU is None without one.
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
