"""How pages look: their theme, their contrast, their charts; and what an address without a study says."""

from pathlib import Path

import pandas as pd
import pytest

from skipstack.dashboards.charts.drawing import specification
from skipstack.dashboards.charts.history import history
from skipstack.dashboards.charts.slices import slices
from skipstack.dashboards.charts.theme import FONTS
from skipstack.dashboards.formats.style import COLOURS, FONT, PICTURES
from skipstack.dashboards.reports.wording import ago
from skipstack.dashboards.web.application import STYLE
from skipstack.dashboards.web.chart_data import panels
from skipstack.dashboards.web.page_names import BELIEVE, GOING
from skipstack.data.tasks.measures import MEASURES
from tests.dashboards.web.shown import Opened, write
from tests.search.made_up import GATE, RATE, study
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
    assert "color-scheme: light dark" in STYLE
    assert all(f"--paper: {colour};" in STYLE for colour in COLOURS["paper"])
    assert FONT == FONTS in STYLE
    assert PICTURES in STYLE


def test_a_chart_is_as_wide_as_its_place_in_the_colours_of_the_theme() -> None:
    (spec,) = panels(specification(history(TRIALS, ACCURACY)))
    assert spec["autosize"] == {"type": "fit-x", "contains": "padding"}
    assert spec["width"] == "container"
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


@pytest.mark.first(1)
@pytest.mark.parametrize("name", ["first", "second"])
def test_an_address_names_any_study_and_none_is_open_without_one(runs: Path, name: str) -> None:
    assert " selected>" not in Opened(runs).page
    page = Opened(runs, GOING, study=name)
    assert f'{name}" selected>' in page.page
    assert page.metrics["trials ended"] == ("2 of 2" if name == "first" else "30 of 30")


def test_an_address_without_a_study_or_with_an_unknown_one_says_what_is_allowed(runs: Path) -> None:
    page = Opened(runs, BELIEVE)
    assert (page.status, "no study is chosen (allowed: one of the list of studies)" in page.text) == (404, True)
    wrong = Opened(runs, BELIEVE, study=str(runs / "secnd"))
    assert f"unknown study '{runs}/secnd' (nearest: '{runs}/second';" in wrong.text


@pytest.mark.parametrize(("ink", "paper"), [("pale", "paper"), ("ink", "band"), ("cyan", "paper"), ("blue", "paper")])
@pytest.mark.parametrize("theme", [0, 1])
def test_texts_and_links_have_the_contrast_that_everybody_can_read(ink: str, paper: str, theme: int) -> None:
    """At least 4.5 : 1 (WCAG 2.2, 1.4.3)."""
    light, dark = sorted((luminance(COLOURS[each][theme]) for each in (ink, paper)), reverse=True)
    assert (light + 0.05) / (dark + 0.05) >= 4.5


def luminance(colour: str) -> float:
    """The relative luminance of a colour (WCAG 2.2)."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
