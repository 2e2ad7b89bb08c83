"""How pages look: their theme, their charts, and that an address opens the view that it came from."""

from pathlib import Path

import pandas as pd
import pytest

from skipstack.dashboards.charts.drawing import specification
from skipstack.dashboards.charts.history import history
from skipstack.dashboards.charts.slices import slices
from skipstack.dashboards.charts.theme import FONTS
from skipstack.dashboards.formats.style import COLOURS, EITHER, FONT, PICTURES
from skipstack.dashboards.reports.wording import ago
from skipstack.dashboards.web.elements import panels
from skipstack.dashboards.web.page_names import BELIEVE, GOING, WORKS
from skipstack.dashboards.web.serving import OPTIONS
from skipstack.data.tasks.measures import MEASURES
from skipstack.search.analysis.study_frames import study_frames
from tests.dashboards.web.shown import Opened, write
from tests.search.made_up import DEPTH, GATE, RATE, study
from tests.search.made_up import history as events

ACCURACY = MEASURES["accuracy"]
TRIALS = pd.DataFrame(
    {"state": ["stopped", "completed"], "dev": [0.5, 0.7], "score": [0.5, 0.7], GATE: ["a", "b"], RATE: [0.01, 0.02]}
).rename_axis("trial")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    write(folder / "first", events(study(trials=2), seed=1))
    write(folder / "second", events(study(trials=30), seed=1))
    return folder


def test_the_theme_is_that_of_the_system_with_one_typeface() -> None:
    assert "theme_base" not in OPTIONS
    assert OPTIONS["theme_light_backgroundColor"] == COLOURS["paper"][0]
    assert OPTIONS["theme_dark_backgroundColor"] == COLOURS["paper"][1]
    assert OPTIONS["theme_font"] == FONT == FONTS
    assert "--ink: light-dark(#1f2328, #e6edf3);" in EITHER
    assert 'svg [stroke="#1f2328"] { stroke: var(--ink); }' in PICTURES


def test_a_chart_is_as_wide_as_its_place_in_the_colours_of_the_theme() -> None:
    (spec,) = panels(specification(history(TRIALS, ACCURACY)))
    assert spec["autosize"] == {"type": "fit-x", "contains": "padding"}
    assert spec["usermeta"]["embedOptions"]["renderer"] == "svg"  # whose colours CSS replaces
    assert (spec["config"]["background"], spec["config"]["font"]) == (None, FONT)


def test_panels_stand_apart_with_their_own_data_and_one_legend() -> None:
    spec = specification(slices(TRIALS, ACCURACY, [GATE, RATE], names={GATE: "gate", RATE: "rate"}))
    parts = panels(spec)
    assert len(parts) == 2
    assert all(len(part["datasets"]) == 1 for part in parts)
    assert parts[0]["datasets"] != parts[1]["datasets"]
    legends = [part["encoding"]["color"].get("legend", "there") for part in parts]
    assert legends == ["there", None]
    assert [part["encoding"]["y"]["scale"]["domain"] for part in parts] == [[50, 70]] * 2


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(-0.1, "just now"), (0.9, "just now"), (30, "30 s ago"), (7200, "2 h ago"), (864_000, "10 days ago")],
)
def test_how_long_ago_is_said_as_people_do(seconds: float, said: str) -> None:
    assert ago(seconds) == said


def test_an_address_opens_the_view_that_it_came_from(runs: Path) -> None:
    """A browser writes what is chosen into it (``test_browser.py``)."""
    chosen = {"states": ["stopped"], "only": ["depth 1"], "axes": ["learning_rate"]}
    page = Opened(runs, None, address={"page": WORKS, "study": "second", **chosen})
    assert {key: page.app.multiselect(key=key).value for key in chosen} == chosen
    chart = page.charts["The score of each trial, over each axis alone"]
    trials = study_frames(runs / "second").trials
    expected = trials[(trials["state"] == "stopped") & (trials[DEPTH] == 1) & trials["dev"].notna()]
    assert [[row["trial"] for row in rows] for rows in chart.rows] == [expected.index.tolist()]
    assert 0 < len(expected) < len(trials)


@pytest.mark.first(1)
@pytest.mark.parametrize("name", ["first", "second"])
def test_an_address_names_any_study_and_none_is_open_without_one(runs: Path, name: str) -> None:
    assert Opened(runs).app.selectbox(key="study").value is None
    page = Opened(runs, None, address={"page": GOING, "study": name})
    assert page.app.selectbox(key="study").value == name
    assert page.metrics["trials ended"] == ("2 of 2" if name == "first" else "30 of 30")


def test_without_a_study_a_page_says_what_will_be_there(runs: Path) -> None:
    assert "Choose a study" in Opened(runs, BELIEVE).text


def test_two_trials_are_drawn_without_a_number_that_is_none(runs: Path) -> None:
    for question in ("Which values?", "Which axes, and which together?", "Which trials?", "At what cost?"):
        page = Opened(runs, WORKS, study="first", question=question)
        assert page.charts
        assert "nan" not in page.text.lower().split()
