"""What the first command costs after installation: seconds, and the memory of all its processes together."""

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

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


def test_quickstart_is_quick_and_small(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = [str(Path(sys.executable).parent / "skipstack"), "search", "quickstart", "--out", str(tmp_path / "study")]
    started = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    peak = 0
    while process.poll() is None:
        peak = max(peak, together(psutil.Process(process.pid)))
        time.sleep(0.5)
    seconds = time.monotonic() - started
    out, error = process.communicate()
    assert process.returncode == 0, error
    with capsys.disabled():
        print(f"\nquickstart: {seconds:.0f} s, {peak / 2**30:.2f} GiB at most, on {os.cpu_count()} cores")
    counted = re.search(r"(\d+) trials: .*?(\d+) stopped", out)
    assert counted is not None, out
    assert int(counted[1]) >= 16
    assert int(counted[2]) > 0
    assert seconds <= LIMIT_SECONDS
    assert peak < LIMIT_GIB * 2**30
