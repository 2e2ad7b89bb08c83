"""The page "What do I take away?" compares two trials path by path, and offers files that are what a command writes."""

import csv
import json
import re
from io import StringIO
from pathlib import Path

import pandas as pd
import pytest

from skipstack.dashboards.web.downloads import REPORTS
from skipstack.dashboards.web.export_page import differing
from skipstack.dashboards.web.page_names import TAKE
from skipstack.data.basis.user_code.configs import known
from skipstack.data.basis.user_code.files import read_code
from skipstack.search.analysis.study_frames import StudyFrames, study_frames
from skipstack.spaces.trial import TrialConfig
from tests.dashboards.web.shown import Opened, write
from tests.own_code.pieces_of import RIGHT
from tests.search.made_up import DEPTH, RATE, ended, history, opening, proposed, study


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    write(folder / "a-search", history(study(trials=30), seed=1))
    return folder


@pytest.fixture(scope="module")
def frames(runs: Path) -> StudyFrames:
    return study_frames(runs / "a-search")


def test_two_trials_are_compared_path_by_path_and_drawn(runs: Path, frames: StudyFrames) -> None:
    page = Opened(runs, TAKE, one="1", other="2")
    points = frames.trials.loc[[1, 2], [DEPTH, RATE]]
    apart = page.text.split("Differences")[1].split("Inside a network")[0].split("path value")[0]
    for path in (DEPTH, RATE):
        one, other = points[path]
        same = one == other or (pd.isna(one) and pd.isna(other))
        assert (path in apart) is not same
        assert same or f"{one}" in apart
    assert page.html.count('<img src="data:image/svg+xml;base64,') == 2
    assert "Trial 1 has printed nothing." in page.text
    assert "The weights of the trials are not here." in page.text


def test_without_a_choice_the_best_trial_stands_beside_the_base(runs: Path, frames: StudyFrames) -> None:
    options = re.findall(r'<select name="(one|other)">.*?<option value="(\w+)" selected>', Opened(runs, TAKE).html)
    assert options == [("one", f"{frames.trials['score'].idxmax()}"), ("other", "base")]


def test_a_wrong_trial_is_told_with_what_is_allowed(runs: Path) -> None:
    page = Opened(runs, TAKE, one="99")
    assert page.status == 404
    assert "one: got '99' (allowed: the number of a trial of the study, or base)" in page.text


def test_without_a_trial_or_a_score_the_page_offers_what_there_is(tmp_path: Path) -> None:
    config = study(trials=1)
    write(tmp_path / "new", opening(config))
    write(tmp_path / "failed", [*opening(config), proposed(config, 0, {DEPTH: 1, RATE: 0.01}), ended(0, "failed")])
    for name, first in (("new", "base"), ("failed", "0")):
        page = Opened(tmp_path, TAKE, study=name)
        assert page.status == 200
        assert f'<option value="{first}" selected>' in page.html
        assert "No bundle: no trial has a score." in page.text
        assert ("Log of trial 0" in page.text) is (first == "0")


@pytest.mark.slow
def test_every_file_of_the_page_is_there_and_a_wrong_one_is_told(runs: Path, frames: StudyFrames) -> None:
    page = Opened(runs, TAKE)
    for name in REPORTS:
        assert f'href="/files/{name}"' in page.html
        answer = page.client.get(f"/files/{name}")
        assert answer.headers["content-disposition"] == f'attachment; filename="made-up{Path(name).suffix}"'
        assert answer.content
    assert json.loads(page.fetched("/files/report.json"))["study"] == "made-up"
    table = list(csv.DictReader(StringIO(page.fetched("/files/trials.csv?states=completed"))))
    completed = frames.trials[frames.trials["state"] == "completed"]
    assert [int(row["trial"]) for row in table] == list(completed["score"].sort_values(ascending=False).index)
    assert "trial 99: no such trial" in page.fetched("/files/trial-99.zip")
    wrong = page.client.get("/files/report.doc")
    assert wrong.status == 404
    assert wrong.text.startswith("unknown file 'report.doc' (nearest: 'report.")


def test_files_of_own_code_are_no_difference_beside_the_pieces_that_they_define() -> None:
    with known([read_code(RIGHT, "right.py")]):
        own = TrialConfig.model_validate({"model": {"stack": {"shortcut": {"gate": "soft_step"}}}})
    apart, _ = differing(own, TrialConfig())
    gate = "model.stack.shortcut.gate"
    assert {path for path, *_ in apart} == {gate, f"{gate}.kind", f"{gate}.slope"}
