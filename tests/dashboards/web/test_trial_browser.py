"""The page of a trial in a browser: a point of a chart and a row of a table open it, and its address opens it again.

Its pictures stay in the folder that pytest keeps (``--basetemp``).
"""

import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from urllib.parse import urlencode

import pytest

from skipstack.dashboards.web.page_names import GOING, NAMES, TRIAL
from skipstack.search.ledger.ledger import Ledger
from tests.dashboards.web.browsing import CHROMIUM, ask, chromium, command, opened, pictured, settled
from tests.dashboards.web.shown import write
from tests.search.made_up import history, study

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not CHROMIUM.exists(), reason=f"no browser at {CHROMIUM}")]

EVENTS = list(history(study(trials=30), seed=1))
BEGUN = 61
"""How many of the events there are at first: trial 4 is being trained."""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """Where the dashboard is served of two studies that are not over, and the folder of all."""
    folder = tmp_path_factory.mktemp("trials")
    for name in ("made-up", "followed"):
        write(folder / "runs" / name, islice(EVENTS, BEGUN))
    with command(folder, "dashboard", "--no-browser") as server:
        assert server.stdout is not None
        yield server.stdout.readline().strip(), folder


def at(page: str, study: str = "made-up", **query: int) -> str:
    """A page about one of the studies."""
    return f"{page}?{urlencode({'study': f'runs/{study}', **query})}"


@pytest.mark.timeout(900)
@pytest.mark.parametrize("width", [1280, 390])
def test_a_point_and_a_row_open_the_page_of_their_trial(address: tuple[str, Path], width: int) -> None:
    url, folder = address
    with chromium() as browser, opened(browser, url, width) as page:
        page.goto(f"{url}{at(GOING)}")
        settled(page)
        page.get_by_text("Score now: of the last epoch").wait_for()
        pictured(page, folder, "going", width)
        row = page.locator("main table a", has_text=re.compile("^trial ")).first
        name = row.inner_text()
        row.click()
        page.get_by_role("heading", name=name.capitalize(), exact=True).wait_for()
        pictured(page, folder, "trial", width)
        ask(page, NAMES[GOING])
        chart = page.locator("figure").filter(has_text="in the order of proposal")
        chart.locator("g.mark-symbol.role-mark path").first.click(force=True)
        page.get_by_role("heading", name="Trial 0", exact=True).wait_for()
        page.goto(f"{url}{at(TRIAL, trial=3)}")
        page.get_by_role("heading", name="Trial 3", exact=True).wait_for()


@pytest.mark.timeout(900)
@pytest.mark.parametrize("width", [1280, 390])
def test_a_trial_is_chosen_and_compared_and_no_number_is_cut(address: tuple[str, Path], width: int) -> None:
    url, folder = address
    with chromium() as browser, opened(browser, url, width) as page:
        page.goto(f"{url}{at(TRIAL, trial=3)}")
        page.get_by_label("Compared with").fill("2")
        page.get_by_label("Compared with").press("Enter")
        page.get_by_role("columnheader", name="trial 2", exact=True).wait_for()
        page.locator("figure").get_by_text("the compared trial, mean").wait_for()
        page.get_by_text("against trial 2 (points)").wait_for()
        assert page.evaluate(CUT) == []
        pictured(page, folder, "compared", width)
        field = page.get_by_label("Trial", exact=True)
        field.fill("5")
        field.press("Tab")
        page.get_by_role("heading", name="Trial 5", exact=True).wait_for()
        assert "beside=2" in page.url


@pytest.mark.timeout(900)
def test_a_page_of_a_trial_follows_it_and_keeps_what_the_reader_types(address: tuple[str, Path]) -> None:
    url, folder = address
    with chromium() as browser, opened(browser, url, 1280) as page:
        page.goto(f"{url}{at(TRIAL, 'followed', trial=4)}")
        page.get_by_text("It is being trained: 1 of 6 epochs are done.").wait_for()
        settled(page)
        field = page.get_by_label("Compared with")
        field.press_sequentially("1")
        with Ledger(folder / "runs" / "followed" / "ledger") as ledger:
            ledger.read()
            for event in EVENTS[BEGUN:]:
                ledger.append(event)
        page.get_by_text("It is being trained").wait_for(state="detached")
        page.get_by_text(re.compile("^It was (trained|stopped)")).wait_for()
        assert field.input_value() == "1"


CUT = """[...document.querySelectorAll('.metrics dt, .metrics dd')]
    .filter((each) => each.scrollWidth > each.clientWidth + 1).map((each) => each.textContent)"""
"""The large numbers and their labels of which a part is cut."""
