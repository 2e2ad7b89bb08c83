"""Stores bundles as MLflow models, which MLflow shows, registers and serves.

For a network, the MLflow model has the bundle, which is data only, and the name of the skipstack module that loads the
bundle (``search/publishing/bundles/served.py``). For a user's function, it has the files that the function reported. If
these are an MLflow model themselves, its flavours are kept.

Logged models, which have their own pages, came with MLflow 3. If the client or the server is older, a model is stored
as a folder among the artifacts of its trial's run.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

from skipstack.data.basis.errors import UserError
from skipstack.search.publishing.bundles.files import CARD, is_own
from skipstack.search.publishing.tracking.client import connected, found_study, told
from skipstack.search.publishing.tracking.entry import NOTE, STUDY, RunKey, note
from skipstack.search.publishing.tracking.model_folder import provenance, save_model, save_own_model
from skipstack.search.publishing.tracking.names import LONGEST, LONGEST_DESCRIPTION

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import LoggedModel, Run

TAG: Final = "skipstack.bundle"
"""The tag of a logged model that identifies the bundle. For a model among artifacts, this is the prefix of a tag of the
trial's run. The run's tag is set once the model's files are written, and its value is the model's card.
"""

MADE: Final = "skipstack.made_of"
"""The tag of a logged model with the ``made_of`` of its card. For a model among artifacts, this is the end of a tag of
the trial's run, after ``TAG`` and the bundle's name.
"""

UNKNOWN: Final = "ENDPOINT_NOT_FOUND"
"""MLflow's error code for an endpoint that a server does not have."""


@dataclass(frozen=True, kw_only=True, slots=True)
class BestBundle:
    """A bundle to store in MLflow. It has a study's best network, or the model that the study's function reported.

    ``name``: unique among the study's bundles. ``trial``: the number of the trial. ``write``: writes the bundle into a
    new folder, and raises UserError if the weights were deleted. ``made_of``: identifies the events from which the
    bundle's card is made, as for a ``Publication``. ``scores``: the metrics of the trial by seed and name. Those of the
    bundle's seed are stored, and none for an ensemble. ``alias``: the alias of the model's version in the registry;
    empty means none.
    """

    name: str
    trial: int
    write: Callable[[Path], object]
    made_of: str
    scores: Mapping[int, Mapping[str, float]] = field(default_factory=dict)
    alias: str = ""


@dataclass(frozen=True, slots=True)
class StoredModel:
    """A model in an MLflow store. ``place``: the URI of its files. ``run_id``: the id of its trial's run; None if the
    user deleted this run. ``card``: the card of its bundle. ``model_id``: the id of the logged model; None for a model
    among artifacts.
    """

    place: str
    run_id: str | None
    card: str
    model_id: str | None


def keep(client: "MlflowClient", runs: "dict[RunKey, Run]", bundle: BestBundle, study_id: str) -> StoredModel | None:
    """Store a bundle of a study as a model, and return the model. If it is in the store already, only its card is
    replaced, unless that has the same ``made_of``. Returns None if the weights were deleted. A logged model that was
    not completely written is deleted and written again.
    """
    before = _logged(client, runs, f"tags.`{TAG}` = '{study_id}/{bundle.name}'")
    if before is None:
        return _among_artifacts(client, runs, bundle)
    model = next((model for model in before if model.status == "READY"), None)
    if model is None:
        for broken in before:
            client.delete_logged_model(broken.model_id)
        with TemporaryDirectory(prefix="skipstack-") as folder:
            try:
                bundle.write(Path(folder) / "bundle")
            except UserError:
                return None
            model = _log(client, runs, bundle, study_id, Path(folder))
    card = model.tags.get(NOTE, "")
    if model.tags.get(MADE) != bundle.made_of:
        card = _card_now(client, bundle, model.artifact_location, card)
        client.set_logged_model_tags(model.model_id, {**note(card), MADE: bundle.made_of})
    run_id = _complete(client, runs, bundle, model)
    return StoredModel(model.artifact_location, run_id, card, str(model.model_id))


def register(uri: str, experiment: str, study_id: str, bundle: BestBundle, name: str) -> int:
    """Register the model of a bundle in the store's model registry as ``name``, which has no double quotes, since
    MLflow's filters cannot escape them. Returns the number of its version.

    A model that is already registered under this name keeps its version. The bundle's alias, if any, is moved to this
    version. Raises UserError if the store does not have the study, if the weights were deleted, and if the store
    refuses.
    """
    with told(name, uri):
        client = connected(uri)
        runs = found_study(client, experiment, study_id)
        if not runs:
            raise UserError("--register: the store does not have the study (allowed: after `skipstack sync DIR`)")
        kept = keep(client, runs, bundle, study_id)
        if kept is None:
            raise UserError(f"--register: trial {bundle.trial} has no weights any more")
        if not any(each.name == name for each in client.search_registered_models(f'name = "{name}"')):
            client.create_registered_model(name)
        version = _version(client, kept, name)
        if bundle.alias:
            client.set_registered_model_alias(name, bundle.alias, str(version))
        return version


def _version(client: "MlflowClient", kept: StoredModel, name: str) -> int:
    """Return the number of the model's version that is registered as ``name``. A missing version is created."""
    for version in client.search_model_versions(f'name = "{name}"'):
        # Versions are registered by the URI of their files: MLflow would resolve `models:/ID` in its default store.
        if version.source == kept.place:
            return int(version.version)
    of: dict[str, Any] = {} if kept.model_id is None else {"model_id": kept.model_id}  # MLflow 2 lacks this parameter
    description = kept.card[:LONGEST_DESCRIPTION]
    made = client.create_model_version(name, kept.place, kept.run_id, description=description, **of)
    return int(made.version)


def _card_now(client: "MlflowClient", bundle: BestBundle, place: str, card: str) -> str:
    """Write the bundle of a stored model again, and return its card. Registered versions of the model that have the
    former ``card`` as their description get the new one. If the weights were deleted, ``card`` stays. ``place``: the
    URI of the model's files.
    """
    with TemporaryDirectory(prefix="skipstack-") as folder:
        try:
            bundle.write(Path(folder) / "bundle")
        except UserError:
            return card
        now = _card(Path(folder))
    for version in client.search_model_versions(f'source_path = "{place}"'):
        if version.description and card.startswith(version.description):  # otherwise a user has changed it
            client.update_model_version(version.name, version.version, now[:LONGEST_DESCRIPTION])
    return now


def _logged(client: "MlflowClient", runs: "dict[RunKey, Run]", having: str) -> "list[LoggedModel] | None":
    """Return the experiment's logged models that match ``having``. None if MLflow is too old for logged models."""
    from mlflow.exceptions import MlflowException

    if not hasattr(client, "search_logged_models"):
        return None
    try:
        return list(client.search_logged_models([runs[STUDY].info.experiment_id], filter_string=having))
    except MlflowException as error:
        if error.error_code != UNKNOWN:
            raise
        return None


def _among_artifacts(client: "MlflowClient", runs: "dict[RunKey, Run]", bundle: BestBundle) -> StoredModel | None:
    """Store a bundle as a folder among the artifacts of its trial's run, as ``keep`` does. If the user deleted this
    run, the study's run is used.
    """
    from mlflow.entities import Metric, RunTag

    run = runs.get((None, bundle.trial), runs[STUDY])
    run_id, tag, within = run.info.run_id, f"{TAG}/{bundle.name}", f"bundle-{bundle.name.replace('/', '-')}"
    place = f"{run.info.artifact_uri}/{within}"
    card, made = run.data.tags.get(tag), RunTag(f"{tag}/{MADE}", bundle.made_of)
    if card is None:
        with TemporaryDirectory(prefix="skipstack-") as folder:
            here = Path(folder)
            try:
                bundle.write(here / "bundle")
            except UserError:
                return None
            _save(here, run_id)
            client.log_artifacts(run_id, str(here / "model"), within)
            card = _card(here)
            own = _scores(bundle, provenance(here / "bundle"))
        at = run.info.end_time or run.info.start_time
        metrics = [Metric(name, value, at, 0) for name, value in own.items()]
        client.log_batch(run_id, metrics, (), [RunTag(tag, card), made])
    elif run.data.tags.get(made.key) != bundle.made_of:
        card = _card_now(client, bundle, place, card)
        client.log_batch(run_id, (), (), [RunTag(tag, card), made])
    return StoredModel(place, run_id, card, None)


def _log(
    client: "MlflowClient", runs: "dict[RunKey, Run]", bundle: BestBundle, study_id: str, folder: Path
) -> "LoggedModel":
    run = runs.get((None, bundle.trial))  # None if the user deleted it
    run_id = None if run is None else str(run.info.run_id)
    model = client.create_logged_model(
        runs[STUDY].info.experiment_id,
        name=f"trial-{bundle.trial}",
        source_run_id=run_id,
        tags={
            TAG: f"{study_id}/{bundle.name}",
            MADE: bundle.made_of,
            "skipstack.study": study_id,
            "skipstack.trial": str(bundle.trial),
            **note(_card(folder)),
        },
        params=provenance(folder / "bundle"),
        model_type="skipstack",
    )
    _save(folder, run_id, str(model.model_id))
    client.log_model_artifacts(model.model_id, str(folder / "model"))
    return client.finalize_logged_model(model.model_id, "READY")


def _save(folder: Path, run_id: str | None, model_id: str | None = None) -> None:
    """Convert the bundle in ``folder/bundle`` into an MLflow model in ``folder/model``."""
    save = save_own_model if is_own(folder / "bundle") else save_model
    save(folder / "bundle", folder / "model", run_id=run_id, model_id=model_id)


def _card(folder: Path) -> str:
    return (folder / "bundle" / CARD).read_text(encoding="utf-8")[:LONGEST]


def _complete(
    client: "MlflowClient", runs: "dict[RunKey, Run]", bundle: BestBundle, model: "LoggedModel"
) -> str | None:
    """Add missing parts to a logged model: its origin (the trial's run), and its metrics with their corpus. Returns the
    id of the trial's run. None if the user deleted this run.
    """
    from mlflow.entities import LoggedModelOutput, Metric

    if (known := runs.get((None, bundle.trial))) is None:
        return None
    run = client.get_run(known.info.run_id)  # a search by an older server omits outputs
    made = () if run.outputs is None else run.outputs.model_outputs
    if all(each.model_id != model.model_id for each in made):
        client.log_outputs(run.info.run_id, [LoggedModelOutput(str(model.model_id), 0)])
    held = {metric.key for metric in model.metrics or ()}
    lacking = {name: value for name, value in _scores(bundle, model.params).items() if name not in held}
    if lacking:
        read = next((each.dataset for each in (() if run.inputs is None else run.inputs.dataset_inputs)), None)
        corpus = {} if read is None else {"dataset_name": read.name, "dataset_digest": read.digest}
        at, own = run.info.end_time or run.info.start_time, {"model_id": model.model_id, "run_id": run.info.run_id}
        metrics = [Metric(name, value, at, 0, **own, **corpus) for name, value in lacking.items()]
        client.log_batch(run.info.run_id, metrics=metrics)
    return str(run.info.run_id)


def _scores(bundle: BestBundle, provenance: Mapping[str, str]) -> Mapping[str, float]:
    """Return the metrics of the seed whose network or model a bundle has; empty for an ensemble of several seeds."""
    seeds = provenance.get("seeds", provenance.get("seed", "")).strip("[]")
    return next((scores for seed, scores in bundle.scores.items() if seeds == str(seed)), {})
