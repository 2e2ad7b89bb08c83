"""Finds the models that the calls of a user's function reported, whatever the format of their files.

A model is stored in the folder of its trial, in a folder such as ``models/seed-0/00000003-0001-000001/``. The last part
of this path gives the epoch, the attempt, and the number of the model in that attempt. The folder holds a complete copy
of the model (``whole_copies.py``). Of a call's models, only the best is kept (the first of ``models_in``).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from skipstack.search.study.record.folder import BEST, MODELS
from skipstack.search.study.record.trial_record import TrialRecord
from skipstack.search.study.record.whole_copies import CONTENT, whole_in


@dataclass(frozen=True, slots=True)
class CallModel:
    """A complete copy of a model.

    ``epoch``: the epoch of the report that passed the model. ``score``: the trial's score at that epoch. ``name``: the
    name of the model's file or folder. ``files``: the sizes of the model's files in bytes, by path. ``versions``: the
    versions of the packages that the function's process had loaded.
    """

    folder: Path
    epoch: int
    score: float
    name: str
    files: Mapping[str, int]
    versions: Mapping[str, str]

    @property
    def path(self) -> Path:
        """The copy of the file or folder that the function reported."""
        return self.folder / CONTENT / self.name


def models_in(folder: Path) -> list[CallModel]:
    """Return the complete models in the ``folder`` of a call, the best first. In a tie, the earliest epoch comes first,
    and within an epoch the latest model.
    """
    latest_first = whole_in(folder, CallModel)[::-1]
    return sorted(latest_first, key=lambda each: (-each.score, each.epoch))


def models_of(trial: TrialRecord, folder: Path) -> dict[int, CallModel]:
    """Return the best model of each call that has one, by the call's number. ``folder``: the trial's folder. A killed
    process may have left models of epochs that the ledger lacks, which do not count.
    """
    if not (folder / MODELS).exists():
        return {}
    last = trial.reports[-1].epoch if trial.reports else 0
    found = {
        call: [each for each in models_in(folder / MODELS / trial.replicates.folder(call)) if each.epoch <= last]
        for call in trial.seeds
    }
    return {call: models[0] for call, models in found.items() if models}


def chosen_model(trial: TrialRecord, folder: Path) -> tuple[int, CallModel] | None:
    """Choose the model that represents a trial in exports: the model of the call with the best score at the best epoch.

    Returns the number of the call and its model; None if no call with a model has a dev score. ``folder``: the trial's
    folder.
    """
    models, dev = models_of(trial, folder), trial.dev
    call = max((call for call in models if call in dev), key=dev.__getitem__, default=None)
    return None if call is None else (call, models[call])


def is_exportable(trial: TrialRecord, folder: Path) -> bool:
    """Whether a trial has weights of its network, or a model of its function, in its ``folder``."""
    return (folder / BEST).exists() or bool(models_of(trial, folder))
