"""Chooses and checks the MLflow store for a study's runs, named by an option or by MLflow's environment variables."""

import os
from contextlib import suppress
from importlib.metadata import entry_points
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from skipstack.data.basis.errors import UserError, one_line, unknown
from skipstack.data.basis.parts import need
from skipstack.data.basis.redaction import hide

DATABASES: Final = ("sqlite", "postgresql", "mysql", "mssql")
"""The kinds of databases that MLflow supports. In a URI, a driver may follow, as in ``mysql+pymysql``."""

SCHEMES: Final = (*DATABASES, "http", "https", "databricks", "file")
"""The kinds of store to which MLflow 3 writes runs, without those of installed plug-ins."""

BARE: Final = ("databricks", "databricks-uc", "uc")
"""Words that are a complete URI of a store. Any other word is the name of a folder."""

URI, EXPERIMENT, FILES = "MLFLOW_TRACKING_URI", "MLFLOW_EXPERIMENT_NAME", "MLFLOW_ALLOW_FILE_STORE"
"""MLflow's environment variables for the store, for the experiment, and for allowing a folder as the store."""

MEANT_OTHERWISE: Final = frozenset("?%")
"""The characters that must be percent-encoded in the path of an sqlite store's URI."""

SQLITE: Final = b"SQLite format 3\0"
"""The first bytes of each sqlite database that is not empty."""

ARTIFACTS: Final = "mlartifacts"
"""The name of the folder for artifacts, the same as on an MLflow server."""


def chosen_store(option: str | None) -> str | None:
    """Return the URI of the store that ``option`` names or, without an option, the environment. None if neither names a
    store. The store is not contacted. Raises UserError if MLflow cannot write to such a store, or is not installed.
    """
    for source, uri in (("--tracking-uri", option), (URI, os.environ.get(URI))):
        if uri:
            hide(uri)
            _check(source, uri)
            need("mlflow", source, f"no {source}")
            _check_driver(source, uri)
            return uri
    return None


def is_folder(uri: str) -> bool:
    """Whether the store keeps its runs as files in a folder."""
    return _kind(uri) in ("", "file")


def has_page(uri: str) -> bool:
    """Whether the store is a server with an HTTP address, where a browser shows its runs."""
    return _kind(uri) in ("http", "https")


def from_anywhere(uri: str) -> str:
    """Make the URI of a store independent of the working directory."""
    before, _, path = uri.partition(":///")
    if _kind(uri) == "sqlite" and path and not path.startswith("/"):
        here = sqlite_uri(Path.cwd())
        return f"{here if before == 'sqlite' else before + ':///' + here.partition(':///')[2]}/{path}"
    return uri if _kind(uri) else str(Path.cwd() / uri)


def artifacts_beside(uri: str, folder: Path | None) -> str | None:
    """Return the URI for the artifacts of a database store. They are beside the file of an sqlite store. For any other
    database they are in the study's ``folder``; None without a folder. None also for other stores, which choose the
    location themselves.
    """
    if _kind(uri) not in DATABASES:
        return None
    database = database_file(uri)
    beside = folder if database is None else Path.cwd() / database.parent
    return None if beside is None else (beside / ARTIFACTS).resolve().as_uri()


def database_file(uri: str) -> Path | None:
    """The file of an sqlite store; None for any other store."""
    if _kind(uri) != "sqlite":
        return None
    text = uri.partition(":///")[2]
    if MEANT_OTHERWISE.isdisjoint(text):
        return Path(text)
    from sqlalchemy import make_url

    return Path(make_url(uri).database or "")


def sqlite_uri(database: Path) -> str:
    """The URI of the sqlite store in the file ``database``, as SQLAlchemy reads it. A ``?`` or ``%`` in the path is
    encoded. Raises UserError if this version of SQLAlchemy has no URI for the file.
    """
    if MEANT_OTHERWISE.isdisjoint(str(database)):
        return f"sqlite:///{database}"
    from sqlalchemy import URL, make_url

    # The URI names the driver: for sqlite:///, MLflow would create a folder whose name has the percent codes.
    uri = URL.create("sqlite+pysqlite", database=str(database)).render_as_string()
    if make_url(uri).database != str(database):
        raise UserError(
            f"{database}: SQLAlchemy before 2.1 opens no database whose path has a ? (allowed: a path without, another "
            "store by --tracking-uri, or SQLAlchemy 2.1)"
        )
    return uri


def check_sqlite(source: str, uri: str) -> None:
    """Raise UserError if the path of an sqlite database seems to have a ``?``. Since ``?`` begins options, the database
    would be another file. ``source``: the option with the URI.
    """
    _, mark, options = uri.partition("?")
    if _kind(uri) == "sqlite" and mark and not all("=" in each for each in options.split("&")):
        raise UserError(
            f"{source}: got ?{options}, where ? begins options as in ?timeout=60 (allowed: %3F for a ? of the path, "
            "%25 for a %)"
        )


def _check_driver(source: str, uri: str) -> None:
    """Raise UserError if the Python package that connects to the database of ``uri`` is missing, or unknown."""
    if _kind(uri) not in DATABASES or uri.startswith("sqlite:"):  # Python has sqlite's driver
        return
    from sqlalchemy import make_url
    from sqlalchemy.exc import ArgumentError

    try:
        make_url(uri).get_dialect().import_dbapi()
    except ModuleNotFoundError as missing:
        raise UserError(
            f"{source}: the Python module {missing.name} is missing, which connects to {_kind(uri)} (allowed: with it "
            "installed, or another store)"
        ) from None
    except (ArgumentError, ValueError) as error:  # an unknown driver, or a port that is no number
        words = f"{source}: SQLAlchemy takes no such address ({one_line(error)})"
        raise UserError(f"{words} (allowed: as in {_kind(uri)}://HOST/NAME)") from None


def _check_file(source: str, database: Path | None) -> None:
    """Raise UserError if ``database`` is a folder or not an SQLite database. ``database``: the file of a store; None if
    the store is not a file.
    """
    if database is None or not database.exists():
        return
    if database.is_dir():
        raise UserError(f"{source}: {database} is a folder (allowed: a file in it, as in {database}/mlflow.db)")
    with suppress(OSError), database.open("rb") as file:
        if (begin := file.read(len(SQLITE))) and begin != SQLITE:
            raise UserError(f"{source}: {database} is no SQLite database (allowed: a new file, or one of MLflow's)")


def _kind(uri: str) -> str:
    """Return the kind of a store: the scheme of its URI, without a database's driver. Empty for a path."""
    scheme = uri if uri in BARE else uri.partition(":")[0] if ":" in uri.partition("/")[0] else ""
    database, _, driver = scheme.partition("+")
    return database if database in DATABASES and driver else scheme


def _check(source: str, uri: str) -> None:
    kind = _kind(uri)
    if kind and kind not in SCHEMES:
        if kind in entry_points(group="mlflow.tracking_store").names:
            return
        raise UserError(f"{source}: {unknown('kind of store', kind, SCHEMES)}, as in sqlite:////PATH/mlflow.db")
    if kind not in ("", "file", "databricks") and "://" not in uri:
        example = "sqlite:////PATH/mlflow.db" if kind == "sqlite" else f"{kind}://HOST"
        raise UserError(f"{source}: got {kind}: without // after it (allowed: as in {example})")
    if has_page(uri) and not urlsplit(uri).netloc:
        raise UserError(f"{source}: got {uri} without a host (allowed: as in http://HOST:5000)")
    check_sqlite(source, uri)
    _check_file(source, database_file(uri))
    if not kind and Path(uri).is_file():
        raise UserError(f"{source}: got the file {uri} (allowed: a store, as in sqlite:////PATH/mlflow.db)")
    if is_folder(uri) and os.environ.get(FILES, "").lower() not in ("true", "1"):
        raise UserError(
            f"{source}: got a folder, where MLflow 3 writes only with {FILES}=true in the environment (allowed: that, "
            f"or one of {', '.join(SCHEMES)}, as in sqlite:////PATH/mlflow.db)"
        )
    if kind == "databricks" and not os.environ.get(EXPERIMENT, "").startswith("/"):
        raise UserError(
            f"{source}: got databricks, where experiments have paths (allowed: with {EXPERIMENT} in the environment, "
            "as in /Users/YOU/skipstack)"
        )
