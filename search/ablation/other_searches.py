"""The best configs of other searches, as rows of an ablation."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from skipstack.data.basis.errors import UserError
from skipstack.data.basis.explain import shown
from skipstack.search.driver.preparation import CORPUS
from skipstack.search.ledger.event_values import Role
from skipstack.search.record.reading import read_finished
from skipstack.search.record.study_record import StudyRecord
from skipstack.search.record.trial_record import TrialRecord
from skipstack.spaces.changes import differences
from skipstack.spaces.paths import overlap, present, read
from skipstack.spaces.space import Point
from skipstack.spaces.subject import Subject


def searches_beside(folders: Iterable[Path]) -> dict[str, StudyRecord]:
    """Finished searches by what their rows are called: the name of the folder, or its path where two have that name.

    Raises UserError for a folder without a finished search.
    """
    records = {folder: read_finished(folder) for folder in folders}
    names = Counter(folder.resolve().name for folder in records)
    return {
        str(folder) if names[name := folder.resolve().name] > 1 else name: record for folder, record in records.items()
    }


@dataclass(frozen=True, slots=True)
class Best:
    """The best trial of another search, its ``role`` in an ablation, and what it has on the axes of the ablated study,
    of which its own search may vary only some.
    """

    role: Role
    trial: TrialRecord
    point: Point

    def check(self, config: Subject) -> None:
        """Raise UserError where ``config``, which the point gives, is not the trial's, but for the corpus: then the
        other search varies what the ablated study does not.
        """
        if unlike := _unlike(config, self.trial.config):
            path, ours, theirs = unlike
            raise UserError(
                f"--beside: {self.role.study}, trial {self.role.winner}, has {theirs} at {path} (allowed: {ours}, "
                "since the study that is ablated has no axis that varies it)"
            )


def best_of_others(record: StudyRecord, others: Mapping[str, StudyRecord]) -> list[Best]:
    """What is put beside the winner of ``record``, of each of the ``others``, by their names.

    All begin with the same config, but for their corpus. Raises UserError where one does not, and where no trial of it
    has a score.
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
    """The first path, but for the corpus's, at which two configs differ, and what they have there."""
    found = (each for each in differences(ours, theirs) if not overlap(each[0], CORPUS))
    return next(((path, shown(here), shown(there)) for path, here, there in found), None)
