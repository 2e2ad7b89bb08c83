"""Bundles as MLflow's logged models: what it shows under "Models", registers and serves.

A model is the bundle, data only, and the name of our module that loads it (``search/bundles/served.py``).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from skipstack.data.basis.errors import UserError
from skipstack.search.tracking.client import Found, connected, found_study, told
from skipstack.search.tracking.entry import RunKey
from skipstack.search.tracking.model_folder import provenance, save_model

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import LoggedModel

TAG: Final = "skipstack.bundle"
"""The tag of a logged model that says which network it is."""


@dataclass(frozen=True, kw_only=True, slots=True)
class BestBundle:
    """The best network of a study: ``name`` tells it from any other of the study, ``write`` writes its bundle.

    ``write`` takes a new folder and raises UserError where the weights are gone.
    """

    name: str
    trial: int
    write: Callable[[Path], object]


def logged_model(
    client: "MlflowClient", found: Found, keys: Sequence[RunKey], bundle: BestBundle, study_id: str
) -> str | None:
    """The id of the logged model of a bundle of this study, made if need be; an output of the runs ``keys``.

    One whose files were not written to the end is made again. None where the weights are gone.
    """
    having = f"tags.`{TAG}` = '{study_id}/{bundle.name}'"
    before: list[LoggedModel] = list(client.search_logged_models([found.experiment_id], filter_string=having))
    for model in before:
        if model.status == "READY":
            return str(model.model_id)
        client.delete_logged_model(model.model_id)
    with TemporaryDirectory(prefix="skipstack-") as folder:
        try:
            bundle.write(Path(folder) / "bundle")
        except UserError:
            return None
        return _log(client, found, keys, bundle, study_id, Path(folder))


def register(uri: str, experiment: str, study_id: str, bundle: BestBundle, name: str) -> int:
    """Put the network of a trial into the registry of the store under ``name``; the number of its version.

    One that is registered under this name keeps its number. Raises UserError where the store has no such study, where
    the weights are gone, and where the store refuses.
    """
    with told(name, uri):
        client = connected(uri)
        found = found_study(client, experiment, study_id)
        if found is None:
            raise UserError("--register: the store does not have the study (allowed: after `skipstack sync DIR`)")
        model_id = logged_model(client, found, ((None, bundle.trial),), bundle, study_id)
        if model_id is None:
            raise UserError(f"--register: trial {bundle.trial} has no weights any more")
        if not any(each.name == name for each in client.search_registered_models(f"name = '{name}'")):
            client.create_registered_model(name)
        place = client.get_logged_model(model_id).artifact_location  # `models:/ID` is looked for in MLflow's own store
        for version in client.search_model_versions(f"name = '{name}'"):
            if version.source == place:
                return int(version.version)
        made = client.create_model_version(name, place, found.study.info.run_id, model_id=model_id)
        return int(made.version)


def _log(
    client: "MlflowClient", found: Found, keys: Sequence[RunKey], bundle: BestBundle, study_id: str, folder: Path
) -> str:
    from mlflow.entities import LoggedModelOutput

    run_id = found.study.info.run_id
    model = client.create_logged_model(
        found.experiment_id,
        name=f"trial-{bundle.trial}",
        source_run_id=run_id,
        tags={TAG: f"{study_id}/{bundle.name}", "skipstack.study": study_id, "skipstack.trial": str(bundle.trial)},
        params=provenance(folder / "bundle"),
        model_type="skipstack",
    )
    save_model(folder / "bundle", folder / "model", run_id=run_id, model_id=str(model.model_id))
    client.log_model_artifacts(model.model_id, str(folder / "model"))
    client.finalize_logged_model(model.model_id, "READY")
    for key in keys:
        if key in found.runs:
            client.log_outputs(found.runs[key].info.run_id, [LoggedModelOutput(str(model.model_id), 0)])
    return str(model.model_id)
