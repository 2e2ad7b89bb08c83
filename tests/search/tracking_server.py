"""An MLflow tracking server in one process, which a test starts, kills and starts again."""

import socket
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.request import urlopen

PROGRAM = """
import os
import sys
from mlflow.server import app
from mlflow.server import ARTIFACTS_DESTINATION_ENV_VAR, SERVE_ARTIFACTS_ENV_VAR
from mlflow.server.handlers import initialize_backend_stores
from werkzeug.serving import run_simple
store, artifacts, host, port, passes_on = sys.argv[1:]
if passes_on == "True":
    os.environ |= {SERVE_ARTIFACTS_ENV_VAR: "true", ARTIFACTS_DESTINATION_ENV_VAR: artifacts}
    artifacts = "mlflow-artifacts:/"
initialize_backend_stores(store, default_artifact_root=artifacts)
run_simple(host, int(port), app, threaded=True)
"""


class TrackingServer:
    """Serves ``mlflow.db`` of a folder, at the same address after each start.

    ``passes_on``: whether artifacts pass through the server, as by default of ``mlflow server``; otherwise clients
    write the files.
    """

    def __init__(self, folder: Path, host: str = "127.0.0.1", *, passes_on: bool = False) -> None:
        self.folder = folder
        self.passes_on = passes_on
        self.store = f"sqlite:///{folder / 'mlflow.db'}"
        with socket.socket() as free:
            free.bind((host, 0))
            self.port = free.getsockname()[1]
        self.host = host
        self.uri = f"http://{host}:{self.port}"
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()

    def start(self, *, wait: bool = True) -> None:
        """Start the server. ``wait``: whether to wait until it answers."""
        arguments = [self.store, str(self.folder / "artifacts"), self.host, str(self.port), str(self.passes_on)]
        with (self.folder / "server.log").open("ab") as log:
            self._process = subprocess.Popen([sys.executable, "-c", PROGRAM, *arguments], stdout=log, stderr=log)
        while wait and not self.answers():
            assert self._process.poll() is None, (self.folder / "server.log").read_text()
            time.sleep(0.1)

    def answers(self) -> bool:
        try:
            with urlopen(f"{self.uri}/health", timeout=5) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    def kill(self) -> None:
        """Kill the server by SIGKILL, like a power cut."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
