"""A study whose trials sleep: ``python -m tests.search.sleeping FOLDER ADDRESS TRIALS SECONDS``, its driver."""

import sys
import time
from pathlib import Path

from search.engine import RayEngine
from search.events import Metrics
from search.ledger import Ledger
from search.study import run_study
from search.task import EpochResult
from tests.search.toy import ToyWorker, open_toy, toy_driver, toy_study

EPOCHS = 4


class SleepingWorker(ToyWorker):
    """Sleeps for as long as its folder's study says, and tells on which host it did."""

    def run_epoch(self) -> EpochResult:
        import ray

        seconds = float((self.task.folder.parent.parent / "seconds").read_text())
        time.sleep(seconds)
        result = super().run_epoch()
        host = float(ray.util.get_node_ip_address().rpartition(".")[2])
        metrics: Metrics = {**result.metrics, "host": (host,) * len(self.task.seeds)}
        return EpochResult(epoch=result.epoch, score=result.score, metrics=metrics, seconds=seconds)


def main(folder: Path, address: str, trials: int, seconds: float) -> None:
    study = toy_study(trials=trials, proposer="random", epochs=EPOCHS)
    search = study.search.model_copy(update={"asha": None, "retries": 10})
    opened = open_toy(folder, study.model_copy(update={"search": search}))
    (folder / "seconds").write_text(str(seconds))
    engine = RayEngine(SleepingWorker, address=address, gpus_per_trial=0)
    with Ledger(opened.ledger) as ledger:
        run_study(toy_driver(opened, ledger), engine)
    engine.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), float(sys.argv[4]))
