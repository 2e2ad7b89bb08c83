"""Names the rows of an ablation, and finds the reference of each row: the other row with which it is compared.

The name of a row depends on its role, such as base or winner (a best config of the search). It names the winner or the
change whose gain the row measures. The gain of a change is the score of a config with the change minus the score of the
same config without it, even if the row is the config without the change. So a positive gain always speaks for the
change.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from skipstack.search.analysis.ablation.rows import joined_paths
from skipstack.search.ledger.events import AblationPlanned, ListedRow, Role, RoleKind
from skipstack.spaces.domains import Json
from skipstack.spaces.short_names import names, names_by_path, short_name
from skipstack.spaces.side_effects import brought_along, change_name
from skipstack.spaces.space import Space

_REFERENCES: Final[Mapping[RoleKind, RoleKind | None]] = {
    "base": None,
    "winner": "base",
    "beside": "winner",
    "without_several": "winner",
    "without": "winner",
    "alone": "base",
}
"""Maps the kind of a row's role to the kind of its reference's role."""

TAKEN_BACK: Final = ("without", "without_several")
"""The kinds of roles whose rows lack the change that they measure, while their references have it."""


@dataclass(frozen=True, slots=True)
class Label:
    """The names of a row, the same in every table, chart and run.

    ``section``: the heading of its section; empty for the base and the winners. ``name``: the winner or the change
    whose gain the row measures. ``over``: the config over which the gain is measured; empty for the base. ``run``: the
    name of the row's run in MLflow, which also says what was trained.
    """

    section: str
    name: str
    over: str
    run: str

    def __str__(self) -> str:
        return f"{self.section}: {self.name}" if self.section else self.name


def label(space: Space, planned: AblationPlanned, role: Role) -> Label:
    """Return the names of a row with this role. Examples of ``name`` and ``over``:

    - ``base``
    - ``winner``: the best winner; the second one is ``number 2``
    - ``the best of tagger``: the best config of another search, over the winner
    - ``depth 5 beside 3``: a change, over the winner without it or over the base
    - ``all changes of model.stack``: several changes, over the winner without them

    The side effects of a change follow in brackets, as in ``depth 3 beside 1 (with a shortcut into layer 3)``
    (``spaces/side_effects.py``).
    """
    if role.kind == "base":
        return Label("", "base", "", "base")
    if role.kind == "beside":
        name = f"the best of {role.study}"
        return Label("the best of other searches", name, "winner", name)
    winner = _winner(planned, role)
    if role.kind == "winner":
        return Label("", winner, "base", winner)
    assert role.axis is not None, "a change has an axis"
    of_winner = f"the {winner}" if winner == "winner" else winner
    if role.kind == "without_several":
        over = f"{winner} without them"
        what = " and ".join(names(joined_paths(role.axis)))
        return Label(f"several changes in {of_winner}, together", f"all changes of {what}", over, f"{what}: {over}")
    before, value = _values(space, planned, role, role.axis)
    name = change_name(
        space,
        role.axis,
        value,
        _brought_along(space, planned, role, role.axis),
        beside=short_name(space.domains[role.axis], before),
    )
    short = change_name(space, role.axis, value)
    if role.kind == "without":
        over = f"{winner} without it"
        return Label(f"each change in {of_winner}", name, over, f"{short}: {over}")
    several = "" if len(_winners(planned)) < 2 else f" of {of_winner}"
    return Label(f"each change{several} in the base, alone", name, "base", f"{short}: base with it")


def _brought_along(space: Space, planned: AblationPlanned, role: Role, axis: str) -> tuple[str, ...]:
    """Return the side effects of a row's change; empty for a row that was left out, since it has no config."""
    compared, own = reference(planned, role), next((row for row in planned.rows if role in row.roles), None)
    if compared is None or own is None:
        return ()
    having, lacking = (compared, own) if role.kind in TAKEN_BACK else (own, compared)
    return brought_along(space, space.config(having.point), space.config(lacking.point), axis)


def row_name(space: Space, planned: AblationPlanned, role: Role) -> str:
    """Return the name of the config that was trained for a row. In MLflow, the tag ``skipstack.row`` has this name.

    Examples are ``base``, ``winner``, ``without composition``, ``base + depth 5`` and, for the best config of another
    search, ``tagger, trial 3``. The second winner is ``number 2``; with its change of the composition taken back, it is
    ``number 2 without composition``.
    """
    if role.kind == "base":
        return "base"
    if role.kind == "beside":
        return f"{role.study}, trial {role.winner}"
    winner = _winner(planned, role)
    if role.kind == "winner":
        return winner
    assert role.axis is not None, "a change has an axis"
    own = "" if winner == "winner" else f"{winner} "
    if role.kind == "without_several":
        return f"{own}without {' and '.join(names(joined_paths(role.axis)))}"
    if role.kind == "without":
        return f"{own}without {names_by_path(space.domains)[role.axis]}"
    _, value = _values(space, planned, role, role.axis)
    return f"base + {change_name(space, role.axis, value)}"


def reference_name(planned: AblationPlanned, role: Role) -> str:
    """Return the name of the reference of a row with this role, as in ``row_name``; empty for the base."""
    wanted = _REFERENCES[role.kind]
    if wanted != "winner":
        return wanted or ""
    return "winner" if role.kind == "beside" else _winner(planned, role)


def reference(planned: AblationPlanned, role: Role) -> ListedRow | None:
    """Return the reference of a row with this role. None for the base, or if the reference was left out.

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


def _winner(planned: AblationPlanned, role: Role) -> str:
    """Return the name of the winner of a role: ``winner`` for the best one, ``number 2`` for the second, and so on."""
    place = _winners(planned).index(role.winner) + 1
    return "winner" if place == 1 else f"number {place}"


def _winners(planned: AblationPlanned) -> list[int | None]:
    """Return the trial numbers of the winners (the best configs of the search), the best winner first.

    A round of seeds may have no row of a winner. Ledgers of version 0.2.0, whose plans do not list the winners, have no
    rounds.
    """
    if planned.winners:
        return list(planned.winners)
    winners = [role.winner for row in planned.rows for role in row.roles if role.kind == "winner"]
    return list(dict.fromkeys(winners))


def winners_in_words(planned: AblationPlanned) -> str:
    """Return a sentence with the winners' trial numbers in the search: ``The winner is trial 7 of the search.``

    Tables of an ablation show the numbers of the ablation's own trials instead.
    """
    best, *others = _winners(planned)
    more = "".join(f", number {place} is trial {number}" for place, number in enumerate(others, start=2))
    return f"The winner is trial {best} of the search{more}."


def _values(space: Space, planned: AblationPlanned, role: Role, axis: str) -> tuple[Json, Json]:
    """Return the base's value on ``axis`` (the default if the axis is inactive in the base), and the winner's value."""
    base = space.base_point()
    having = (
        row for row in planned.rows if axis in row.point and any(_has_value(each, role, axis) for each in row.roles)
    )
    value = next(row.point[axis] for row in having)
    return base[axis] if axis in base else space.usual(axis), value


def _has_value(each: Role, role: Role, axis: str) -> bool:
    """Whether a row with the role ``each`` has the value on ``axis`` of the winner of ``role``. A round of seeds may
    have the winner's change alone, without the winner.
    """
    alone = each.kind == "alone" and each.axis == axis
    return each.winner == role.winner and (alone or each.kind == "winner")
