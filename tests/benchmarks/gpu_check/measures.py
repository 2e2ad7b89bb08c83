"""How each kind of row is measured, in a process that nothing else depends on."""

import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import torch

import skipstack
from skipstack.data.basis.system import usable_cpus
from skipstack.models.ground.device import clock
from skipstack.models.kernels import abilities
from skipstack.models.kernels.choice import in_a_line
from skipstack.search.execution.engines.capacity import Allotment, share_of
from skipstack.search.execution.workers.worker import TrainingWorker
from skipstack.search.study.code_version import code_version
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.record.reading import read_study
from skipstack.search.study.task import TrialTask, trial_task
from skipstack.spaces.trial import as_network
from tests.benchmarks.gpu_check import steps
from tests.benchmarks.gpu_check.rows import Kind, Row
from tests.benchmarks.gpu_check.side import side_by_side
from tests.benchmarks.gpu_check.skipping import SkippedError
from tests.benchmarks.machine import cpu, version_of
from tests.models.conformance.accelerator import presets
from tests.search.counted_apart import counted_apart

TRIALS: Final = 16
"""Through Ray."""

CUT: Final = 0.25
"""The part of the memory left on a GPU that the greedy neighbour is allowed, and exceeds."""


COMMAND: Final = "from skipstack.dashboards.cli import main; main()"


_COMPARED: dict[Hashable, tuple[str, dict[str, float]]] = {}
"""Networks that this process has compared with a CPU's, the preset of each, and what came of it."""


@dataclass(frozen=True, slots=True)
class Setting:
    """On which device, for how many seconds each figure is measured, and when the row is ended, in seconds from now."""

    device: torch.device
    seconds: float
    limit: float


def measured(row: Row, setting: Setting) -> dict[str, Any]:
    """The figures of a row. Raises SkippedError where it cannot be measured here, and whatever goes wrong."""
    return MEASURES[row.kind](row, setting)


def machine(_: Row, setting: Setting) -> dict[str, Any]:
    """Card, driver and versions: what every other row depends on."""
    found: dict[str, Any] = {
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "code": code_version(),
        "python": platform.python_version(),
        "system": platform.platform(),
        "cpus": usable_cpus(),
        "cpu": cpu("model name") or platform.processor(),
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "triton": version_of("triton"),
        "ray": version_of("ray"),
        "no_triton": abilities.no_triton(),
        "python_h": Path(sysconfig.get_paths()["include"], "Python.h").is_file(),
        "kernels": in_a_line(setting.device),
        "device": setting.device.type,
    }
    if setting.device.type == "cuda":
        card = torch.cuda.get_device_properties(setting.device)
        free, total = torch.cuda.mem_get_info(setting.device)
        found |= {
            "card": card.name,
            "cards": torch.cuda.device_count(),
            "capability": f"{card.major}.{card.minor}",
            "multiprocessors": card.multi_processor_count,
            "memory": total,
            "memory_free": free,
            "driver": _driver(),
            "cudnn": torch.backends.cudnn.version(),
        }
    return found


def losses(row: Row, setting: Setting) -> dict[str, Any]:
    """How far losses and gradients of a batch in float32 are from a CPU's, as a share of the largest.

    A network that another preset has, too, is measured once: ``as`` names that preset.
    """
    config, task = presets.base(row.preset)
    network = config.model, config.training.batch_size, task
    if network in _COMPARED:
        first, same = _COMPARED[network]
        return {"as": first, **same}

    def found(device: torch.device) -> list[torch.Tensor]:
        run = steps.ours(row.preset, 1, device).run
        run.model.eval()  # a network that draws nothing
        tokens, gold = run.loader.load(next(iter(run.batches())))
        loss_RB = run.model.loss(tokens, gold, run.lexicon)
        loss_RB.sum().backward()
        gradients = [each.grad.to_dense() for each in run.model.parameters() if each.grad is not None]
        return [each.detach().cpu().double() for each in (loss_RB, *gradients)]

    def apart(one: torch.Tensor, other: torch.Tensor) -> float:
        return float((one - other).abs().max() / other.abs().max().clamp(min=1e-30))

    (loss, *gradients), (agreed, *expected) = found(setting.device), found(torch.device("cpu"))
    furthest = max(map(apart, gradients, expected), default=0.0)
    told = {"loss": float(loss.mean()), "loss_apart": apart(loss, agreed), "gradients_apart": furthest}
    _COMPARED[network] = row.preset, told
    return told


def memory(row: Row, setting: Setting) -> dict[str, Any]:
    """The peak of an epoch, its evaluation included, beside the share that is given to the trial and its cap."""
    _needs_gpu(setting, "a CPU has no caps")
    with tempfile.TemporaryDirectory() as folder:
        task, counted = counted_task(row.preset, Path(folder))
        share = share_of(counted, torch.cuda.mem_get_info()[1])
        taken = {"cpu": 1.0, "gpu": share}
        confined = Allotment(taken, "").confined(task, taken)
        before, total = torch.cuda.mem_get_info()
        torch.cuda.reset_peak_memory_stats()
        worker = TrainingWorker(confined)
        worker.run_epoch()
        return {
            "share": share,
            "counted": counted,
            "cap": int(torch.cuda.get_per_process_memory_fraction() * total),
            "peak_tensors": torch.cuda.max_memory_allocated(),
            "peak_reserved": torch.cuda.max_memory_reserved(),
            "taken_of_card": before - torch.cuda.mem_get_info()[0],
        }


def neighbours(row: Row, setting: Setting) -> dict[str, Any]:
    """Of two processes on one card, one takes more than its cap; whether that one alone runs out."""
    _needs_gpu(setting, "a CPU has no caps")
    greedy = (
        "import torch\n"
        f"torch.cuda.set_per_process_memory_fraction({CUT})\n"
        "held, block = [], torch.cuda.mem_get_info()[1] // 64\n"
        "try:\n"
        "    while True: held.append(torch.empty(block, dtype=torch.uint8, device='cuda'))\n"
        "except torch.OutOfMemoryError: print(len(held))\n"
    )
    made = steps.ours(row.preset, 1, setting.device)
    first = float(made.step().sum())
    with subprocess.Popen([sys.executable, "-P", "-c", greedy], stdout=subprocess.PIPE, text=True) as other:
        count = 0
        while other.poll() is None:
            made.step()
            count += 1
        assert other.stdout is not None
        took = other.stdout.read().strip()
    last = float(made.step().sum())
    if not took.isdigit() or int(took) == 0:
        raise RuntimeError(f"the greedy process did not run out of its cap (exit {other.returncode}, it said {took!r})")
    return {
        "cap": CUT,
        "taken_before": int(took) / 64,
        "steps_meanwhile": count,
        "loss_first": first,
        "loss_last": last,
    }


def trials(row: Row, setting: Setting) -> dict[str, Any]:
    """Trials an hour of a study through Ray, from its start to its report."""
    if version_of("ray") is None:
        raise SkippedError("Ray is not installed")
    with tempfile.TemporaryDirectory() as folder:
        out, started = Path(folder) / "study", time.perf_counter()
        typed = ["search", row.preset, "--trials", str(TRIALS), "--device", setting.device.type, "--out", str(out)]
        run = [sys.executable, "-P", "-c", COMMAND, *typed, "--address", "local"]
        done = subprocess.run(run, capture_output=True, text=True, check=False, timeout=setting.limit)
        took = time.perf_counter() - started
        if done.returncode:
            raise RuntimeError(f"the study ended with {done.returncode}: {done.stderr.strip().splitlines()[-1:]}")
        record = read_study(out)
        return {
            "trials": len(record.trials),
            "seconds": took,
            "trials_an_hour": 3600 * len(record.trials) / took,
            "best": record.ranked()[0].score,
            "ends": sorted({trial.reason or "" for trial in record.trials.values()}),
        }


def together(row: Row, setting: Setting) -> dict[str, Any]:
    """Tokens a second of lanes in one process, or of as many processes side by side."""
    return side_by_side(row, setting.device.type, setting.seconds, setting.limit)


def compiling(row: Row, setting: Setting) -> dict[str, Any]:
    """What the first steps of a new process take whose kernels nobody has compiled yet."""
    with tempfile.TemporaryDirectory() as cache:
        os.environ["TRITON_CACHE_DIR"] = cache  # numba's stays: its compiled code belongs to the CPU
        started = clock(setting.device)
        made = steps.ours(row.preset, 1, setting.device)
        built = clock(setting.device)
        made.step()
        first = clock(setting.device)
        made.step()
        second = clock(setting.device)
    return {"building": built - started, "first_step": first - built, "second_step": second - first}


def timed(row: Row, setting: Setting) -> dict[str, Any]:
    """A step of training beside others."""
    return steps.steps(row.preset, row.lanes, setting.device, setting.seconds)


def tests(_: Row, setting: Setting) -> dict[str, Any]:
    """The tests that are marked ``gpu``, as many as the time allows; those that fail, by name."""
    _needs_gpu(setting, "these tests need a GPU")
    # Without the project's options, which need plug-ins.
    run = [sys.executable, "-m", "pytest", "-o", "addopts=", "-m", "gpu", "-q", "--maxfail=5", "tests/models"]
    try:
        done = subprocess.run(run, capture_output=True, text=True, check=False, timeout=setting.limit - 5)
        said, ended = done.stdout, done.returncode
    except subprocess.TimeoutExpired as over:
        said, ended = (over.stdout or b"").decode(errors="replace"), None
    failed = re.findall(r"^(?:FAILED|ERROR) (\S+)", said, re.MULTILINE)
    if ended not in (0, None):
        raise RuntimeError(f"{', '.join(failed) or said[-500:]}")
    return {
        "passed": sum(line.count(".") for line in said.splitlines() if re.match(r"[.sFEx]+(\s|$)", line)),
        "all": ended == 0,
    }


MEASURES: Final[dict[Kind, Callable[[Row, Setting], dict[str, Any]]]] = {
    "machine": machine,
    "losses": losses,
    "memory": memory,
    "neighbours": neighbours,
    "trials": trials,
    "side_by_side": together,
    "compiling": compiling,
    "steps": timed,
    "tests": tests,
}


def counted_task(preset: str, folder: Path) -> tuple[TrialTask, int]:
    """The task of a preset's base with all its seeds, and the bytes of a GPU that are counted for it."""
    skipstack.search(preset, out=folder / "study", engine="serial", device="cpu", trials=1, epochs=1)
    record, place = read_study(folder / "study"), StudyFolder(folder / "study")
    config = as_network(record.study.space.base)
    seeds = tuple(range(record.study.search.seeds))
    task = trial_task(record, place, config, number=9, seeds=seeds, device="cuda")
    (counted,) = counted_apart([task])
    return task, counted


def _needs_gpu(setting: Setting, why: str) -> None:
    if setting.device.type != "cuda":
        raise SkippedError(why)


def _driver() -> str | None:
    """The driver's version, as its own program tells it."""
    if shutil.which("nvidia-smi") is None:
        return None
    asked = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    done = subprocess.run(asked, capture_output=True, text=True, check=False, timeout=20)
    return next(iter(done.stdout.split()), None)
