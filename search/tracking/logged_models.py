"""Bundles as MLflow's logged models: what it shows under "Models", registers and serves.

A network is the bundle, data only, and the name of our module that loads it (``search/bundles/served.py``). The model
of a user's function is what the function gave, in the user's own flavours where that is a model of MLflow's.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from skipstack.data.basis.errors import UserError
from skipstack.search.tracking.client import Found, connected, found_study, got, told
from skipstack.search.tracking.entry import NOTE, note
from skipstack.search.tracking.model_folder import is_own, provenance, save_model, save_own_model

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import LoggedModel, Run

CARD: Final = "README.md"
"""The file of a bundle that describes it (``search/bundles/files.py``)."""

TAG: Final = "skipstack.bundle"
"""The tag of a logged model that says which network it is."""


@dataclass(frozen=True, kw_only=True, slots=True)
class BestBundle:
    """The best network of a study, or the model of its function: ``name`` tells it from any other of the study,
    ``write`` writes its bundle.

    ``write`` takes a new folder and raises UserError where the weights are gone. ``scores``: what each of its seeds
    reached, by metric, where the network is that of one seed. ``alias``: what it is called in the registry, beside its
    number.
    """

    name: str
    trial: int
    write: Callable[[Path], object]
    scores: Mapping[int, Mapping[str, float]] = field(default_factory=dict)
    alias: str = ""


def logged_model(client: "MlflowClient", uri: str, found: Found, bundle: BestBundle, study_id: str) -> str | None:
    """The id of the logged model of a bundle of this study in the store at ``uri``, made if need be; the output of its
    trial's run.

    One whose files were not written to the end is made again. None where the weights are gone.
    """
    having = f"tags.`{TAG}` = '{study_id}/{bundle.name}'"
    before: list[LoggedModel] = list(client.search_logged_models([found.experiment_id], filter_string=having))
    for model in before:
        if model.status == "READY":
            _complete(client, uri, found, bundle, model)
            return str(model.model_id)
        client.delete_logged_model(model.model_id)
    with TemporaryDirectory(prefix="skipstack-") as folder:
        try:
            bundle.write(Path(folder) / "bundle")
        except UserError:
            return None
        model = _log(client, found, bundle, study_id, Path(folder))
    _complete(client, uri, found, bundle, model)
    return str(model.model_id)


def register(uri: str, experiment: str, study_id: str, bundle: BestBundle, name: str) -> int:
    """Put the network of a trial into the registry of the store under ``name``; the number of its version.

    One that is registered under this name keeps its number. Its alias is given to it, whichever version had it. Raises
    UserError where the store has no such study, where the weights are gone, and where the store refuses.
    """
    with told(name, uri):
        client = connected(uri)
        found = found_study(client, experiment, study_id)
        if found is None:
            raise UserError("--register: the store does not have the study (allowed: after `skipstack sync DIR`)")
        model_id = logged_model(client, uri, found, bundle, study_id)
        if model_id is None:
            raise UserError(f"--register: trial {bundle.trial} has no weights any more")
        if not any(each.name == name for each in client.search_registered_models(f"name = '{name}'")):
            client.create_registered_model(name)
        version = _version(client, found, bundle, model_id, name)
        if bundle.alias:
            client.set_registered_model_alias(name, bundle.alias, str(version))
        return version


def _version(client: "MlflowClient", found: Found, bundle: BestBundle, model_id: str, name: str) -> int:
    """The version of this name that the model is, made if need be."""
    model = client.get_logged_model(model_id)
    place = model.artifact_location  # `models:/ID` is looked for in MLflow's own store
    for version in client.search_model_versions(f"name = '{name}'"):
        if version.source == place:
            return int(version.version)
    run = _run_of(found, bundle)
    made = client.create_model_version(
        name, place, None if run is None else run.info.run_id, description=model.tags.get(NOTE), model_id=model_id
    )
    return int(made.version)


def _run_of(found: Found, bundle: BestBundle) -> "Run | None":
    """The run of the trial that trained the network; None where the user deleted it."""
    return found.runs.get((None, bundle.trial))


def _log(client: "MlflowClient", found: Found, bundle: BestBundle, study_id: str, folder: Path) -> "LoggedModel":
    run = _run_of(found, bundle)
    run_id = None if run is None else str(run.info.run_id)
    card = (folder / "bundle" / CARD).read_text(encoding="utf-8")
    model = client.create_logged_model(
        found.experiment_id,
        name=f"trial-{bundle.trial}",
        source_run_id=run_id,
        tags={
            TAG: f"{study_id}/{bundle.name}",
            "skipstack.study": study_id,
            "skipstack.trial": str(bundle.trial),
            **note(card),
        },
        params=provenance(folder / "bundle"),
        model_type="skipstack",
    )
    save = save_own_model if is_own(folder / "bundle") else save_model
    save(folder / "bundle", folder / "model", run_id=run_id, model_id=str(model.model_id))
    client.log_model_artifacts(model.model_id, str(folder / "model"))
    return client.finalize_logged_model(model.model_id, "READY")


def _complete(client: "MlflowClient", uri: str, found: Found, bundle: BestBundle, model: "LoggedModel") -> None:
    """Give a model what it lacks: its card as its description, its trial's run as what made it, and what its network
    reached on which corpus.
    """
    from mlflow.entities import LoggedModelOutput, Metric

    if NOTE not in model.tags:
        client.set_logged_model_tags(model.model_id, note(got(model.artifact_location, f"data/bundle/{CARD}", uri)))
    run = _run_of(found, bundle)
    if run is None:
        return
    made = () if run.outputs is None else run.outputs.model_outputs
    if all(each.model_id != model.model_id for each in made):
        client.log_outputs(run.info.run_id, [LoggedModelOutput(str(model.model_id), 0)])
    held = {metric.key for metric in model.metrics or ()}
    lacking = {name: value for name, value in _scores(bundle, model).items() if name not in held}
    if lacking:
        read = next((each.dataset for each in (() if run.inputs is None else run.inputs.dataset_inputs)), None)
        corpus = {} if read is None else {"dataset_name": read.name, "dataset_digest": read.digest}
        at, own = run.info.end_time or run.info.start_time, {"model_id": model.model_id, "run_id": run.info.run_id}
        metrics = [Metric(name, value, at, 0, **own, **corpus) for name, value in lacking.items()]
        client.log_batch(run.info.run_id, metrics=metrics)


def _scores(bundle: BestBundle, model: "LoggedModel") -> Mapping[str, float]:
    """What the network reached, that of one seed; none of an ensemble."""
    seeds = model.params.get("seeds", model.params.get("seed", "")).strip("[]")
    return next((scores for seed, scores in bundle.scores.items() if seeds == str(seed)), {})
