"""Sends requests to an MLflow store: finds a study's runs, and writes and reads files among their artifacts.

Call these functions only in the process that imports MLflow (``tracking_process.py``).
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from skipstack.data.basis.errors import UserError, one_line
from skipstack.data.basis.redaction import hide, redacted, without_secrets
from skipstack.search.publishing.tracking.entry import STUDY, RunKey, key_of, of_study

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Run

PAGE = 200
"""The number of runs per request; a thousand runs take 100 MB of memory."""


def found_study(client: "MlflowClient", experiment: str, study_id: str) -> "dict[RunKey, Run]":
    """Find the runs of a study in an experiment, by their keys. Empty if the experiment or the run of the study as a
    whole does not exist.
    """
    runs = {key_of(run): run for run in runs_in(client, experiment, of_study(study_id))}
    return runs if STUDY in runs else {}


def own_run(client: "MlflowClient", experiment: str, study_id: str) -> "Run | None":
    """Find the run of a study as a whole. None if the experiment or the run does not exist."""
    return next(runs_in(client, experiment, f"{of_study(study_id)} AND tags.`skipstack.kind` = 'study'"), None)


def runs_in(client: "MlflowClient", experiment: str, having: str) -> "Iterator[Run]":
    """Yields the runs of an experiment that match the filter ``having``; none if there is no such experiment."""
    named = client.get_experiment_by_name(experiment)
    if named is not None:
        yield from search_runs(client, [named.experiment_id], having)


def search_runs(client: "MlflowClient", experiment_ids: list[str], having: str) -> "Iterator[Run]":
    """Yields the runs of these experiments that match the filter ``having``, requested page by page."""
    token = None
    while True:
        page = client.search_runs(experiment_ids, having, max_results=PAGE, page_token=token)
        yield from page
        token = page.token
        if not token:
            return


def connected(uri: str) -> "MlflowClient":
    """Create a client of the store at ``uri``, without contacting the store."""
    hide(uri)
    from mlflow import MlflowClient

    return MlflowClient(uri)


def put(client: "MlflowClient", run_id: str, files: Mapping[str, str | bytes | Path]) -> None:
    """Write files among the artifacts of a run. ``files``: maps each artifact's name (such as ``folder/file.txt``) to
    its content, or to the path of a local file. Such a file must have the artifact's file name (``file.txt``).
    """
    with TemporaryDirectory(prefix="skipstack-") as folder:
        for name, content in files.items():
            path = content if isinstance(content, Path) else Path(folder) / name
            if not isinstance(content, Path):
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content.encode() if isinstance(content, str) else content)
            within = PurePosixPath(name).parent.as_posix()
            client.log_artifact(run_id, str(path), None if within == "." else within)


@contextmanager
def told(asked: str, uri: str) -> Iterator[None]:
    """Turns any exception in the ``with`` statement into UserError, with a message of one line and without secrets.
    ``asked``: the beginning of the message. ``uri``: the store to which the statement sends requests.
    """
    try:
        yield
    except UserError:
        raise
    except Exception as error:
        why = redacted(f"{asked}: MLflow at {without_secrets(uri)} says: {one_line(error)}")
        raise UserError(f"{why} (allowed: a store that answers, and what it has)") from error
