"""The program of ``make gpu-check``, tried on a CPU: it measures what it says, and goes on whatever goes wrong."""

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from skipstack.search.execution.engines.capacity import share_of
from skipstack.search.study.study_files.document import presets
from tests.benchmarks.gpu_check import __main__ as gpu_check
from tests.benchmarks.gpu_check import breaking, measures, rows, side, steps
from tests.benchmarks.gpu_check.child import answered
from tests.benchmarks.gpu_check.measures import Setting
from tests.benchmarks.gpu_check.rows import KINDS, Row, planned
from tests.benchmarks.gpu_check.skipping import SkippedError
from tests.benchmarks.gpu_check.table import table
from tests.models.kernels.chosen import chosen
from tests.models.training.standin import ReplayedOnCpu

pytestmark = pytest.mark.long

CPU = torch.device("cpu")
BRIEF = Setting(CPU, seconds=0.0, limit=60.0)


@pytest.mark.slow
def test_a_row_of_steps_tells_what_a_step_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps, "LENGTH", 5)
    found = measures.measured(Row(kind="steps", preset="gui2019/ner", lanes=2), BRIEF)
    assert all(value > 0 for value in found.values())
    run = steps.EPOCHS * steps.SENTENCES * steps.LENGTH
    assert found["runs_an_hour"] == pytest.approx(3600 * found["tokens_a_second"] / run)
    assert {"times_as_fast_in_tf32", "times_as_fast_in_bfloat16", "times_nn_lstm"} < found.keys()


@pytest.mark.slow
def test_captured_steps_are_compared_with_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps, "CudaGraphs", lambda _: ReplayedOnCpu())
    with chosen("reference"):
        found = steps.captured_beside("quickstart", 2, CPU, own=1.0, budget=0.0)
        assert (found["captured_apart"], found["apart_again"]) == (0.0, 0.0)
        one, other = (steps.ours("quickstart", 2, CPU) for _ in range(2))
        other.step()
        assert steps.apart(one, other) > 0.01


def test_losses_are_those_of_a_cpu_and_a_network_apart_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measures, "_COMPARED", {})
    row = Row(kind="losses", preset="quickstart")
    found = measures.measured(row, BRIEF)
    assert (found["loss_apart"], found["gradients_apart"]) == (0.0, 0.0)
    assert measures.measured(row, BRIEF) == {"as": "quickstart", **found}
    measures._COMPARED.clear()
    made, scales = steps.ours, iter([1.01, 1.0])

    def other(*args: Any) -> steps.Ours:
        ours = made(*args)
        scale = next(scales)
        with torch.no_grad():
            for weight in ours.run.model.parameters():
                weight.mul_(scale)
        return ours

    monkeypatch.setattr(steps, "ours", other)
    assert measures.measured(row, BRIEF)["gradients_apart"] > 1e-3


def test_the_machine_says_what_every_figure_depends_on() -> None:
    found = measures.measured(Row(kind="machine"), BRIEF)
    assert found["torch"] == torch.__version__
    assert json.loads(json.dumps(found)) == found


@pytest.mark.slow
def test_processes_side_by_side_are_added_up() -> None:
    found = side.side_by_side(Row(kind="side_by_side", preset="quickstart", lanes=1, processes=2), "cpu", 0.0, 60.0)
    assert found["tokens_a_second"] > found["slowest"] > 0


def test_without_the_server_of_nvidia_the_row_is_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(side, "SERVER", "no-such-program")
    with pytest.raises(SkippedError, match="no-such-program is not installed"), side.shared_by_mps():
        pass


@pytest.mark.parametrize("kind", ["memory", "neighbours", "tests"])
def test_what_only_a_gpu_has_is_skipped_on_a_cpu(kind: rows.Kind) -> None:
    assert answered(Row(kind=kind, preset="quickstart"), BRIEF).keys() == {"skipped"}


def test_without_ray_the_row_that_needs_it_is_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measures, "version_of", lambda _: None)
    with pytest.raises(SkippedError, match="Ray is not installed"):
        measures.measured(Row(kind="trials", preset="quickstart"), BRIEF)


@pytest.mark.slow
@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_the_row_of_tests_collects_those_of_a_gpu() -> None:
    """Without a GPU they skip."""
    found = measures.measured(Row(kind="tests"), Setting(torch.device("cuda"), seconds=0.0, limit=500.0))
    assert found == {"passed": 0, "all": True}


@pytest.mark.slow
def test_the_share_of_a_trial_is_what_a_search_would_give_it(tmp_path: Path) -> None:
    task, counted = measures.counted_task("quickstart", tmp_path)
    assert (task.device, len(task.seeds)) == ("cuda", 2)
    assert 0 < share_of(counted, 80 * 10**9) < 0.2
    assert share_of(counted, 80 * 10**9) < share_of(counted, 8 * 10**9)


def test_each_kind_has_rows_and_every_preset_its_losses() -> None:
    plan = planned()
    assert list(dict.fromkeys(row.kind for row in plan)) == list(KINDS) == list(measures.MEASURES)
    assert [row.preset for row in plan if row.kind == "losses"] == list(presets())
    assert len({json.dumps(row.named) for row in plan}) == len(plan)


def gone_wrong(*lanes: int, budget: float = 600.0, kind: rows.Kind = "steps") -> list[dict[str, Any]]:
    told: list[dict[str, Any]] = []
    plan = [Row(kind=kind, lanes=each) for each in lanes]
    gpu_check.measure_all(plan, lambda: gpu_check.Child("cpu", 0.0, breaking.__name__), told.append, budget)
    return told


@pytest.mark.slow
def test_whatever_goes_wrong_in_a_row_the_next_one_is_measured() -> None:
    raised, first, broken, second, killed, third, skipped = gone_wrong(1, 6, 2, 6, 3, 6, 5)
    assert raised["failed"] == "ValueError: a bug"
    assert broken["failed"] == "AcceleratorError: CUDA error: an illegal memory access was encountered"
    assert killed["failed"] == "its process died (SIGKILL)"
    assert skipped == {"row": "steps", "lanes": 5, "skipped": "no such thing here"}
    processes = [row["process"] for row in (first, second, third)]
    assert len(set(processes)) == 3
    assert first["figure"] == "nan"
    assert all("broken" not in row for row in (raised, broken))


def test_a_row_that_takes_too_long_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu_check, "PATIENCE", 0.1)
    (late,) = gone_wrong(4)
    assert late["failed"] == "it took longer than 1 s"


def test_what_no_time_is_left_for_is_skipped_and_says_so() -> None:
    assert gone_wrong(6, 6, budget=2.0) == [{"row": "steps", "lanes": 6, "skipped": "2 s of 2 were left"}] * 2


@pytest.mark.slow
def test_rows_of_a_kind_do_not_take_the_time_of_all_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(rows.MOST, "steps", 0.5)
    first, *others = gone_wrong(6, 6, 6)
    assert "process" in first
    assert others == [{"row": "steps", "lanes": 6, "skipped": "the 0 s for rows of steps were over"}] * 2


@pytest.mark.slow
def test_lines_of_every_row_are_flushed_and_read_back_as_tables(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = tmp_path / "rows.jsonl"
    assert gpu_check.main(["--device", "cpu", "--rows", "machine", "memory", "--to", str(kept)]) == 0
    printed = capsys.readouterr()
    lines = [json.loads(line) for line in kept.read_text().splitlines()]
    assert [json.loads(line) for line in printed.out.splitlines()] == lines
    assert [row["row"] for row in lines] == ["machine", "memory", "memory", "memory"]
    assert printed.err.splitlines()[-1] == f"done; rows: 1 measured, 3 skipped; all in {kept}"
    assert gpu_check.main(["--table", str(kept)]) == 0
    shown = capsys.readouterr().out
    assert f"| torch | {torch.__version__} |" in shown
    assert "| preset | skipped |\n| --- | --- |\n| quickstart | a CPU has no caps |" in shown


@pytest.mark.slow
def test_a_row_that_failed_is_told_by_the_exit_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu_check, "planned", lambda *_: [Row(kind="losses", preset="no-such-preset")])
    assert gpu_check.main(["--device", "cpu", "--to", str(tmp_path / "rows.jsonl")]) == 1


def test_a_table_says_what_failed() -> None:
    assert table([{"row": "steps", "lanes": 1, "rate": 12345}, {"row": "steps", "lanes": 4, "failed": "no"}]) == (
        "**steps**\n\n| lanes | rate | failed |\n| --- | --- | --- |\n| 1 | 12,345 |  |\n| 4 |  | no |"
    )


@pytest.mark.slow
def test_after_ctrl_c_what_was_measured_is_there(tmp_path: Path) -> None:
    kept = tmp_path / "rows.jsonl"
    run = [sys.executable, "-m", "tests.benchmarks.gpu_check", "--device", "cpu", "--rows", "machine", "losses"]
    with subprocess.Popen(
        [*run, "--to", str(kept)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as going:
        assert going.stdout is not None
        assert going.stderr is not None
        first = json.loads(going.stdout.readline())
        going.send_signal(signal.SIGINT)
        rest, said = going.stdout.read(), going.stderr.read()
    assert going.returncode == gpu_check.INTERRUPTED
    assert first["row"] == "machine"
    assert "interrupted; rows: " in said.splitlines()[-1]
    assert "Traceback" not in said
    assert json.loads(kept.read_text().splitlines()[0]) == first
    assert len(rest.splitlines()) < len(presets())


@pytest.mark.slow
@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_without_a_gpu_it_says_so_in_one_line() -> None:
    run = [sys.executable, "-m", "tests.benchmarks.gpu_check"]
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].endswith("--device cuda: no GPU here (allowed: auto, cpu)")
    assert "Traceback" not in done.stderr


@pytest.mark.cluster
def test_trials_an_hour_are_those_of_a_study_on_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measures, "TRIALS", 2)
    found = measures.measured(Row(kind="trials", preset="quickstart"), Setting(CPU, 0.0, 300.0))
    assert found["trials"] == 2
    assert found["trials_an_hour"] == pytest.approx(7200 / found["seconds"])
