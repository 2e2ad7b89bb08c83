"""Labels of the rows of an ablation, and the reference (another row) that each row is compared with.

The label of a row depends on its role, which says why the row is trained: for example, as the base or as a winner.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from skipstack.search.ledger.events import AblationPlanned, ListedRow, Role, RoleKind
from skipstack.search.study.record.domain_parts import short_name
from skipstack.spaces.short_names import names, names_by_path
from skipstack.spaces.side_effects import side_effects
from skipstack.spaces.space import Space

_REFERENCES: Final[Mapping[RoleKind, RoleKind | None]] = {
    "base": None,
    "winner": "base",
    "beside": "winner",
    "without_several": "winner",
    "without": "winner",
    "alone": "base",
}
"""Maps each kind of role of a row to the kind of role of its reference, the row that it is compared with."""


@dataclass(frozen=True, slots=True)
class Label:
    """A row's name in a table, and the heading of its section; the heading is empty for the base and the winners."""

    section: str
    name: str

    def __str__(self) -> str:
        return f"{self.section}: {self.name}" if self.section else self.name


def label(space: Space, planned: AblationPlanned, role: Role) -> Label:
    """Return the label of a row with this role: the heading of its section, and a name of one of these forms:

    ``base``
    ``winner, trial 7``: the best winner; the second one is ``number 2, trial 9``
    ``tagger, trial 3``: the best config of another search
    ``model.stack.depth: 3 → 5``: one change alone
    ``model.stack.depth: 5 → 3``: one change taken back
    ``model.stack: as in the base``: several changes taken back

    Side effects of a change follow in brackets, as in ``model.stack.depth: 1 → 3 (layer 3 takes a shortcut)``
    (``spaces/side_effects.py``).
    """
    if role.kind == "base":
        return Label("", "base")
    if role.kind == "beside":
        best = _winner(planned, _winners(planned)[0])
        return Label(f"the best of another search, measured from {best}", f"{role.study}, trial {role.winner}")
    winner = _winner(planned, role.winner)
    if role.kind == "winner":
        return Label("", winner)
    assert role.axis is not None, "a change has an axis"
    if role.kind == "without_several":
        return Label(f"several changes taken back, measured from {winner}", f"{role.axis}: as in the base")
    before, after = _values(space, planned, role, role.axis)
    also = _side_effects(space, planned, role, role.axis)
    if role.kind == "without":
        return Label(f"one change taken back, measured from {winner}", f"{role.axis}: {after} → {before}{also}")
    several = "" if len(_winners(planned)) < 2 else f" of {winner}"
    return Label(f"one change{several} alone, measured from the base", f"{role.axis}: {before} → {after}{also}")


def _side_effects(space: Space, planned: AblationPlanned, role: Role, axis: str) -> str:
    """Return a row's differences from its reference besides ``axis``, in brackets; empty if there are none."""
    compared, own = reference(planned, role), next((row for row in planned.rows if role in row.roles), None)
    if compared is None or own is None:  # a row that was left out has no config
        return ""
    effects = side_effects(space.config(own.point), space.config(compared.point), {axis})
    return f" ({', '.join(effects)})" if effects else ""


def row_name(space: Space, planned: AblationPlanned, role: Role) -> str:
    """Return a row's name in words.

    Such names are ``base``, ``winner``, ``without composition``, ``base + depth 5`` and, for the best config of another
    search, ``tagger, trial 3``. The second winner is ``number 2``, and this winner without a change is ``number 2
    without composition``.
    """
    if role.kind == "base":
        return "base"
    if role.kind == "beside":
        return f"{role.study}, trial {role.winner}"
    place = _winners(planned).index(role.winner) + 1
    if role.kind == "winner":
        return "winner" if place == 1 else f"number {place}"
    assert role.axis is not None, "a change has an axis"
    own = "" if place == 1 else f"number {place} "
    if role.kind == "without_several":
        return f"{own}without {' and '.join(names(path.strip() for path in role.axis.split(',')))}"
    short = names_by_path(space.domains)[role.axis]
    if role.kind == "without":
        return f"{own}without {short}"
    return f"base + {short} {_values(space, planned, role, role.axis)[1]}"


def reference_name(planned: AblationPlanned, role: Role) -> str:
    """Return the name of the reference of a row with this role; empty for the base."""
    wanted = _REFERENCES[role.kind]
    if wanted != "winner":
        return wanted or ""
    place = 1 if role.kind == "beside" else _winners(planned).index(role.winner) + 1
    return "winner" if place == 1 else f"number {place}"


def reference(planned: AblationPlanned, role: Role) -> ListedRow | None:
    """Return the reference of a row with this role. None for the base, and if the reference was left out.

    The reference of a winner with changes taken back is that winner. The reference of the best config of another search
    is the best winner. All other rows are compared with the base.
    """
    wanted = _REFERENCES[role.kind]
    best, own = _winners(planned)[0], role.winner
    number = {"beside": best, "without_several": own, "without": own}.get(role.kind)
    return next(
        (
            row
            for row in planned.rows
            for each in row.roles
            if each.kind == wanted and (number is None or each.winner == number)
        ),
        None,
    )


def _winner(planned: AblationPlanned, number: int | None) -> str:
    """Return the label of the winner with this trial number: ``winner, trial 7`` or ``number 2, trial 9``."""
    place = _winners(planned).index(number) + 1
    return f"winner, trial {number}" if place == 1 else f"number {place}, trial {number}"


def _winners(planned: AblationPlanned) -> list[int | None]:
    """Return the trial numbers of the winners, the best winner first."""
    winners = [role.winner for row in planned.rows for role in row.roles if role.kind == "winner"]
    ranks = {number: rank for rank, number in enumerate(planned.winners)}
    return sorted(dict.fromkeys(winners), key=lambda number: ranks.get(number or 0, len(ranks)))


def _values(space: Space, planned: AblationPlanned, role: Role, axis: str) -> tuple[str, str]:
    """Return the base's value on ``axis`` (the default if it is inactive there) and the winner's value, as texts."""
    base = space.base_point()
    winner = next(row.point for row in planned.rows for each in row.roles if _is_winner(each, role))
    domain, before = space.domains[axis], base[axis] if axis in base else space.usual(axis)
    return short_name(domain, before), short_name(domain, winner[axis])


def _is_winner(each: Role, role: Role) -> bool:
    return each.kind == "winner" and each.winner == role.winner
