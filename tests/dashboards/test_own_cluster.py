"""The command on a cluster of its own: what is seen of it by others, and what stdout has where a worker is killed."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from skipstack.search.study.record.reading import read_study
from tests.search.chaos import SMALL

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(600)]

PASSWORD = "c0rrect-h0rse"
COMMAND = """
import json, sys, threading, time
from skipstack.dashboards.cli import command

def look():
    import ray
    while not ray.is_initialized():
        time.sleep(0.1)
    jobs = ray._private.worker.global_worker.gcs_client.get_all_job_info()
    with open(sys.argv[-1] + ".jobs", "w") as file:
        json.dump([str(job) for job in jobs.values()], file)

threading.Thread(target=look, daemon=True).start()
command()
"""


def test_no_password_is_in_the_cluster_and_no_death_of_a_worker_on_stdout(tmp_path: Path) -> None:
    typed = ["search", "quickstart", *SMALL, "--trials", "8", "--epochs", "8", "--set", "search.scheduler=none"]
    uri = f"http://ann:{PASSWORD}@127.0.0.1:9"
    typed += ["--tracking-uri", uri, "--address", "local", "--out", str(tmp_path / "study")]
    process = subprocess.Popen(
        [sys.executable, "-c", COMMAND, *typed], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    end, killed = time.monotonic() + 300, False
    while not killed and time.monotonic() < end and process.poll() is None:
        time.sleep(0.2)
        for child in psutil.Process(process.pid).children(recursive=True):
            with suppress(psutil.NoSuchProcess):  # it has ended meanwhile
                if "WorkerProcess" in child.name() or "WorkerProcess" in " ".join(child.cmdline()):
                    os.kill(child.pid, signal.SIGKILL)
                    killed = True
                    break
    out, error = process.communicate(timeout=500)
    assert killed, error
    assert read_study(tmp_path / "study").finished
    assert "raylet" not in out
    assert "A worker died" not in out
    jobs = json.loads((tmp_path / "study.jobs").read_text())
    assert jobs
    assert PASSWORD not in str(jobs)
