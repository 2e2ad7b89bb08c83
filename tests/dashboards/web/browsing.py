"""The dashboard, served and opened in a browser, and pictures of it."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.test_house import ROOT

CHROMIUM = Path("/usr/bin/chromium")
MILLISECONDS = 120_000

DRAWN = "figure .panel svg.marks"
"""Matches a chart, or a panel of one, that is drawn."""

WAITING = "section.fetching, figure:not(:has(svg.marks, .empty)), .panel:not(:has(svg.marks))"
"""Matches a section or a chart that is still to come."""


def started(
    folder: Path, *arguments: str, program: Path | None = None, errors: int = subprocess.DEVNULL
) -> "subprocess.Popen[str]":
    """A command of ours, or another environment's ``program``, in a process of its own at home in ``folder``."""
    code = "from skipstack.dashboards.cli import main; main()"
    # In a home of its own, loops would be compiled anew.
    compiled = {"XDG_CACHE_HOME": str(Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser())}
    ours = {} if program else {"PYTHONPATH": str(ROOT / "src"), **compiled}
    environment = {**os.environ, "HOME": str(folder), **ours}
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
def chromium(*arguments: str) -> Iterator[Any]:
    """Debian's Chromium."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox", *arguments])
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
    return url.startswith(("data:", "blob:")) or urlsplit(url)[:2] == urlsplit(address)[:2]


def ask(page: Any, question: str) -> None:
    """Follow the link to a page or a question, and wait until all of it is there."""
    page.get_by_role("link", name=question, exact=True).click()
    settled(page)


def settled(page: Any) -> None:
    """Wait until all sections and charts of the page are there."""
    from playwright.sync_api import expect

    page.wait_for_load_state("domcontentloaded")
    expect(page.locator(WAITING)).to_have_count(0, timeout=MILLISECONDS)


def pictured(page: Any, folder: Path, name: str, width: int) -> None:
    """Keep a picture of the whole page, which is no wider than its window, once all its charts are drawn."""
    settled(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.screenshot(path=folder / f"{name}-{width}.png", full_page=True)
