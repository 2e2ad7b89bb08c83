"""The first page of the dashboard in a browser, of a study of ten thousand trials, beside that of a study of one.

Seconds from the address to the table of studies, the browser's own included; medians of several.
"""

import os
import time
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from skipstack.search.analysis.study_frames import study_frames
from tests.dashboards.web.test_browser import CHROMIUM, browser, command
from tests.search.large import large_study, write_large

__all__ = ["browser"]  # a fixture

pytestmark = [
    pytest.mark.benchmark,
    pytest.mark.timeout(1200),
    pytest.mark.skipif(not CHROMIUM.exists(), reason=f"no browser at {CHROMIUM}"),
]

TRIALS, ROUNDS, SECONDS = 10_000, 5, 3


def test_a_large_study_opens_in_time(
    browser: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)  # how the ledger is written is not measured
    found = {}
    for trials in (1, TRIALS):
        runs = tmp_path / str(trials)
        write_large(runs / "study" / "ledger", large_study(TRIALS), trials)
        study_frames(runs / "study")  # which keeps what takes long to make, as any report does
        with command(tmp_path, "dashboard", str(runs)) as server:
            assert server.stdout is not None
            address, rounds = server.stdout.readline().strip(), []
            for _ in range(ROUNDS):
                page = browser.new_page()
                began = time.perf_counter()
                page.goto(address)
                page.wait_for_selector("[data-testid=stDataFrame] canvas")
                rounds.append(time.perf_counter() - began)
                page.close()
        found[trials] = median(rounds)
        with capsys.disabled():
            print(f"\nfirst page, {trials:,} trials: {found[trials]:.2f} s (at first {rounds[0]:.2f})")
    assert found[TRIALS] < SECONDS
