"""The dashboard in a browser, on a study that another process runs: pages, figures, a filter, a bundle that verifies.

Its pictures stay in the folder that pytest keeps (``--basetemp``).
"""

import json
import re
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from skipstack.dashboards.web.page_names import BELIEVE, GOING, NAMES, TAKE, WORKS
from tests.command_line import typed
from tests.dashboards.web.browsing import CHROMIUM, MILLISECONDS, ask, chromium, command, opened, pictured, settled
from tests.search.publishing.tracking.servers import mlflow_server

QUESTIONS = ("Which axes, and which together?", "Which trials?", "At what cost?")

SMALL = [
    *("--set", "data.corpus.train=60", "--set", "data.corpus.dev=20", "--set", "data.corpus.test=20"),
    *("--set", "model.stack.hidden=4", "--trials", "6", "--epochs", "6", "--engine", "serial", "--device", "cpu"),
]

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not CHROMIUM.exists(), reason=f"no browser at {CHROMIUM}")]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """Where the dashboard is served of a study that runs on, and the folder of both."""
    folder = tmp_path_factory.mktemp("running")
    study = ("quickstart", "--engine", "serial", "--trials", "2000", "--out", "runs/quick")
    with command(folder, "search", *study):
        ledger = folder / "runs" / "quick" / "ledger"
        while not (ledger.is_dir() and b'"ended"' in b"".join(path.read_bytes() for path in ledger.glob("*.jsonl"))):
            time.sleep(0.1)
        with command(folder, "dashboard") as server:
            assert server.stdout is not None
            yield server.stdout.readline().strip(), folder


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as started:
        yield started


@pytest.mark.timeout(900)
@pytest.mark.parametrize("width", [1280, 390])
def test_a_study_that_runs_is_seen_filtered_and_taken_away(
    browser: Any, address: tuple[str, Path], width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    from playwright.sync_api import expect

    url, folder = address
    with opened(browser, url, width) as page:
        pictured(page, folder, "studies", width)
        ask(page, "runs/quick")
        assert urlsplit(page.url).path == GOING
        ended = page.locator(".metrics dd").first
        before = ended.inner_text()
        expect(ended).not_to_have_text(before, timeout=MILLISECONDS)  # it looks again by itself
        pictured(page, folder, "going", width)

        ask(page, NAMES[WORKS])
        pictured(page, folder, "works", width)
        page.get_by_text("Filters and axes").click()
        page.get_by_label("stopped").check()
        page.wait_for_url(re.compile("states=stopped"))
        settled(page)
        left, _, every = page.get_by_text(re.compile("pass. Effects")).inner_text().split()[:3]
        assert 0 < int(left) < int(every)
        for number, question in enumerate(QUESTIONS):
            ask(page, question)
            pictured(page, folder, f"works-{number}", width)

        ask(page, NAMES[BELIEVE])
        pictured(page, folder, "believe", width)

        ask(page, NAMES[TAKE])
        expect(page.locator("main img")).to_have_count(2)
        with page.expect_download() as download:
            page.get_by_role("link", name="Bundle (.zip)").click()
        bundle = folder / f"bundle-{width}.zip"
        download.value.save_as(bundle)
        sentence = page.get_by_label("Sentence, words separated by blanks")
        sentence.fill("the old dogs sleep")
        sentence.press("Enter")
        page.wait_for_url(re.compile("old"))
        expect(page.locator("main img")).to_have_count(3, timeout=MILLISECONDS)
        pictured(page, folder, "take", width)
    monkeypatch.chdir(folder)
    assert "as exported" in typed("verify", bundle).out


@pytest.mark.timeout(300)
def test_everything_is_reached_by_keyboard_and_a_chart_has_its_numbers_as_a_table(
    browser: Any, address: tuple[str, Path]
) -> None:
    from playwright.sync_api import expect

    url, _ = address
    with opened(browser, f"{url}{WORKS}?study=runs%2Fquick", 1280) as page:
        settled(page)
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent") == "To the page"
        reached = set()
        for _ in range(200):
            page.keyboard.press("Tab")
            reached.add(page.evaluate("document.activeElement.outerHTML"))
        wanted = page.eval_on_selector_all(
            "nav a, form select, summary, .tabs a, .panel svg a",
            "all => all.filter(each => each.checkVisibility() && !each.closest('.vega-embed > details')).length",
        )
        assert len(reached) >= wanted > 10
        page.get_by_text("The numbers").first.click()
        expect(page.locator("figure table tbody tr").first).to_be_visible()
        with page.expect_download() as download:
            page.get_by_role("link", name=re.compile("CSV of")).first.click()
        assert download.value.suggested_filename == "chart.csv"


@pytest.mark.timeout(300)
def test_a_page_stands_still_where_a_section_is_made_again(browser: Any, address: tuple[str, Path]) -> None:
    """What a reader looks at stays where it is on the screen, also where the study has grown and with it the page."""
    url, _ = address
    with opened(browser, f"{url}{GOING}?study=runs%2Fquick", 1280) as page:
        settled(page)
        field = page.get_by_label("Trial", exact=True)
        field.focus()
        before = field.bounding_box()
        assert page.evaluate("window.scrollY") > 0
        for section in page.locator("section:not(:has(form))").all():  # those that are made again have no form
            key = section.get_attribute("id")
            page.evaluate("key => refresh(document.getElementById(key), addressOf(key))", key)
        settled(page)
        assert field.bounding_box() == before
        assert page.evaluate("document.activeElement.name") == field.get_attribute("name")


@pytest.mark.timeout(300)
def test_a_section_is_made_again_if_the_study_has_grown_and_a_chart_of_it_is_gone(
    browser: Any, address: tuple[str, Path]
) -> None:
    url, _ = address
    with opened(browser, url, 1280) as page:
        page.route(re.compile("&chart=0$"), lambda route: route.fulfill(status=204), times=1)
        page.goto(f"{url}{WORKS}?study=runs%2Fquick")
        settled(page)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A tracking server that has a study whose folder is gone."""
    folder = tmp_path_factory.mktemp("gone")
    with mlflow_server(folder, f"sqlite:///{folder / 'mlflow.db'}") as uri:
        with command(folder, "search", "quickstart", *SMALL, "--out", "study", "--tracking-uri", uri) as study:
            study.communicate(timeout=600)
        shutil.rmtree(folder / "study")
        yield uri


@pytest.mark.timeout(900)
@pytest.mark.parametrize("width", [1280, 390])
def test_a_study_is_seen_from_its_server_alone(browser: Any, store: str, width: int, tmp_path: Path) -> None:
    """Its folder is gone, and so is what only the folder had: the weights."""
    with command(tmp_path, "dashboard", "--tracking-uri", store) as server:
        assert server.stdout is not None
        with opened(browser, server.stdout.readline().strip(), width) as page:
            page.get_by_text("1 study", exact=True).wait_for()
            ask(page, "mlflow:quickstart")
            for number, name in enumerate((GOING, WORKS, BELIEVE, TAKE)):
                ask(page, NAMES[name])
                pictured(page, tmp_path, f"server-{number}", width)
            page.get_by_text("No bundle: the weights of the trials are not here.").wait_for()
            with page.expect_download() as download:
                page.get_by_role("link", name="Everything (JSON)").click()
            download.value.save_as(tmp_path / "everything.json")
    told = typed("report", "mlflow:quickstart", "--tracking-uri", store, "--format", "json").out
    assert json.loads((tmp_path / "everything.json").read_text()) == json.loads(told)
