"""A study of 2,000 trials of a function on two cores: the driver's memory and open files as it grows, then a kill,
the seconds from `resume` to the first new trial, and those of `skipstack report` and of a `resume` once it is finished.

On Ray a resume has to start a cluster first, as a new study has. So the first trial of the new study and the start of
Ray alone are timed beside it, and a resume one trial after another, which needs no Ray.
"""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from skipstack.search.ledger.events import Ended, Event, Resumed, Started
from skipstack.search.ledger.following import Following
from tests.benchmarks.page import record

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
        skipstack.resume("many", objective, engine=sys.argv[1])
"""

RAY_ALONE = """
import ray


@ray.remote
def nothing():
    pass


ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
ray.get(nothing.remote())
"""


ALONE = {**os.environ, "RAY_ADDRESS": "local", "RAY_worker_niceness": "0"}


def begun(folder: Path, how: str) -> subprocess.Popen[bytes]:
    (folder / "study.py").write_text(STUDY)
    with (folder / f"{how}.txt").open("wb") as said:
        return subprocess.Popen(
            [sys.executable, "study.py", how], cwd=folder, env=ALONE, stdout=said, stderr=subprocess.STDOUT
        )


def ended(events: list[Event]) -> int:
    return sum(isinstance(event, Ended) for event in events)


def resumed(folder: Path, engine: str) -> float:
    """Seconds from the command to the first trial that it starts; afterwards the study is finished."""
    news = Following(folder / "many" / "ledger")
    list(news.events())
    again, began = begun(folder, engine), time.perf_counter()
    goes_on, first = False, 0.0
    while again.poll() is None:
        time.sleep(0.02)
        for event in news.events():
            goes_on = goes_on or isinstance(event, Resumed)
            if isinstance(event, Started) and goes_on and not first:
                first = time.perf_counter() - began
    assert again.returncode == 0, (folder / f"{engine}.txt").read_text()
    assert first
    return first


def seconds(folder: Path, command: list[str]) -> float:
    """How long a command takes, which has to end well."""
    began = time.perf_counter()
    subprocess.run(command, cwd=folder, env=ALONE, check=True, capture_output=True)
    return time.perf_counter() - began


def test_two_thousand_trials(tmp_path: Path) -> None:
    rows: list[tuple[int, float, int]] = []
    driver, began, done, new = begun(tmp_path, "search"), time.perf_counter(), 0, 0.0
    process = psutil.Process(driver.pid)
    while not (tmp_path / "many" / "ledger").is_dir():
        time.sleep(0.1)
        assert driver.poll() is None, (tmp_path / "search.txt").read_text()
    news = Following(tmp_path / "many" / "ledger")
    while done < KILLED_AT:
        time.sleep(0.02)
        assert driver.poll() is None, (tmp_path / "search.txt").read_text()
        events = list(news.events())
        if not new and any(isinstance(event, Started) for event in events):
            new = time.perf_counter() - began
        done += ended(events)
        if done >= EVERY * (len(rows) + 1):
            rows.append((done, process.memory_info().rss / 1e6, process.num_fds()))
    took = time.perf_counter() - began
    driver.kill()
    driver.wait()
    shutil.copytree(tmp_path / "many", tmp_path / "beside" / "many")
    without_ray = resumed(tmp_path / "beside", "serial")
    on_ray = resumed(tmp_path, "ray")
    report = [sys.executable, "-c", "from skipstack.dashboards.cli import main; main()", "report", "many"]
    (number, low, few), *_, (last, high, many) = rows
    found = {
        f"the first {KILLED_AT:,} trials, ms each": 1000 * took / KILLED_AT,
        "first trial of the new study, seconds": new,
        "first new trial of `resume`, seconds": on_ray,
        "first new trial of `resume` in one process, seconds": without_ray,
        "Ray alone, `ray.init` and a first task, seconds": seconds(tmp_path, [sys.executable, "-c", RAY_ALONE]),
        "`report`, seconds": seconds(tmp_path, report),
        "`resume` of the finished study, seconds": seconds(tmp_path, [sys.executable, "study.py", "ray"]),
        f"driver after {number:,} trials, MB": low,
        f"driver after {last:,} trials, MB": high,
        f"open files of the driver after {number:,} trials": few,
        f"open files of the driver after {last:,} trials": many,
    }
    record("many trials", {name: {"": value} for name, value in found.items()})
