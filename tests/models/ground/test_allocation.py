"""Freed memory is kept: seen by what the system has to clear and hand out."""

import subprocess
import sys

import pytest

PROGRAM = """
import resource, sys
import torch
from skipstack.models.ground.allocation import keep_freed_memory

if sys.argv[1] == "kept":
    keep_freed_memory()
for number in range(40):
    if number == 20:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    torch.ones(2**20), torch.ones(2**24)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def faults(how: str) -> int:
    """Pages that are handed out for twenty pairs of tensors of 4 and 64 MiB, which are freed at once."""
    done = subprocess.run([sys.executable, "-c", PROGRAM, how], capture_output=True, text=True, check=True)
    return int(done.stdout)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="other systems have other allocators")
def test_what_was_freed_is_used_again() -> None:
    pages = 20 * 2**26 // 4096
    assert faults("kept") < pages // 100
