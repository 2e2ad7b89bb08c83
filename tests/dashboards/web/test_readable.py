"""All that stands on the pages can be read in a browser: light and dark, on a phone, and at a zoom of 200 %."""

from collections.abc import Iterator
from itertools import islice
from typing import Any
from urllib.parse import urlencode

import pytest

from skipstack.dashboards.web.application import PAGES
from skipstack.search.ledger.events import Interrupted
from tests.dashboards.web.browsing import CHROMIUM, MILLISECONDS, chromium, command, settled
from tests.dashboards.web.shown import write
from tests.search.analysis.confirmation.test_ablated import ablation_of
from tests.search.made_up import history, study

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not CHROMIUM.exists(), reason=f"no browser at {CHROMIUM}")]

STUDIES = ("runs/interrupted", "runs/ablated")
QUESTIONS = ("Which axes, and which together?", "Which trials?", "At what cost?")

PHONE, ZOOMED = 390, 640
"""The widths of a phone, and of a screen of 1280 pixels at a zoom of 200 %."""

PALE = """() => {
    const linear = (part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
    const numbers = (colour) => (colour.match(/[\\d.]+/g) ?? []).map(Number);
    const luminance = (colour) => {
        const [red, green, blue] = numbers(colour).map((each) => linear(each / 255));
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
    };
    const paper = (element) => {
        const colour = getComputedStyle(element).backgroundColor;
        return numbers(colour)[3] === 0 && element.parentElement ? paper(element.parentElement) : colour;
    };
    const found = new Set();
    const look = (text, colour, element) => {
        const [dark, light] = [luminance(colour), luminance(paper(element))].sort((one, other) => one - other);
        if ((light + 0.05) / (dark + 0.05) < 4.5) found.add(`${text}: ${colour} on ${paper(element)}`);
    };
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
        const element = texts.currentNode.parentElement, text = texts.currentNode.textContent.trim();
        if (!text || !element.checkVisibility() || element.closest("script, noscript")) continue;
        const drawing = element.closest("svg");
        const { color, fill } = getComputedStyle(element);
        look(text, drawing ? fill : color, drawing?.parentElement ?? element);
    }
    for (const field of document.querySelectorAll("input[placeholder]"))
        look(field.placeholder, getComputedStyle(field, "::placeholder").color, field);
    for (const menu of document.querySelectorAll(".vega-embed summary")) {
        const { color, opacity } = getComputedStyle(menu);
        look("menu of a chart", opacity === "1" ? color : paper(menu), menu);
    }
    return [...found];
}"""
"""The texts whose contrast to what is behind them is below 4.5 : 1 (WCAG 2.2, 1.4.3)."""


NARROW = "width => document.documentElement.scrollWidth <= width"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where the dashboard is served of an interrupted study and of one with an ablation."""
    folder = tmp_path_factory.mktemp("readable")
    write(folder / "runs" / "interrupted", [*islice(history(study(trials=30), seed=1), 101), Interrupted(time=99.0)])
    ablation_of(folder / "runs" / "ablated", [3, 1])
    with command(folder, "dashboard", "--no-browser") as server:
        assert server.stdout is not None
        yield server.stdout.readline().strip()


def pages() -> Iterator[str]:
    """The address of each page of each study."""
    for name in STUDIES:
        yield from (f"{page}?{urlencode({'study': name})}" for page in PAGES)
        yield from (f"/works?{urlencode({'study': name, 'question': each})}" for each in QUESTIONS)
        yield f"/trial?{urlencode({'study': name, 'trial': 3, 'beside': 2})}"


@pytest.mark.timeout(900)
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_text_stands_out_and_no_page_is_wider_than_its_window(address: str, theme: Any) -> None:
    with chromium() as browser:
        page = browser.new_context(color_scheme=theme).new_page()
        page.set_default_timeout(MILLISECONDS)
        for each in pages():
            page.goto(f"{address}{each}")
            settled(page)
            assert page.evaluate(PALE) == [], each
            for width in (PHONE, ZOOMED):
                page.set_viewport_size({"width": width, "height": 900})
                page.wait_for_function(NARROW, arg=width)  # charts follow their window a moment later
            page.set_viewport_size({"width": 1280, "height": 900})


@pytest.mark.timeout(300)
def test_no_column_of_a_comparison_is_cut(address: str) -> None:
    with chromium() as browser:
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto(f"{address}/trial?study=runs%2Finterrupted&trial=3&beside=2")
        table = page.get_by_role("region", name="What differs")
        table.get_by_role("columnheader", name="trial 2", exact=True).wait_for()
        assert table.evaluate("each => each.scrollWidth <= each.clientWidth")
