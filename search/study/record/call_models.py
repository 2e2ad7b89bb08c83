"""The models that the calls of a user's function have left: files of which nothing is known but their bytes.

In the folder of a trial, each has a folder ``models/seed-0/00000003-0001-000001/``, by epoch, attempt, and number of
the model in its attempt; it holds a whole copy (``whole_copies.py``). Each call keeps the model of the epoch at which
the trial scored best.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from skipstack.search.study.record.folder import BEST, MODELS
from skipstack.search.study.record.trial_record import TrialRecord
from skipstack.search.study.record.whole_copies import CONTENT, whole_in


@dataclass(frozen=True, slots=True)
class CallModel:
    """A model that was copied to the end. ``epoch``: that of the report with which it was given; ``score``: the trial's
    at that epoch; ``name``: that of the file or folder; ``files``: sizes by path; ``versions``: those of the packages
    that its process had loaded.
    """

    folder: Path
    epoch: int
    score: float
    name: str
    files: Mapping[str, int]
    versions: Mapping[str, str]

    @property
    def path(self) -> Path:
        """The file or folder that the function gave."""
        return self.folder / CONTENT / self.name


def models_in(folder: Path) -> list[CallModel]:
    """The whole models of a call, the best first; of equals that of the earliest epoch, and of that the last one."""
    latest_first = whole_in(folder, CallModel)[::-1]
    return sorted(latest_first, key=lambda each: (-each.score, each.epoch))


def models_of(trial: TrialRecord, folder: Path) -> dict[int, CallModel]:
    """The model of each call of a trial, by the number of the call, as far as they left one in the trial's folder."""
    if not (folder / MODELS).exists():
        return {}
    found = {call: models_in(folder / MODELS / trial.replicates.folder(call)) for call in trial.seeds}
    return {call: models[0] for call, models in found.items() if models}


def chosen_model(trial: TrialRecord, folder: Path) -> tuple[int, CallModel] | None:
    """The number of the call, and the model, that stand for a trial: of the calls that left one, that with the best
    score at the trial's best epoch. None where none did.
    """
    models, dev = models_of(trial, folder), trial.dev
    call = max((call for call in models if call in dev), key=dev.__getitem__, default=None)
    return None if call is None else (call, models[call])


def is_exportable(trial: TrialRecord, folder: Path) -> bool:
    """Whether the folder of a trial has the weights of its network, or a model of its function."""
    return (folder / BEST).exists() or bool(models_of(trial, folder))
