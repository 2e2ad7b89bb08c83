"""What MLflow shows of a study that is over, and what can be read from there alone: what the study's folder says, once.

The store is an sqlite file for the whole module, which stands for a server: the study lies elsewhere.
"""

import json
import re
import shutil
import sqlite3
import subprocess
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

import skipstack
from skipstack.dashboards.cli import main
from skipstack.dashboards.commands import published as command
from skipstack.dashboards.commands.published import published
from skipstack.dashboards.commands.report import report
from skipstack.dashboards.formats.page import Page as PageOfReport
from skipstack.dashboards.formats.page import Picture, Report, Sentence
from skipstack.data.basis.errors import UserError
from skipstack.search.analysis.ablation.other_searches import searches_beside
from skipstack.search.analysis.confirmation.ablated import ablated
from skipstack.search.api import run as running
from skipstack.search.api.options import Execution
from skipstack.search.api.run import Run, sync_to_mlflow
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.ledger.lines import checksum
from skipstack.search.publishing.tracking import publishing, retry_loop
from skipstack.search.publishing.tracking.logged_models import StoredModel, _version, register
from skipstack.search.publishing.tracking.model_folder import LOADER, save_model
from skipstack.search.publishing.tracking.publishing import Publication
from skipstack.search.publishing.tracking.reading import all_located
from skipstack.search.publishing.tracking.runs import ExpectedRuns, study_id
from skipstack.search.publishing.tracking.writer import LEDGER, MARK
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.record.reading import read_study
from skipstack.search.study.record.study_record import StudyRecord
from tests.pages import GUIDE, Page
from tests.search.analysis.ablation.toys import (
    PlantedWorker,
    beginning,
    grid_search,
    made,
    planted,
    run_ablation,
)
from tests.search.finished import trained
from tests.search.publishing.tracking.here import TrackingHere
from tests.search.publishing.tracking.servers import answered, served_as_printed
from tests.search.publishing.tracking.test_recording import KILLED, Call, Calls, Killed
from tests.search.toy import open_toy, run_toy, toy_study

pytestmark = pytest.mark.long

NOTHING = SimpleNamespace(model_outputs=())

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
    assert shown(sync_to_mlflow(folder, Execution(tracking_uri=uri, warn=warn)), published)


def shown(run: Run, made: Callable[[StudyRecord, StudyFolder], Publication]) -> dict[str, str]:
    """What ``Run.publish`` does, which does nothing in tests."""
    assert not run.missing
    tracker = run.tracker
    assert tracker is not None
    record = read_study(run.folder.path)
    pages = run.execution.publish(tracker, run.folder, record, lambda: made(record, run.folder))
    tracker.end()
    return pages


def runs_of(uri: str, folder: Path) -> dict[tuple[str | None, ...], Any]:
    from mlflow import MlflowClient

    client, opened = MlflowClient(uri), read_study(folder).opened
    assert opened is not None
    ids = [each.experiment_id for each in client.search_experiments()]
    found = client.search_runs(ids, f"tags.`skipstack.study` = '{study_id(opened)}'", max_results=1000)
    runs = {_key(run.data.tags): run for run in found}
    assert len(runs) == len(found), "two runs for one trial, or for one row"
    return runs


def _key(tags: Mapping[str, str]) -> tuple[str | None, ...]:
    """Ablation and trial; of a run that trains nothing also its row."""
    row = (tags["skipstack.row"],) if tags["skipstack.kind"] == "ablation_row" else ()
    return (tags.get("skipstack.ablation"), tags.get("skipstack.trial"), *row)


def held(uri: str, folder: Path) -> dict[Any, Any]:
    """All that a store has of a study: of each run what it says, and its artifacts."""
    from mlflow import MlflowClient

    client = MlflowClient(uri)
    shown = {}
    for key, run in runs_of(uri, folder).items():
        tags = {name: value for name, value in run.data.tags.items() if name not in ("mlflow.parentRunId", MARK)}
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


def test_each_picture_has_a_file_whose_name_a_disk_takes(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However long the study's title is, and although two reports head a picture in the same way."""
    heading = f"{'层数与宽度' * 40}: confirmed on test"
    drawn = (Picture(heading, "", "<svg>1</svg>"), Picture("Why", "not drawn"), Picture(heading, "", "<svg>2</svg>"))
    made_up = Report(page=PageOfReport(heading, ((Sentence("It helps."),),)), content={}, pictures=lambda: drawn)
    monkeypatch.setattr(command, "confirmed_tables", lambda _: [])
    monkeypatch.setattr(command, "whole_report", lambda *_: made_up)
    made = published(read_study(folder), StudyFolder(folder)).files[None, None]
    for name, content in made.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)
    assert sorted(file.read_text() for file in (tmp_path / "pictures").iterdir()) == ["<svg>1</svg>", "<svg>2</svg>"]


BESIDE = {
    ("base", ""): (0, None),
    ("winner", "base"): (1, 0),
    ("without depth", "winner"): (2, 1),
    ("base + composition 0", "base"): (2, 0),
    ("without composition", "winner"): (3, 1),
    ("base + depth 1", "base"): (3, 0),
}
"""What was trained for the rows of the ablation, beside which reference, and the trials of both: two play two parts."""

CALLED = {
    "base": "base",
    "winner": "winner",
    "without depth": "depth 1: winner without it",
    "base + composition 0": "composition 0: base with it",
    "without composition": "composition 0: winner without it",
    "base + depth 1": "depth 1: base with it",
}
"""The names of their runs: what the gain is the gain of, and what was trained."""


def test_every_number_of_an_ablation_is_in_one_run_that_says_in_words_what_it_is(uri: str, folder: Path) -> None:
    from mlflow import MlflowClient

    client, study = MlflowClient(uri), runs_of(uri, folder)[None, None]
    asked = (
        f"tags.`skipstack.study` = '{study.data.tags['skipstack.study']}' AND tags.`skipstack.role` = 'ablation row'"
    )
    found = client.search_runs([study.info.experiment_id], asked, order_by=["metrics.gain DESC"])
    by_row = {(run.data.tags["skipstack.row"], run.data.tags.get("skipstack.reference", "")): run for run in found}
    assert by_row.keys() == BESIDE.keys()
    assert len(by_row) == len(found)
    table = {(row.own, row.taken_back): row for row in ablated(read_study(folder).ablations[1]).rows}
    assert len(table) == len(BESIDE)
    for named, trials in BESIDE.items():
        taken_back = named[0].startswith("without")
        row, run = table[trials[0], taken_back], by_row[named]
        assert (row.trial, row.reference) == (trials[::-1] if taken_back else trials)
        dev, test = row.own_scores
        assert test is not None
        assert dev is not None
        numbers = {
            "gain": row.gain and row.gain.value,
            "gain_low": row.corrected and row.corrected[0],
            "gain_high": row.corrected and row.corrected[1],
            "p": row.p,
            "effect_size": row.effect_size,
            "test_accuracy": test.value,
            "test_accuracy_low": test.low,
            "test_accuracy_high": test.high,
            "best_score": dev.value,
            "best_score_low": dev.low,
            "best_score_high": dev.high,
        }
        expected = {name: pytest.approx(value, abs=1e-12) for name, value in numbers.items() if value is not None}
        assert {name: run.data.metrics[name] for name in numbers if name in run.data.metrics} == expected
        assert run.info.run_name == CALLED[named[0]]
        tags = {"skipstack.corpus": "grammar", "skipstack.ablation": "1", "skipstack.trial": str(trials[0])}
        tags |= {"skipstack.change": row.label, **({"skipstack.over": row.over} if row.over else {})}
        assert tags.items() <= run.data.tags.items()
    gains = [run.data.metrics["gain"] for run in found if "gain" in run.data.metrics]
    assert gains == sorted(gains, reverse=True)
    assert found[-1] is by_row["base", ""], "what has no gain comes last"


def test_trials_rows_and_what_is_above_them_are_never_in_one_ranking(uri: str, folder: Path) -> None:
    record = read_study(folder)
    roles = Counter(run.data.tags["skipstack.role"] for run in runs_of(uri, folder).values())
    assert roles == {"study": 1, "trial": len(record.trials), "ablation": 1, "ablation row": len(BESIDE)}
    explored = [run for run in runs_of(uri, folder).values() if run.data.tags["skipstack.role"] != "ablation row"]
    assert not [name for run in explored for name in run.data.metrics if name in ("gain", "gain_low", "gain_high", "p")]


def test_two_rows_of_one_trial_have_one_config_so_that_comparing_them_shows_no_difference(
    uri: str, folder: Path
) -> None:
    runs = runs_of(uri, folder)
    trained, beside = runs["1", "2"], runs["1", "2", "base + composition 0"]
    assert trained.data.params == beside.data.params
    assert trained.data.params["axis.depth"] == "3"
    assert trained.data.params["axis.composition"] == "0"
    assert beside.data.tags["mlflow.parentRunId"] == runs["1", None].info.run_id
    assert (beside.info.start_time, beside.info.end_time) == (trained.info.start_time, trained.info.end_time)


def test_an_ablation_has_its_forest_plot_and_its_table_to_paste(uri: str, folder: Path, tmp_path: Path) -> None:
    from mlflow import MlflowClient

    client, run = MlflowClient(uri), runs_of(uri, folder)["1", None]
    names = {file.path for file in client.list_artifacts(run.info.run_id)}
    assert names == {"study.json", "report.html", "table.csv", "table.md", "table.tex", "forest.svg"}
    files = {name: Path(client.download_artifacts(run.info.run_id, name, str(tmp_path))).read_text() for name in names}
    frame = pd.read_csv(tmp_path / "table.csv")
    assert list(frame["row"]) == [row.label for row in ablated(read_study(folder).ablations[1]).rows]
    assert "without a gain" not in files["table.md"]
    assert files["forest.svg"].lstrip().startswith("<svg")
    assert "\\begin{tabular" in files["table.tex"]
    assert run.data.tags["skipstack.axis.learning_rate"] == "training.optimiser.learning_rate"


@pytest.mark.slow
def test_means_over_corpora_are_runs_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "two"
    record = planted(path, {"model.stack.depth": {"choice": [1, 3]}}, corpus=["own", "atis"])
    own = f"sqlite:///{tmp_path / 'mlflow.db'}"
    sync(path, own)
    means = {run.info.run_name: run for key, run in runs_of(own, path).items() if len(key) > 2 and key[1] is None}
    (row,) = (row for row in ablated(record).rows if row.trial is None)
    assert row.gain is not None
    (run,) = means.values()
    assert run.info.run_name == "winner, mean of 2 corpora"
    assert run.data.metrics["gain"] == row.gain.value
    assert (run.data.metrics.get("gain_low"), run.data.metrics.get("gain_high")) == (row.corrected or (None, None))
    assert not [name for name in run.data.params if name.startswith("data.corpus")]
    before = held(own, path)
    sync(path, own)
    assert held(own, path) == before


@pytest.mark.slow
def test_a_row_that_another_search_names_too_is_published_by_its_first_name(tmp_path: Path) -> None:
    """The best of the other search is the winner without its rate, which is compared with the winner either way."""
    depth, rate = "model.stack.depth", "training.optimiser.learning_rate"
    path = grid_search(tmp_path / "both", {depth: {"choice": [1]}, rate: {"choice": [0.01]}})
    beside = searches_beside([grid_search(tmp_path / "flat", {depth: {"choice": [1]}})])
    planned = made(path, beside=beside, corpus=["own", "atis"])
    assert any({"beside", "without"} <= {role.kind for role in row.roles} for row in planned.plan.rows)
    record = run_ablation(path, planned.number, beginning(path, planned), worker=PlantedWorker)
    runs = ExpectedRuns()
    for event in Ledger(StudyFolder(path).ledger).read():
        runs.apply(event)
    shown = published(read_study(path), StudyFolder(path)).metrics
    assert {key for key in shown if key[0] == 1} <= runs.pending.keys()
    means = [row.label for row in ablated(record).rows if row.trial is None]
    assert "learning_rate 0.01 beside 0.02" in means
    assert sum(key[:2] == (1, None) for key in shown) == len(means) - 1


def test_the_page_of_the_experiment_has_views_of_the_study(uri: str, folder: Path) -> None:
    from mlflow import MlflowClient

    client, run = MlflowClient(uri), runs_of(uri, folder)[None, None]
    tags = client.get_experiment(run.info.experiment_id).tags
    assert tags["mlflow.experimentKind"] == "custom_model_development"
    own, shown = run.data.tags["skipstack.study"], {}
    roles = {own: "trial", f"{own}-charts": "trial", f"{own}-ablation-1": "ablation row"}
    for key, role in roles.items():
        shown[key] = state = json.loads(json.loads(tags[f"mlflow.sharedViewState.{key}"])["state"])
        order = f"{state['orderByKey']} {'ASC' if state['orderByAsc'] else 'DESC'}"
        found = client.search_runs([run.info.experiment_id], state["searchFilter"], order_by=[order])
        every = [each for each in runs_of(uri, folder).values() if each.data.tags["skipstack.role"] == role]
        assert {each.info.run_id for each in found} == {each.info.run_id for each in every}
    assert {f"params.`axis.{name}`" for name in ("depth", "composition", "learning_rate")} < set(
        shown[own]["selectedColumns"]
    )
    rows = shown[f"{own}-ablation-1"]
    assert rows["orderByKey"] == "metrics.`gain`"
    assert {f"metrics.`{name}`" for name in ("gain", "gain_low", "gain_high", "p")} < set(rows["selectedColumns"])
    charts = json.loads(json.loads(tags[f"mlflow.sharedViewState.{own}-charts"])["state"])["compareRunCharts"]
    (lines,) = (each for each in charts if each["type"] == "PARALLEL")
    always = [
        set(run.data.params) for run in runs_of(uri, folder).values() if run.data.tags["skipstack.kind"] == "trial"
    ]
    assert lines["selectedParams"]
    assert set(lines["selectedParams"]) <= set.intersection(*always), "the page leaves out a trial that lacks one"


def as_before(database: Path, folder: Path, people: str) -> None:
    """Make a store what version 0.2.0 wrote: no run for a second part, no roles, rows and references, long names of
    axes, other names of metrics, of two differences of a trial the one to the base. ``people``: what somebody has
    called the run of trial 3 since.
    """
    from mlflow import MlflowClient

    client, runs = MlflowClient(f"sqlite:///{database}"), runs_of(f"sqlite:///{database}", folder)
    ids = {key: run.info.run_id for key, run in runs.items()}
    to_base = runs["1", "2", "base + composition 0"].data.metrics["gain"]
    for key, run_id in ids.items():
        if len(key) > 2:
            client.delete_run(run_id)
    with closing(sqlite3.connect(database, isolation_level=None)) as store:
        store.execute("delete from experiment_tags where key like 'mlflow.sharedViewState.%'")
        for name in ("role", "row", "reference", "change", "over", "corpus", "axis.%", "files"):
            store.execute("delete from tags where key like ?", (f"skipstack.{name}",))
        for path in AXES:
            own = (f"axis.{path}", f"axis.{path.rpartition('.')[2]}")
            store.execute("update params set key = ? where key = ?", own)
        for table in ("metrics", "latest_metrics"):
            store.execute(
                f"delete from {table} where key in ('effect_size') or key like 'test_accuracy\\__%' escape '\\'"
            )
            for name in ("gain", "gain_low", "gain_high", "p"):
                old = "difference_p" if name == "p" else name.replace("gain", "difference")
                store.execute(f"update {table} set key = ? where key = ?", (old, name))
            changed = f"update {table} set value = ? where key = 'difference' and run_uuid = ?"
            store.execute(changed, (to_base, ids["1", "2"]))
        for key, run_id in ids.items():
            if len(key) == 2 and key[0] == "1" and key[1] is not None:
                name = people if key[1] == "3" else f"ablation 1, trial {key[1]}"
                store.execute("update runs set name = ? where run_uuid = ?", (name, run_id))
                store.execute("update tags set value = ? where key = 'mlflow.runName' and run_uuid = ?", (name, run_id))


@pytest.mark.slow
def test_sync_brings_a_store_that_an_earlier_version_wrote_up_to_date(uri: str, folder: Path, tmp_path: Path) -> None:
    database = tmp_path / "mlflow.db"
    shutil.copyfile(uri.removeprefix("sqlite:///"), database)
    as_before(database, folder, people="the wide one")
    other = f"sqlite:///{database}"
    before = runs_of(other, folder)
    assert sorted(str(run.info.run_name) for (of, *_), run in before.items() if of == "1") == [
        "ablation 1, trial 0",
        "ablation 1, trial 1",
        "ablation 1, trial 2",
        "the wide one",
        "toy, ablation 1",
    ]
    assert skipstack.open(f"runs:/{before['1', '2'].info.run_id}", tracking_uri=other).trials().shape[0]
    sync(folder, other)
    after, expected = runs_of(other, folder), runs_of(uri, folder)
    assert after.keys() == expected.keys()
    for key, run in expected.items():
        own = after[key]
        assert own.info.run_name == (run.info.run_name if key != ("1", "3") else "the wide one")
        kept = ("mlflow.runName", "mlflow.parentRunId", "skipstack.files")
        tags = {name: value for name, value in run.data.tags.items() if name not in kept}
        assert tags.items() <= own.data.tags.items()
        assert run.data.params.items() <= own.data.params.items()
        assert run.data.metrics.items() <= own.data.metrics.items()
    from mlflow import MlflowClient

    experiments = [runs[None, None].info.experiment_id for runs in (after, expected)]
    mine, theirs = (
        MlflowClient(store).get_experiment(number).tags for store, number in zip((other, uri), experiments, strict=True)
    )
    own = after[None, None].data.tags["skipstack.study"]
    assert len(ours := {name: view for name, view in theirs.items() if own in name}) == 3
    assert ours.items() <= mine.items()
    again = held(other, folder)
    sync(folder, other)
    assert held(other, folder) == again


@pytest.mark.slow
def test_runs_that_were_named_after_what_was_trained_are_named_after_their_change(
    uri: str, folder: Path, tmp_path: Path
) -> None:
    """As they were between versions 0.2.0 and 0.3.0; what somebody has called a run stays."""
    database = tmp_path / "mlflow.db"
    shutil.copyfile(uri.removeprefix("sqlite:///"), database)
    expected, other = runs_of(uri, folder), f"sqlite:///{database}"
    rows = {key: run for key, run in expected.items() if "skipstack.row" in run.data.tags}
    with closing(sqlite3.connect(database, isolation_level=None)) as store:
        store.execute("delete from tags where key in ('skipstack.change', 'skipstack.over', 'skipstack.files')")
        for table in ("metrics", "latest_metrics"):
            store.execute(f"delete from {table} where key like 'gain%'")
        for key, run in rows.items():
            name = "the wide one" if key == ("1", "3") else run.data.tags["skipstack.row"]
            store.execute("update runs set name = ? where run_uuid = ?", (name, run.info.run_id))
    sync(folder, other)
    after = runs_of(other, folder)
    assert after.keys() == expected.keys()
    for key, run in rows.items():
        assert after[key].info.run_name == ("the wide one" if key == ("1", "3") else run.info.run_name)
        assert run.data.metrics.items() <= after[key].data.metrics.items()
        assert {name: after[key].data.tags.get(name) for name in ("skipstack.change", "skipstack.over")} == {
            name: run.data.tags.get(name) for name in ("skipstack.change", "skipstack.over")
        }


@pytest.mark.slow
def test_the_guide_reads_an_ablation_as_a_table(uri: str, folder: Path) -> None:
    code = Page(GUIDE / "tracking.md").script("rows = mlflow.search_runs(")
    shown = code.replace("sqlite:///runs/quickstart/mlflow.db", uri)
    assert uri in shown
    ran = subprocess.run([sys.executable, "-c", shown], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    rows = [row for row in ablated(read_study(folder).ablations[1]).rows if row.gain is not None]
    rows.sort(key=lambda row: -row.gain.value if row.gain else 0)
    lines = ran.stdout.splitlines()[1:]
    for line, row in zip(lines, rows, strict=False):
        assert row.gain is not None
        assert f" {row.label} " in f" {line} "
        assert f" {row.over} " in line
        assert f"{row.gain.value:.3f}" in line
    assert len(lines) == len(BESIDE)
    assert " base " in lines[-1]


@pytest.mark.slow
def test_reports_from_a_store_alone_are_those_of_the_folder(uri: str, folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    run_toy(open_toy(other, toy_study(4, epochs=2)))
    assert sync_to_mlflow(other, Execution(tracking_uri=uri)).missing == []
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
    with pytest.raises(UserError, match="the store has no file"):
        all_located(f"sqlite:///{tmp_path / 'missing.db'}")
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


def test_a_copy_that_version_0_2_left_is_read(uri: str, folder: Path) -> None:
    own = runs_of(uri, folder)[None, None]
    kept = Path(own.info.artifact_uri.removeprefix("file://")) / LEDGER
    payloads = [line.payload for line in Ledger(folder / "ledger").lines() if line.payload is not None]
    table = pa.table([list(map(checksum, payloads)), payloads], names=["crc", "payload"])
    pq.write_table(table, old := kept.with_name("ledger.parquet"), compression="zstd", write_page_checksum=True)
    aside = kept.rename(kept.with_name("aside"))
    try:
        assert (
            skipstack.open(f"runs:/{own.info.run_id}", tracking_uri=uri)
            .trials()
            .equals(skipstack.open(folder).trials())
        )
    finally:
        aside.rename(kept)
        old.unlink()


@pytest.mark.slow
def test_a_study_that_is_told_again_changes_nothing(uri: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before, calls = held(uri, folder), Calls(monkeypatch)
    monkeypatch.setattr(publishing, "put", None)
    sync(folder, uri)
    assert calls.count == 0
    assert held(uri, folder) == before


@pytest.mark.slow
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
            assert sync_to_mlflow(folder, Execution(tracking_uri=other)).missing
    sync(folder, other)
    assert held(other, folder) == held(uri, folder)
    assert len(Ledger(StudyFolder(folder).ledger).read()) == events, "the study is as it was"


@pytest.mark.slow
def test_what_is_refused_again_and_again_is_given_up(uri: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry_loop, "POLL", 0.002)
    monkeypatch.setattr(retry_loop, "PAUSE", 0.002)
    monkeypatch.setattr(retry_loop, "LAST_PAUSE", 0.002)
    asked: list[str] = []

    def refuse(_: object, run_id: str, files: Mapping[str, bytes]) -> None:
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


def has_logged_models() -> bool:
    """Whether the client has them, which version 3 brought."""
    from mlflow import MlflowClient

    return hasattr(MlflowClient, "search_logged_models")


@pytest.mark.slow
def test_a_store_without_logged_models_has_the_best_network_among_artifacts(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mlflow import MlflowClient

    uri, said = f"sqlite:///{tmp_path / 'mlflow.db'}", list[str]()
    monkeypatch.setattr(running, "TrackingProcess", TrackingHere)
    monkeypatch.delattr(MlflowClient, "search_logged_models", raising=False)
    for _ in range(2):
        shown(sync_to_mlflow(small, Execution(tracking_uri=uri, warn=pytest.fail, say=said.append)), published)
    assert sum("has no page of models" in line for line in said) == 2
    client, trial, record = MlflowClient(uri), runs_of(uri, small)[None, "0"], read_study(small)
    best, opened = published(record, StudyFolder(small)).best, record.opened
    assert best is not None
    assert opened is not None
    named = client.get_experiment(trial.info.experiment_id).name
    best = replace(best, write=partial(pytest.fail, "it is there"))
    for _ in range(2):
        assert register(uri, named, study_id(opened), best, "Ann's tagger") == 1
    version = client.get_model_version_by_alias("Ann's tagger", "best")
    (folder,) = (file.path for file in client.list_artifacts(trial.info.run_id) if file.is_dir)
    assert (version.source, version.run_id) == (f"{trial.info.artifact_uri}/{folder}", trial.info.run_id)
    assert "MLmodel" in {file.name for file in Path(version.source.removeprefix("file://")).iterdir()}
    assert version.description.startswith("# small, trial 0")
    assert {"model_dev_accuracy", "model_test_accuracy"} <= set(trial.data.metrics)


@pytest.mark.slow
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
        assert f"registered in MLflow: models:/tagger/{version}, with the alias best" in capsys.readouterr().err
    client, runs = mlflow.MlflowClient(uri), runs_of(uri, small)
    registered = client.get_model_version_by_alias("tagger", "best")
    assert registered.run_id == runs[None, "0"].info.run_id
    assert registered.description == (bundle / "README.md").read_text()[:5000]
    if has_logged_models():
        (model,) = client.search_logged_models([runs[None, None].info.experiment_id])
        _belongs_to_its_trial(client, model, runs, read_study(small), bundle)
    files = Path(registered.source.removeprefix("file://"))
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


def scored(config: Any, report: skipstack.Report) -> None:
    """Its score depends on the seed, and it leaves a model."""
    model = report.folder / "model.txt"
    model.write_text(str(config["x"]))
    report(score=config["x"] + 0.01 * (config["seed"] % 3), model=model)


@pytest.mark.slow
@pytest.mark.parametrize("logged", [True, False], ids=["logged", "among artifacts"])
def test_the_card_of_a_model_follows_an_ablation(logged: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from mlflow import MlflowClient

    monkeypatch.setattr(running, "TrackingProcess", TrackingHere)
    if not logged:
        monkeypatch.delattr(MlflowClient, "search_logged_models", raising=False)
    folder, uri = tmp_path / "study", f"sqlite:///{tmp_path / 'mlflow.db'}"
    skipstack.search(skipstack.Space(x=skipstack.choice(1, 2)), scored, trials=2, seeds=2, engine="serial", out=folder)

    def publish() -> Publication:
        shown(sync_to_mlflow(folder, Execution(tracking_uri=uri, warn=pytest.fail)), published)
        return published(read_study(folder), StudyFolder(folder))

    before, client = publish().best, MlflowClient(uri)
    own = runs_of(uri, folder)[None, None]
    named, study = client.get_experiment(own.info.experiment_id).name, own.data.tags["skipstack.study"]
    assert before is not None
    for name in ("ours", "theirs"):
        assert register(uri, named, study, before, name) == 1
        assert "Nothing of this config is confirmed" in client.get_model_version(name, "1").description
    client.update_model_version("theirs", "1", "What I think of it.")
    skipstack.ablate(folder, scored, seeds=2, engine="serial")
    after = publish().best
    assert "Confirmed for this config" in client.get_model_version("ours", "1").description
    assert client.get_model_version("theirs", "1").description == "What I think of it."
    if logged and has_logged_models():
        (model,) = client.search_logged_models([own.info.experiment_id])
        assert "Confirmed for this config" in model.tags["mlflow.note.content"]
    assert after is not None
    assert register(uri, named, study, replace(after, write=partial(pytest.fail, "it is as it was")), "ours") == 1


def test_a_description_is_cut_to_what_every_registry_takes(uri: str) -> None:
    from mlflow import MlflowClient

    client = MlflowClient(uri)
    client.create_registered_model("long")
    _version(client, StoredModel("file:///nowhere", None, "ä" * 6000, None), "long")
    assert client.get_model_version("long", "1").description == "ä" * 5000


@pytest.mark.slow
def test_the_printed_command_serves_the_registered_model(
    small: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """From a store that is a file, with a `$` and a blank in its path, and a blank and an apostrophe in the model's
    name.
    """
    (tmp_path / "a $store").mkdir()
    uri, bundle = f"sqlite:///{tmp_path / 'a $store' / 'mlflow.db'}", tmp_path / "bundle"
    sync(small, uri)
    typed("export", str(small), "--to", str(bundle), "--register", "Ann's tagger", "--tracking-uri", uri)
    texts = ["the old dogs sleep", "cats"]
    expected = skipstack.load(bundle).predict([text.split() for text in texts])
    with served_as_printed(tmp_path / "served", capsys.readouterr().err) as address:
        found = answered(address, texts)
    assert found == [[[word, tag] for word, tag in zip(each.words, each.tags, strict=True)] for each in expected]


def _belongs_to_its_trial(client: Any, model: Any, runs: Mapping[Any, Any], record: StudyRecord, bundle: Path) -> None:
    """It is the output of its trial's run alone, with what its network reached on which corpus, and its card."""
    trial = runs[None, "0"]
    made = {each.model_id: key for key, run in runs.items() for each in (run.outputs or NOTHING).model_outputs}
    assert made == {model.model_id: (None, "0")}
    assert model.source_run_id == trial.info.run_id
    assert model.tags["mlflow.note.content"] == (bundle / "README.md").read_text()[:6000]
    counts = json.loads((bundle / "metrics.json").read_text())
    reached = {
        f"model_{split}_accuracy": counts[split]["correct"] / counts[split]["total"] for split in ("dev", "test")
    }
    assert {each.key: pytest.approx(each.value) for each in model.metrics} == reached
    assert {(each.dataset_name, each.dataset_digest) for each in model.metrics} == {
        (record.study.space.base.title, record.fingerprint_of(record.study.space.base))
    }
    version = client.get_model_version_by_alias("tagger", "best")
    assert (int(version.version), version.source) == (1, model.artifact_location)


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
