"""What a function tells MLflow within its trials stands in the runs that the study writes, and so does its model."""

import json
import os
import re
import shutil
import subprocess
import sys
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import mlflow
import numpy as np
import pytest
from mlflow.entities import Run
from sklearn.linear_model import SGDClassifier

import skipstack
from tests.command_line import typed
from tests.search.publishing.tracking.servers import served_as_printed

pytestmark = pytest.mark.slow

X = np.random.default_rng(0).normal(size=(60, 3))
Y = (X.sum(1) > 0).astype(int)
SPACE = skipstack.Space(alpha=skipstack.loguniform(1e-4, 1.0))


def trained(config: Mapping[str, Any], epochs: int) -> SGDClassifier:
    model = SGDClassifier(alpha=config["alpha"], random_state=config["seed"])
    for _ in range(epochs):
        model.partial_fit(X, Y, classes=[0, 1])
    return model


def objective(config: Mapping[str, Any], report: skipstack.Report) -> None:
    """Two epochs, each with a model of MLflow's; the first is the better one."""
    import mlflow
    from matplotlib.figure import Figure

    assert report.mlflow_run.id
    for epoch in (1, 2):
        model = report.folder / f"epoch-{epoch}"
        shutil.rmtree(model, ignore_errors=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            mlflow.sklearn.save_model(trained(config, epoch), model, pip_requirements=["scikit-learn"])
        mlflow.log_metric("inner", 10 * epoch + config["seed"], step=epoch)
        report(score=config["alpha"] - epoch, model=model)
    mlflow.log_figure(Figure(), "figure.png")
    mlflow.log_text(f"seed {config['seed']}", "words.txt")


def runs_of(uri: str) -> dict[str, Run]:
    client = mlflow.MlflowClient(uri)
    found = client.search_runs([each.experiment_id for each in client.search_experiments()])
    assert len({run.info.run_name for run in found}) == len(found), "none is there twice"
    return {run.info.run_name: run for run in found}


def files_of(run: Run) -> Path:
    return Path(run.info.artifact_uri.removeprefix("file://"))


@pytest.mark.parametrize("kind", ["sqlite", "folder"])
def test_a_run_has_what_the_study_and_the_function_say(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    uri = f"sqlite:///{tmp_path}/mine.db" if kind == "sqlite" else (tmp_path / "runs").as_uri()
    options: dict[str, Any] = {"engine": "serial", "tracking_uri": uri}
    whole = {"search.scheduler": "none"}  # so that both trials have both epochs
    study = skipstack.search(
        SPACE, objective, trials=2, seeds=1, epochs=3, settings=whole, out=tmp_path / "study", **options
    )
    runs = runs_of(uri)
    assert {name for name in runs if name.startswith("trial")} == {"trial 0", "trial 1"}
    for number in (0, 1):
        run = runs[f"trial {number}"]
        assert run.data.metrics["inner"] == 20.0
        assert run.data.metrics["best_score"] == pytest.approx(study.trials()["score"][number])
        assert run.info.status == "FINISHED"
        assert (files_of(run) / "words.txt").read_text() == "seed 0"
        assert (files_of(run) / "figure.png").read_bytes().startswith(b"\x89PNG")
    skipstack.extend(study.folder, objective, trials=1, **options)
    assert {name for name in runs_of(uri) if name.startswith("trial")} == {"trial 0", "trial 1", "trial 2"}


def test_the_best_model_is_registered_in_its_own_flavour(tmp_path: Path) -> None:
    study = skipstack.search(SPACE, objective, trials=3, seeds=2, epochs=3, engine="serial", out=tmp_path / "study")
    uri, bundle = f"sqlite:///{study.folder}/mlflow.db", tmp_path / "bundle"
    runs = runs_of(uri)
    assert runs["trial 0, seed 1"].data.metrics["inner"] == 21.0
    assert (files_of(runs["trial 0, seed 1"]) / "words.txt").read_text() == "seed 1"
    assert "inner" not in runs["trial 0"].data.metrics
    for _ in range(2):
        shutil.rmtree(bundle, ignore_errors=True)
        said = typed("export", study.folder, "--to", bundle, "--register", "linear").error
        assert "registered in MLflow: models:/linear/1, with the alias best" in said
    origin = skipstack.load_own(bundle).provenance
    best = study.best().iloc[0]
    assert (origin.trial, origin.epoch) == (best.name, 1)
    version = mlflow.MlflowClient(uri).get_model_version_by_alias("linear", "best")
    assert version.run_id == runs[f"trial {origin.trial}"].info.run_id
    place = Path(version.source.removeprefix("file://"))
    loaded = mlflow.sklearn.load_model(str(place))
    expected = trained({"alpha": best["axis.alpha"], "seed": origin.seed}, 1)
    with served_as_printed(tmp_path / "served", said) as address:
        asked = json.dumps({"inputs": X.tolist()}).encode()
        with urlopen(Request(f"{address}/invocations", asked, {"Content-Type": "application/json"})) as answer:
            assert json.loads(answer.read())["predictions"] == expected.predict(X).tolist()
    assert (loaded.coef_ == expected.coef_).all()
    assert (place / "skipstack" / "README.md").read_bytes() == (bundle / "README.md").read_bytes()
    given = bundle / "model" / "epoch-1"
    assert all((place / path.relative_to(given)).read_bytes() == path.read_bytes() for path in given.rglob("*.*"))


def test_files_that_are_no_model_of_mlflows_are_fetched_as_printed(tmp_path: Path) -> None:
    study = skipstack.search(SPACE, writes, trials=2, seeds=1, engine="serial", out=tmp_path / "study")
    said = typed("export", study.folder, "--to", tmp_path / "bundle", "--register", "words").error
    (printed,) = re.findall("^to fetch its files: (.*)$", said, re.MULTILINE)
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    fetched = subprocess.run(
        ["bash", "-c", f"{printed} --dst-path fetched"],
        cwd=tmp_path,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert fetched.returncode == 0, fetched.stderr
    (file,) = (tmp_path / "fetched").rglob("words.txt")
    assert file.read_bytes() == (tmp_path / "bundle" / "model" / "words.txt").read_bytes()


def writes(config: Mapping[str, Any], report: skipstack.Report) -> None:
    model = report.folder / "words.txt"
    model.write_text(str(config["alpha"]))
    report(score=config["alpha"], model=model)


def test_runs_that_a_function_leaves_active_are_ended_and_its_callers_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MLflow's active runs belong to a thread, so that a function that logs without one begins runs of its own."""

    def logs(config: Mapping[str, Any]) -> float:
        mlflow.log_metric("inner", config["alpha"])
        if config["alpha"] > 0.5:
            raise ValueError("too large")
        return float(config["alpha"])

    monkeypatch.chdir(tmp_path)
    theirs = f"sqlite:///{tmp_path}/theirs.db"
    mlflow.set_tracking_uri(theirs)
    try:
        mlflow.set_experiment("mine")
        with mlflow.start_run(run_name="callers") as callers:
            space = skipstack.Space(alpha=skipstack.choice(0.25, 0.75))
            skipstack.search(space, logs, settings={"search.proposer": "grid"}, seeds=1, engine="serial", out="study")
            active = mlflow.active_run()
            assert active is not None
            assert active.info.run_id == callers.info.run_id
            assert mlflow.get_run(callers.info.run_id).info.status == "RUNNING"
    finally:
        mlflow.set_tracking_uri(None)  # type: ignore[arg-type]
    client = mlflow.MlflowClient(theirs)
    mine = client.get_experiment_by_name("mine")
    assert mine is not None
    found = {run.data.metrics.get("inner"): run.info.status for run in client.search_runs([mine.experiment_id])}
    assert found == {0.25: "FINISHED", 0.75: "FAILED", None: "FINISHED"}
