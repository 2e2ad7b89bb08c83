"""What it costs that a cluster shares no disk, on hosts of one machine: beside one that does, in turns."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import pytest

from tests.benchmarks.carrying import SENDERS, SENT, STORE
from tests.search.hosts import Hosts, missing

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(1800)]

ROUNDS = 3
MOST_MILLISECONDS = 25.0
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
    command = [sys.executable, "-m", "tests.benchmarks.carrying", hosts.head, *arguments]
    ran = subprocess.run(
        hosts.command(1, command), env=hosts.environment(), capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    return float(json.loads(ran.stdout.splitlines()[-1]))


def test_a_trial_that_trains_nothing_costs_little_more_where_its_files_are_carried(
    hosts: Hosts, tmp_path: Path
) -> None:
    pairs = [
        tuple(measured(hosts, str(tmp_path / f"{number}{way}"), "trials", *way) for way in (("seeing",), ()))
        for number in range(ROUNDS)
    ]
    for shared, carried in pairs:
        print(f"ms a trial: {shared:.1f} shared, {carried:.1f} carried")
    assert median(carried - shared for shared, carried in pairs) <= MOST_MILLISECONDS


def test_twelve_senders_at_once_are_served(hosts: Hosts, tmp_path: Path) -> None:
    rates = [measured(hosts, str(tmp_path / str(number)), "senders") for number in range(ROUNDS)]
    print(f"{SENDERS} senders of {SENT / 1e6:.0f} MB: {', '.join(f'{rate:.0f}' for rate in rates)} MB/s")
    assert median(rates) >= LEAST_MEGABYTES


def test_a_corpus_is_soon_on_three_hosts(hosts: Hosts, tmp_path: Path) -> None:
    seconds = measured(hosts, str(tmp_path / "study"), "store")
    print(f"a corpus of {STORE / 1e6:.0f} MB on three hosts: {seconds:.1f} s")
    assert seconds <= MOST_SECONDS
