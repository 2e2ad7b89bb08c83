"""Reads a study from MLflow, without the study's folder: from the copy of its ledger among the artifacts of its run.

The copy is compressed, and its lines have checksums; reading it runs no code. Requests to the store are made in a
separate process (``tracking_process.py``).
"""

import atexit
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Final

from skipstack.data.basis.errors import UserError, unknown
from skipstack.data.basis.redaction import without_secrets
from skipstack.search.ledger.events import StudyOpened
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.publishing.tracking.client import connected, search_runs, told
from skipstack.search.publishing.tracking.runs import study_id
from skipstack.search.publishing.tracking.stores import URI, chosen_store, database_file
from skipstack.search.publishing.tracking.tracking_process import TrackingProcess
from skipstack.search.publishing.tracking.writer import LEDGER
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.upgrading import upgrade

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Run

STUDY, RUN = "mlflow:", "runs:/"
"""The prefixes of a study's address in MLflow. ``mlflow:`` is followed by the study's name or id, and ``runs:/`` by the
id of any of its runs.
"""

LEDGERS: Final = {LEDGER: "000001.jsonl.gz", "ledger.parquet": "000001.parquet"}
"""Maps each possible name of the ledger's copy among artifacts to the name that the copy gets in a ledger folder.
Versions up to 0.2.0 wrote ``ledger.parquet``.
"""

STUDIES: Final = "tags.`skipstack.kind` = 'study'"
"""The filter for runs of studies as a whole."""


def located(studies: Sequence[Path], tracking_uri: str | None) -> list[Path]:
    """Return the folders of ``studies``, which are given as folders or addresses in MLflow. For a study at an address,
    the copy of its ledger is downloaded into a temporary folder.

    Raises UserError if an address does not match exactly one study, and if no store is named.
    """
    asked = [str(study) for study in studies if str(study).startswith((STUDY, RUN)) and not study.exists()]
    if not asked:
        return list(studies)
    uri, folder = _store(asked[0], tracking_uri), _temporary_folder()
    with TrackingProcess() as process:
        found = process.call(asked[0], uri, fetch, asked, uri, folder)
    return [found.get(str(study), study) for study in studies]


def all_located(tracking_uri: str | None) -> dict[str, Path]:
    """Read all studies of a store into temporary folders, if the store has copies of their ledgers. Returns the folders
    by the studies' addresses, the latest study first.

    An address has the study's name or, if several studies have this name, the study's id. Raises UserError if the store
    has no study.
    """
    uri, folder = _store(STUDY, tracking_uri), _temporary_folder()
    with TrackingProcess() as process:
        found = process.call(STUDY, uri, fetch_all, uri, folder)
    if not found:
        raise UserError(f"{STUDY} {without_secrets(uri)} has no study (allowed: a store that `skipstack search` wrote)")
    return found


def fetch(addresses: Sequence[str], uri: str, to: Path) -> dict[str, Path]:
    """Read the studies at ``addresses`` in the store at ``uri`` into new folders in ``to``. Returns the folders by
    address. Raises UserError as ``located`` does.
    """
    found = {}
    for text in addresses:
        with told(text, uri):
            client = connected(uri)
            folder = _received(client, _run(client, text), Path(mkdtemp(dir=to)), uri)
        if folder is None:
            raise UserError(
                f"{text}: the run has no {LEDGER} (allowed: a study that runs or ran with this store; `skipstack sync "
                "DIR --tracking-uri URI` writes it)"
            )
        found[text] = folder
    return found


def fetch_all(uri: str, to: Path) -> dict[str, Path]:
    """Read all studies of the store at ``uri`` into new folders in ``to``. Returns the folders by address. A study
    whose copy is damaged or out of reach has a folder, too, which whoever reads it refuses. Raises UserError if the
    store does not answer, or if none of its studies can be read.
    """
    with told(STUDY, uri):
        client = connected(uri)
        runs = sorted(_studies(client), key=lambda run: -(run.info.start_time or 0))
        names = Counter(run.data.params.get("study") for run in runs)
        found: dict[str, Path] = {}
        troubles: list[Exception] = []
        for run in runs:
            name = run.data.params.get("study")
            empty = Path(mkdtemp(dir=to))
            try:
                folder = _received(client, run, empty, uri)
            except Exception as error:  # noqa: BLE001 (one study must not keep the others from being shown)
                folder = empty
                troubles.append(error)
            if folder is not None:
                found[f"{STUDY}{name if names[name] == 1 else run.data.tags['skipstack.study']}"] = folder
        if troubles and len(troubles) == len(found):
            raise troubles[0]
    return found


def _temporary_folder() -> Path:
    """Create a folder that is removed when this process ends."""
    folder = Path(mkdtemp(prefix="skipstack-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _store(text: str, tracking_uri: str | None) -> str:
    """Return the URI of the store to search for ``text``. Raises UserError if no option or variable names a store, or
    if the store's file is missing.
    """
    uri = chosen_store(tracking_uri)
    if uri is None:
        raise UserError(f"{text}: in which store? (allowed: with --tracking-uri URI, or {URI} in the environment)")
    if (database := database_file(uri)) is not None and not database.exists():  # MLflow would make it
        raise UserError(f"{text}: the store has no file {database} (allowed: one that is there)")
    return uri


def _received(client: "MlflowClient", run: "Run", folder: Path, uri: str) -> Path | None:
    """Read the ledger of a study into the empty ``folder``, and return the folder. ``run``: the study's own run.

    If the store is a file in the study's folder, it has no copy of the ledger, and the study's folder is returned. None
    if there is neither a copy nor such a folder.
    """
    files = {file.path for file in client.list_artifacts(run.info.run_id)}
    if not files & LEDGERS.keys():
        return _own_folder(run, uri)
    name, first = next((name, first) for name, first in LEDGERS.items() if name in files)
    ledger = StudyFolder(folder).ledger
    ledger.mkdir()
    Path(client.download_artifacts(run.info.run_id, name, str(folder))).rename(ledger / first)
    upgrade(folder)
    return folder


def _own_folder(run: "Run", uri: str) -> Path | None:
    """Return the folder of the study of ``run`` if the store is a file in this folder, otherwise None."""
    database = database_file(uri)
    folder = None if database is None else StudyFolder(database.resolve().parent)
    if folder is None or database is None or database.name != folder.runs_database.name or not folder.ledger.is_dir():
        return None
    opened = next(iter(Ledger(folder.ledger).replay()), None)
    same = isinstance(opened, StudyOpened) and study_id(opened) == run.data.tags.get("skipstack.study")
    return folder.path if same else None


def _studies(client: "MlflowClient") -> "Iterator[Run]":
    """Yields the runs of all studies of a store, without the runs of trials."""
    return search_runs(client, [each.experiment_id for each in client.search_experiments()], STUDIES)


def _run(client: "MlflowClient", text: str) -> "Run":
    """Find the run of the study at the address ``text``. Raises UserError if there is not exactly one such study."""
    if text.startswith(RUN):
        run = client.get_run(text.removeprefix(RUN).strip("/"))
        for _ in range(3):  # above a call may be a trial, above that an ablation, and above that the study
            above = run.data.tags.get("mlflow.parentRunId")
            run = run if above is None else client.get_run(above)
        return run
    wanted = text.removeprefix(STUDY)
    runs = list(_studies(client))
    by_id = {run.data.tags["skipstack.study"]: run for run in runs}
    named = {study_id: run for study_id, run in by_id.items() if run.data.params.get("study") == wanted}
    if wanted in by_id:
        return by_id[wanted]
    if len(named) > 1:
        raise UserError(f"{text}: got {len(named)} studies of this name (allowed: one, {STUDY} and {', '.join(named)})")
    if not named:
        names = sorted({run.data.params.get("study", "") for run in runs})
        raise UserError(f"{text}: {unknown('study', wanted, names)}")
    return next(iter(named.values()))
