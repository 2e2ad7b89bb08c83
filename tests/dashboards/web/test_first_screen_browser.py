"""In a browser, the first screen is shown until Streamlit's page has as much, and nothing moves when it goes."""

from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from skipstack.dashboards.web.page_names import BELIEVE, GOING, WORKS
from tests.dashboards.web.browsing import CHROMIUM, chromium, command, opened
from tests.dashboards.web.shown import write
from tests.search.made_up import history, study

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not CHROMIUM.exists(), reason=f"no browser at {CHROMIUM}")]

PARTS = ("p.verdict", ".stHtml p.pale", "h3", ".stVegaLiteChart")

DRAWER = "**/static/js/embed*.js"
"""The file without which no chart is drawn."""

BOXES = """([root, parts]) => parts.map(part => {
  const box = document.querySelector(`${root} ${part}`).getBoundingClientRect();
  return [box.x, box.y, box.width];
})"""


def hold(held: list[Any], route: Any) -> None:
    held.append(route)


@pytest.mark.timeout(900)
def test_nothing_moves_when_the_page_takes_the_place_of_its_first_screen(tmp_path: Path) -> None:
    write(tmp_path / "runs" / "study", history(study(trials=30), seed=1))
    with chromium() as browser, command(tmp_path, "dashboard") as server:
        assert server.stdout is not None
        address = server.stdout.readline().strip()
        for width in (1280, 390):
            with opened(browser, address, width) as page:
                for question in (GOING, WORKS, BELIEVE):
                    held = list[Any]()
                    page.route(DRAWER, partial(hold, held))
                    page.goto(f"{address}?{urlencode({'page': question, 'study': 'study'})}", wait_until="commit")
                    page.wait_for_selector("#first .stVegaLiteChart svg")
                    while not held:
                        page.wait_for_timeout(100)
                    page.wait_for_selector("#root p.verdict", state="attached")
                    assert page.evaluate("getComputedStyle(document.querySelector('#root')).visibility") == "hidden"
                    assert page.locator("p.verdict:visible").count() == 1
                    page.screenshot(path=tmp_path / f"{question[:4]}-{width}-first.png")
                    before = page.evaluate(BOXES, ["#first", PARTS])
                    for route in held:
                        route.continue_()
                    page.unroute(DRAWER)
                    page.wait_for_function("!document.querySelector('#first')")
                    page.wait_for_selector("#root .stVegaLiteChart svg.marks")  # which is seen again
                    page.screenshot(path=tmp_path / f"{question[:4]}-{width}-live.png")
                    for ours, theirs in zip(before, page.evaluate(BOXES, ["#root", PARTS]), strict=True):
                        assert ours == pytest.approx(theirs, abs=1)
                page.goto(f"{address}?{urlencode({'page': WORKS, 'study': 'study', 'states': 'stopped'})}")
                page.wait_for_selector("#root .stVegaLiteChart svg.marks")
                assert not page.evaluate(
                    "performance.getEntriesByType('resource').some(e => /first-screen/.test(e.name))"
                )
