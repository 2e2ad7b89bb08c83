"""A study of toys on a cluster that the command would start, which tells on which addresses its processes listened.

``python -m tests.search.execution.engines.ray.listening FOLDER "finishes"``, or ``"is interrupted"``: SIGINT after a
report.
"""

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import psutil

from skipstack.data.basis.command_process import claim
from skipstack.search.api.options import Execution
from skipstack.search.execution.driver.engine import run_study
from skipstack.search.ledger.events import Event
from skipstack.search.ledger.ledger import Ledger
from tests.search.toy import ToyWorker, open_toy, toy_driver, toy_study


def listening() -> set[tuple[str, str]]:
    """The processes of this one's that listen, by name, with their addresses."""
    here = psutil.Process()
    return {
        (process.name(), found.laddr.ip)
        for process in (here, *here.children(recursive=True))
        for found in process.net_connections(kind="inet")
        if found.status == psutil.CONN_LISTEN
    }


if __name__ == "__main__":
    folder = open_toy(Path(sys.argv[1]), toy_study(trials=2))
    claim()  # as the command does
    engine: Any = Execution(address="local", gpus_per_trial=0).start()
    engine.worker = ToyWorker
    heard: set[tuple[str, str]] = set()

    def hear(event: Event) -> None:
        if event.kind == "reported":
            heard.update(listening())
            if sys.argv[2] == "is interrupted":
                os.kill(os.getpid(), signal.SIGINT)

    try:
        with Ledger(folder.ledger) as ledger:
            driver = toy_driver(folder, ledger)
            driver.listen(hear)
            run_study(driver, engine)
    except KeyboardInterrupt:
        pass
    finally:
        engine.close()
    print(json.dumps(sorted(heard)))
