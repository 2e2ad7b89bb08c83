"""The listener of ``--also tensorboard``, which writes a run for each trial and seed into ``STUDY/tensorboard``."""

import shutil
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from skipstack.search.publishing.tracking.listeners.listener import Listener, StudyInfo, TrialInfo

if TYPE_CHECKING:
    from tensorboardX import SummaryWriter


AT_ONCE: Final = 64
"""The maximum number of open runs: each has a file and a thread. A closed run can continue in a second file."""


class TensorBoardListener(Listener):
    """Writes a TensorBoard run for each trial and seed. The metrics of each epoch are scalars. Once the trial has
    ended, the values of its axes and its score are written as hyperparameters. Earlier runs are deleted first.
    """

    def __init__(self, study: StudyInfo) -> None:
        super().__init__(study)
        self._runs = study.folder / "tensorboard"
        shutil.rmtree(self._runs, ignore_errors=True)  # a listener receives all events from the first
        self._open: dict[tuple[str, int], SummaryWriter] = {}
        self._files = 0

    def reported(self, trial: TrialInfo, epoch: int, metrics: Mapping[str, Sequence[float]]) -> None:
        """Write the metrics of an epoch as points of each seed's scalars."""
        self._add(trial, metrics, epoch)

    def tested(self, trial: TrialInfo, metrics: Mapping[str, Sequence[float]]) -> None:
        """Write the test metrics as scalars with a single point, without an epoch."""
        self._add(trial, metrics, None)

    def ended(self, trial: TrialInfo, reason: str, score: float | None) -> None:
        """Write the reason of the end and, if there is a score, hyperparameters. Then close the trial's runs."""
        for seed in trial.seeds:
            writer = self._writer(trial, seed)
            writer.add_text("ended", reason)
            if score is not None:
                writer.add_hparams(dict(trial.values), {"score": score}, name="hparams")
            writer.close()
            del self._open[trial.name, seed]

    def close(self) -> None:
        """Close the runs of trials that have not ended, so that all their data is written."""
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
            # The default name of a file has the time in seconds only, and a run may get a second file within a second.
            self._files += 1
            self._open[trial.name, seed] = SummaryWriter(str(run), filename_suffix=f".{self._files}")
        return self._open[trial.name, seed]
