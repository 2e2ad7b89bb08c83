"""A study of 2,000 trials of a function on two cores: the driver's memory and open files as it grows, then a kill,
the seconds from `resume` to the first new trial, and those of `skipstack report`.

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


def test_two_thousand_trials(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
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
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", RAY_ALONE], env=ALONE, check=True, capture_output=True)
    ray_alone = time.perf_counter() - began
    began = time.perf_counter()
    report = [sys.executable, "-c", "from skipstack.dashboards.cli import main; main()", "report", "many"]
    subprocess.run(report, cwd=tmp_path, check=True, capture_output=True)
    reported = time.perf_counter() - began
    with capsys.disabled():
        print(f"\n{KILLED_AT} trials in {took:.0f} s, {1000 * took / KILLED_AT:.0f} ms each, the start of Ray included")
        for number, megabytes, files in rows:
            print(f"after {number} trials: {megabytes:.0f} MB, {files} open files")
        print(f"resume: {without_ray:.1f} s to the first new trial without Ray, {on_ray:.1f} s on Ray;")
        print(f"the first trial of the new study: {new:.1f} s; Ray alone: {ray_alone:.1f} s; report: {reported:.1f} s")
