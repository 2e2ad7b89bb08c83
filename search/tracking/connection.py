"""A client of an MLflow store, without MLflow's habits: no telemetry, no messages of its own, no repeated requests."""

import logging
import os
import sqlite3
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from skipstack.data.basis.errors import UserError, one_line
from skipstack.data.basis.loading import uncollected
from skipstack.data.basis.redaction import hide, redacted, without_secrets

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Run

# Read by MLflow when it is imported or calls a server. A study is its owner's affair, stdout carries the
# report, and our own thread is who tries again.
os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
os.environ.setdefault("MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT", "true")
os.environ.setdefault("MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR", "false")
os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
os.environ.setdefault("MLFLOW_HTTP_REQUEST_TIMEOUT", "30")


def load() -> None:
    """Import MLflow beforehand, which takes seconds."""
    with uncollected():
        import mlflow.tracking  # noqa: F401


def connected(uri: str) -> "MlflowClient":
    """A client of the store at ``uri``, which is not contacted yet. What fails we tell ourselves, without secrets."""
    hide(uri)
    # Here and not above: importing it takes seconds, which the study need not wait for.
    from mlflow import MlflowClient

    for name in ("mlflow", "alembic", "sqlalchemy"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    return MlflowClient(uri)


def put(run: "Run", files: Mapping[str, str | bytes], uri: str) -> None:
    """Write files among the artifacts of a run of the store at ``uri``; the client would ask for the run each time."""
    from mlflow.store.artifact.artifact_repository_registry import get_artifact_repository

    artifacts = get_artifact_repository(run.info.artifact_uri, tracking_uri=uri)
    with TemporaryDirectory(prefix="skipstack-") as folder:
        for name, content in files.items():
            path = Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)
            within = path.parent.relative_to(folder).as_posix()
            artifacts.log_artifact(str(path), None if within == "." else within)  # type: ignore[no-untyped-call]


@contextmanager
def told(asked: str, uri: str) -> Iterator[None]:
    """What the store at ``uri`` refuses, or that it does not answer, is a UserError: one line, without secrets."""
    try:
        yield
    except UserError:
        raise
    except Exception as error:
        why = redacted(f"{asked}: MLflow at {without_secrets(uri)} says: {one_line(error)}")
        raise UserError(f"{why} (allowed: a store that answers, and what it has)") from error


@contextmanager
def unflushed_sqlite() -> Iterator[None]:
    """Sqlite connections that this thread opens meanwhile do not wait for the disk: 50 ms a trial instead of 130."""
    from sqlalchemy import Engine, event

    thread = threading.get_ident()

    def relax(connection: object, _: object) -> None:
        if isinstance(connection, sqlite3.Connection) and threading.get_ident() == thread:
            connection.execute("PRAGMA synchronous = OFF")

    event.listen(Engine, "connect", relax)
    try:
        yield
    finally:
        event.remove(Engine, "connect", relax)
