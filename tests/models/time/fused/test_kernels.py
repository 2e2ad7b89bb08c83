"""The steps that a GPU runs in one launch each, where there is none: their equations, by Triton's own interpreter."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec

import pytest

from tests.models.time.fused import interpreted


@pytest.mark.skipif(find_spec("triton") is None, reason="Triton comes with torch where that is made for GPUs")
def test_fused_steps_give_what_the_loops_of_torch_give() -> None:
    done = subprocess.run(
        [sys.executable, "-m", interpreted.__name__],
        env={**os.environ, "TRITON_INTERPRET": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    furthest = json.loads(done.stdout)
    assert set(furthest) == set(interpreted.LOOPS)
    assert max(furthest.values()) < 1e-12
