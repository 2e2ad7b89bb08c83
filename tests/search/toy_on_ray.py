"""Runs a toy study on a Ray cluster of this process: ``python -m tests.search.toy_on_ray FOLDER``."""

import sys
from pathlib import Path

from skipstack.search.execution.driver.engine import run_study
from skipstack.search.execution.engines.ray.engine import RayEngine
from skipstack.search.ledger.ledger import Ledger
from tests.search.toy import ToyWorker, open_toy, toy_driver, toy_study

if __name__ == "__main__":
    folder = open_toy(Path(sys.argv[1]), toy_study(trials=2))
    engine = RayEngine(ToyWorker, address=None, gpus_per_trial=0.0)
    with Ledger(folder.ledger) as ledger:
        run_study(toy_driver(folder, ledger), engine)
    engine.close()
