"""A driver for Ray does without torch, which its workers load."""

import subprocess
import sys

import pytest

PROGRAM = """
import sys
import skipstack.dashboards.commands.running, skipstack.search.execution.workers.training_workers
import skipstack.search.execution.engines.ray.engine
import skipstack.search.api.opening, skipstack.search.publishing.tracking.tracking_process
assert "torch" not in sys.modules
"""


@pytest.mark.slow
def test_what_a_driver_imports_loads_no_torch() -> None:
    ran = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
