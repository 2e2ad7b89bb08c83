"""Ray Tune's loop, which starts a study's slots and calls their steps. Three plug-ins pass Tune's requests and results
to ``StudyLoop``.

Tune's own search, schedulers, checkpoints, loggers and restore are not used: the driver and its ledger replace them.
"""

import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any, Final

from ray import tune
from ray.tune import Stopper
from ray.tune.schedulers import FIFOScheduler, TrialScheduler
from ray.tune.search import Searcher

from skipstack.data.basis.errors import UserError
from skipstack.search.execution.engines.ray.gpu_failures import ProcessGpus
from skipstack.search.execution.engines.ray.loop import StudyLoop
from skipstack.search.execution.engines.ray.process import SLOTS, environment, silenced
from skipstack.search.execution.engines.ray.worker_process import WorkerProcess

MOST_SLOTS: Final = 1000
"""Largest number of open slots, including slots that wait for an autoscaler to start machines."""


def run_tune(loop: StudyLoop) -> None:
    """Run Tune's loop until the study or an error ends it."""
    with (
        tempfile.TemporaryDirectory(prefix="skipstack-tune-") as scratch,
        silenced(),
        _as_talkative_as_before(),
        ExitStack() as beginning,
    ):
        beginning.enter_context(environment(SLOTS))
        loop.on_begun = beginning.close
        tune.Tuner(
            tune.with_resources(WorkerProcess, _placement),
            tune_config=tune.TuneConfig(
                search_alg=SlotSearcher(loop),
                scheduler=SlotScheduler(loop),
                num_samples=-1,  # until the searcher says that it has finished
                max_concurrent_trials=MOST_SLOTS,
            ),
            run_config=tune.RunConfig(
                storage_path=scratch,
                stop=StudyIsOver(loop),
                verbose=0,
                checkpoint_config=tune.CheckpointConfig(checkpoint_at_end=False),
            ),
        ).fit()


def _placement(config: dict[str, Any]) -> tune.PlacementGroupFactory:
    """The resources that a slot requests from the cluster, in Tune's form."""
    return tune.PlacementGroupFactory([{name.upper(): amount for name, amount in config["resources"].items()}])


@contextmanager
def _as_talkative_as_before() -> Iterator[None]:
    """Restore Tune's verbosity after the block. Running Tune changes it, also for the user's own runs."""
    log = sys.modules.get("ray.tune.utils.log")
    before = getattr(log, "verbosity", None)
    try:
        yield
    finally:
        if log is not None and before is not None:
            log.set_verbosity(before)


class SlotSearcher(Searcher):  # type: ignore[misc]  # mypy reads no types of Ray
    """Opens slots of a study when Tune asks for trials."""

    def __init__(self, loop: StudyLoop) -> None:
        super().__init__(metric="outcomes", mode="max")
        self._loop = loop

    def set_max_concurrency(self, max_concurrent: int) -> bool:
        """Ignore Tune's bound, since the loop decides how many slots are open."""
        return True

    def suggest(self, trial_id: str) -> dict[str, Any] | str | None:
        """Open a slot, and return its config; None if no slot is of use; ``FINISHED`` after the study's end."""
        resources = self._loop.keep(lambda: self._loop.open(trial_id))
        if resources is not None:
            return {"resources": dict(resources)}
        return str(Searcher.FINISHED) if self._loop.finished else None

    def on_trial_complete(self, trial_id: str, result: Mapping[str, Any] | None = None, error: bool = False) -> None:
        """Do nothing: the loop has handled the end of the slot already."""

    def save(self, checkpoint_path: str) -> None:
        """Do nothing: the ledger is saved instead."""

    def restore(self, checkpoint_path: str) -> None:
        """Do nothing: the study is restored from the ledger."""


class SlotScheduler(FIFOScheduler):  # type: ignore[misc]  # mypy reads no types of Ray
    """Passes the results of slots from Tune to the loop."""

    def __init__(self, loop: StudyLoop) -> None:
        super().__init__()
        self._loop = loop

    def on_trial_result(self, tune_controller: Any, trial: Any, result: dict[str, Any]) -> str:
        """Pass the result of a slot's step to the loop, and return whether the slot stays open."""
        loop, name = self._loop, trial.trial_id
        if name not in loop.slots:
            return str(TrialScheduler.STOP)
        if "trouble" in result:
            loop.keep(partial(_refuse, result["gpus"], result["trouble"]))
        if "greeting" in result:
            stays = loop.keep(lambda: loop.greeted(name, result["greeting"]))
        else:
            stays = loop.keep(lambda: loop.returned(name, dict(result["outcomes"]), result["gpus"]))
        return str(TrialScheduler.CONTINUE if stays else TrialScheduler.STOP)

    def on_trial_error(self, tune_controller: Any, trial: Any) -> None:
        """Pass the death of a slot's process to the loop."""
        self._loop.keep(lambda: self._loop.died(trial.trial_id, _words_of(trial)))

    def choose_trial_to_run(self, tune_controller: Any) -> Any:
        """Let the loop take its turn, once in each step of Tune's loop, then choose like Tune."""
        self._loop.keep(self._loop.turn)
        return super().choose_trial_to_run(tune_controller)


class StudyIsOver(Stopper):  # type: ignore[misc]  # mypy reads no types of Ray
    """Ends Tune's loop when the study has finished. This ends all slots, even slots that still wait for resources."""

    def __init__(self, loop: StudyLoop) -> None:
        self._loop = loop

    def __call__(self, trial_id: str, result: dict[str, Any]) -> bool:
        """Return False: ``SlotScheduler`` ends single slots."""
        return False

    def stop_all(self) -> bool:
        """Whether nothing is left to do in the study."""
        return self._loop.finished


def _refuse(gpus: ProcessGpus, trouble: str) -> None:
    """Raise UserError because a process's machine cannot train. ``trouble``: the reason in one line."""
    raise UserError(f"machine {gpus.name}: {trouble}")


def _words_of(trial: Any) -> str:
    """Tune's record of the error that ended a slot."""
    try:
        with open(trial.error_file or "") as file:
            return file.read()
    except OSError:
        return ""
