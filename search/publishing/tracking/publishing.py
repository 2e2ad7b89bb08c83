"""Publishes a finished study in MLflow: the report as texts and files of runs, and the best network as a model."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from skipstack.data.basis.redaction import redacted, without_secrets
from skipstack.search.publishing.tracking.client import connected, found_study, own_run, put
from skipstack.search.publishing.tracking.entry import NOTE, STUDY, RunKey
from skipstack.search.publishing.tracking.logged_models import BestBundle, keep
from skipstack.search.publishing.tracking.names import stored_name
from skipstack.search.publishing.tracking.retry_loop import RetryLoop
from skipstack.search.publishing.tracking.stores import is_folder

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Run

FILES: Final = "skipstack.files"
"""A tag of a run: the ``made_of`` of the publication whose files were last written to the run."""

PUBLISHED: Final = "skipstack.published"
"""A tag of a study's run: the ``made_of`` of the latest publication that was written completely."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Publication:
    """The content to publish for a study.

    ``made_of``: identifies the events and the version of skipstack from which the content was created. Files are not
    written again if those in the store have the same ``made_of``. ``notes``: maps each run's key to its description in
    Markdown. ``metrics``, ``tags``, ``files``: map each run's key to its metrics, tags and files by name. ``best``: the
    bundle to store as a model; None if there is none.
    """

    made_of: str

    notes: Mapping[RunKey, str] = field(default_factory=dict)
    metrics: Mapping[RunKey, Mapping[str, float]] = field(default_factory=dict)
    tags: Mapping[RunKey, Mapping[str, str]] = field(default_factory=dict)
    files: Mapping[RunKey, Mapping[str, bytes]] = field(default_factory=dict)
    best: BestBundle | None = None


@dataclass(slots=True)
class PublishingResult:
    """The result of publishing a study. ``experiment_id``: the id of its experiment; None if unknown. ``missing``: a
    line on content that could not be published, with the reason; None if nothing is missing. ``otherwise``: a line on
    content that newer versions of MLflow show differently; None without such content.
    """

    experiment_id: str | None = None
    missing: str | None = None
    otherwise: str | None = None


def published(uri: str, experiment: str, study_id: str, what: str) -> PublishingResult | None:
    """Look up whether the store has a complete publication. ``what``: the ``made_of`` of the publication. Returns a
    result with the experiment's id if so. None if not, or if the store cannot be asked.
    """
    try:
        client = connected(uri)
        run = own_run(client, experiment, study_id)
        if run is None or run.data.tags.get(PUBLISHED) != what:
            return None
        return PublishingResult(experiment_id=run.info.experiment_id)
    except Exception:  # noqa: BLE001 (``publish`` will report why the store fails)
        return None


def publish(uri: str, experiment: str, study_id: str, publication: Publication, loop: RetryLoop) -> PublishingResult:
    """Write a publication into the runs of a study, except runs that the user deleted. Call this once the store has all
    events of the study. Parts that the store already has are not written again.

    ``loop``: repeats the writing if the store fails.
    """
    shown = PublishingResult()
    told: set[object] = set()

    def progressed(part: object) -> None:
        if part not in told:  # rewriting a part after a later part failed is no progress
            told.add(part)
            loop.progressed()

    trouble = loop.run(lambda _: _publish(uri, experiment, study_id, publication, shown, progressed))
    if trouble is not None:
        shown.missing = unpublished(uri, trouble)
    return shown


def unpublished(uri: str, trouble: str) -> str:
    """Return a line for the user on why a report is incomplete in MLflow, without secrets."""
    return redacted(f"MLflow at {uri}: the report is not all there ({trouble})")


def _publish(
    uri: str,
    experiment: str,
    study_id: str,
    publication: Publication,
    shown: PublishingResult,
    progressed: Callable[[object], None],
) -> None:
    client = connected(uri)
    runs = found_study(client, experiment, study_id)
    if not runs:
        return  # the user deleted the study's run
    shown.experiment_id = runs[STUDY].info.experiment_id
    for key in dict.fromkeys([*publication.notes, *publication.metrics, *publication.tags]):
        if key in runs:
            _say(client, runs[key], key, publication, "." if is_folder(uri) else "/")
            progressed(key)
    for key, files in publication.files.items():
        if key in runs and runs[key].data.tags.get(FILES) != publication.made_of:
            for name, content in files.items():
                put(client, runs[key].info.run_id, {name: content})
                progressed((key, name))
            client.set_tag(runs[key].info.run_id, FILES, publication.made_of)
    kept = None
    if publication.best is not None:
        kept = keep(client, runs, publication.best, study_id)
        if kept is not None and kept.model_id is None:
            shown.otherwise = (
                f"MLflow at {without_secrets(uri)} has no page of models, which came with version 3 of server and "
                "client: the best network is a folder among the artifacts of its trial's run"
            )
    # If the model is among artifacts, ``PUBLISHED`` is not set: the next run publishes and reports ``otherwise`` again.
    if kept is None or kept.model_id is not None:
        client.set_tag(runs[STUDY].info.run_id, PUBLISHED, publication.made_of)


def _say(client: "MlflowClient", run: "Run", key: RunKey, publication: Publication, between: str) -> None:
    """Write a publication's note, metrics and tags for ``run``, whose key is ``key``, unless the run has equal values.
    ``between``: as for ``stored_name``.
    """
    from mlflow.entities import Metric, RunTag

    tags = dict(publication.tags.get(key, {}))
    if key in publication.notes:
        tags[NOTE] = publication.notes[key]
    tags = {name: value for name, value in tags.items() if run.data.tags.get(name) != value}
    held = run.data.metrics
    own = {stored_name(name, between): value for name, value in publication.metrics.get(key, {}).items()}
    metrics = {name: value for name, value in own.items() if held.get(name) != value}
    if tags or metrics:
        at, now = run.info.end_time or run.info.start_time, round(1000 * time.time())
        client.log_batch(
            run.info.run_id,  # MLflow shows the latest point of a metric, so a new value gets the present time
            metrics=[Metric(name, value, now if name in held else at, 0) for name, value in metrics.items()],
            tags=[RunTag(name, value) for name, value in tags.items()],
        )
