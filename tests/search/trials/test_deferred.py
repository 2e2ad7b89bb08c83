"""A driver for Ray does without torch, which its workers load."""

import subprocess
import sys

PROGRAM = """
import sys
import dashboards.running, search.deferred, search.engine, search.study, search.tracking
assert "torch" not in sys.modules
from search.trials.deferred import DeferredWorker
from search.trials.task import Worker
assert issubclass(DeferredWorker, Worker)
"""


def test_what_a_driver_imports_loads_no_torch() -> None:
    ran = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
