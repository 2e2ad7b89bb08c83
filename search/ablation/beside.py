"""The best config of another search, as a row of an ablation."""

from skipstack.data.basis.errors import UserError
from skipstack.data.basis.explain import shown
from skipstack.search.ledger.roles import Role
from skipstack.search.study.preparation import CORPUS
from skipstack.search.study.records.study_record import StudyRecord
from skipstack.spaces.paths import overlap
from skipstack.spaces.space import Point


def best_of_another(record: StudyRecord, other: StudyRecord) -> tuple[Role, Point]:
    """The point of the best config of the search ``other``, and its role beside the winner of ``record``.

    Both begin with the same config, but for their corpus, and vary the same axes, of which either may allow more: so
    one config differs from the other by values of these axes alone. Raises UserError where they do not, and where no
    trial of ``other`` has a score.
    """
    name = other.study.name
    ours, theirs = (each.study.space.base.flatten() for each in (record, other))
    for path in {**ours, **theirs}:
        if not overlap(path, CORPUS) and ours.get(path) != theirs.get(path):
            raise UserError(
                f"--beside: the base of {name} has {shown(theirs.get(path))} at {path} (allowed: a search with the "
                f"base of {record.study.name}, which has {shown(ours.get(path))})"
            )
    if unlike := sorted(other.study.space.axes.keys() ^ record.study.space.axes.keys()):
        raise UserError(
            f"--beside: only one of {record.study.name} and {name} varies {unlike[0]} (allowed: searches of the same "
            "axes)"
        )
    if not (best := other.ranked()[:1]):
        raise UserError(f"--beside: no trial of {name} has a score (allowed: a search with a best config)")
    return Role(kind="beside", winner=best[0].number, study=name), best[0].point
