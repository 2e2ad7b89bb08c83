"""The script that draws charts: made once for each version, kept, and tried again where it could not be kept."""

import re
from pathlib import Path

import pytest

from skipstack.dashboards.charts.drawing import VERSION
from skipstack.dashboards.reports.pictures.drawing_process import DRAWING, UndrawnError
from skipstack.dashboards.web import charts_script
from tests.dashboards.web.shown import Client


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(charts_script, "user_cache_path", lambda *_, **__: tmp_path / "cache")
    charts_script.charts_script.cache_clear()
    return tmp_path / "cache"


@pytest.mark.slow
@pytest.mark.long
def test_it_is_of_the_version_of_vega_lite_that_altair_writes(home: Path) -> None:
    text = charts_script.charts_script()
    assert "window.vegaEmbed=" in text
    assert re.search(rf"[\"'`]{re.escape(VERSION)}\.\d+[\"'`]", text)  # of Vega-Lite
    assert [file.read_text() for file in (home / "charts").iterdir()] == [text]


def test_it_is_made_once_and_read_from_the_cache_by_others(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = list[str]()
    monkeypatch.setattr(DRAWING, "script", lambda snippet, version: made.append(version) or "a script")
    assert charts_script.charts_script() == "a script"
    charts_script.charts_script.cache_clear()
    assert charts_script.charts_script() == "a script"
    assert made == [VERSION]


def test_a_cache_that_cannot_be_written_costs_no_more_than_time(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home.write_text("a file, not a folder")
    monkeypatch.setattr(DRAWING, "script", lambda snippet, version: "a script")
    assert charts_script.charts_script() == "a script"


def test_one_that_cannot_be_made_is_told_to_the_page(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def undrawn(snippet: str, version: str) -> str:
        raise UndrawnError("its process ended")

    monkeypatch.setattr(DRAWING, "script", undrawn)
    answer = Client(tmp_path).get("/charts.js")
    assert (answer.status, answer.text) == (503, "charts cannot be drawn: its process ended")
