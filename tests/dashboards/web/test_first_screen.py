"""The first screen of a page, which this server draws, says what Streamlit's page says, and stands where it stands."""

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from html import unescape
from itertools import islice
from pathlib import Path
from urllib.parse import parse_qs, urlencode, urlsplit
from urllib.request import Request, urlopen

import pytest

from skipstack.dashboards.web.elements import STYLE
from skipstack.dashboards.web.first_screen_style import content_width
from skipstack.dashboards.web.page_names import BELIEVE, GOING, NAMES, STUDIES, TAKE, TRIAL, WORKS
from skipstack.dashboards.web.readiness import first_screen_of
from tests.dashboards.web.browsing import started
from tests.dashboards.web.shown import Opened, write
from tests.search.made_up import history, opening, study

DONE, BEGUN, BARE, TORN = "a & <b>", "begun", "bare", "torn"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A search, one that is not over, one without a score, and one whose ledger is damaged."""
    folder = tmp_path_factory.mktemp("runs")
    write(folder / DONE, history(study(trials=30), seed=1))
    write(folder / BEGUN, islice(history(study(trials=30), seed=1), 61))
    write(folder / BARE, opening(study()))
    (write(folder / TORN, opening(study())) / "ledger" / "000001.jsonl").write_text("what?\nand what?\n")
    return folder


def screen(runs: Path, page: str, name: str, width: int = 1280) -> str | None:
    return first_screen_of([runs], {})(page, name, width)


def words(html: str) -> str:
    """What a first screen says, apart from its rail and the letters of its charts."""
    said = re.sub(r"<style>.*?</style>|<nav>.*?</nav>|<svg.*?</svg>|</?a\b[^>]*>", "", html, flags=re.DOTALL)
    return unescape(re.sub(r"<[^>]+>", " ", said))


@pytest.mark.first(2)
@pytest.mark.parametrize(("page", "name"), [(GOING, DONE), (GOING, BEGUN), (WORKS, BEGUN), (BELIEVE, DONE)])
def test_it_says_what_the_page_says_down_to_the_first_chart(runs: Path, page: str, name: str) -> None:
    first, live = screen(runs, page, name), Opened(runs, page, study=name)
    assert first is not None
    pieces = re.findall(r'<div class="stHtml">(.*?)</div>', first)
    told = [" ".join(words(piece).split()) for piece in pieces]
    of_page, place = " ".join(live.text.split()), 0
    for each in told:  # in the order of the page, but for the number of seconds that have passed since
        found = of_page.find(re.sub(r"The last event was recorded .*", "", each), place)
        assert found >= 0, each
        place = found
    assert told[0] == of_page[: len(told[0])]
    assert re.findall(r'aria-label="(.*?)"', first)[0] == live.app.get("vega_lite_chart")[0].proto.alt
    assert f"<h3>{live.headlines[0]}</h3>" in re.sub(r"</?a\b[^>]*>", "", first)
    if page == GOING:
        numbers = re.findall(r"<div><p>(.*?)</p><p>(.*?)</p></div>", first)
        assert dict(numbers) == live.metrics


def test_its_chart_has_a_mark_for_each_trial_and_fits_the_window(runs: Path) -> None:
    for width, columns in ((1280, 2), (390, 1)):
        first = screen(runs, GOING, DONE, width)
        assert first is not None
        (drawn,) = re.findall(r"<svg.*</svg>", first, flags=re.DOTALL)
        assert float(ET.fromstring(drawn).attrib["viewBox"].split()[2]) == content_width(width, columns)
        assert len(re.findall(r'<path[^>]* transform="translate', drawn)) >= 30
    assert (content_width(1280), content_width(1280, 2), content_width(390)) == (968, 468, 364)


def test_its_links_open_the_other_pages_of_the_study_and_trials(runs: Path) -> None:
    first = screen(runs, WORKS, DONE)
    assert first is not None
    links = [parse_qs(urlsplit(unescape(link)).query) for link in re.findall(r'href="(.*?)"', first)]
    assert [link["page"][0] for link in links[: len(NAMES)]] == list(NAMES)
    assert {link["study"][0] for link in links} == {DONE}
    assert any("trial" in link for link in links)  # the best one, in the verdict
    assert "<b>" not in first
    assert "a &amp; &lt;b&gt;" in first


def test_there_is_none_of_other_pages_or_where_nothing_can_be_drawn(runs: Path) -> None:
    assert [page for page in NAMES if screen(runs, page, DONE) is None] == [STUDIES, TAKE, TRIAL]
    assert screen(runs, GOING, BARE) is None
    assert screen(runs, WORKS, TORN) is None
    assert screen(runs, WORKS, "of another") is None
    assert screen(runs, "no page", DONE) is None
    assert screen(runs, GOING, "") is None  # which of several
    assert first_screen_of([runs / DONE], {})(GOING, "", 1280)


@pytest.fixture(scope="module")
def address(runs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with started(tmp_path_factory.mktemp("home"), "dashboard", "--no-browser", str(runs)) as server:
        assert server.stdout is not None
        yield server.stdout.readline().strip()
        server.terminate()
        server.communicate(timeout=60)


def test_the_server_answers_with_it_and_its_page_asks_for_it(runs: Path, address: str) -> None:
    def answer(path: str) -> tuple[int, str]:
        with urlopen(Request(f"{address}{path}"), timeout=60) as response:
            return response.status, response.read().decode()

    status, page = answer("/")
    assert status == 200
    assert page.count(STYLE) == page.count("fetch(`./first-screen?") == 1
    assert page.index("fetch(") < page.index("modulepreload")  # it is asked for first
    at_once = re.sub(r'<template class="files">.*?</template>', "", page, flags=re.DOTALL)
    assert page.count("modulepreload") > 50
    assert "modulepreload" not in at_once
    assert 'type="module"' not in at_once
    assert page.index("<body>") < page.index(STYLE) < page.index('id="root"')
    status, sent = answer(f"/first-screen?{urlencode({'page': WORKS, 'study': DONE, 'width': 1280})}")
    assert (status, sent) == (200, screen(runs, WORKS, DONE))
    for asked in ({"page": STUDIES, "width": 1280}, {"page": WORKS, "study": DONE, "width": "wide"}, {}):
        assert answer(f"/first-screen?{urlencode(asked)}") == (204, "")
    script = re.search(r'src="\.(/static/js/index\.[^"]+)"', page)
    assert script
    assert "fetch(`./first-screen" not in answer(script[1])[1]  # files are as they are
