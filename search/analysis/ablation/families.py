"""Ablations that share one error budget: the place of a new one among those of its name so far.

The j-th ablation of a family is tested at the share 1 / (j (j + 1)) of the level: a half, a sixth, a twelfth, and so
on. The shares add up to 1 however many ablations follow, so the probability that any of them marks a row without an
effect is at most the level (alpha-spending, as in Foster and Stine 2008).
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

from skipstack.search.ledger.events import Ablated, AblationPlanned
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.study.record.folder import StudyFolder


def share_of(place: int) -> float:
    """Return the share of the level of the ablation at this place of its family, counted from 1."""
    return 1 / (place * (place + 1))


def place_in_family(name: str, study: Path, others: Iterable[Path] = ()) -> int:
    """Return the place of the next ablation of a study in the family ``name``.

    Counted are the ablations of this family in the ``study``, in all studies of the folder that it lies in, and in the
    ``others``, such as the studies that it learns from.
    """
    beside = (path for path in study.resolve().parent.iterdir() if StudyFolder(path).ledger.is_dir())
    folders = dict.fromkeys(path.resolve() for path in (study, *beside, *others))
    return 1 + sum(1 for folder in folders for _ in _ablations(folder, name))


def _ablations(study: Path, name: str) -> Iterator[int]:
    """Yield a number for each ablation of the family in a study; the arms and rounds of one ablation count once."""
    found = set[int]()
    for event in Ledger(StudyFolder(study).ledger).only("ablated"):
        if isinstance(event, Ablated) and isinstance(event.event, AblationPlanned) and event.event.family == name:
            plan = event.event
            found.add(plan.continues or (event.ablation if plan.tuning is None else plan.tuning.first))
    yield from sorted(found)
