"""Ablations whose rows are tuned again: every row is searched over the same axes with the same budget, and then its
best config is compared.

Without this, a row is the winner with one change taken back and all else as the search tuned it for the winner. If the
change and, for example, the learning rate depend on each other, the row is worse than it could be, and the change seems
to earn more than it does.
"""

from collections.abc import Iterable, Sequence

from skipstack.data.basis.errors import UserError, unknown
from skipstack.data.basis.frozen import canonical_json
from skipstack.search.analysis.ablation.rows import Rows, joined_paths, space_of_rows
from skipstack.search.ledger.events import LeftOut, ListedRow, Role, Tuning
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.spaces.config import Axis, SpaceConfig
from skipstack.spaces.dependents import without_dependents
from skipstack.spaces.domains import Domain, Json
from skipstack.spaces.paths import inside
from skipstack.spaces.space import Point, Space

TUNED = "training"
"""The fields whose axes are tuned again unless the user says otherwise, apart from axes of ``REGULARISATION``."""

REGULARISATION = ("dropout", "weight_decay", "penalty")
"""Parts of the names of fields that regularise a network."""


def tuned_axes(space: Space, given: Iterable[str]) -> tuple[str, ...]:
    """Return the axes to tune again: those at or inside the ``given`` paths or, without any, those of training and of
    regularisation. Raises UserError for a path without axes, and if no axis remains.
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
    """Return the rows to tune: those that differ in more than the ``tuned`` axes, each with all its roles.

    ``found``: the rows of the plain ablation. A row whose only change is on a tuned axis is left out, since each arm
    finds its own value there. Raises UserError if no row besides the base remains.
    """
    by_rest: dict[str, tuple[Point, list[Role]]] = {}
    for row in found.rows:
        roles = [role for role in row.roles if role.axis is None or not _is_tuned(role.axis, tuned)]
        rest = {axis: value for axis, value in row.point.items() if axis not in tuned}
        if roles:
            by_rest.setdefault(canonical_json(rest), (row.point, []))[1].extend(roles)
    if len(by_rest) < 2:
        raise UserError(
            "--retune: the best config differs from the base on tuned axes alone, so that there is nothing to compare "
            f"(allowed: to leave axes out: --retune-axes with some of {', '.join(tuned)})"
        )
    return tuple(ListedRow(roles=tuple(roles), point=point) for point, roles in by_rest.values())


def _is_tuned(axes: str, tuned: Sequence[str]) -> bool:
    return all(any(inside(axis, path) for axis in tuned) for path in joined_paths(axes))


def space_of_arm(study: SpaceConfig, tuning: Tuning, arm: int) -> SpaceConfig:
    """Return the space of an arm: its base is the config at which the arm starts, and its axes are those to tune that
    are active there. A choice also has the value of the start.
    """
    start, space = tuning.arms[arm].point, Space(study)
    base = Space(space_of_rows(study, [row.point for row in tuning.arms])).config(start)
    tuned = [axis for axis in study.axes if axis in tuning.axes and axis in start]
    kept = {axis: _with(study.axes[axis], space.domains[axis], start[axis]) for axis in tuned}
    fixed = [axis for axis in study.axes if axis not in kept]
    config = study.model_copy(update={"base": base, "axes": kept})
    return without_dependents(config, base.model_dump(mode="json"), space.fields, dict.fromkeys(kept, fixed))[0]


def _with(axis: Axis, domain: Domain, value: Json) -> Axis:
    if axis.choice is None or domain.contains(value):
        return axis
    return axis.model_copy(update={"choice": (*axis.choice, value)})


def tuned_rows(record: StudyRecord, tuning: Tuning) -> tuple[SpaceConfig, Rows]:
    """Return the rows with the best config that each arm has found, and the space that contains them.

    Arms without a scored trial are left out. Raises UserError if fewer than two arms remain.
    """
    found, left_out = list[ListedRow](), list[LeftOut]()
    for place, row in enumerate(tuning.arms):
        if ranked := record.ablations[tuning.first + place].ranked():
            rest = {axis: value for axis, value in row.point.items() if axis not in tuning.axes}
            found.append(ListedRow(roles=row.roles, point={**rest, **ranked[0].point}))
        else:
            left_out += [LeftOut(role=role, why="no trial of its search has a score") for role in row.roles]
    if len(found) < 2:
        raise UserError(f"{len(found)} of {len(tuning.arms)} arms have a score (allowed: two or more to compare)")
    return space_of_rows(record.study.space, [row.point for row in found]), Rows(tuple(found), tuple(left_out))
