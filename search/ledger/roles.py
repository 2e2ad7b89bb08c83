"""The rows of an ablation, as they were settled before anything of it was measured."""

from typing import Literal

from pydantic import JsonValue, NonNegativeInt

from skipstack.data.basis.frozen import Frozen

RoleKind = Literal["base", "winner", "beside", "without_several", "without", "alone"]


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
