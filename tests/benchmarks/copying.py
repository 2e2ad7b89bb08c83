"""What copying costs on hosts: ``python -m tests.benchmarks.copying ADDRESS FOLDER WHAT [SEEING]``, a driver."""

import json
import sys
import time
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from skipstack.search.execution.driver.engine import run_study
from skipstack.search.execution.engines.ray import engine as module
from skipstack.search.execution.engines.ray.copying.chunks import chunks
from skipstack.search.execution.engines.ray.copying.copying_workers import CopyingWorkers
from skipstack.search.execution.engines.ray.copying.mark import Mark
from skipstack.search.execution.engines.ray.copying.remote_file_server import RemoteFileServer, start_file_server
from skipstack.search.execution.engines.ray.copying.scratch import Scratch
from skipstack.search.execution.engines.ray.engine import RayEngine
from skipstack.search.execution.engines.ray.preflight import Preflight
from skipstack.search.ledger.events import Ended, Started
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.study.record.folder import BEST, CHECKPOINT, StudyFolder
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.search.study.task import EpochResult
from tests.search.changed import searched
from tests.search.toy import ToyWorker, open_toy, toy_driver, toy_study

TRIALS = 150
LEFT = 400_000
"""Bytes that a trial leaves, half of them as its best weights."""

SENDERS, SENT = 12, 10_000_000
STORE = 50_000_000


class IdleWorker(ToyWorker):
    """Trains nothing and leaves two files."""

    def run_epoch(self) -> EpochResult:
        result = super().run_epoch()
        self.task.folder.mkdir(parents=True, exist_ok=True)
        for name in (BEST, CHECKPOINT):
            (self.task.folder / name).write_bytes(bytes(LEFT // 2))
        return result


def trials(address: str, folder: Path, seeing: bool) -> float:
    """Milliseconds a trial from the tenth start to the last end."""
    module.Preflight = asking(seeing, corpora=False)  # type: ignore[misc]
    study = searched(toy_study(trials=TRIALS, proposer="random", epochs=2), scheduler="none")
    opened = open_toy(folder, study)
    (opened.corpora / "none").mkdir(parents=True)
    engine = RayEngine(IdleWorker, address=address, gpus_per_trial=0)
    with Ledger(opened.ledger) as ledger:
        run_study(toy_driver(opened, ledger), engine)
    engine.close()
    return 1000 * seconds(folder, 10) / (TRIALS - 10)


def quickstart(address: str, folder: Path, seeing: bool) -> float:
    """Seconds from the first start to the last end."""
    from skipstack.dashboards.cli import main

    module.Preflight = asking(seeing, corpora=True)  # type: ignore[misc]
    sys.argv = ["skipstack", "search", "quickstart", "--trials", "6", "--out", str(folder), "--address", address]
    with suppress(SystemExit):
        main()
    return seconds(folder, 0)


def asking(seeing: bool, *, corpora: bool) -> type[Preflight]:
    """What asks machines; unless ``seeing``, they look for the study's folder where nothing is."""

    class Asking(Preflight):
        @classmethod
        def of(cls, study: StudyFolder, record: StudyRecord, *, copies: bool) -> Preflight:
            found = Preflight.of(study, record, copies=copies)
            if not corpora:
                found = replace(found, corpora=(), vectors=())
            return found if seeing else replace(found, mark=replace(found.mark, trials=study.path / "elsewhere"))

    return Asking


def seconds(folder: Path, start: int) -> float:
    """From this start of a trial to the last end."""
    told = Ledger(StudyFolder(folder).ledger).read()
    began = [event.time for event in told if isinstance(event, Started)][start]
    return max(event.time for event in told if isinstance(event, Ended)) - began


def senders(address: str, folder: Path) -> float:
    """Megabytes a second that arrive from twelve senders at once."""
    server = _server(address, folder)
    actors = [ray.remote(num_cpus=1)(Sender).remote(server, number) for number in range(SENDERS)]
    ray.get([actor.ready.remote() for actor in actors])
    began = time.time()
    ray.get([actor.send.remote() for actor in actors])
    return SENDERS * SENT / 1e6 / (time.time() - began)


def store(address: str, folder: Path) -> float:
    """Seconds in which a corpus is on all machines but the driver's, from the first question to the last file."""
    server = _server(address, folder)
    path = folder / "corpora" / "large"
    path.mkdir(parents=True)
    (path / "train.arrow").write_bytes(np.random.default_rng(1).bytes(STORE))
    copying = CopyingWorkers(IdleWorker, server, Mark(folder / "elsewhere", "benchmark"))
    here = ray.get_runtime_context().get_node_id()
    nodes = [node["NodeID"] for node in ray.nodes() if node["Alive"] and node["NodeID"] != here]
    fetching = [
        ray.remote(num_cpus=0, scheduling_strategy=NodeAffinitySchedulingStrategy(node, soft=False))(_fetch)
        for node in nodes
    ]
    ray.get([each.remote(None) for each in fetching])  # so that a process waits on each
    began = time.time()
    assert ray.get([each.remote(copying) for each in fetching]) == [STORE] * len(nodes)
    return time.time() - began


def _server(address: str, folder: Path) -> RemoteFileServer:
    ray.init(address, log_to_driver=False, logging_level="error")
    study = StudyFolder(folder)
    study.trials.mkdir(parents=True)
    server = start_file_server(study)
    assert server.moved() == 0
    return server


class Sender:
    """A worker that has weights to send."""

    def __init__(self, server: RemoteFileServer, number: int) -> None:
        self.server, self.number = server, number
        self.folder = Scratch("benchmark").trial(number, 1)
        (self.folder / BEST).write_bytes(np.random.default_rng(number).bytes(SENT))

    def ready(self) -> None:
        """Its process has started."""

    def send(self) -> None:
        for chunk in chunks(self.folder, [BEST]):
            self.server.take(self.number, 1, chunk)


def _fetch(copying: CopyingWorkers | None) -> int:
    if copying is None:
        return 0
    with Scratch("benchmark") as scratch:
        path = scratch.store("large", partial(copying._fetch, "large"))
        return sum(each.stat().st_size for each in path.iterdir())


if __name__ == "__main__":
    address, folder, what, *seeing = sys.argv[1:]
    if what in ("trials", "quickstart"):
        found = {"trials": trials, "quickstart": quickstart}[what](address, Path(folder), bool(seeing))
    else:
        found = {"senders": senders, "store": store}[what](address, Path(folder))
    print(json.dumps(found))
