"""Processes that train side by side: each says when it is ready, and all begin at once."""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any, Final

import torch

from skipstack.data.tasks.tasks import TASKS
from skipstack.models.ground.device import clock
from tests.benchmarks.gpu_check import steps
from tests.benchmarks.gpu_check.rows import Row
from tests.benchmarks.gpu_check.skipping import SkippedError
from tests.models.conformance.accelerator import presets

SERVER: Final = "nvidia-cuda-mps-control"


def side_by_side(row: Row, device: str, seconds: float, limit: float) -> dict[str, Any]:
    """Tokens a second of all processes of a row together, within ``limit`` seconds."""
    with ExitStack() as leaving:
        surroundings = leaving.enter_context(shared_by_mps()) if row.mps else os.environ
        run = [sys.executable, "-m", __name__, row.preset, device, str(row.lanes), str(seconds)]
        started = [
            leaving.enter_context(
                subprocess.Popen(run, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=dict(surroundings))
            )
            for _ in range(row.processes)
        ]
        for each in started:
            leaving.callback(each.kill)
        begun = time.perf_counter()
        for each in started:
            if _line(each) != "ready":
                raise RuntimeError(f"a process ended before it began (exit {each.wait()})")
        ready = time.perf_counter() - begun
        for each in started:
            assert each.stdin is not None
            each.stdin.write("go\n")
            each.stdin.flush()
        rates = [float(_line(each)) for each in started]
        return {"tokens_a_second": sum(rates), "slowest": min(rates), "seconds_until_ready": ready}


@contextmanager
def shared_by_mps() -> Iterator[Mapping[str, str]]:
    """Within, the environment of processes that share the GPU by a server of NVIDIA's of their own."""
    if shutil.which(SERVER) is None:
        raise SkippedError(f"{SERVER} is not installed")
    with tempfile.TemporaryDirectory() as folder:
        own = {**os.environ, "CUDA_MPS_PIPE_DIRECTORY": folder, "CUDA_MPS_LOG_DIRECTORY": folder}
        begun = subprocess.run([SERVER, "-d"], env=own, capture_output=True, text=True, check=False, timeout=20)
        if begun.returncode:
            raise SkippedError(f"{SERVER} does not start ({(begun.stderr or begun.stdout).strip()[:200]})")
        try:
            yield own
        finally:
            subprocess.run([SERVER], env=own, input="quit\n", capture_output=True, text=True, check=False, timeout=30)


def _line(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def main() -> None:
    """Make a run, wait for the word, and print how many tokens a second it trains on."""
    parser = argparse.ArgumentParser()
    parser.add_argument("preset")
    parser.add_argument("device", type=torch.device)
    parser.add_argument("lanes", type=int)
    parser.add_argument("seconds", type=float)
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    config, task = presets.base(chosen.preset)
    made = steps.ours(chosen.preset, chosen.lanes, chosen.device)
    made.step(), made.step()
    clock(chosen.device)
    print("ready", flush=True)
    sys.stdin.readline()
    step = steps.seconds(made.step, chosen.device, chosen.seconds)
    length = config.training.window if TASKS[task].continues else steps.LENGTH
    print(chosen.lanes * config.training.batch_size * length / step, flush=True)


if __name__ == "__main__":
    main()
