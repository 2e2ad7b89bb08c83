"""The dashboard in a browser, on a study that another process runs: pages, figures, a filter, a bundle that verifies.

Its pictures stay in the folder that pytest keeps (``--basetemp``).
"""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote_plus

import pytest

from skipstack.dashboards.web.app import PAGES
from tests.command_line import typed
from tests.dashboards.web.browsing import CHROMIUM, DRAWN, ask, chromium, click_first_row, command, opened, pictured
from tests.search.publishing.tracking.servers import mlflow_server

GOING, WORKS, TRUST, TAKEAWAY = PAGES
QUESTIONS = {
    "Which axes, and which together?": "Where the good trials lie",
    "Which trials?": "The configs that were tried",
    "At what cost?": "Score and latency",
}
"""Of what works, and the last thing that each page says."""

SMALL = [
    *("--set", "data.corpus.train=60", "--set", "data.corpus.dev=20", "--set", "data.corpus.test=20"),
    *("--set", "model.stack.hidden=4", "--trials", "6", "--epochs", "6", "--engine", "serial", "--device", "cpu"),
]

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not CHROMIUM.exists(), reason=f"no browser at {CHROMIUM}")]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """Where the dashboard is served of a study that runs on, and the folder of both."""
    folder = tmp_path_factory.mktemp("running")
    study = ("quickstart", "--engine", "serial", "--trials", "60", "--out", "runs/quick")
    with command(folder, "search", *study):
        ledger = folder / "runs" / "quick" / "ledger"
        while not (ledger.is_dir() and b'"ended"' in b"".join(path.read_bytes() for path in ledger.glob("*.jsonl"))):
            pass
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
    url, folder = address
    with opened(browser, url, width) as page:
        page.wait_for_selector("[data-testid=stDataFrame] canvas")
        pictured(page, folder, "studies", width)

        click_first_row(page)
        page.wait_for_url(re.compile(r"study=quick"))
        assert GOING in unquote_plus(page.url)
        ended = "document.querySelectorAll('[data-testid=stMetricValue]')[0].textContent"
        page.wait_for_selector(DRAWN)
        before = page.evaluate(ended)
        page.wait_for_function(f"{ended} != '{before}'")  # it looks again by itself
        page.wait_for_function(f"document.querySelectorAll('{DRAWN}').length >= 3")
        pictured(page, folder, "going", width)

        ask(page, WORKS)
        page.wait_for_selector(DRAWN)
        pictured(page, folder, "works", width)
        said = page.get_by_text(re.compile("trials are drawn one by one"))
        every = said.inner_text()
        page.get_by_label("States").evaluate("box => box.scrollIntoView({block: 'center'})")  # with room for its list
        page.get_by_label("States").click()
        page.get_by_role("option", name="stopped").click()
        said.filter(has_not_text=every.split(". ")[0]).wait_for()
        first, _, all_of_them = said.inner_text().split()[:3]
        assert int(first) < int(all_of_them)
        page.wait_for_url(re.compile("states=stopped"))
        for number, (question, last) in enumerate(QUESTIONS.items()):
            ask(page, question)
            page.get_by_text(re.compile(last)).first.wait_for()
            page.wait_for_selector(DRAWN)
            pictured(page, folder, f"works-{number}", width)

        ask(page, TRUST)
        page.get_by_text("The corpora").wait_for()
        page.wait_for_selector(DRAWN)
        pictured(page, folder, "trust", width)

        ask(page, TAKEAWAY)
        page.wait_for_function("document.querySelectorAll('[data-testid=stImage] img').length == 2")
        with page.expect_download() as download:
            page.get_by_role("button", name="Bundle (.zip)").click()
        bundle = folder / f"bundle-{width}.zip"
        download.value.save_as(bundle)
        sentence = page.get_by_label("Sentence, words separated by blanks")
        sentence.fill("the old dogs sleep")
        sentence.press("Enter")
        page.wait_for_function("document.querySelectorAll('[data-testid=stImage] img').length == 3")
        pictured(page, folder, "takeaway", width)
    monkeypatch.chdir(folder)
    assert "as exported" in typed("verify", bundle).out


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
            page.wait_for_selector("[data-testid=stDataFrame] canvas")
            page.get_by_text("1 study", exact=True).wait_for()
            last = {
                GOING: "Where it runs",
                WORKS: "The score of each trial, over each axis alone",
                TRUST: "commonest tags",
                TAKEAWAY: "Inside a network",
            }
            for number, (question, said) in enumerate(last.items()):
                ask(page, question)
                page.get_by_text(said, exact=True).first.wait_for()
                page.wait_for_selector("[data-testid=stImage] img" if question == TAKEAWAY else DRAWN)
                pictured(page, tmp_path, f"server-{number}", width)
            page.get_by_text("No bundle: the weights of the trials are not here.").wait_for()
            with page.expect_download() as download:
                page.get_by_role("button", name="Everything (JSON)").click()
            download.value.save_as(tmp_path / "everything.json")
    told = typed("report", "mlflow:quickstart", "--tracking-uri", store, "--format", "json").out
    assert json.loads((tmp_path / "everything.json").read_text()) == json.loads(told)
