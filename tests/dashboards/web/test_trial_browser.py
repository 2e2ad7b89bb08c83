"""The page of a trial in a browser: a point of a chart and a row of a table open it, and its address opens it again.

Its pictures stay in the folder that pytest keeps (``--basetemp``).
"""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from urllib.parse import urlencode

import pytest

from skipstack.dashboards.web.addresses import trial_address
from skipstack.dashboards.web.app import PAGES
from tests.dashboards.web.browsing import CHROMIUM, DRAWN, ask, chromium, command, opened, pictured
from tests.dashboards.web.shown import write
from tests.search.made_up import history, study

GOING, *_ = PAGES

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not CHROMIUM.exists(), reason=f"no browser at {CHROMIUM}")]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """Where the dashboard is served of a study that is not over, and the folder of both."""
    folder = tmp_path_factory.mktemp("trials")
    write(folder / "runs" / "made-up", islice(history(study(trials=30), seed=1), 61))
    with command(folder, "dashboard", "--no-browser") as server:
        assert server.stdout is not None
        yield server.stdout.readline().strip(), folder


@pytest.mark.timeout(900)
@pytest.mark.parametrize("width", [1280, 390])
def test_a_point_and_a_row_open_the_page_of_their_trial(address: tuple[str, Path], width: int) -> None:
    url, folder = address
    with chromium() as browser, opened(browser, url, width) as page:
        ask(page, GOING)
        page.wait_for_selector(DRAWN)
        page.get_by_text("Score now: of the last epoch").wait_for()
        pictured(page, folder, "going", width)
        row = page.locator(".stHtml a", has_text="trial ").first
        name = row.inner_text()
        row.click()
        page.get_by_role("heading", name=name.capitalize(), exact=True).wait_for()
        page.wait_for_selector(DRAWN)
        pictured(page, folder, "trial", width)
        page.goto(f"{url}/?{urlencode({'page': GOING, 'study': 'made-up'})}")
        history = page.locator(".stVegaLiteChart").filter(has_text="in the order of proposal")
        history.locator("g.mark-symbol.role-mark path").first.click(force=True)
        page.get_by_role("heading", name="Trial 0", exact=True).wait_for()
        page.goto(f"{url}/{trial_address('made-up', (None, 3))}")
        page.get_by_role("heading", name="Trial 3", exact=True).wait_for()
        assert "trial=3" in page.url
