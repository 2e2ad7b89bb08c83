"""The listener of ``--also wandb``, which writes an offline W&B run for each trial and seed into ``STUDY/wandb``.
Nothing is sent to W&B, unless the user runs `wandb sync STUDY/wandb/offline-run-*`.
"""

import shutil
from collections.abc import Mapping, Sequence
from typing import Any

from skipstack.search.publishing.tracking.listeners.listener import Listener, StudyInfo, TrialInfo


class WandbListener(Listener):
    """Writes a W&B run for each trial and seed, with the metrics of each epoch. The run's config has the values of the
    axes. Its summary has the score and the reason of the trial's end. Earlier runs are deleted first.
    """

    def __init__(self, study: StudyInfo) -> None:
        super().__init__(study)
        runs = study.folder / "wandb"
        shutil.rmtree(runs, ignore_errors=True)  # all events are received again
        self._open: dict[tuple[str, int], Any] = {}

    def reported(self, trial: TrialInfo, epoch: int, metrics: Mapping[str, Sequence[float]]) -> None:
        """Log the metrics of an epoch as a step of each seed's run."""
        for seed, values in trial.by_seed(metrics):
            self._run(trial, seed).log({"epoch": epoch, **values}, step=epoch)

    def tested(self, trial: TrialInfo, metrics: Mapping[str, Sequence[float]]) -> None:
        """Add the test metrics to the summary of each seed's run."""
        for seed, values in trial.by_seed(metrics):
            self._run(trial, seed).summary.update(values)

    def ended(self, trial: TrialInfo, reason: str, score: float | None) -> None:
        """Add the reason of the end and the score to the summary of each seed's run, and finish the run."""
        for seed in trial.seeds:
            run = self._run(trial, seed)
            run.summary.update({"ended": reason, "score": score})
            run.finish()
            del self._open[trial.name, seed]

    def close(self) -> None:
        """Finish the runs of trials that have not ended, so that all their data is written."""
        for run in self._open.values():
            run.finish()

    def _run(self, trial: TrialInfo, seed: int) -> Any:
        import wandb

        if (trial.name, seed) not in self._open:
            self._open[trial.name, seed] = wandb.init(
                mode="offline",
                dir=str(self.study.folder),
                project=self.study.name,
                id=f"{self.study.identity}-{trial.name.replace(', ', '-').replace(' ', '-')}-{seed}",
                resume="allow",
                group=trial.name,
                name=f"{trial.name}, seed {seed}",
                config={**trial.values, "seed": seed},
                reinit="create_new",
                settings=wandb.Settings(silent=True, disable_git=True, disable_code=True, console="off"),
            )
        return self._open[trial.name, seed]
