"""A driver for Ray does without torch, which its workers load."""

import subprocess
import sys

PROGRAM = """
import sys
import skipstack.dashboards.commands.running, skipstack.search.workers.lazy_worker, skipstack.search.engines.ray.engine
import skipstack.search.api.start, skipstack.search.tracking.tracking_process
assert "torch" not in sys.modules
from skipstack.search.workers.lazy_worker import LazyTrainingWorker
from skipstack.search.driver.task import Worker
assert issubclass(LazyTrainingWorker, Worker)
"""


def test_what_a_driver_imports_loads_no_torch() -> None:
    ran = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
