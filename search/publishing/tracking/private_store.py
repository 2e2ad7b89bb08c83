"""The store of one study alone, an sqlite file: its tables are copied, and its commits do not wait for the disk.

MLflow makes its tables by all of its migrations, one after another: two seconds of CPU time for each study. Before any
run they are the same everywhere, so they are made once for each version of MLflow.
"""

import os
import shutil
import sqlite3
import tempfile
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from importlib.metadata import version
from pathlib import Path

from platformdirs import user_cache_path

from skipstack.search.publishing.tracking.client import connected


def lay_tables(database: Path) -> None:
    """Put MLflow's tables where no ``database`` is yet. A cache that cannot be used leaves them to MLflow."""
    if database.exists():
        return
    with suppress(OSError, sqlite3.Error):
        empty = user_cache_path("skipstack", appauthor=False) / f"mlflow-{version('mlflow')}.db"
        if not empty.exists():
            empty.parent.mkdir(parents=True, exist_ok=True)
            _make(empty)
        _put(empty, database)


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


def _make(empty: Path) -> None:
    """Let MLflow make the tables, in a private folder; its default experiment lies there, so it is left out."""
    with tempfile.TemporaryDirectory(prefix="skipstack-", dir=empty.parent) as folder:
        made, left = Path(folder) / "made.db", Path(folder) / "left.db"
        connected(f"sqlite:///{made}").search_experiments()
        with closing(sqlite3.connect(made, isolation_level=None)) as connection:
            connection.execute("DELETE FROM experiments")
            connection.execute("VACUUM INTO ?", [str(left)])
        os.replace(left, empty)


def _put(empty: Path, database: Path) -> None:
    """Copy the tables whole or not at all, and never replace a store that somebody else has opened meanwhile."""
    with tempfile.TemporaryDirectory(prefix=f"{database.name}-", dir=database.parent) as folder:
        os.link(shutil.copyfile(empty, Path(folder) / database.name), database)
