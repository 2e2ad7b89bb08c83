"""A study of 2,000 trials of a function on two cores: the driver's memory and open files as it grows, then a kill,
the seconds from `resume` to the first new trial, and those of `skipstack report`.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from skipstack.search.ledger.events import Ended, Event, Resumed, Started
from skipstack.search.ledger.following import Following

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(1800), pytest.mark.filterwarnings("default")]

TRIALS, EVERY, KILLED_AT = 2000, 400, 1990

STUDY = f"""
import sys
import skipstack


def objective(config):
    return (config["x"] - 2) ** 2 + config["y"]


if __name__ == "__main__":
    space = skipstack.Space(x=skipstack.uniform(-10, 10), y=skipstack.loguniform(1e-3, 1))
    if sys.argv[1] == "search":
        skipstack.search(space, objective, direction="minimize", trials={TRIALS}, seeds=1, out="many")
    else:
        skipstack.resume("many", objective)
"""


def begun(folder: Path, how: str) -> subprocess.Popen[bytes]:
    (folder / "study.py").write_text(STUDY)
    environment = {**os.environ, "RAY_ADDRESS": "local", "RAY_worker_niceness": "0"}
    with (folder / f"{how}.txt").open("wb") as said:
        return subprocess.Popen(
            [sys.executable, "study.py", how], cwd=folder, env=environment, stdout=said, stderr=said
        )


def ended(events: list[Event]) -> int:
    return sum(isinstance(event, Ended) for event in events)


def test_two_thousand_trials(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows: list[tuple[int, float, int]] = []
    driver, began, done = begun(tmp_path, "search"), time.perf_counter(), 0
    process = psutil.Process(driver.pid)
    while not (tmp_path / "many" / "ledger").is_dir():
        time.sleep(0.1)
        assert driver.poll() is None, (tmp_path / "search.txt").read_text()
    news = Following(tmp_path / "many" / "ledger")
    while done < KILLED_AT:
        time.sleep(0.05)
        assert driver.poll() is None, (tmp_path / "search.txt").read_text()
        done += ended(list(news.events()))
        if done >= EVERY * (len(rows) + 1):
            rows.append((done, process.memory_info().rss / 1e6, process.num_fds()))
    took = time.perf_counter() - began
    driver.kill()
    driver.wait()
    list(news.events())
    again, began = begun(tmp_path, "resume"), time.perf_counter()
    resumed: float | None = None
    first: float | None = None
    while again.poll() is None:
        time.sleep(0.02)
        for event in news.events():
            if isinstance(event, Resumed):
                resumed = event.time
            if isinstance(event, Started) and resumed is not None and first is None:
                first = time.perf_counter() - began
    assert again.returncode == 0, (tmp_path / "resume.txt").read_text()
    began = time.perf_counter()
    report = [sys.executable, "-c", "from skipstack.dashboards.cli import main; main()", "report", "many"]
    subprocess.run(report, cwd=tmp_path, check=True, capture_output=True)
    reported = time.perf_counter() - began
    with capsys.disabled():
        print(f"\n{KILLED_AT} trials in {took:.0f} s, {1000 * took / KILLED_AT:.0f} ms each, the start of Ray included")
        for number, megabytes, files in rows:
            print(f"after {number} trials: {megabytes:.0f} MB, {files} open files")
        print(f"resume: {first or 0:.1f} s to the first new trial; report: {reported:.1f} s")
