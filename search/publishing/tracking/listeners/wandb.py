"""``--also wandb``: an offline run of W&B for each trial and seed, in the folder ``wandb`` of the study.

Nothing is sent: `wandb sync STUDY/wandb/offline-run-*` does that, when its owner asks for it.
"""

import shutil
from collections.abc import Mapping, Sequence
from typing import Any

from skipstack.search.publishing.tracking.listeners.listener import Listener, StudyInfo, TrialInfo


class WandbListener(Listener):
    """Metrics by epoch; values of axes as the run's config, how it ended and its score as its summary."""

    def __init__(self, study: StudyInfo) -> None:
        super().__init__(study)
        runs = study.folder / "wandb"
        shutil.rmtree(runs, ignore_errors=True)  # the ledger has all of it, and is heard from its beginning
        self._open: dict[tuple[str, int], Any] = {}

    def reported(self, trial: TrialInfo, epoch: int, metrics: Mapping[str, Sequence[float]]) -> None:
        """A step of the run."""
        for seed, values in trial.by_seed(metrics):
            self._run(trial, seed).log({"epoch": epoch, **values}, step=epoch)

    def tested(self, trial: TrialInfo, metrics: Mapping[str, Sequence[float]]) -> None:
        """A part of its summary."""
        for seed, values in trial.by_seed(metrics):
            self._run(trial, seed).summary.update(values)

    def ended(self, trial: TrialInfo, reason: str, score: float | None) -> None:
        """Finish the run."""
        for seed in trial.seeds:
            run = self._run(trial, seed)
            run.summary.update({"ended": reason, "score": score})
            run.finish()
            del self._open[trial.name, seed]

    def close(self) -> None:
        """Write what is not written yet."""
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
