"""Machine code is kept for later processes, apart for each version of all that it is made of."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from skipstack.models.kernels.compiling import place_of, writable

PASS = """
import torch
from skipstack.models.kernels.compiled.time import lstm
from skipstack.models.kernels.layers import Weights
from skipstack.models.kernels.layers import lstm_layer
lstm_layer(torch.zeros(1, 2, 3, 5), Weights(torch.zeros(1, 1, 5, 8), torch.zeros(1, 1, 8), torch.zeros(1, 1, 2, 8)))
(made,) = lstm.forward.stats.cache_misses.values() or (0,)
print(made)
"""


def test_a_change_in_any_file_of_the_folder_moves_the_place(tmp_path: Path) -> None:
    (tmp_path / "part").mkdir()
    for name in ("one.py", "part/other.py"):
        (tmp_path / name).write_text("x = 1\n")
    before = place_of(tmp_path, "")
    assert place_of(tmp_path, "") == before
    (tmp_path / "part/other.py").write_text("x = 2\n")
    after = place_of(tmp_path, "")
    assert (after.parent, after != before) == (before.parent, True)
    assert place_of(tmp_path, "/chosen") == Path("/chosen") / after.name


@pytest.mark.timeout(120)
def test_a_later_process_finds_what_an_earlier_one_compiled(tmp_path: Path) -> None:
    made = []
    for _ in range(2):
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
        run = subprocess.run([sys.executable, "-c", PASS], env=environment, capture_output=True, text=True, check=False)
        assert run.returncode == 0, run.stderr
        made.append(int(run.stdout))
    assert made == [1, 0]
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.timeout(120)
def test_where_nothing_may_be_kept_the_loops_are_compiled_all_the_same() -> None:
    assert not writable(Path("/dev/null/kept"))
    environment = {**os.environ, "NUMBA_CACHE_DIR": "/dev/null"}
    run = subprocess.run([sys.executable, "-c", PASS], env=environment, capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout) == (0, "1\n"), run.stderr


OWN = """
import sys
import numba
import numpy as np
import skipstack.models.training.prepare as compiled

compiled.prepare()
assert "scipy.linalg" not in sys.modules, "numba looks for it elsewhere"

@numba.njit
def own(x):
    return np.dot(x, x), np.linalg.inv(x), np.cov(x)

x = np.random.default_rng(0).normal(size=(4, 4))
for ours, theirs in zip(own(x), (x @ x, np.linalg.inv(x), np.cov(x)), strict=True):
    np.testing.assert_allclose(ours, theirs, rtol=1e-10)
"""


def test_scipy_is_loaded_for_who_asks_numba_for_linear_algebra_alone() -> None:
    subprocess.run([sys.executable, "-c", OWN], check=True)
