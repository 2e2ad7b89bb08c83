"""The dashboard in a browser: seconds until a study's first chart answers the mouse, and the bytes until then, beside
Optuna's dashboard where ``OPTUNA_DASHBOARD`` names its program; and what an open page of a study that rests, and a look
at a large running one, take of the server's processor.

The rival shows the same studies, exported. Both are opened by turns; medians of several rounds.
"""

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Error, expect

from skipstack.dashboards.web.following import followed
from skipstack.dashboards.web.page_names import GOING, WORKS
from skipstack.search.analysis.study_frames import study_frames
from skipstack.search.study.record.folder import StudyFolder
from tests.benchmarks.page import record
from tests.command_line import typed
from tests.dashboards.web.browsing import CHROMIUM, chromium, command, started
from tests.search.large import large_study, write_large

pytestmark = [
    pytest.mark.benchmark,
    pytest.mark.timeout(3600),
    pytest.mark.skipif(not CHROMIUM.exists(), reason=f"no browser at {CHROMIUM}"),
]

SIZES, ROUNDS, RESTS = (100, 10_000), 3, 30.0
QUIET = 5000
"""Milliseconds after the first chart in which further files of a page arrive."""
RIVAL = os.environ.get("OPTUNA_DASHBOARD")
OURS, THEIRS = (
    "figure .panel svg.marks path[aria-roledescription], figure .panel svg.marks path",
    ".js-plotly-plot .main-svg",
)


@contextmanager
def ours(folder: Path) -> Iterator[str]:
    """Our dashboard of the studies below ``folder``: the address of a page with a chart."""
    with command(folder, "dashboard", "--no-browser") as server:
        assert server.stdout is not None
        yield f"{server.stdout.readline().strip()}{WORKS}?{urlencode({'study': 'runs/study'})}"


@contextmanager
def theirs(folder: Path) -> Iterator[str]:
    """Optuna's dashboard of the same study: the address of the study's page."""
    store, port = f"sqlite:///{folder / 'optuna.db'}", "8642"
    with subprocess.Popen(
        [str(RIVAL), store, "--port", port], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as server:
        yield f"http://127.0.0.1:{port}/dashboard/studies/1"
        server.terminate()


TOOLS = {"skipstack": (ours, OURS), **({"optuna-dashboard": (theirs, THEIRS)} if RIVAL else {})}
"""Each tool with the function that serves a study by it, and what matches its first chart."""


NOTED = """
new MutationObserver(() => {
  if (document.querySelector("%s")) window.drawn ??= performance.now();
}).observe(document, { childList: true, subtree: true });
"""
"""Notes in a page when its first chart is drawn: Playwright asks at most twice a second."""


def seconds_until(browser: Any, address: str, selector: str) -> float:
    """The seconds from a new browser's first request until something is drawn."""
    page = browser.new_context().new_page()
    page.add_init_script(NOTED % selector)
    began = time.perf_counter()
    while True:
        waited = time.perf_counter() - began
        try:
            page.goto(address, wait_until="commit")
            break
        except Error:  # the server does not listen yet
            time.sleep(0.05)
    expect(page.locator(selector).first).to_be_visible(timeout=120_000)
    took: float = waited + page.evaluate("window.drawn") / 1000
    page.context.close()
    return took


def kilobytes_until(browser: Any, address: str, selector: str) -> float:
    """The kilobytes that a new browser receives until something is drawn and the network is at rest."""
    received = list[float]()
    page = browser.new_context().new_page()
    network = page.context.new_cdp_session(page)
    network.send("Network.enable")
    network.on("Network.loadingFinished", lambda event: received.append(event["encodedDataLength"]))
    page.goto(address, wait_until="commit")
    expect(page.locator(selector).first).to_be_visible(timeout=120_000)
    page.wait_for_timeout(QUIET)
    page.context.close()
    return sum(received) / 1000


def processor(pid: int) -> float:
    """The seconds of a processor that a process has taken."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_the_first_chart_is_there_in_time_and_little_is_received(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)  # how the ledger is written is not measured
    found: dict[str, dict[str, float]] = {}
    received: dict[str, dict[str, float]] = {}
    with chromium() as browser:
        for trials in SIZES:
            folder = tmp_path / str(trials)
            path = folder / "runs" / "study"
            write_large(path / "ledger", large_study(trials), trials)
            study_frames(path)  # which keeps what takes long to make, as any report does
            if RIVAL:
                typed("export", path, "--optuna", f"sqlite:///{folder / 'optuna.db'}")
            cold, warm = ({name: list[float]() for name in TOOLS} for _ in range(2))
            kilobytes = received[f"received by a new browser, {trials:,} trials"] = {}
            for _ in range(ROUNDS):
                for name, (serve, selector) in TOOLS.items():
                    began = time.perf_counter()
                    with serve(folder) as address:
                        listening = time.perf_counter() - began
                        cold[name].append(listening + seconds_until(browser, address, selector))
                        warm[name].append(seconds_until(browser, address, selector))
                        kilobytes[name] = kilobytes_until(browser, address, selector)
            for what, each in (("server just started", cold), ("server that runs", warm)):
                found[f"{what}, {trials:,} trials"] = {name: median(values) for name, values in each.items()}
    record("dashboard", found, "seconds")
    record("dashboard", received, "kB")


def test_a_page_that_rests_takes_no_processor_and_a_look_at_a_large_study_little(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    trials = max(SIZES)
    path = tmp_path / "runs" / "study"
    write_large(path / "ledger", large_study(trials), trials)
    file = max(StudyFolder(path).ledger.glob("*.jsonl"))
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join(lines[:-2]))  # it has not finished
    with chromium() as browser, started(tmp_path, "dashboard", "--no-browser") as server:
        assert server.stdout is not None
        page = browser.new_page()
        page.goto(f"{server.stdout.readline().strip()}{GOING}?{urlencode({'study': 'runs/study'})}")
        expect(page.locator("section.fetching")).to_have_count(0, timeout=120_000)
        time.sleep(5)
        before = processor(server.pid)
        time.sleep(RESTS)
        rests = (processor(server.pid) - before) / RESTS
        server.terminate()
    own = followed(path)
    own.look()
    file.write_bytes(b"".join(lines[:-1]))
    began = time.perf_counter()
    own.look()
    took = time.perf_counter() - began
    record("dashboard", {f"a look at a study that runs, {trials:,} trials": {"skipstack": took}}, "seconds")
    record("dashboard", {f"a page of a study that rests, {trials:,} trials": {"skipstack": rests}}, "share of a core")
