"""What the command does to its own process: passwords that were typed are seen by nobody else."""

import json
import subprocess
import sys

import pytest

SHOWS = """
import json, sys
from pathlib import Path
from skipstack.data.basis.command_process import claim, is_claimed
claim()
shown = Path("/proc/self/cmdline").read_text().split(chr(0))
print(json.dumps([sys.argv[1:], is_claimed(), shown]))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.parametrize(
    "typed",
    [
        ["search", "--tracking-uri", "http://ann:c0rrect@host:5000", "--seed", "1"],
        ["search", "--tracking-uri=postgresql+x://ann:c0rrect@host/base"],
        ["search", "--tracking-uri", "http://host:5000", "--out", "a:b@c"],
        [],
    ],
)
def test_a_password_that_was_typed_is_read_and_not_shown(typed: list[str]) -> None:
    ran = subprocess.run([sys.executable, "-c", SHOWS, *typed], capture_output=True, text=True, check=True)
    arguments, claimed, shown = json.loads(ran.stdout)
    assert (arguments, claimed) == (typed, True)
    assert "c0rrect" not in "".join(shown)
    assert len([each for each in shown if each]) == 3 + len(typed)
