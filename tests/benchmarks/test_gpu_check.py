"""The program of ``make gpu-check``, tried on a CPU: it measures what it says, and refuses where there is no GPU."""

import subprocess
import sys

import pytest
import torch

from tests.benchmarks import gpu_check
from tests.models.kernels.chosen import chosen
from tests.models.training.standin import ReplayedOnCpu


def test_a_row_tells_of_each_network_with_each_number_of_lanes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu_check, "LENGTH", 5)
    rows = gpu_check.timed(["quickstart", "gui2019/ner"], [1, 2], torch.device("cpu"), budget=0.0)
    assert [row[:2] for row in rows] == [
        [f"`{name}`", lanes] for name in ("quickstart", "gui2019/ner") for lanes in "12"
    ]
    assert all(len(row) == len(gpu_check.COLUMNS) for row in rows)
    for _, lanes, milliseconds, *_, tokens, runs in rows:
        assert float(tokens.replace(",", "")) > 0
        assert float(runs.replace(",", "")) == pytest.approx(
            3600 * float(tokens.replace(",", "")) / (gpu_check.EPOCHS * gpu_check.SENTENCES * gpu_check.LENGTH), abs=0.1
        )
        assert float(milliseconds) > 0, lanes


def test_captured_steps_are_compared_with_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu_check, "CudaGraphs", ReplayedOnCpu)
    cpu = torch.device("cpu")
    with chosen("reference"):
        _, _, further, again = gpu_check.captured_beside("quickstart", 2, cpu, own=1.0, budget=0.0)
        assert (float(further), float(again)) == (0.0, 0.0)
        one, other = (gpu_check.ours("quickstart", 2, cpu) for _ in range(2))
        other.step()
        assert gpu_check.apart(one, other) > 0.01


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_it_says_so_in_one_line() -> None:
    done = subprocess.run([sys.executable, "-m", gpu_check.__name__], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].endswith("--device cuda: no GPU here (allowed: auto, cpu)")
    assert "Traceback" not in done.stderr
