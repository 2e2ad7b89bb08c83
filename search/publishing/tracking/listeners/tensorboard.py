"""``--also tensorboard``: a run for each trial and seed, in the folder ``tensorboard`` of the study."""

import shutil
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from skipstack.search.publishing.tracking.listeners.listener import Listener, StudyInfo, TrialInfo

if TYPE_CHECKING:
    from tensorboardX import SummaryWriter


AT_ONCE: Final = 64
"""Most runs that are open at a time: each is a file and a thread. A run that was closed goes on in a second file."""


class TensorBoardListener(Listener):
    """Scalars by epoch; values of axes and the score as hyperparameters, once a trial has ended."""

    def __init__(self, study: StudyInfo) -> None:
        super().__init__(study)
        self._runs = study.folder / "tensorboard"
        shutil.rmtree(self._runs, ignore_errors=True)  # the ledger has all of it, and is heard from its beginning
        self._open: dict[tuple[str, int], SummaryWriter] = {}
        self._files = 0

    def reported(self, trial: TrialInfo, epoch: int, metrics: Mapping[str, Sequence[float]]) -> None:
        """Write a point of each curve."""
        self._add(trial, metrics, epoch)

    def tested(self, trial: TrialInfo, metrics: Mapping[str, Sequence[float]]) -> None:
        """Write points of their own, under the names of test."""
        self._add(trial, metrics, None)

    def ended(self, trial: TrialInfo, reason: str, score: float | None) -> None:
        """Write how it ended, and a row of the table of hyperparameters."""
        for seed in trial.seeds:
            writer = self._writer(trial, seed)
            writer.add_text("ended", reason)
            if score is not None:
                writer.add_hparams(dict(trial.values), {"score": score}, name="hparams")
            writer.close()
            del self._open[trial.name, seed]

    def close(self) -> None:
        """Write what is not written yet."""
        for writer in self._open.values():
            writer.close()

    def _add(self, trial: TrialInfo, metrics: Mapping[str, Sequence[float]], epoch: int | None) -> None:
        for seed, values in trial.by_seed(metrics):
            for name, value in values.items():
                self._writer(trial, seed).add_scalar(name, value, epoch, walltime=self.now)

    def _writer(self, trial: TrialInfo, seed: int) -> "SummaryWriter":
        from tensorboardX import SummaryWriter

        if (trial.name, seed) not in self._open:
            if len(self._open) == AT_ONCE:
                self._open.pop(next(iter(self._open))).close()
            run = self._runs / trial.name / f"seed {seed}"
            self._files += 1  # names of files have seconds, within which a run may go on in a second one
            self._open[trial.name, seed] = SummaryWriter(str(run), filename_suffix=f".{self._files}")
        return self._open[trial.name, seed]
