"""Tunes the rows of an ablation again: each row gets a search over the same axes with the same budget. Then the best
config of each row is compared.

Without this, a row keeps the values that the search tuned for the winner. If the change that is taken back needs, for
example, another learning rate, the row is worse than it could be, and the change seems to help more than it does.
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress

from pydantic import ValidationError

from skipstack.data.basis.errors import UserError, unknown
from skipstack.data.basis.frozen import canonical_json
from skipstack.search.analysis.ablation.rows import Rows, joined_paths, space_of_rows
from skipstack.search.ledger.events import LeftOut, ListedRow, Role, Tuning
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.spaces.activity import condition
from skipstack.spaces.config import Axis, SpaceConfig
from skipstack.spaces.dependents import without_dependents
from skipstack.spaces.domains import Domain, Json, Range, is_number
from skipstack.spaces.paths import inside, read
from skipstack.spaces.short_names import value_text
from skipstack.spaces.space import Point, Space
from skipstack.spaces.subject import Subject
from skipstack.spaces.trees import Tree

TUNED = "training"
"""The part of the config whose axes are tuned by default, besides those of ``REGULARISATION``."""

REGULARISATION = ("dropout", "weight_decay", "penalty")
"""Texts in the paths of axes that regularise a network."""


def tuned_axes(space: Space, given: Iterable[str]) -> tuple[str, ...]:
    """Return the axes to tune: those at or inside the ``given`` paths or, if none are given, those of training and
    regularisation. Raises UserError for a path without axes, or if there are no axes to tune.
    """
    paths = [path for text in given for path in joined_paths(text)]
    for path in paths:
        if not any(inside(axis, path) for axis in space.domains):
            raise UserError(f"--retune-axes: {unknown('axis', path, list(space.domains))}")
    if paths:
        return tuple(axis for axis in space.domains if any(inside(axis, path) for path in paths))
    found = (axis for axis in space.domains if inside(axis, TUNED) or any(part in axis for part in REGULARISATION))
    if not (usual := tuple(found)):
        raise UserError(
            f"--retune: the study has no axis of training or regularisation (allowed: --retune-axes with one of "
            f"{', '.join(space.domains)})"
        )
    return usual


def arms(found: Rows, tuned: Sequence[str]) -> tuple[ListedRow, ...]:
    """Return the arms: the rows to tune, each by its own search. Rows that differ only on the ``tuned`` axes are joined
    into one, with all their roles.

    ``found``: the rows of the same ablation without tuning. A row that measures only changes on tuned axes is left out,
    since each arm finds its own values there. Raises UserError if fewer than two rows remain.
    """
    rests = [
        canonical_json({axis: value for axis, value in row.point.items() if axis not in tuned}) for row in found.rows
    ]
    of_winner = {
        role.winner: rest
        for row, rest in zip(found.rows, rests, strict=True)
        for role in row.roles
        if role.kind == "winner"
    }

    def is_tuned(role: Role, rest: str) -> bool:
        return rest == of_winner[role.winner] if role.kind == "without_several" else role.axis in tuned

    by_rest: dict[str, tuple[Point, list[Role]]] = {}
    for row, rest in zip(found.rows, rests, strict=True):
        if roles := [role for role in row.roles if not is_tuned(role, rest)]:
            by_rest.setdefault(rest, (row.point, []))[1].extend(roles)
    if len(by_rest) < 2:
        raise UserError(
            "--retune: the best config differs from the base on tuned axes alone, so that there is nothing to compare "
            f"(allowed: to leave axes out: --retune-axes with some of {', '.join(tuned)})"
        )
    return tuple(ListedRow(roles=tuple(roles), point=point) for point, roles in by_rest.values())


def space_of_arm(study: SpaceConfig, tuning: Tuning, arm: int) -> SpaceConfig:
    """Return the space of an arm (the search that tunes a row). Its base is the config of the row, at which the arm
    starts. Its axes are the axes to tune that are active in this config, which also include the row's value
    (``_with``). Its constraints are those of all rows, without those that the study's base breaks.
    """
    start, space = tuning.arms[arm].point, Space(study)
    rows = space_of_rows(study, [row.point for row in tuning.arms])
    base = Space(rows).config(start)
    tuned = [axis for axis in study.axes if axis in tuning.axes and axis in start]
    kept = {axis: _with(study.axes[axis], space.domains[axis], start[axis]) for axis in tuned}
    fixed = [axis for axis in study.axes if axis not in kept]
    config = study.model_copy(update={"base": base, "axes": kept, "constraints": rows.constraints})
    return without_dependents(config, base.model_dump(mode="json"), space.fields, dict.fromkeys(kept, fixed))[0]


def _with(axis: Axis, domain: Domain, value: Json) -> Axis:
    """Return the axis with ``value`` among its values. Choices and ordered values get it as a further one, ordered
    numbers at its place. A range is widened up to it; a range with steps becomes ordered values, since ``value`` need
    not be a step. A range that cannot have ``value`` stays as it is: one of logarithms, for example, has no 0.
    """
    if domain.contains(value):
        return axis
    if axis.choice is not None:
        return axis.model_copy(update={"choice": (*axis.choice, value)})
    if axis.named is not None:
        return axis.model_copy(update={"named": {**axis.named, value_text(value): value}})
    if axis.ordinal is not None or (axis.step is not None and is_number(value)):
        values = (*domain.values, value)
        numbers = sorted(each for each in values if is_number(each))
        ordered: tuple[Json, ...] = tuple(numbers) if len(numbers) == len(values) else values
        return Axis(ordinal=ordered, prior=axis.prior, when=axis.when)
    if isinstance(domain, Range) and is_number(value):
        with suppress(ValidationError):
            return Axis.model_validate({**dict(axis), axis.kind: (min(domain.low, value), max(domain.high, value))})
    return axis


def tuned_rows(record: StudyRecord, tuning: Tuning) -> tuple[SpaceConfig, Rows]:
    """Return the rows with the best config of each arm (the search that tuned the row), and the space that contains
    them.

    On an axis that is not tuned, a row has the value that its arm trained: a tuned kind may activate or deactivate
    other axes. Rows that are equal after that are joined. Arms without a scored trial are left out, and so are roles
    whose change is on an axis that is inactive after the tuning. If too few arms have a score (``are_tuned``), all rows
    have the points at which their arms began.
    """
    if not are_tuned([record.ablations[tuning.first + place] for place in range(len(tuning.arms))]):
        return space_of_rows(record.study.space, [row.point for row in tuning.arms]), Rows(tuning.arms, ())
    found, left_out = dict[str, tuple[Point, list[Role]]](), list[LeftOut]()
    for place, row in enumerate(tuning.arms):
        if ranked := record.ablations[tuning.first + place].ranked():
            point = _trained(record.space, ranked[0].config)
            found.setdefault(canonical_json(point), (point, []))[1].extend(row.roles)
        else:
            left_out += [LeftOut(role=role, why="no trial of its search has a score") for role in row.roles]
    winners = {role.winner: point for point, roles in found.values() for role in roles if role.kind == "winner"}

    def is_active(role: Role, point: Point) -> bool:
        """Whether the config that has the change of ``role`` has its axis. ``point``: the role's own row."""
        changed = winners[role.winner] if role.kind == "without" else point
        return role.kind not in ("without", "alone") or role.axis in changed

    rows = list[ListedRow]()
    for point, roles in found.values():
        for role in roles:
            if role.axis is not None and not is_active(role, point):
                why = f"{role.axis} varies only where {condition(record.space, role.axis)}"
                left_out.append(LeftOut(role=role, why=why))
        if kept := tuple(role for role in roles if is_active(role, point)):
            rows.append(ListedRow(roles=kept, point=point))
    return space_of_rows(record.study.space, [row.point for row in rows]), Rows(tuple(rows), tuple(left_out))


def _trained(space: Space, config: Subject) -> Point:
    tree: Tree = config.model_dump(mode="json")
    return space.compose(lambda path, _: read(tree, path))


def are_tuned(searches: Iterable[StudyRecord]) -> bool:
    """Whether rows are compared at the values that their arms found. ``searches``: the finished searches of all arms.

    At least two of them need a score, and so does that of each winner, with which other rows are compared. Otherwise a
    comparison of untuned rows ends the ablation all the same, since nothing else can begin in the study before it ends.
    """
    found = list(searches)
    return sum(bool(each.ranked()) for each in found) >= 2 and not winner_without_score(found)


def winner_without_score(searches: Iterable[StudyRecord]) -> bool:
    """Whether the search of an arm has no score whose row is a winner (a best config of the study's search)."""
    return any(
        role.kind == "winner"
        for each in searches
        if each.plan is not None and not each.ranked()
        for row in each.plan.rows
        for role in row.roles
    )
