"""The dashboard in a browser, on a study that another process runs: pages, figures, a filter, a bundle that verifies.

Its pictures stay in the folder that pytest keeps (``--basetemp``).
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from skipstack.dashboards.web.app import PAGES
from tests.command_line import typed
from tests.search.tracking.servers import mlflow_server
from tests.test_house import ROOT

CHROMIUM = Path("/usr/bin/chromium")
MILLISECONDS = 120_000
GOING, WORKS, TRUST, TAKEAWAY = PAGES
QUESTIONS = {
    "Which axes, and which together?": "Ranks over two axes",
    "Which trials?": "Footprint",
    "At what cost?": "Score and latency",
}
"""Of what works, and the last thing that each page says."""

SMALL = [
    *("--set", "data.corpus.train=60", "--set", "data.corpus.dev=20", "--set", "data.corpus.test=20"),
    *("--set", "model.stack.hidden=4", "--trials", "6", "--epochs", "6", "--engine", "serial", "--device", "cpu"),
]

DRAWN = ".stVegaLiteChart canvas, .stVegaLiteChart svg.marks"

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not CHROMIUM.exists(), reason=f"no browser at {CHROMIUM}")]


@contextmanager
def command(folder: Path, *arguments: str) -> Iterator["subprocess.Popen[str]"]:
    """A command of ours in a process of its own, which is interrupted in the end."""
    code = "from skipstack.dashboards.cli import main; main()"
    environment = {**os.environ, "HOME": str(folder), "PYTHONPATH": str(ROOT / "src")}
    with subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=120)


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
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])
        yield chromium
        chromium.close()


@contextmanager
def opened(browser: Any, address: str, width: int) -> Iterator[Any]:
    """The first page; nothing may be wrong in the browser's console, and nothing come from another server."""
    page = browser.new_page(viewport={"width": width, "height": 900}, accept_downloads=True)
    page.set_default_timeout(MILLISECONDS)
    wrong: list[str] = []
    page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("request", lambda request: None if _own(request.url, address) else wrong.append(request.url))
    page.goto(address)
    yield page
    assert wrong == []
    page.close()


def _own(url: str, address: str) -> bool:
    return url.startswith((address, address.replace("http", "ws"), "data:", "blob:"))


def ask(page: Any, question: str) -> None:
    """Open the page of a question, and wait until it is there."""
    page.get_by_text(question, exact=True).click()
    page.wait_for_function(
        "!document.querySelector('[data-stale=true]') && !document.querySelector('[data-testid=stStatusWidget]')"
    )


def pictured(page: Any, folder: Path, name: str, width: int) -> None:
    """Keep a picture of the whole page, which is no wider than its window, once all its charts are drawn."""
    charts = "document.querySelectorAll('.stVegaLiteChart').length"
    page.wait_for_function(f"document.querySelectorAll('{DRAWN}').length >= {charts}")
    main = "document.querySelector('[data-testid=stMain]')"
    assert page.evaluate(f"{main}.scrollWidth") <= width
    height = page.evaluate("document.querySelector('[data-testid=stMainBlockContainer]').scrollHeight")
    page.set_viewport_size({"width": width, "height": int(height) + 60})
    page.wait_for_function(f"{main}.scrollHeight <= {main}.clientHeight + 200")
    page.screenshot(path=folder / f"{name}-{width}.png")
    page.set_viewport_size({"width": width, "height": 900})


@pytest.mark.timeout(900)
@pytest.mark.parametrize("width", [1280, 390])
def test_a_study_that_runs_is_seen_filtered_and_taken_away(
    browser: Any, address: tuple[str, Path], width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    url, folder = address
    with opened(browser, url, width) as page:
        page.wait_for_selector("[data-testid=stDataFrame] canvas")
        pictured(page, folder, "studies", width)

        ask(page, GOING)
        ended = "document.querySelectorAll('[data-testid=stMetricValue]')[6].textContent"
        page.wait_for_selector(DRAWN)
        before = page.evaluate(ended)
        page.wait_for_function(f"{ended} != '{before}'")  # it looks again by itself
        page.wait_for_function(f"document.querySelectorAll('{DRAWN}').length >= 4")
        pictured(page, folder, "going", width)

        ask(page, WORKS)
        page.wait_for_selector(DRAWN)
        pictured(page, folder, "works", width)
        page.get_by_text("Filter trials").click()
        said = page.get_by_text(re.compile("trials are drawn one by one"))
        every = said.inner_text()
        page.get_by_label("State").click()
        page.get_by_role("option", name="stopped").click()
        said.filter(has_not_text=every.split(". ")[0]).wait_for()
        first, _, all_of_them = said.inner_text().split()[:3]
        assert int(first) < int(all_of_them)
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
            last = {GOING: "Where it runs", WORKS: "Slices", TRUST: "commonest tags", TAKEAWAY: "Inside a network"}
            for number, (question, said) in enumerate(last.items()):
                ask(page, question)
                page.get_by_text(said, exact=True).first.wait_for()
                page.wait_for_selector("[data-testid=stImage] img" if question == TAKEAWAY else DRAWN)
                pictured(page, tmp_path, f"server-{number}", width)
            page.get_by_text("No bundle: the weights of no trial are here.").wait_for()
            with page.expect_download() as download:
                page.get_by_role("button", name="Everything (JSON)").click()
            download.value.save_as(tmp_path / "everything.json")
    told = typed("report", "mlflow:quickstart", "--tracking-uri", store, "--format", "json").out
    assert json.loads((tmp_path / "everything.json").read_text()) == json.loads(told)
