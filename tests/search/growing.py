"""A cluster with Ray's own autoscaler, whose machines are processes on this machine.

``python -m tests.search.growing FOLDER ADDRESS TRIALS [OPTION ...]`` runs the driver of a study on the cluster. It
prints as JSON, over time, the number of machines (``machines``) and of requested slots (``asked``); the messages
(``said``); and the requests that remain at the end (``left``). Options: ``untold``: the driver cannot read the
autoscaler's config, as on Kubernetes; ``interrupted``: it gets SIGINT at the first report; ``gpus``: each trial needs a
GPU; ``two``: at most two trials run at a time.
"""

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import ray
from ray.autoscaler._private.fake_multi_node.node_provider import (
    FAKE_HEAD_NODE_ID,
    FAKE_HEAD_NODE_TYPE,
    FakeMultiNodeProvider,
)
from ray.util.placement_group import placement_group_table

from skipstack.search.api.opening import open_study
from skipstack.search.execution.driver.engine import run_study
from skipstack.search.execution.engines.ray import autoscaler
from skipstack.search.execution.engines.ray import engine as engine_module
from skipstack.search.execution.engines.ray.engine import RayEngine
from skipstack.search.ledger.events import Event
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.task import EpochResult
from tests.search.head import Head
from tests.search.sleeping import SECONDS, SleepingWorker, sleeping_study
from tests.search.toy import toy_driver

STARTING: Final = "SKIPSTACK_TESTED_STARTING"
"""The environment variable with the number of seconds that a machine takes to start."""

WORKERS: Final = 4
"""The maximum number of machines, each with one CPU."""


class SlowProvider(FakeMultiNodeProvider):  # type: ignore[misc]
    """Starts any number of machines at once, as slowly as a cloud."""

    def create_node_with_resources_and_labels(self, *arguments: Any) -> None:
        time.sleep(float(os.environ.get(STARTING, "0")))
        super().create_node_with_resources_and_labels(*arguments)


class MarkingWorker(SleepingWorker):
    """A worker that creates a file named after its process."""

    def run_epoch(self) -> EpochResult:
        (self.task.folder.parent.parent / f"process-{os.getpid()}").touch()
        return super().run_epoch()


def config(address: str) -> Mapping[str, Any]:
    """Return the autoscaler's config for the cluster at ``address``."""
    lists = ("initialization", "setup", "head_setup", "worker_setup", "head_start_ray", "worker_start_ray")
    return {
        "cluster_name": "growing",
        "max_workers": WORKERS,
        "provider": {
            "type": "external",
            "module": "tests.search.growing.SlowProvider",
            "gcs_address": address,
            "head_node_id": FAKE_HEAD_NODE_ID,
            "launch_multiple": True,
            "use_node_id_as_ip": True,
            "disable_node_updaters": True,
            "disable_launch_config_check": True,
        },
        "available_node_types": {
            FAKE_HEAD_NODE_TYPE: {"resources": {"CPU": 0}, "node_config": {}, "max_workers": 0},
            "worker": {"resources": {"CPU": 1}, "node_config": {}, "min_workers": 0, "max_workers": WORKERS},
        },
        "head_node_type": FAKE_HEAD_NODE_TYPE,
        "upscaling_speed": 1000,
        "idle_timeout_minutes": 0.1,
        "auth": {},
        "file_mounts": {},
        "cluster_synced_files": [],
        **{f"{name}_commands": [] for name in lists},
    }


def growing(*, starting: float = 0.0, second: bool = False) -> Head:
    """Start the head of such a cluster, without CPUs. ``second``: use the second version of Ray's autoscaler."""
    own = {"RAY_FAKE_CLUSTER": "1", "AUTOSCALER_UPDATE_INTERVAL_S": "1", STARTING: str(starting)}
    if second:
        own |= {
            "RAY_enable_autoscaler_v2": "1",
            "RAY_CLOUD_INSTANCE_ID": FAKE_HEAD_NODE_ID,
            "RAY_NODE_TYPE_NAME": FAKE_HEAD_NODE_TYPE,
            "RAY_OVERRIDE_NODE_ID_FOR_TESTING": FAKE_HEAD_NODE_ID,
        }
    root = str(Path(__file__).resolve().parents[2])
    return Head(cpus=0, growing=config, PYTHONPATH=root, **own)


def waiting() -> int:
    """Return the number of requested slots that do not exist yet."""
    return sum(group["state"] in ("PENDING", "RESCHEDULING") for group in placement_group_table().values())


def watched(until: threading.Event, seen: dict[str, list[Any]]) -> None:
    """Record the numbers of machines with CPUs and of requested slots whenever they change."""
    began = time.monotonic()
    while not until.wait(0.2):
        machines = sum(bool(node["Alive"] and node["Resources"].get("CPU")) for node in ray.nodes())
        for name, value in (("machines", machines), ("asked", waiting())):
            if not seen[name] or seen[name][-1][1] != value:
                seen[name].append((time.monotonic() - began, value))


def left(address: str) -> int:
    """Return the number of requested or held slots, as seen by another process."""
    ray.init(address, log_to_driver=False, logging_level="error")
    try:
        return sum(group["state"] != "REMOVED" for group in placement_group_table().values())
    finally:
        ray.shutdown()


def main(folder: Path, address: str, trials: int, *options: str) -> dict[str, Any]:
    study = StudyFolder(folder)
    open_study(sleeping_study(trials, 0), study, data_dir=None, corpus_folder=folder)
    (folder / SECONDS).write_text("3600" if "interrupted" not in options else "0.1")
    if "untold" in options:
        autoscaler.psutil = SimpleNamespace(process_iter=lambda *_: iter(()))  # type: ignore[assignment]
        engine_module.AWAITED_SECONDS = 60.0  # type: ignore[misc]
    seen: dict[str, Any] = {"machines": [], "asked": [], "said": []}
    over = threading.Event()
    engine = RayEngine(
        MarkingWorker,
        address=address,
        gpus_per_trial=float("gpus" in options),
        concurrent=2 if "two" in options else None,
    )
    engine.say = seen["said"].append
    watching = threading.Thread(target=watched, args=(over, seen))
    watching.start()
    try:
        with Ledger(study.ledger) as ledger:
            driver = toy_driver(study, ledger)
            engine.preflight(study, lambda: driver.record)
            seen["said"].append(engine.words)
            if "interrupted" in options:
                driver.listen(interrupt)
            run_study(driver, engine)
    except KeyboardInterrupt:
        seen["said"].append("interrupted")
    finally:
        over.set()
        watching.join()
        engine.close()
    seen["left"] = left(address)
    return seen


def interrupt(event: Event) -> None:
    if event.kind == "reported":
        os.kill(os.getpid(), signal.SIGINT)


if __name__ == "__main__":
    if sys.argv[1] == "asked":
        print(left(sys.argv[2]))
        sys.exit()
    print(json.dumps(main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), *sys.argv[4:])))
