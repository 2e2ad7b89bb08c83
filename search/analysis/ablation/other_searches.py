"""Takes the best configs of other searches as rows of an ablation."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from skipstack.data.basis.errors import UserError
from skipstack.data.basis.explain import shown
from skipstack.search.ledger.events import Role
from skipstack.search.study.record.reading import read_finished
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.search.study.record.trial_record import TrialRecord
from skipstack.spaces.changes import differences
from skipstack.spaces.paths import overlap, present, read
from skipstack.spaces.space import Point
from skipstack.spaces.subject import Subject
from skipstack.spaces.trial import CORPUS


def searches_beside(folders: Iterable[Path]) -> dict[str, StudyRecord]:
    """Read the finished searches in ``folders``, and return their records by name. The labels of rows contain these
    names.

    A search has the name of its folder or, if several folders have that name, the folder's path. Raises UserError for a
    folder without a finished search.
    """
    records = {folder: read_finished(folder) for folder in folders}
    names = Counter(folder.resolve().name for folder in records)
    return {
        str(folder) if names[name := folder.resolve().name] > 1 else name: record for folder, record in records.items()
    }


@dataclass(frozen=True, slots=True)
class Best:
    """The best trial of another search, as a row of an ablation.

    ``role``: its role in the ablation. ``trial``: the trial in the other search. ``point``: the trial's values on the
    axes that the other search varies, and on all further axes of the ablated study.
    """

    role: Role
    trial: TrialRecord
    point: Point

    def check(self, config: Subject) -> None:
        """Raise UserError if the trial's config differs from ``config`` in more than the corpus.

        ``config``: the config of ``point`` in the ablated study. A difference means that the other search varies a
        field that is not an axis of the ablated study.
        """
        if unlike := _unlike(config, self.trial.config):
            path, ours, theirs = unlike
            raise UserError(
                f"--beside: {self.role.study}, trial {self.role.winner}, has {theirs} at {path} (allowed: {ours}, "
                "since the study that is ablated has no axis that varies it)"
            )


def best_of_others(record: StudyRecord, others: Mapping[str, StudyRecord]) -> list[Best]:
    """Return the best trial of each of the ``others``, to be compared with the winner of ``record``.

    ``others``: the records of other searches, by name. Raises UserError if a search has no scored trial, or if its base
    differs from that of ``record`` in more than the corpus.
    """
    found = []
    for name, other in others.items():
        if unlike := _unlike(record.study.space.base, other.study.space.base):
            path, ours, theirs = unlike
            raise UserError(
                f"--beside: the base of {name} has {theirs} at {path} (allowed: a search with the base of "
                f"{record.study.name}, which has {ours})"
            )
        if not (best := other.ranked()[:1]):
            raise UserError(f"--beside: no trial of {name} has a score (allowed: a search with a best config)")
        tree = best[0].config.model_dump(mode="json")
        settled = [
            path for path in record.study.space.axes if path not in other.study.space.axes and present(tree, path)
        ]
        point = {path: read(tree, path) for path in settled} | best[0].point
        found.append(Best(Role(kind="beside", winner=best[0].number, study=name), best[0], point))
    return found


def _unlike(ours: Subject, theirs: Subject) -> tuple[str, str, str] | None:
    """Return the first path, apart from the corpus, at which two configs differ, and both values as text. None if there
    is none.
    """
    found = (each for each in differences(ours, theirs) if not overlap(each[0], CORPUS))
    return next(((path, shown(here), shown(there)) for path, here, there in found), None)
