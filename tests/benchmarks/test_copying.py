"""What it costs that a cluster shares no disk, on hosts of one machine: beside one that does, in turns."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import pytest

from tests.benchmarks.copying import LEFT, SENDERS, SENT, STORE
from tests.benchmarks.page import record
from tests.search.hosts import Hosts, missing

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(1800)]

ROUNDS = 3
MOST_MILLISECONDS = 25.0
MOST_TIMES = 1.25
LEAST_MEGABYTES = 80.0
MOST_SECONDS = 10.0


@pytest.fixture
def hosts(tmp_path: Path) -> Iterator[Hosts]:
    """A head without CPUs and three hosts, each with temporary files of its own."""
    reason = missing()
    if reason is not None:
        pytest.skip(reason)
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    with Hosts() as network:
        for host, cpus in ((1, 0), (2, 4), (3, 4), (4, 4)):
            network.add(host)
            hidden = [temporary] if host > 1 else []
            network.start_ray(host, cpus=cpus, hidden=hidden, TMPDIR=str(temporary))
        yield network


def measured(hosts: Hosts, *arguments: str) -> float:
    command = [sys.executable, "-m", "tests.benchmarks.copying", hosts.head, *arguments]
    ran = subprocess.run(
        hosts.command(1, command), env=hosts.environment(), capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    return float(json.loads(ran.stdout.splitlines()[-1]))


def pairs(hosts: Hosts, path: Path, what: str, row: str) -> list[tuple[float, float]]:
    """By turns what is measured where the folder is seen and where it is copying."""
    found = [
        (
            measured(hosts, str(path / f"{number}-seen"), what, "seeing"),
            measured(hosts, str(path / f"{number}-copied"), what),
        )
        for number in range(ROUNDS)
    ]
    shared, copied = map(median, zip(*found, strict=True))
    record("copying", {row: {"disk shared": shared, "files copied": copied}})
    return found


def test_a_trial_that_trains_nothing_costs_little_more_where_its_files_are_copied(hosts: Hosts, tmp_path: Path) -> None:
    found = pairs(hosts, tmp_path, "trials", f"a trial of two epochs that leaves {LEFT // 1000} kB at each, ms")
    assert median(copied - shared for shared, copied in found) <= MOST_MILLISECONDS


def test_the_quickstart_takes_hardly_longer_where_its_files_are_copied(hosts: Hosts, tmp_path: Path) -> None:
    found = pairs(hosts, tmp_path, "quickstart", "the quickstart's first six trials, seconds")
    assert median(copied / shared for shared, copied in found) <= MOST_TIMES


def test_twelve_senders_at_once_are_served(hosts: Hosts, tmp_path: Path) -> None:
    rate = median(measured(hosts, str(tmp_path / str(number)), "senders") for number in range(ROUNDS))
    record("copying", {f"{SENDERS} workers that send {SENT / 1e6:.0f} MB each at once, MB/s": {"files copied": rate}})
    assert rate >= LEAST_MEGABYTES


def test_a_corpus_is_soon_on_three_hosts(hosts: Hosts, tmp_path: Path) -> None:
    seconds = measured(hosts, str(tmp_path / "study"), "store")
    record(
        "copying", {f"a corpus of {STORE / 1e6:.0f} MB until three hosts have it, seconds": {"files copied": seconds}}
    )
    assert seconds <= MOST_SECONDS
