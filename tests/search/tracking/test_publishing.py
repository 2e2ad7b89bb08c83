"""What MLflow shows of a study that is over, and what can be read from there alone: what the study's folder says, once.

The store is an sqlite file for the whole module, which stands for a server: the study lies elsewhere.
"""

import json
import re
import shutil
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml

import skipstack
from skipstack.dashboards.cli import main
from skipstack.dashboards.commands.published import published
from skipstack.dashboards.commands.report import report
from skipstack.data.basis.errors import UserError
from skipstack.search.analysis.confirmation.ablated import ablated
from skipstack.search.api import run as running
from skipstack.search.api.options import Execution
from skipstack.search.api.run import Run, sync_to_mlflow
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.record.folder import StudyFolder
from skipstack.search.record.reading import read_study
from skipstack.search.record.study_record import StudyRecord
from skipstack.search.tracking import publishing, retry_loop
from skipstack.search.tracking.model_folder import LOADER, save_model
from skipstack.search.tracking.publishing import Publication
from skipstack.search.tracking.reading import all_located
from skipstack.search.tracking.runs import study_id
from skipstack.search.tracking.writer import LEDGER
from tests.search.ablation.toys import planted
from tests.search.finished import trained
from tests.search.toy import open_toy, run_toy, toy_study
from tests.search.tracking.here import TrackingHere
from tests.search.tracking.test_recording import KILLED, Call, Calls, Killed

pytestmark = pytest.mark.long

AXES = {
    "model.stack.depth": {"choice": [1, 3]},
    "model.stack.composition": {"choice": [0, 2]},
    "training.optimiser.learning_rate": {"choice": [0.01, 0.02], "when": {"model.stack.depth": [3]}},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A search and an ablation of it, without a network."""
    path = tmp_path_factory.mktemp("studies") / "planted"
    planted(path, AXES)
    return path


@pytest.fixture(scope="module")
def uri(tmp_path_factory: pytest.TempPathFactory, folder: Path) -> str:
    """A store that has the study as `skipstack sync` writes it."""
    uri = f"sqlite:///{tmp_path_factory.mktemp('mlflow') / 'mlflow.db'}"
    told: list[str] = []
    sync(folder, uri, told.append)
    assert told == []
    return uri


def sync(folder: Path, uri: str, warn: Callable[[str], None] = pytest.fail) -> None:
    """What `skipstack sync` does."""
    assert shown(sync_to_mlflow(folder, Execution(tracking_uri=uri, warn=warn)), published) is not None


def shown(run: Run, made: Callable[[StudyRecord, StudyFolder], Publication]) -> str | None:
    """What ``Run.publish`` does, which does nothing in tests."""
    assert not run.untracked
    (tracker,) = run.tracking
    record = read_study(run.folder.path)
    page = run.execution.publish(tracker, run.folder, record, made(record, run.folder))
    tracker.end()
    return page


def runs_of(uri: str, folder: Path) -> dict[tuple[str | None, str | None], Any]:
    from mlflow import MlflowClient

    client, opened = MlflowClient(uri), read_study(folder).opened
    assert opened is not None
    ids = [each.experiment_id for each in client.search_experiments()]
    found = client.search_runs(ids, f"tags.`skipstack.study` = '{study_id(opened)}'", max_results=1000)
    runs = {(run.data.tags.get("skipstack.ablation"), run.data.tags.get("skipstack.trial")): run for run in found}
    assert len(runs) == len(found), "two runs for one trial"
    return runs


def held(uri: str, folder: Path) -> dict[Any, Any]:
    """All that a store has of a study: of each run what it says, and its artifacts."""
    from mlflow import MlflowClient

    client = MlflowClient(uri)
    shown = {}
    for key, run in runs_of(uri, folder).items():
        tags = {name: value for name, value in run.data.tags.items() if name != "mlflow.parentRunId"}
        curves = {
            name: sorted((each.step, repr(each.value)) for each in client.get_metric_history(run.info.run_id, name))
            for name in run.data.metrics
        }
        files = sorted(file.path for file in client.list_artifacts(run.info.run_id))
        shown[key] = (run.info.status, run.info.end_time, tags, run.data.params, curves, files)
    return shown


def typed(*arguments: str) -> None:
    """Type a command, and see it end well."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["skipstack", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
    assert ended.value.code == 0


def test_the_notes_are_the_reports_and_the_files_are_there(uri: str, folder: Path, tmp_path: Path) -> None:
    from mlflow import MlflowClient

    runs, client = runs_of(uri, folder), MlflowClient(uri)
    note = runs[None, None].data.tags["mlflow.note.content"]
    out = tmp_path / "report.md"
    report(folder, form="markdown", out=out)
    title, *groups = out.read_text().partition("next, ")[0].strip().split("\n\n")
    assert title.startswith("## ")
    assert note.startswith(groups[0]), "the verdict"
    assert [group for group in groups if group not in note] == []
    assert "next, " in note
    assert str(folder) not in note
    report(folder, form="markdown", out=out, confirmed=True)
    title, *groups, whole = out.read_text().strip().split("\n\n")
    of_ablation = runs["1", None].data.tags["mlflow.note.content"]
    assert of_ablation.startswith(groups[0])
    assert [group for group in (f"#{title}", *groups) if group not in of_ablation] == []
    assert "also prints: how far the table reaches" in whole
    run_id = runs[None, None].info.run_id
    assert {file.path for file in client.list_artifacts(run_id)} >= {LEDGER, "report.html", "report.tex", "study.json"}
    drawn = client.list_artifacts(run_id, "pictures")
    assert len(drawn) > 3
    assert all(file.path.endswith(".svg") and file.file_size for file in drawn)


def test_a_confirmed_trial_has_its_difference_and_its_interval_and_an_explored_one_has_none(
    uri: str, folder: Path
) -> None:
    runs, ablation = runs_of(uri, folder), read_study(folder).ablations[1]
    assert ablation.base is not None
    rows = {row.trial: row for row in ablated(ablation).rows if row.reference == ablation.base.number}
    assert len(rows) >= 2
    for trial, row in rows.items():
        assert row.difference is not None
        held = runs["1", str(trial)]
        expected = {
            "difference": row.difference.value,
            "difference_low": row.difference.low,
            "difference_high": row.difference.high,
            "difference_p": row.p,
        }
        assert {name: held.data.metrics.get(name) for name in expected} == expected
        assert held.data.tags["skipstack.compared_with"] == f"trial {ablation.base.number}"
    explored = [run for (of, trial), run in runs.items() if of is None or trial == str(ablation.base.number)]
    assert not [name for run in explored for name in run.data.metrics if name.startswith("difference")]


def test_the_page_of_the_experiment_has_views_of_the_study(uri: str, folder: Path) -> None:
    from mlflow import MlflowClient

    client, run = MlflowClient(uri), runs_of(uri, folder)[None, None]
    tags = client.get_experiment(run.info.experiment_id).tags
    assert tags["mlflow.experimentKind"] == "custom_model_development"
    own = run.data.tags["skipstack.study"]
    for key in (own, f"{own}-charts"):
        view = json.loads(tags[f"mlflow.sharedViewState.{key}"])
        state = json.loads(view["state"])
        found = client.search_runs(
            [run.info.experiment_id], state["searchFilter"], order_by=["metrics.best_score DESC"]
        )
        assert len(found) == (len(runs_of(uri, folder)) if key == own else len(read_study(folder).trials))
    columns = json.loads(json.loads(tags[f"mlflow.sharedViewState.{own}"])["state"])["selectedColumns"]
    assert {f"params.`axis.{path}`" for path in AXES} < set(columns)
    charts = json.loads(json.loads(tags[f"mlflow.sharedViewState.{own}-charts"])["state"])["compareRunCharts"]
    (lines,) = (each for each in charts if each["type"] == "PARALLEL")
    always = [
        set(run.data.params) for run in runs_of(uri, folder).values() if run.data.tags["skipstack.kind"] == "trial"
    ]
    assert lines["selectedParams"]
    assert set(lines["selectedParams"]) <= set.intersection(*always), "the page leaves out a trial that lacks one"


def test_reports_from_a_store_alone_are_those_of_the_folder(uri: str, folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    run_toy(open_toy(other, toy_study(4, epochs=2)))
    assert sync_to_mlflow(other, Execution(tracking_uri=uri)).untracked == []
    own, trial = (runs_of(uri, folder)[key] for key in ((None, None), ("1", "0")))
    named = read_study(folder).study.name
    forms: Sequence[Callable[[str, Path], None]] = (
        lambda study, out: typed("report", study, "--tracking-uri", uri, "--format", "json", "--out", str(out)),
        lambda study, out: typed("report", study, "--tracking-uri", uri, "--confirmed", "--full", "--out", str(out)),
    )
    for make in forms:
        written = []
        for place, study in enumerate(
            (str(folder), f"mlflow:{own.data.tags['skipstack.study']}", f"runs:/{trial.info.run_id}")
        ):
            make(study, tmp_path / str(place))
            written.append((tmp_path / str(place)).read_bytes())
        assert written[0] == written[1] == written[2]
    ids = [runs_of(uri, each)[None, None].data.tags["skipstack.study"] for each in (folder, other)]
    here, there = tmp_path / "here", tmp_path / "there"
    as_json = ("--format", "json", "--out")
    typed("compare", str(folder), str(other), *as_json, str(here))
    typed("compare", *(f"mlflow:{each}" for each in ids), "--tracking-uri", uri, *as_json, str(there))
    text = there.read_text()
    for each, path in zip(ids, (folder, other), strict=True):
        text = text.replace(f"mlflow:{each}", str(path))
    assert text == here.read_text()
    frame = skipstack.open(f"mlflow:{ids[0]}", tracking_uri=uri).trials()
    assert frame.equals(skipstack.open(folder).trials())
    with pytest.raises(UserError, match=f"got 2 studies of this name .allowed: one, mlflow: and .*{ids[0]}"):
        skipstack.open(f"mlflow:{named}", tracking_uri=uri)
    every = all_located(uri)
    assert {f"mlflow:{each}" for each in ids} <= set(every)
    for each, path in zip(ids, (folder, other), strict=True):
        assert skipstack.open(every[f"mlflow:{each}"]).trials().equals(skipstack.open(path).trials())
    with pytest.raises(UserError, match="has no study"):
        all_located(f"sqlite:///{tmp_path / 'empty.db'}")
    with pytest.raises(UserError, match="unknown study 'toys'"):
        skipstack.open("mlflow:toys", tracking_uri=uri)
    with pytest.raises(UserError, match="in which store"):
        skipstack.open("mlflow:toys")


def test_a_copy_of_a_ledger_that_somebody_changed_is_refused(uri: str, folder: Path) -> None:
    own = runs_of(uri, folder)[None, None]
    kept = Path(own.info.artifact_uri.removeprefix("file://")) / LEDGER
    whole = kept.read_bytes()
    try:
        kept.write_bytes(whole[: len(whole) // 2] + b"import os" + whole[len(whole) // 2 :])
        with pytest.raises(UserError, match="damaged"):
            skipstack.open(f"runs:/{own.info.run_id}", tracking_uri=uri)
    finally:
        kept.write_bytes(whole)


def test_a_study_that_is_told_again_changes_nothing(uri: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before, calls = held(uri, folder), Calls(monkeypatch)
    monkeypatch.setattr(publishing, "put", None)
    sync(folder, uri)
    assert calls.count == 0
    assert held(uri, folder) == before


@KILLED
def test_a_sync_that_is_killed_leaves_what_the_next_one_completes(
    uri: str, folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(retry_loop, "POLL", 0.002)
    monkeypatch.setattr(retry_loop, "PAUSE", 0.002)
    other = f"sqlite:///{tmp_path / 'mlflow.db'}"
    shutil.copyfile(uri.removeprefix("sqlite:///"), tmp_path / "mlflow.db")  # making one takes seconds
    from mlflow import MlflowClient

    client = MlflowClient(other)
    for run in runs_of(other, folder).values():
        client.delete_run(run.info.run_id)
    events = len(Ledger(StudyFolder(folder).ledger).read())

    def die(call: Call, at: int) -> Any:
        if call.number == at:
            call.half()
            raise Killed
        return call.whole()

    for at in (3, 9, 12):
        with monkeypatch.context() as patch:
            patch.setattr(running, "TrackingProcess", TrackingHere)
            Calls(patch, partial(die, at=at))
            assert sync_to_mlflow(folder, Execution(tracking_uri=other)).untracked
    sync(folder, other)
    assert held(other, folder) == held(uri, folder)
    assert len(Ledger(StudyFolder(folder).ledger).read()) == events, "the study is as it was"


def test_what_is_refused_again_and_again_is_given_up(uri: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry_loop, "POLL", 0.002)
    monkeypatch.setattr(retry_loop, "PAUSE", 0.002)
    monkeypatch.setattr(retry_loop, "LAST_PAUSE", 0.002)
    asked: list[str] = []

    def refuse(run: object, files: Mapping[str, bytes], _: str) -> None:
        asked.extend(files)
        if "report.tex" in files:
            raise PermissionError("no such bucket")

    monkeypatch.setattr(publishing, "put", refuse)
    study, record = StudyFolder(folder), read_study(folder)
    told: list[str] = []
    assert record.opened is not None
    made = replace(published(record, study), made_of="something else")
    monkeypatch.setattr(running, "TrackingProcess", TrackingHere)
    shown(sync_to_mlflow(folder, Execution(tracking_uri=uri, warn=told.append)), lambda *_: made)
    assert asked.count("report.tex") <= 2 * retry_loop.ATTEMPTS
    (line,) = told
    assert "the report is not all there (PermissionError: no such bucket); `skipstack sync" in line


def test_a_study_that_another_process_writes_is_left_to_it(folder: Path, tmp_path: Path) -> None:
    own = tmp_path / "study"
    shutil.copytree(folder, own)
    with Ledger(StudyFolder(own).ledger), pytest.raises(UserError, match=r"writes this study .allowed: one driver"):
        sync_to_mlflow(own, Execution())


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study with a trained network."""
    file = tmp_path_factory.mktemp("small") / "small.yaml"
    file.write_text("extends: quickstart")
    sizes = ("data.corpus.train=40", "data.corpus.dev=10", "data.corpus.test=10", "model.stack.hidden=4")
    return trained(file, [*sizes, "search.trials=1", "training.epochs=1", "search.scheduler=none"]).path


def test_the_best_network_is_a_model_that_predicts_as_its_bundle_does(
    uri: str, small: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # MLflow's own, about its type hints
        import mlflow.pyfunc

    sync(small, uri)
    bundle = tmp_path / "bundle"
    for version in (1, 1):  # once, however often it is registered
        shutil.rmtree(bundle, ignore_errors=True)
        typed("export", str(small), "--to", str(bundle), "--register", "tagger", "--tracking-uri", uri)
        assert f"registered in MLflow: models:/tagger/{version}" in capsys.readouterr().err
    client, runs = mlflow.MlflowClient(uri), runs_of(uri, small)
    (model,) = client.search_logged_models([runs[None, None].info.experiment_id])
    assert {each.model_id for run in runs.values() for each in run.outputs.model_outputs} == {model.model_id}
    files = Path(model.artifact_location.removeprefix("file://"))
    assert {file.suffix for file in files.rglob("*") if file.is_file()} <= {
        ".json",
        ".md",
        ".yaml",
        ".txt",
        ".safetensors",
        "",
    }
    loaded = mlflow.pyfunc.load_model(str(files))
    texts = ["the old dogs sleep", "cats", ""]
    found = loaded.predict(pd.DataFrame({"text": texts}))
    expected = skipstack.load(bundle).predict([text.split() for text in texts])
    assert found["tags"].tolist() == [list(each.tags) for each in expected]
    assert found["words"].tolist() == [text.split() for text in texts]
    assert loaded.metadata.flavors["python_function"]["loader_module"] == LOADER
    assert loaded.metadata.signature.inputs.input_names() == ["text"]
    assert loaded.metadata.flavors["python_function"]["code"] is None, "nothing of the study is run"
    assert loaded.input_example["text"].tolist() == ["the old dogs sleep"]
    assert loaded.predict(loaded.input_example)["words"].tolist() == [["the", "old", "dogs", "sleep"]]
    _is_what_mlflow_itself_writes(bundle, loaded.metadata.signature, tmp_path)


def _is_what_mlflow_itself_writes(bundle: Path, signature: Any, folder: Path) -> None:
    """Its requirements are the same, and pins of what builds packages are left out."""
    import mlflow

    save_model(bundle, folder / "ours")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # MLflow's own, about how it compares pandas' indexes
        mlflow.pyfunc.save_model(
            str(folder / "theirs"),
            loader_module=LOADER,
            data_path=str(bundle),
            signature=signature,
            input_example=pd.DataFrame({"text": ["the old dogs sleep"]}),
            pip_requirements=(folder / "ours/requirements.txt").read_text().split(),
        )
    ours, theirs = (_contents(folder / name) for name in ("ours", "theirs"))
    for own in (ours, theirs):
        del own["MLmodel"]["model_uuid"], own["MLmodel"]["utc_time_created"], own["MLmodel"]["model_size_bytes"]
    for name, place in (("conda.yaml", "dependencies"), ("python_env.yaml", "build_dependencies")):
        theirs[name][place] = [
            re.sub(r"^(pip|setuptools|wheel)[<=]=.*", r"\1", each) if isinstance(each, str) else each
            for each in theirs[name][place]
        ]
    assert ours == theirs


def _contents(folder: Path) -> dict[str, Any]:
    """The files of a folder, read where they are of YAML or JSON."""

    def read(file: Path) -> Any:
        content = file.read_bytes()
        return yaml.safe_load(content) if file.name == "MLmodel" or file.suffix in (".json", ".yaml") else content

    return {file.relative_to(folder).as_posix(): read(file) for file in folder.rglob("*") if file.is_file()}
