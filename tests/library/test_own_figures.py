"""Figures and files of a user's function beside its score: in the ledger, in the trial's folder, and in MLflow."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import mlflow
import pytest

import skipstack
from tests.search.functions import LINE, searched

NONE: dict[str, Any] = {**LINE, "search": {**LINE["search"], "scheduler": "none"}}


def training(config: Mapping[str, Any], report: skipstack.Report) -> None:
    """Two epochs of three batches, with a loss each, and a gradient once an epoch."""
    for epoch in (1, 2):
        for batch in (1, 2, 3):
            report.log(loss=10.0 * epoch + batch)
        report.log(gradient=epoch / 2)
        words = report.folder / "words.txt"
        words.write_text(f"seed {config['seed']}, epoch {epoch}")
        report.artifact(words)
        plots = report.folder / "plots"
        (plots / "deep").mkdir(parents=True, exist_ok=True)
        (plots / "deep" / "a.bin").write_bytes(bytes([epoch]))
        report.artifact(str(plots))
        report(score=config["x"], accuracy=epoch)


def test_figures_of_an_epoch_are_metrics_of_its_report_and_rank_nothing(tmp_path: Path) -> None:
    record = searched(tmp_path, training, NONE, trials=2, seeds=2)
    for trial in record.trials.values():
        assert [dict(each.metrics) for each in trial.reports] == [
            {
                "dev_score": (trial.point["x"],) * 2,
                "loss": (10.0 * epoch + 2,) * 2,
                "gradient": (epoch / 2,) * 2,
                "accuracy": (float(epoch),) * 2,
            }
            for epoch in (1, 2)
        ]


def taken(_: Mapping[str, Any], report: skipstack.Report) -> None:
    report.log(score=1.0)


def wordy(_: Mapping[str, Any], report: skipstack.Report) -> None:
    report.log(loss="low")  # type: ignore[arg-type]


def absent(_: Mapping[str, Any], report: skipstack.Report) -> None:
    report.artifact("nowhere.png")


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (taken, "report.log(score=...): the study keeps its own under this name (allowed: another)"),
        (wordy, "report.log(loss=...): got 'low' (allowed: a number)"),
        (absent, "report.artifact(...): nowhere.png is not there (allowed: a file or a folder)"),
    ],
)
def test_a_mistake_is_told_in_one_line(function: Callable[..., None], says: str, tmp_path: Path) -> None:
    assert says in searched(tmp_path, function, NONE, trials=1, seeds=1).trials[0].message


@pytest.mark.long
def test_mlflow_has_the_figures_of_each_step_and_the_files(tmp_path: Path) -> None:
    space = skipstack.Space(x=skipstack.uniform(0, 1))
    settings = {"search.scheduler": "none"}
    study = skipstack.search(
        space, training, trials=1, seeds=2, engine="serial", settings=settings, out=tmp_path / "study"
    )
    client = mlflow.MlflowClient(f"sqlite:///{study.folder}/mlflow.db")
    runs = client.search_runs([each.experiment_id for each in client.search_experiments()])
    (run,) = (each for each in runs if "skipstack.trial" in each.data.tags)
    history = client.get_metric_history(run.info.run_id, "loss")
    assert sorted((each.step, each.value) for each in history) == [(1, 12.0), (2, 22.0)]
    for seed in (0, 1):
        kept = Path(run.info.artifact_uri.removeprefix("file://")) / f"seed-{seed}"
        assert (kept / "words.txt").read_text() == f"seed {seed}, epoch 2"
        assert (kept / "plots" / "deep" / "a.bin").read_bytes() == b"\x02"
