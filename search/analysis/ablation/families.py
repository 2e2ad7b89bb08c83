"""Families of ablations that share one error budget, and the position of a new ablation in its family.

The j-th ablation of a family is tested at the share 1 / (j (j + 1)) of the level: a half, a sixth, a twelfth, and so
on. The shares of any number of ablations add up to less than 1. So the probability that any of them marks a row without
an effect is at most the level (alpha spending, as in Foster and Stine 2008).
"""

import os
from collections.abc import Iterable
from pathlib import Path

from skipstack.search.ledger.events import Ablated, AblationPlanned
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.study.record.folder import StudyFolder


def parts_of(place: int) -> int:
    """Return n if the ablation at this ``place`` in its family is tested at 1 / n of the level. Places count from 1."""
    return place * (place + 1)


def place_in_family(name: str, study: Path, others: Iterable[Path] = ()) -> int:
    """Return the place of the next ablation of a study in the family ``name``.

    The earlier ablations of this family are counted in the ``study``, in all studies in the same folder, and in the
    ``others``, such as studies whose configs are rows of the ablation, or from which the ``study`` learns.
    """
    # ``Path.is_dir`` raises for a folder that may not be read, before Python 3.14.
    beside = (path for path in study.resolve().parent.iterdir() if os.path.isdir(StudyFolder(path).ledger))
    folders = dict.fromkeys(path.resolve() for path in (study, *beside, *others))
    return 1 + sum(len(_ablations(folder, name)) for folder in folders)


def _ablations(study: Path, name: str) -> set[int]:
    """Return the numbers of a family's ablations in a study. The arms and rounds of an ablation count as part of it."""
    found = set[int]()
    for event in Ledger(StudyFolder(study).ledger).only("ablated"):
        if isinstance(event, Ablated) and isinstance(event.event, AblationPlanned) and event.event.family == name:
            plan = event.event
            found.add((plan.continues or event.ablation) if plan.tuning is None else plan.tuning.first)
    return found
