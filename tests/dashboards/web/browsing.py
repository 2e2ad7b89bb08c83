"""The dashboard, served and opened in a browser, and pictures of it."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.test_house import ROOT

CHROMIUM = Path("/usr/bin/chromium")
MILLISECONDS = 120_000

DRAWN = ".stVegaLiteChart canvas, .stVegaLiteChart svg.marks"


def started(
    folder: Path, *arguments: str, program: Path | None = None, errors: int = subprocess.DEVNULL
) -> "subprocess.Popen[str]":
    """A command of ours, or another environment's ``program``, in a process of its own at home in ``folder``."""
    code = "from skipstack.dashboards.cli import main; main()"
    environment = {**os.environ, "HOME": str(folder), **({} if program else {"PYTHONPATH": str(ROOT / "src")})}
    return subprocess.Popen(
        [*([program] if program else [sys.executable, "-c", code]), *arguments],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=errors,
        text=True,
    )


@contextmanager
def command(folder: Path, *arguments: str, program: Path | None = None) -> Iterator["subprocess.Popen[str]"]:
    """The same, interrupted in the end."""
    with started(folder, *arguments, program=program) as process:
        try:
            yield process
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=120)


@contextmanager
def chromium() -> Iterator[Any]:
    """Debian's Chromium."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])
        yield started
        started.close()


@contextmanager
def opened(browser: Any, address: str, width: int) -> Iterator[Any]:
    """The first page; nothing may be wrong in the browser's console, nothing about charts may seem wrong there (WARN),
    and nothing come from another server.
    """
    page = browser.new_page(viewport={"width": width, "height": 900}, accept_downloads=True)
    page.set_default_timeout(MILLISECONDS)
    wrong: list[str] = []
    page.on("console", lambda said: wrong.append(said.text) if said.type == "error" or "WARN" in said.text else None)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("request", lambda request: None if _own(request.url, address) else wrong.append(request.url))
    page.goto(address)
    yield page
    assert not wrong, "\n".join(wrong)
    page.close()


def _own(url: str, address: str) -> bool:
    return url.startswith((address, address.replace("http", "ws"), "data:", "blob:"))


def ask(page: Any, question: str) -> None:
    """Open the page of a question, and wait until it is there."""
    page.get_by_text(question, exact=True).click()
    page.wait_for_function(
        "!document.querySelector('[data-stale=true]') && !document.querySelector('[data-testid=stStatusWidget]')"
    )


def click_first_row(page: Any) -> None:
    """Click the first row of the first table, which is drawn on a canvas below what takes its clicks."""
    box = page.locator("[data-testid=stDataFrame] canvas").first.bounding_box()
    page.mouse.click(box["x"] + 60, box["y"] + 55)


def pictured(page: Any, folder: Path, name: str, width: int) -> None:
    """Keep a picture of the whole page, which is no wider than its window, once all its charts are drawn."""
    charts = "document.querySelectorAll('.stVegaLiteChart').length"
    page.wait_for_function(f"document.querySelectorAll('{DRAWN}').length >= {charts}")
    main = "document.querySelector('[data-testid=stMain]')"
    assert page.evaluate(f"{main}.scrollWidth") <= width
    while page.evaluate(f"{main}.scrollHeight > {main}.clientHeight + 200"):  # again, where it grew meanwhile
        height = page.evaluate("document.querySelector('[data-testid=stMainBlockContainer]').scrollHeight")
        page.set_viewport_size({"width": width, "height": int(height) + 60})
        page.wait_for_timeout(200)
    page.screenshot(path=folder / f"{name}-{width}.png")
    page.set_viewport_size({"width": width, "height": 900})
