"""What the first command costs after installation: seconds, and the memory of all its processes together."""

import re
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from skipstack.search.ledger.events import Started
from skipstack.search.ledger.ledger import Ledger
from tests.benchmarks.page import record

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(600)]

LIMIT_SECONDS, LIMIT_GIB = 120, 4


def together(process: psutil.Process) -> int:
    """Bytes of the process and of all that it started, shared pages counted once (proportional set size)."""
    total = 0
    for each in [process, *process.children(recursive=True)]:
        try:
            total += each.memory_full_info().pss
        except psutil.Error:
            continue
    return total


def test_quickstart_is_quick_and_small(tmp_path: Path) -> None:
    command = [str(Path(sys.executable).parent / "skipstack"), "search", "quickstart", "--out", str(tmp_path / "study")]
    begun, started, printed = time.time(), time.monotonic(), tmp_path / "printed.txt"
    with printed.open("w") as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.PIPE, text=True)
    peak, table = 0, 0.0
    while process.poll() is None:
        peak = max(peak, together(psutil.Process(process.pid)))
        time.sleep(0.2)
        if not table and printed.stat().st_size:
            table = time.monotonic() - started
    seconds = time.monotonic() - started
    _, error = process.communicate()
    assert process.returncode == 0, error
    first = next(each.time for each in Ledger(tmp_path / "study" / "ledger").read() if isinstance(each, Started))
    when = {"a worker takes up the first trial": first - begun, "the table": table, "the prompt": seconds}
    record("quickstart", {f"until {name}": {"seconds": each} for name, each in when.items()})
    record("quickstart", {"all processes at most": {"GiB": peak / 2**30}})
    counted = re.search(r"(\d+) trials: .*?(\d+) stopped", printed.read_text())
    assert counted is not None, printed.read_text()
    assert int(counted[1]) >= 16
    assert int(counted[2]) > 0
    assert seconds <= LIMIT_SECONDS
    assert peak < LIMIT_GIB * 2**30
