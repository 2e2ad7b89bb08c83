"""Names and values that MLflow refuses: every run ends finished, with a name of its own for each metric."""

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from mlflow.utils import validation

from skipstack.search.ledger.events import Event, Reported
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.publishing.tracking.entry import Entry
from skipstack.search.publishing.tracking.names import renamed, stored_name
from skipstack.search.publishing.tracking.reading import fetch
from skipstack.search.publishing.tracking.runs import ExpectedRuns, given_names
from skipstack.search.study.record.reading import read_study
from tests.search.functions import searched
from tests.search.publishing.tracking.here import Recording
from tests.search.publishing.tracking.studies import history, opened

HOSTILE = (
    *("hits@10", "hits_at_10", "a", "a/b", "a/b/c", "", " ", ".", "..", "../x", "/a", "a/", "a//b", "a/./b", "a/../b"),
    *("x" * 250, "x" * 251, "y" * 6000, "F1 (macro)", "50%", "précision", "名", "a:b", "a\\b", "a\nb", "\0", "\u202e"),
    *("a/seed_0", "a.seed_0", "hits_at_10-47663a73", "A", "system/cpu", "-", "'; drop table metrics", "'", '"', " a"),
)
NAMES = st.sampled_from(HOSTILE) | st.text(max_size=20) | st.text("ab/.-@ ", max_size=6)
COUNT = itertools.count(5000)


@pytest.mark.slow
@given(st.lists(NAMES, min_size=2, unique=True), st.sampled_from("/."))
@settings(max_examples=300)
@example(list(HOSTILE), "/")
@example(list(HOSTILE), ".")
def test_each_name_has_one_of_its_own_that_mlflow_takes(names: list[str], between: str) -> None:
    stored = [stored_name(name, between) for name in names]
    assert len(set(stored)) == len(stored)
    lanes = [f"{name}{between}seed_{seed}" for name in stored for seed in (0, 999_999_999)]
    assert not set(lanes) & set(stored)
    for name in (*stored, *lanes):
        validation._validate_metric_name(name)
    if between == ".":
        assert not any("/" in name for name in stored)


def test_names_that_mlflow_takes_stay_and_others_can_be_read() -> None:
    for name in ("dev_accuracy", "F1 macro", "loss/train", "précision", "top-5", "a.b"):
        assert stored_name(name) == name
    assert stored_name("hits@10") == "hits_at_10-47663a73"  # printf hits@10 | sha256sum
    assert stored_name("loss/train", ".").startswith("loss_train-")


def test_what_is_spelt_otherwise_is_said_in_one_line() -> None:
    assert renamed(["dev_score", "a/b"]) is None
    assert renamed(["hits@10", "a"]) == "MLflow refuses the name 'hits@10': it is hits_at_10-47663a73 there"
    line = renamed(["a\nb", "hits@10", "hits@10"])
    assert line is not None
    assert line.endswith(" there; 1 more are likewise")
    assert line.count("\n") == 0


def told(names: list[str]) -> list[Event]:
    """A finished study that reports metrics of these names, besides its own."""
    events = [*opened(time=float(next(COUNT))), *history()[2:]]
    more = dict.fromkeys(names, (0.25, 0.75))
    return [
        event.model_copy(update={"metrics": {**event.metrics, **more}}) if isinstance(event, Reported) else event
        for event in events
    ]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("names")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sqlite", "folder"])
def test_runs_end_finished_and_the_study_is_read_back(
    kind: str, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mlflow import MlflowClient

    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    uri = f"sqlite:///{store / 'mlflow.db'}" if kind == "sqlite" else str(store / "mlruns")
    names = list(HOSTILE)
    events = told(names)
    with Ledger(tmp_path / "study" / "ledger") as ledger:
        for event in events:
            ledger.append(event)
    assert Recording(uri, events, folder=tmp_path / "study").close() is None
    client = MlflowClient(uri)
    (experiment,) = [each for each in client.search_experiments() if each.name.startswith("skipstack/")]
    runs = client.search_runs([experiment.experiment_id], max_results=100)
    assert {run.info.status for run in runs} == {"FINISHED", "FAILED"}  # a trial of the study diverged
    between = "/" if kind == "sqlite" else "."
    (first,) = [run for run in runs if run.data.tags.get("skipstack.trial") == "0"]
    for name in names:
        stored = stored_name(name, between)
        lanes = [first.data.metrics[f"{stored}{between}seed_{seed}"] for seed in (0, 1)]
        assert [first.data.metrics[stored], *lanes] == [0.5, 0.25, 0.75], name
    found = fetch(["mlflow:depths"], uri, tmp_path)
    assert set(names) <= set(read_study(found["mlflow:depths"]).trials[0].reports[0].metrics)


def odd(config: dict[str, Any]) -> dict[str, float]:
    return {"score": config["model@v2"]["depth"], "hits@10": 1.0}


def test_names_that_may_be_said_are_those_of_which_the_store_has_one_each(tmp_path: Path) -> None:
    """A parameter of an axis has its short name; a value of the config gives way where it has the same name."""
    base = {"model@v2": {"depth": 1, "size": 2}, "a@b": 1, "axis": {"depth": 5, "a@b": 6}}
    axes = {"model@v2.depth": {"choice": [1, 2]}, "a@b": {"choice": [1, 2]}}
    study = {"base": base, "axes": axes, "search": {"proposer": "grid", "trials": 4, "scheduler": "none"}}
    record = searched(tmp_path / "study", odd, study, epochs=1)
    names = set(given_names(record))
    assert {"axis.depth", "config.axis.depth", "axis.a@b", "config.axis.a@b", "model@v2.depth", "hits@10"} < names
    runs = ExpectedRuns()
    for event in Ledger(tmp_path / "study" / "ledger").read():
        runs.apply(event)
    (trial,) = [entry for entry in runs.pending.values() if entry.name == "trial 1"]
    stored = trial.params.keys() | {name for name, _ in trial.metrics}
    assert {stored_name(name) for name in names} <= stored
    assert trial.params.keys() <= {stored_name(name) for name in names}


def test_values_of_any_text_and_size_are_taken(store: Path) -> None:
    events = told([])
    runs = ExpectedRuns()
    for event in events:
        runs.apply(event)
    for entry in runs.pending.values():
        entry.tags["skipstack.x"] = "\0\ud800" + "t" * 9000
        entry.params["p"] = "\ud800\0" + "v" * 9000
        entry.fit()
        assert max(map(len, (*entry.tags.values(), *entry.params.values()))) <= 6000
        for name, value in entry.params.items():
            assert validation._validate_param(name, value).value == value
        for text in (*entry.tags.values(), *entry.params.values()):
            assert "\0" not in text
            text.encode()


def test_names_of_runs_fit_a_column_of_250_characters_and_former_ones_are_cut_alike() -> None:
    """PostgreSQL refuses longer ones; a value of an axis, and so the name of an ablation's row, may have any length."""
    stem = "depth 5 beside 1: " * 20
    entry = Entry(name=f"{stem}winner", formerly=("ablation 1, trial 3", f"{stem}base", "x" * 300))
    entry.fit()
    assert len(entry.name) <= 250
    assert stem.startswith(entry.name)
    assert entry.formerly == ("ablation 1, trial 3", "x" * len(entry.name))


def hill(config: dict[str, float], report: Callable[..., None]) -> None:
    """Reports two epochs, with metrics whose names MLflow refuses."""
    for epoch in range(2):
        report(score=config["x"] * epoch, **{"hits@10": epoch, "": 1, "..": 2, "a": 3, "a/b": 4})


@pytest.mark.slow
def test_a_function_may_report_any_name_and_its_study_is_opened_from_its_own_store(tmp_path: Path) -> None:
    from mlflow import MlflowClient

    import skipstack

    search = {"trials": 2, "proposer": "random", "scheduler": "none", "seeds": 1}
    study = {"base": {"x": 1.0, "a@b": 2}, "axes": {"x": {"real": [0, 1]}}, "search": search}
    skipstack.search(study, hill, engine="serial", out=tmp_path / "study")
    uri = f"sqlite:///{tmp_path / 'study' / 'mlflow.db'}"
    client = MlflowClient(uri)
    runs = client.search_runs([each.experiment_id for each in client.search_experiments()])
    assert [run.info.status for run in runs] == ["FINISHED"] * 3
    assert {"hits_at_10-47663a73", "a", "a/b"} <= runs[0].data.metrics.keys()
    opened = skipstack.open("mlflow:hill", tracking_uri=uri)
    assert opened.finished
    reported = {"hits@10", "", "..", "a", "a/b"}
    assert {f"metric.{name}" for name in reported} <= set(opened.curves().columns)
