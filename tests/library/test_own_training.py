"""A function of one's own from the library: searched, ablated, reported, shown in a browser; killed and resumed."""

import json
import logging
import math
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

import mlflow
import pytest

import skipstack
from skipstack.dashboards.web.page_names import BELIEVE, GOING, TAKE, WORKS
from skipstack.search.ledger.events import Resumed
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.study.record.reading import read_study
from tests.command_line import refusal, typed
from tests.dashboards.web.shown import Opened
from tests.pages import GUIDE, Page

SPACE: dict[str, Any] = {
    "about": "Where is the hill?",
    "base": {"x": 3.0, "model": {"wide": True}},
    "axes": {"x": {"real": [0.0, 4.0]}, "model.kind": {"choice": ["flat", "round"]}},
    "search": {"proposer": "random"},
}


def hill(config: Mapping[str, Any], report: Any) -> None:
    """Its top is at x = 1, higher where it is round; a seed sees it a bit higher or lower each epoch."""
    top = 1 if config["model.kind"] == "round" else 0.5
    for epoch in range(1, 4):
        seen = 0.05 * math.sin(1000 * config["seed"] + epoch + 7 * config["x"])
        report(score=(top - (config["x"] - 1) ** 2) * (1 - 0.5**epoch) + seen, noise=seen)


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Iterator[skipstack.Study]:
    """Eight trials, and an ablation of the best."""
    folder = tmp_path_factory.mktemp("own") / "hill"
    skipstack.search(SPACE, hill, trials=8, seeds=2, epochs=3, out=folder, engine="serial")
    return skipstack.ablate(folder, hill, seeds=4)


@pytest.mark.slow
@pytest.mark.long
def test_all_that_reads_a_study_reads_that_of_a_function(study: skipstack.Study) -> None:
    trials = study.trials()
    best = study.best()
    assert list(best["score"]) == [trials["score"].max()]
    assert "metric.noise" in study.curves().columns
    ablation = read_study(study.folder).ablations[1]
    assert {trial.state for trial in ablation.trials.values()} == {"completed"}
    assert {seed for trial in ablation.trials.values() for seed in trial.seeds} == set(range(1_000_000, 1_000_004))
    said = typed("report", study.folder, "--full").out
    assert "hill, ablation 1 on hill in test_own_training.py: confirmed on dev" in " ".join(said.split())
    assert "dev: the score itself, on seeds of the rows' own; no other one was reported." in said
    assert "over 4 seeds alone, corrected for 3 rows" in " ".join(said.split())
    whole = json.loads(typed("report", study.folder, "--format", "json").out)
    assert json.dumps(whole).count('"split": "dev"') == 1
    for form in ("markdown", "latex", "csv", "html"):
        assert typed("report", study.folder, "--format", form).out
    assert typed("simulate", study.folder, "--extrapolate").out


@pytest.mark.long
def test_mlflow_has_its_trials_and_no_network_of_it(study: skipstack.Study) -> None:
    client = mlflow.MlflowClient(f"sqlite:///{study.folder}/mlflow.db")
    experiment = client.get_experiment_by_name("skipstack/hill")
    assert experiment is not None
    runs = client.search_runs([experiment.experiment_id])
    kinds = [run.data.tags["skipstack.kind"] for run in runs]
    assert kinds.count("trial") == 8
    assert kinds.count("ablation") == 1
    (best,) = (
        run
        for run in runs
        if run.data.tags.get("skipstack.trial") == str(study.best().index[0])
        and run.data.tags["skipstack.kind"] == "trial"
    )
    assert best.data.metrics["best_score"] == study.best()["score"].iloc[0]
    assert best.data.params["function.name"] == "hill"
    if hasattr(client, "search_logged_models"):  # since MLflow 3
        assert client.search_logged_models([experiment.experiment_id]) == []


@pytest.mark.slow
def test_every_page_of_the_dashboard_shows_it(study: skipstack.Study) -> None:
    runs = study.folder.parent
    assert "hill in test_own_training.py" in Opened(runs).text
    assert Opened(runs, GOING, study="hill").metrics["best score on dev"] == f"{study.best()['score'].iloc[0]:.4g}"
    assert "The score of each trial, over each axis alone" in Opened(runs, WORKS, study="hill").charts
    assert "confirmed on dev" in Opened(runs, BELIEVE, study="hill").text
    assert "trials call a function" in Opened(runs, TAKE, study="hill").text


@pytest.mark.long
def test_what_needs_the_function_or_a_network_is_refused_in_one_line(study: skipstack.Study, tmp_path: Path) -> None:
    no_network = "hill in test_own_training.py is a function, which leaves no network"
    assert "its function left no model" in refusal("export", study.folder, "--to", tmp_path / "bundle")
    assert no_network in refusal("draw", study.folder)
    assert no_network in refusal("rerun", study.folder, 0)
    assert "as in skipstack.extend(" in refusal("extend", study.folder, "--trials", 1)
    with pytest.raises(skipstack.UserError, match=r"its trials call hill of test_own_training\.py"):
        skipstack.extend(study.folder, trials=1)
    with pytest.raises(skipstack.UserError, match="its function left no model"):
        study.export(tmp_path / "bundle")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.long
def test_whoever_goes_on_with_another_function_is_warned(
    study: skipstack.Study, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def hill(config: Mapping[str, Any], report: Any) -> None:
        report(score=1.0)

    folder = tmp_path / "changed"
    skipstack.search(SPACE, hill, trials=1, out=folder, engine="serial")
    with caplog.at_level(logging.WARNING, logger="skipstack"):
        skipstack.extend(folder, globals()["hill"], trials=1, engine="serial")
    (warned,) = (each.getMessage() for each in caplog.records if "goes on with" in each.getMessage())
    resumed = [event for event in Ledger(folder / "ledger").read() if isinstance(event, Resumed)]
    source = resumed[-1].code_version.partition(", function ")[2]
    assert source
    assert source in warned


def test_what_goes_with_an_argument_that_is_fixed_is_logged_and_in_no_row_of_an_ablation(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def deep(config: Mapping[str, Any], report: Any) -> None:
        report(score=config["rate"] - config["depth"])

    space: dict[str, Any] = {
        "base": {"depth": 1, "gate": "open", "rate": 0.1},
        "axes": {
            "depth": {"choice": [1, 3]},
            "gate": {"choice": ["open", "shut"], "when": {"depth": [3]}},
            "rate": {"choice": [0.1, 0.2, 0.3]},
        },
        "constraints": ["rate < 0.3 or gate == 'shut'"],
        "search": {"proposer": "grid"},
    }
    folder, line = tmp_path / "deep", "removed, since they vary only with other values of depth: gate, constraint rate"
    with caplog.at_level(logging.INFO, logger="skipstack"):
        found = skipstack.search(space, deep, settings={"depth": 1}, seeds=1, out=folder, engine="serial")
    assert [each.getMessage().startswith(line) for each in caplog.records].count(True) == 1
    assert [trial.point for trial in read_study(folder).trials.values()] == [{"rate": rate} for rate in (0.1, 0.2, 0.3)]
    assert set(found.record.study.removed) == {"depth"}
    skipstack.ablate(folder, deep, seeds=2, engine="serial")
    (ablation,) = read_study(folder).ablations.values()
    assert {axis for trial in ablation.trials.values() for axis in trial.point} == {"rate"}


RUN = """

if __name__ == "__main__":
    import sys
    match sys.argv[1]:
        case "search":
            skipstack.search(space, objective, trials=50, epochs=9, out="digits", engine="serial")
        case "resume":
            print(skipstack.resume("digits", objective))
        case "ablate":
            print(skipstack.ablate("digits", objective))
"""


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_fifty_trials_of_the_guides_function_outlive_a_kill(tmp_path: Path) -> None:
    """Killed in its midst, resumed, it has the scores of one that nobody killed; then it is ablated and shown."""
    script = Page(GUIDE / "own-training.md").script("runs/digits").partition("study = ")[0] + RUN
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    for folder in (killed, whole):
        folder.mkdir()
        (folder / "digits.py").write_text(script)

    def begun(folder: Path, what: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, "digits.py", what], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    first = begun(killed, "search")
    while (lines := _ended(killed / "digits")) < 12:
        assert first.poll() is None, first.stderr.read() if first.stderr else ""
        time.sleep(0.02)
    first.send_signal(signal.SIGKILL)
    first.wait()
    assert 12 <= lines < 50
    for folder, what in ((killed, "resume"), (whole, "search"), (killed, "ablate")):
        process = begun(folder, what)
        _, error = process.communicate(timeout=900)
        assert process.returncode == 0, error
    scores = [
        [
            (trial.point, trial.state, list(trial.reports.scores))
            for trial in read_study(each / "digits").trials.values()
        ]
        for each in (killed, whole)
    ]
    assert scores[0] == scores[1]
    assert len(scores[0]) == 50
    assert "confirmed on test" in typed("report", killed / "digits").out
    assert Opened(killed, BELIEVE, study="digits").charts


def _ended(folder: Path) -> int:
    """How many trials of a study have ended, by its ledger as it grows."""
    texts = (path.read_text() for path in sorted(folder.glob("ledger/*.jsonl")))
    return sum(line.count('"kind":"ended"') for line in chain.from_iterable(text.splitlines() for text in texts))


@pytest.mark.slow
def test_integers_of_more_than_64_bits_are_told_digit_by_digit(tmp_path: Path) -> None:
    large = 2**70

    def objective(config: Mapping[str, Any]) -> float:
        return 1.0 if config["x"] == large + 1 else 0.0

    space = skipstack.Space(x=skipstack.choice(1, large, large + 1))
    options: dict[str, Any] = {"trials": 3, "seeds": 1, "engine": "serial", "settings": {"search.proposer": "grid"}}
    study = skipstack.search(space, objective, out=tmp_path / "study", **options)
    assert sorted(study.trials()["axis.x"]) == sorted(["1", str(large), str(large + 1)])
    assert str(large + 1) in typed("report", study.folder, "--full").out
