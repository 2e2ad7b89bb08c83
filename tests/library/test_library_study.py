"""Studies through the library: the same checks as on the command line, frames that say what the ledger says."""

import json
import math
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import skipstack
from skipstack.search.analysis.exploration.exploration_frame import COLUMNS as TABLE
from skipstack.search.analysis.frames.columns import COLUMNS
from skipstack.search.ledger.events import Proposed, Reported
from skipstack.search.ledger.ledger import Ledger
from tests.formats.before_files import BEFORE, copied, said
from tests.search.made_up import opening, study

SMALL: dict[str, Any] = {
    "extends": "quickstart",
    "base": {
        "data": {"corpus": {"train": 12, "dev": 6, "test": 6}},
        "model": {"stack": {"hidden": 4}, "embedder": {"word_size": 4}},
    },
    "search": {"proposer": "random"},
}


@pytest.mark.parametrize(
    ("study", "options", "says"),
    [
        ("quikstart", {}, "unknown study 'quikstart' (nearest: 'quickstart'"),
        ("missing.yaml", {}, "no study file missing.yaml"),
        ({"bases": {}}, {}, "study: bases: unknown key 'bases'"),
        ({"base": {"model": {"stack": {"hidden": "x"}}}}, {}, "study: model.stack.hidden: got 'x'"),
        (SMALL, {"settings": {"model.stack.hiden": 3}}, "settings model.stack.hiden: unknown path"),
        (SMALL, {"settings": {"search.trials": 0}}, "settings search.trials: "),
        (SMALL, {"scale": "small"}, "--scale: study has no scales"),
        (SMALL, {"corpus": "grammer"}, "unknown corpus 'grammer' (nearest: 'grammar'"),
        (SMALL, {"engin": "ray"}, "unknown option 'engin' (nearest: 'engine'; allowed: study, objective, "),
        (SMALL, {"trail": 3}, "unknown option 'trail' (nearest: 'trials'; allowed: study, objective, "),
        (SMALL, {"engine": "rya"}, "unknown engine 'rya' (nearest: 'ray'"),
        (SMALL, {"device": "gpu"}, "unknown device 'gpu'"),
        (SMALL, {"gpus_per_trial": -1}, "--gpus-per-trial: got -1"),
        (SMALL, {"cpus_per_trial": 0.5}, "--cpus-per-trial: got 0.5 (allowed: 1 or more)"),
        (SMALL, {"concurrent": 0}, "--concurrent: got 0 (allowed: 1 or more, or auto)"),
        (SMALL, {"hours": 0}, "--hours 0: search.hours: got 0"),
        (SMALL, {"tracking_uri": "nowhere"}, "--tracking-uri: "),
        (SMALL, {"out": BEFORE / "asha"}, "holds a study already"),
    ],
)
def test_a_mistake_is_told_in_one_line_before_anything_is_made(
    study: Any, options: dict[str, Any], says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(skipstack.UserError) as refused:
        skipstack.search(study, **{"engine": "serial", **options})
    assert says in str(refused.value)
    assert len(str(refused.value).splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_study_given_as_a_mapping_runs_in_any_thread_and_is_extended(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    studies: list[skipstack.Study] = []
    options: dict[str, Any] = {"trials": 2, "epochs": 1, "seeds": 1, "engine": "serial", "device": "cpu"}
    thread = threading.Thread(
        target=lambda: studies.append(
            skipstack.search(SMALL, settings={"model.stack.depth": 1}, out=tmp_path / "study", **options)
        )
    )
    thread.start()
    thread.join()
    (study,) = studies
    assert study.finished
    assert (study.folder, len(study.trials())) == (tmp_path / "study", 2)
    assert capfd.readouterr() == ("", "")
    more = skipstack.extend(study.folder, trials=1, engine="serial", device="cpu", progress=True)
    assert (len(more.trials()), len(study.trials())) == (3, 2)
    out, error = capfd.readouterr()
    assert (out, "3/3 trials" in error) == ("", True)
    assert len(skipstack.resume(study.folder, engine="serial").trials()) == 3


def test_the_reference_has_every_column_with_its_type() -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference" / "columns.md").read_text()
    for name, columns in COLUMNS.items():
        _, _, part = page.partition(f"### `{name}()`\n")
        lines = [line for line in part.partition("\n#")[0].splitlines() if line.startswith("| `")]
        assert lines == [f"| `{column.name}` | {column.dtype} | {column.about} |" for column in columns]


@pytest.mark.first(2)
@pytest.mark.parametrize("name", ["asha", "promotion", "extended", "interrupted", "trees", "text"])
def test_every_frame_has_the_columns_that_are_documented(name: str, tmp_path: Path) -> None:
    study = skipstack.open(copied(name, tmp_path))
    for kind, frame in {name: getattr(study, name)() for name in COLUMNS}.items():
        assert set(frame.reset_index().columns) >= {column.name for column in COLUMNS[kind]}
    assert {name: str(dtype) for name, dtype in study.exploration().dtypes.items()} == {
        name: dtype for name, (dtype, _) in TABLE.items()
    }
    assert study.to_parquet(tmp_path / "out") == tmp_path / "out"
    assert {file.name for file in (tmp_path / "out").iterdir()} == {f"{name}.parquet" for name in COLUMNS}


@pytest.mark.parametrize("name", ["asha", "extended", "trees", "text"])
def test_the_exploration_is_that_of_the_report(name: str, tmp_path: Path) -> None:
    """Which the version before wrote, as scores: a perplexity there is negative."""
    rows = json.loads(said(f"{name}.report.json"))["rows"]
    frame = skipstack.open(copied(name, tmp_path)).exploration()
    sign = -1 if name == "text" else 1
    assert list(frame["axis"]) == [row["axis"] for row in rows]
    assert list(frame["value"]) == [row["value"] for row in rows]
    for ours, theirs in {"dev": "dev_mean", "test": "test_mean"}.items():
        expected = [math.nan if row[theirs] is None else sign * row[theirs] for row in rows]
        assert frame[ours].tolist() == pytest.approx(expected, rel=1e-12, nan_ok=True)
    deviations = [math.nan if row["dev_deviation"] is None else row["dev_deviation"] for row in rows]
    assert frame["deviation"].tolist() == pytest.approx(deviations, rel=1e-12, nan_ok=True)
    assert frame["selected"].astype(object).where(frame["selected"].notna(), None).tolist() == [
        row["selected_trial"] for row in rows
    ]


def test_curves_are_what_was_reported_and_trials_their_best(tmp_path: Path) -> None:
    study = skipstack.open(copied("asha", tmp_path))
    reports = [event for event in Ledger(study.folder / "ledger").read() if isinstance(event, Reported)]
    curves, trials = study.curves(), study.trials()
    assert len(curves) == sum(len(report.metrics["dev_accuracy"]) for report in reports)
    for report in reports:
        rows = curves[(curves["trial"] == report.trial) & (curves["epoch"] == report.epoch)]
        assert tuple(rows["dev"]) == report.metrics["dev_accuracy"]
        assert tuple(rows["train_loss"]) == report.metrics["train_loss"]
        assert set(rows["score"]) == {report.score}
    for number, trial in trials.iterrows():
        assert trial["score"] == max(report.score for report in reports if report.trial == number)
    best = study.best(2)
    assert list(best["score"]) == sorted(trials["score"], reverse=True)[:2]
    assert best.index[0] == json.loads(said("asha.report.json"))["best"]["trial"]
    assert best["training.optimiser.learning_rate"].dtype == "float64"
    assert set(trials["model.stack.depth"]) <= {1, 3}


def test_the_best_values_and_score_are_those_of_the_trial_with_the_largest_score_in_the_ledger(tmp_path: Path) -> None:
    study = skipstack.open(copied("asha", tmp_path))
    events = list(Ledger(study.folder / "ledger").read())
    first = max((event for event in events if isinstance(event, Reported)), key=lambda event: event.score)
    (proposed,) = (event for event in events if isinstance(event, Proposed) and event.trial == first.trial)
    assert study.best_score == first.score
    assert study.best_params == proposed.point
    flat = study.best_config.flatten()
    assert {path: flat[path] for path in proposed.point} == proposed.point


@pytest.mark.slow
def test_of_what_is_minimised_the_best_score_is_negative_as_in_the_frames(tmp_path: Path) -> None:
    space = skipstack.Space(x=skipstack.choice(0.25, 2.0))
    study = skipstack.search(space, _squared, direction="minimize", trials=2, engine="serial", out=tmp_path / "study")
    assert study.best_params == {"x": 0.25}
    assert json.loads(study.best_config.model_dump_json())["x"] == 0.25
    assert study.best_score == study.best()["score"].iloc[0] == -0.0625


def test_without_a_score_the_best_is_an_error_in_one_line(tmp_path: Path) -> None:
    with Ledger(tmp_path / "ledger") as ledger:
        ledger.append(*opening(made_up := study()))
    begun = skipstack.open(tmp_path)
    for name in ("best_params", "best_config", "best_score"):
        with pytest.raises(skipstack.UserError) as refused:
            getattr(begun, name)
        assert str(refused.value) == (f"study {made_up.name!r}: no trial has a score yet (allowed: a study with one)")


def _squared(config: Mapping[str, float]) -> float:
    return (config["x"] - 0.5) ** 2


def test_the_best_trial_is_exported_loaded_and_asked(tmp_path: Path) -> None:
    study = skipstack.open(copied("asha", tmp_path))
    assert repr(study).startswith(f"Study({str(study.folder)!r}: 5 trials, finished, best accuracy ")
    path = study.export(tmp_path / "best.zip", device="cpu")
    sentences = [["the", "cats", "sleep"], ["she", "knows", "that", "they", "saw", "a", "dog"]]
    tagger = skipstack.load(path, device="cpu")
    assert tagger.config == study.best_config
    tagged = tagger.predict(sentences)
    lines = "".join(
        "".join(f"{word}\t{tag}\n" for word, tag in zip(each.words, each.tags, strict=True)) + "\n" for each in tagged
    )
    assert lines == said("asha.predict.txt")
    with pytest.raises(skipstack.UserError, match="exists"):
        study.export(path)
    with pytest.raises(skipstack.UserError, match="exclude each other"):
        study.export(tmp_path / "two", best=1, trial=0)


def test_a_parser_predicts_heads_and_relations(tmp_path: Path) -> None:
    parser = skipstack.load(copied("trees-best", tmp_path), device="cpu")
    (tree,) = parser.predict([["the", "cats", "sleep"]])
    first = said("trees.predict.txt").split("\n\n")[0].splitlines()
    assert tree.heads is not None
    assert [
        f"{word}\t{head}\t{tag}" for word, head, tag in zip(tree.words, tree.heads, tree.tags, strict=True)
    ] == first
    with pytest.raises(skipstack.UserError, match="got the text 'the cats sleep'"):
        parser.predict(["the cats sleep"])


def test_a_space_is_that_of_its_study() -> None:
    space = skipstack.space("quickstart", settings={"axes.training.optimiser.learning_rate": None})
    assert space.count() == 7
    assert isinstance(space, skipstack.Points)
    assert pd.Series([point["model.stack.depth"] for point in space.enumerate()]).nunique() == 3


@pytest.mark.cluster
def test_a_study_trains_on_the_ray_that_runs_already_and_leaves_it_running(tmp_path: Path) -> None:
    import ray

    ray.init(address="local", num_cpus=1, include_dashboard=False, log_to_driver=False, logging_level="error")
    try:
        address = ray.get_runtime_context().gcs_address
        study = skipstack.search(SMALL, trials=1, epochs=1, out=tmp_path / "study")
        assert study.finished
        assert ray.get_runtime_context().gcs_address == address
        assert ray.get(ray.remote(lambda: 7).remote()) == 7
        with pytest.raises(skipstack.UserError, match=r"--address auto.example: Ray runs in this process already"):
            skipstack.search(SMALL, trials=1, epochs=1, address="auto.example", out=tmp_path / "elsewhere")
    finally:
        ray.shutdown()
    assert not (tmp_path / "elsewhere").exists()
