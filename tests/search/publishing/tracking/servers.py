"""`mlflow server` and `mlflow models serve` as people start them, and a PostgreSQL of a test's own."""

import json
import os
import re
import secrets
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.request import Request, urlopen

POSTGRES = Path("/usr/lib/postgresql/15/bin")
"""Where Debian keeps the programs of PostgreSQL."""

SECONDS = 180
"""Within which a server must answer."""

OTHERS = [Path(each) for each in os.environ.get("SKIPSTACK_MLFLOW_SERVERS", "").split(os.pathsep) if each]
"""Interpreters with other versions of MLflow, whose servers are tried, too."""


@contextmanager
def mlflow_server(folder: Path, store: str, python: Path = Path(sys.executable)) -> Iterator[str]:
    """`mlflow server` of an interpreter, with two workers, its runs in ``store`` and its artifacts in the folder; its
    address.
    """
    port = free_port()
    own = ["--backend-store-uri", store, "--artifacts-destination", (folder / "artifacts").as_uri()]
    with _mlflow(folder, "server", *own, "--workers", "2", port=port, python=python) as address:
        yield address


@contextmanager
def served(folder: Path, model: str, store: str, python: Path = Path(sys.executable)) -> Iterator[str]:
    """`mlflow models serve` of a model that lies in the store, in the environment of an interpreter; its address."""
    own = ["models", "serve", "--model-uri", model, "--env-manager", "local"]
    with _mlflow(folder, *own, port=free_port(), python=python, MLFLOW_TRACKING_URI=store) as address:
        yield address


@contextmanager
def served_as_printed(folder: Path, said: str) -> Iterator[str]:
    """The command that ``export --register`` printed to serve a model, on a free port; its address."""
    (printed,) = re.findall("^to serve it: (.*)$", said, re.MULTILINE)
    variable, program, *arguments = shlex.split(printed)
    assert program == "mlflow"
    with _mlflow(folder, *arguments, port=free_port(), **dict([variable.split("=", 1)])) as address:
        yield address


def answered(address: str, texts: Sequence[str]) -> list[list[list[str]]]:
    """What a served model answers: of each text, each word with its tag."""
    asked = json.dumps({"dataframe_split": {"columns": ["text"], "data": [[text] for text in texts]}}).encode()
    request = Request(f"{address}/invocations", asked, {"Content-Type": "application/json"})
    with urlopen(request, timeout=60) as answer:
        found = json.loads(answer.read())["predictions"]
    return [[list(pair) for pair in zip(row["words"], row["tags"], strict=True)] for row in found]


def predicted(printed: str) -> list[list[list[str]]]:
    """The same as `skipstack predict` prints it."""
    return [[line.split("\t") for line in sentence.splitlines()] for sentence in printed.strip().split("\n\n")]


@contextmanager
def postgresql() -> Iterator[str]:
    """A cluster of PostgreSQL that is new, asks for a password, and is reached from this machine alone; its address.

    It does not run as root: there it runs as the user nobody.
    """
    folder = Path(tempfile.mkdtemp(prefix="skp-"))  # short: its socket lies there
    user = "nobody" if os.getuid() == 0 else None
    password, port = secrets.token_hex(8), free_port()
    (folder / "password").write_text(password)
    for path in (folder, folder / "password"):
        if user is not None:
            shutil.chown(path, user)
    try:
        made = ["--username=skipstack", f"--pwfile={folder / 'password'}", "--auth=scram-sha-256", "--no-sync"]
        subprocess.run(
            [str(POSTGRES / "initdb"), *made, f"--pgdata={folder / 'data'}"],
            user=user,
            cwd=folder,
            check=True,
            capture_output=True,
            env={"LC_ALL": "C.UTF-8"},
        )
        program = [str(POSTGRES / "postgres"), "-D", str(folder / "data"), "-k", str(folder), "-p", str(port)]
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(
                [*program, "-h", "127.0.0.1"],
                user=user,
                cwd=folder,
                stdout=log,
                stderr=log,
                env={"LC_ALL": "C.UTF-8"},
            )
        try:
            _wait(process, folder / "log", lambda: "ready to accept connections" in (folder / "log").read_text())
            yield f"postgresql+psycopg2://skipstack:{password}@127.0.0.1:{port}/postgres"
        finally:
            process.send_signal(signal.SIGINT)  # ends what is connected, and then itself
            process.wait(timeout=60)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


@contextmanager
def _mlflow(
    folder: Path, *arguments: str, port: int, python: Path = Path(sys.executable), **environment: str
) -> Iterator[str]:
    """A command of MLflow that serves, with all the processes that it starts."""
    folder.mkdir(parents=True, exist_ok=True)
    address, log = f"http://127.0.0.1:{port}", folder / f"{port}.log"
    with log.open("wb") as file:
        process = subprocess.Popen(
            [python, "-m", "mlflow", *arguments, "--host", "127.0.0.1", "--port", str(port)],
            stdout=file,
            stderr=file,
            start_new_session=True,
            env={
                **os.environ,
                "MLFLOW_DISABLE_TELEMETRY": "true",
                "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
                "PATH": os.pathsep.join((str(python.parent), os.environ["PATH"])),
                **environment,
            },
        )
    try:
        _wait(process, log, lambda: _answers(f"{address}/health"))
        yield address
    finally:
        with suppress(ProcessLookupError):  # it ended by itself
            os.killpg(process.pid, signal.SIGTERM)
        process.wait(timeout=60)


def _answers(address: str) -> bool:
    try:
        with urlopen(address, timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def _wait(process: subprocess.Popen[bytes], log: Path, there: Callable[[], bool]) -> None:
    end = time.monotonic() + SECONDS
    while not there():
        assert process.poll() is None, log.read_text()
        assert time.monotonic() < end, log.read_text()
        time.sleep(0.1)
