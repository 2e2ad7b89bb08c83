"""Writes a bundle as the folder of an MLflow model, which MLflow loads, serves and shows.

MLflow's own ``pyfunc.save_model`` is not used. It searches all installed packages for the model's requirements
(``NEEDS``), which takes a second of CPU time, although their versions are known. It also copies the ``pyproject.toml``
of the working directory beside the model. ``tests/search/publishing/tracking/test_publishing.py`` compares its folder
with ours.
"""

import json
import platform
import shutil
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import yaml

from skipstack.search.publishing.bundles.files import MANIFEST, MODEL

if TYPE_CHECKING:
    from mlflow.models import ModelSignature

LOADER: Final = "skipstack.search.publishing.bundles.served"
"""The module with which MLflow loads the bundle; the model's folder has no code."""

EXAMPLE: Final = {"columns": ["text"], "data": [["the old dogs sleep"]]}
"""An arbitrary example input, as a frame in the orientation ``split``."""

NEEDS: Final = ("skipstack", "mlflow", "torch")
"""The packages that loading the model requires."""


def save_model(bundle: Path, to: Path, *, run_id: str | None = None, model_id: str | None = None) -> None:
    """Write a network's bundle into the new folder ``to``, as an MLflow model of the flavour ``python_function``.
    ``run_id``, ``model_id``: the ids of the trial's run and of the logged model, if any.
    """
    from mlflow.models import Model

    data = Path("data", bundle.name)
    shutil.copytree(bundle, to / data)
    files = {"input_example.json": EXAMPLE, "serving_input_example.json": {"dataframe_split": EXAMPLE}}
    for name, example in files.items():
        (to / name).write_text(json.dumps(example), encoding="utf-8")
    model = Model(
        **_of(run_id, model_id),
        signature=_signature(provenance(bundle)["task"]),
        saved_input_example_info={
            "artifact_path": "input_example.json",
            "pandas_orient": "split",
            "serving_input_path": "serving_input_example.json",
            "type": "dataframe",
        },
        model_size_bytes=sum(file.stat().st_size for file in to.rglob("*") if file.is_file()),
    )
    model.add_flavor(
        "python_function",
        loader_module=LOADER,
        python_version=platform.python_version(),
        data=data.as_posix(),
        code=None,
        env={"conda": "conda.yaml", "virtualenv": "python_env.yaml"},
        streamable=False,
    )
    model.save(str(to / "MLmodel"))
    _write_environment(to)


def save_own_model(bundle: Path, to: Path, *, run_id: str | None = None, model_id: str | None = None) -> None:
    """Write the bundle of a function's model into the new folder ``to``, as an MLflow model.

    If the function reported an MLflow model, this model is copied unchanged, with its flavours, and the rest of the
    bundle is copied into a subfolder. Otherwise the whole bundle becomes an MLflow model without flavours. ``run_id``,
    ``model_id``: as for ``save_model``.
    """
    from mlflow.models import Model

    (given,) = (bundle / MODEL).iterdir()
    if (given / "MLmodel").is_file():
        shutil.copytree(given, to)
        shutil.copytree(bundle, to / "skipstack", ignore=shutil.ignore_patterns(MODEL, MANIFEST))
        return
    shutil.copytree(bundle, to / "data" / bundle.name)
    Model(**_of(run_id, model_id)).save(str(to / "MLmodel"))


def provenance(bundle: Path) -> dict[str, str]:
    """Return the provenance of a bundle as texts, by name."""
    told = json.loads((bundle / "provenance.json").read_text(encoding="utf-8"))
    return {name: str(value) for name, value in told.items()}


def _of(run_id: str | None, model_id: str | None) -> dict[str, Any]:
    """Return ids as arguments of ``Model``. A ``model_id`` of None is left out: MLflow 2 would write it to the file."""
    return {"run_id": run_id} if model_id is None else {"run_id": run_id, "model_id": model_id}


def _write_environment(to: Path) -> None:
    """Write the requirements for pip, virtualenv and conda. Local versions (``+cpu``), which no index has, are cut."""
    needs = [f"{name}=={metadata.version(name).partition('+')[0]}" for name in NEEDS]
    python = platform.python_version()
    conda = {
        "name": "mlflow-env",
        "channels": ["conda-forge"],
        "dependencies": [f"python={python}", "pip", {"pip": needs}],
    }
    virtual = {
        "python": python,
        "build_dependencies": ["pip", "setuptools", "wheel"],
        "dependencies": ["-r requirements.txt"],
    }
    (to / "requirements.txt").write_text("\n".join(needs), encoding="utf-8")
    for name, environment in (("conda.yaml", conda), ("python_env.yaml", virtual)):
        (to / name).write_text(yaml.safe_dump(environment, sort_keys=False), encoding="utf-8")


def _signature(task: str) -> "ModelSignature":
    from mlflow.models import ModelSignature
    from mlflow.types import ColSpec, DataType, Schema
    from mlflow.types.schema import Array

    found = [ColSpec(Array(DataType.string), name) for name in ("words", "tags")]
    more = {
        "parsing": [ColSpec(Array(DataType.long), "heads")],
        "slots_and_intent": [ColSpec(DataType.string, "intent")],
    }
    outputs = Schema([*found, *more.get(task, [])])
    return ModelSignature(inputs=Schema([ColSpec(DataType.string, "text")]), outputs=outputs)
