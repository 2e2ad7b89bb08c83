"""A study whose trials sleep.

``python -m tests.search.sleeping FOLDER ADDRESS TRIALS SECONDS RETRIES [URI]`` runs its driver.
"""

import sys
import time
from pathlib import Path

from skipstack.data.corpora.synthetic.grammar import GrammarCorpus
from skipstack.search.api.opening import open_study
from skipstack.search.execution.driver.engine import run_study
from skipstack.search.execution.engines.ray.engine import RayEngine
from skipstack.search.ledger.events import Metrics
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.publishing.tracking.tracking_process import TrackingProcess
from skipstack.search.study.config import StudyConfig
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.task import EpochResult
from tests.search.changed import changed
from tests.search.toy import ToyWorker, toy_driver, toy_study

EPOCHS = 4

SECONDS = "seconds"
"""The file in the study's folder with the number of seconds that an epoch sleeps."""


class SleepingWorker(ToyWorker):
    """Sleeps for as long as a file in the study's folder says, and records its host as a metric and as a file."""

    def run_epoch(self) -> EpochResult:
        import ray

        study, begun = self.task.folder.parent.parent, time.monotonic()
        host = ray.util.get_node_ip_address().rpartition(".")[2]
        (study / f"host-{host}").touch()
        while (left := begun + float((study / SECONDS).read_text()) - time.monotonic()) > 0:
            time.sleep(min(left, 0.5))
        result = super().run_epoch()
        metrics: Metrics = {**result.metrics, "host": (float(host),) * len(self.task.seeds)}
        return EpochResult(epoch=result.epoch, score=result.score, metrics=metrics, seconds=time.monotonic() - begun)


def main(folder: Path, address: str, trials: int, seconds: float, retries: int, uri: str = "") -> None:
    opened = StudyFolder(folder)
    open_study(sleeping_study(trials, retries), opened, data_dir=None, corpus_folder=folder)
    (folder / SECONDS).write_text(str(seconds))
    engine = RayEngine(SleepingWorker, address=address, gpus_per_trial=0)
    with Ledger(opened.ledger) as ledger:
        driver = toy_driver(opened, ledger)
        engine.preflight(opened, lambda: driver.record)
        tracker = TrackingProcess() if uri else None
        if tracker is not None:
            tracker.record(uri, folder, private=False)
        run_study(toy_driver(opened, ledger), engine)
        assert tracker is None or tracker.close() is None
    engine.close()


def sleeping_study(trials: int, retries: int) -> StudyConfig:
    """Return a study with the smallest possible corpus, in which no trial is stopped early."""
    study = toy_study(trials=trials, proposer="random", epochs=EPOCHS)
    base = study.space.base
    data = base.data.model_copy(update={"corpus": GrammarCorpus(train=20, dev=10, test=10)})
    space = study.space.model_copy(update={"base": base.model_copy(update={"data": data})})
    search = changed(study.search, scheduler="none", retries=retries)
    return study.model_copy(update={"space": space, "search": search})


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), float(sys.argv[4]), int(sys.argv[5]), *sys.argv[6:])
