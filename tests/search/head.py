"""A Ray head on this machine, which a test starts on a free port and in a temporary folder, and ends by its id."""

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import psutil

RAY = "from ray.scripts.scripts import main; main()"
"""The program `ray`, for any Python that runs it."""


class Head:
    """A cluster of one machine with ``cpus`` CPUs. Its processes, and so its trials, run with ``python`` and in
    ``folder``. ``growing``: makes an autoscaler's config for the cluster at an address.
    """

    def __init__(
        self,
        python: str = sys.executable,
        folder: Path | None = None,
        *,
        cpus: int = 2,
        growing: Callable[[str], Mapping[str, Any]] | None = None,
        web_server: bool = False,
        **environment: str,
    ) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="skj-"))  # a short path, since that of a socket has a maximum
        self.environment = {
            **os.environ,
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN": "fedcba9876543210" * 4,
            "RAY_JOB_STOP_WAIT_TIME_S": "120",
            "RAY_worker_niceness": "0",
            **environment,
        }
        port = _free_port()
        self.address = f"127.0.0.1:{port}"
        self.web_address = f"http://127.0.0.1:{_free_port()}"
        log = self.folder / "log"
        own = ["--port", str(port), "--num-cpus", str(cpus), "--include-dashboard", str(web_server).lower()]
        own += ["--dashboard-port", self.web_address.rpartition(":")[2]]
        if growing is not None:
            config = self.folder / "autoscaler.yaml"
            config.write_text(json.dumps(growing(self.address)))
            own += ["--autoscaling-config", str(config)]
        with log.open("wb") as file:
            self.process = subprocess.Popen(
                [python, "-P", "-c", RAY, "start", "--head", "--block", *own, "--temp-dir", f"{self.folder}/ray"],
                cwd=folder,
                env=self.environment,
                stdout=file,
                stderr=subprocess.STDOUT,
            )
        end = time.monotonic() + 240
        while b"Ray runtime started" not in log.read_bytes():
            assert self.process.poll() is None, log.read_text()
            assert time.monotonic() < end, log.read_text()
            time.sleep(0.2)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        started = psutil.Process(self.process.pid).children(recursive=True)  # an autoscaler's machines outlive the head
        self.process.terminate()
        self.process.wait(timeout=120)
        for process in started:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def job(self, *arguments: str) -> str:
        """Run a subcommand of `ray job`, and return the job's status."""
        ran = subprocess.run(
            [sys.executable, "-m", "tests.search.jobs", self.address, *arguments],
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert ran.returncode == 0, ran.stderr
        return ran.stdout.split()[-1]

    def logs(self, job: str) -> str:
        return next(self.folder.rglob(f"job-driver-{job}.log")).read_text()


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port
