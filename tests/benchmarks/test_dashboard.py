"""The dashboard in a browser, of a study of ten thousand trials, beside that of a study of one: its first page, and the
first chart of a study's own page.

Seconds from the address to the table or the chart, the browser's own included; medians of several.
"""

import os
import time
from pathlib import Path
from statistics import median
from typing import Any
from urllib.parse import urlencode

import pytest

from skipstack.dashboards.web.page_names import GOING
from skipstack.search.analysis.study_frames import study_frames
from tests.benchmarks.page import record
from tests.dashboards.web.test_browser import CHROMIUM, browser, command
from tests.search.large import large_study, write_large

__all__ = ["browser"]  # a fixture

pytestmark = [
    pytest.mark.benchmark,
    pytest.mark.timeout(1200),
    pytest.mark.skipif(not CHROMIUM.exists(), reason=f"no browser at {CHROMIUM}"),
]

TRIALS, ROUNDS, SECONDS = 10_000, 5, 3
CHART = ".stVegaLiteChart svg, .stVegaLiteChart canvas"
"""Of the first screen that the server has drawn, or of the live page."""


def test_a_large_study_opens_in_time(browser: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)  # how the ledger is written is not measured
    asked = urlencode({"page": GOING, "study": "study"})
    table = "table of studies", "", "[data-testid=stDataFrame] canvas"
    seen = {1: [table], TRIALS: [table, ("first chart", f"?{asked}", CHART)]}
    found: dict[str, dict[str, float]] = {}
    for trials, parts in seen.items():
        runs = tmp_path / str(trials)
        write_large(runs / "study" / "ledger", large_study(TRIALS), trials)
        study_frames(runs / "study")  # which keeps what takes long to make, as any report does
        with command(tmp_path, "dashboard", str(runs)) as server:
            assert server.stdout is not None
            address = server.stdout.readline().strip()
            for what, query, selector in parts:
                rounds = []
                for _ in range(ROUNDS):
                    page = browser.new_page()
                    began = time.perf_counter()
                    page.goto(f"{address}{query}", wait_until="commit")
                    page.wait_for_selector(selector)
                    rounds.append(time.perf_counter() - began)
                    page.close()
                row = f"{what}, {f'{trials:,} trials' if trials > 1 else '1 trial'}"
                found[row] = {"seconds": median(rounds), "first time": rounds[0]}
    record("dashboard", found)
    assert found[f"table of studies, {TRIALS:,} trials"]["seconds"] < SECONDS
