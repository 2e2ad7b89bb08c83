"""What a GPU runs in one launch, where there is none: the same numbers, by Triton's own interpreter."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec

import pytest

from tests.models.kernels.fused import interpreted


@pytest.mark.skipif(find_spec("triton") is None, reason="Triton comes with torch where that is made for GPUs")
def test_kernels_give_what_the_operations_of_torch_give() -> None:
    done = subprocess.run(
        [sys.executable, "-m", interpreted.__name__],
        env={**os.environ, "TRITON_INTERPRET": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    furthest = json.loads(done.stdout)
    assert set(furthest) == {*interpreted.LOOPS, "draws"}
    assert furthest["draws"] == 0
    assert max(furthest.values()) < 1e-12
