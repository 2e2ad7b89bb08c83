"""Which code runs, and why: the rules one by one, and what the environment may ask for."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from skipstack.data.basis.errors import UserError
from skipstack.models.ground.kernel_names import VARIABLE, Kernels
from skipstack.models.ground.precision import FEW_ROWS, products_in
from skipstack.models.kernels import abilities, choice
from skipstack.models.kernels.choice import (
    OPERATIONS,
    Operation,
    choose,
    in_a_line,
    watched,
    what_runs,
)
from skipstack.models.kernels.gemm import registers
from skipstack.models.training.prepare import prepare
from tests.models.kernels.chosen import chosen, without
from tests.pages import ROOT

CPU, GPU = torch.device("cpu"), torch.device("cuda")
LAYERS = {name for name, each in OPERATIONS.items() if each.hides}
MULTIPLY, FUSED = {*LAYERS, "dense", "log_loss", "character_cnn"}, {"lstm", "block", "draws"}
ABILITIES = [name for name in vars(abilities) if name.startswith("no_")]
HERE = torch.zeros(1)


def compiled() -> set[str]:
    return {name for name, each in what_runs(CPU).items() if each.kernels == "compiled"}


def test_on_a_cpu_all_that_is_compiled_runs_and_on_a_gpu_all_that_is_fused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(abilities, "no_triton", lambda: None)
    with chosen(None):
        assert compiled() == {*OPERATIONS} - {"skip"}
        assert in_a_line(CPU) == f"compiled on this CPU ({abilities.compiler()})"
        there = what_runs(GPU)
        assert in_a_line(GPU) == "fused on this GPU"
    assert {name for name, each in there.items() if each.kernels == "fused"} == FUSED
    assert {name for name, each in there.items() if each.kernels == "compiled"} == {"distinct"}, "on the host"
    assert there["moves"].why == "there is no fused version"


def test_everything_but_dynamic_skips_is_compiled_on_every_cpu_that_numba_knows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(registers, "REGISTERS", None)
    with chosen(None):
        assert compiled() == {*OPERATIONS} - {"skip"}
        assert in_a_line(CPU).startswith("compiled on this CPU (products by BLAS, numba ")
    with without("compiler"):
        assert compiled() == set()
        assert in_a_line(CPU) == "torch's operations (no compiler)"


@pytest.mark.parametrize("there", [True, False])
def test_what_is_rounded_is_compiled_where_the_cpu_has_such_products(
    there: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(abilities, "no_bfloat16", lambda: None if there else "it has not")
    with chosen(None), products_in("bfloat16"):
        found = {name for name in MULTIPLY if choose(name, HERE) == "compiled"}
        assert found == (MULTIPLY - {"log_loss"} if there else {"character_cnn"})
        assert choose("moves", HERE) == "compiled"
        assert choose("log_loss", HERE, FEW_ROWS - 1) == "compiled", "few rows are not rounded"
        assert choose("log_loss", HERE, FEW_ROWS) == "reference"


def test_other_types_other_devices_and_few_rows_have_no_compiled_version() -> None:
    with chosen(None):
        assert choose("moves", torch.zeros(1, dtype=torch.float16)) == "reference"
        assert choose("moves", torch.zeros(1, dtype=torch.float64)) == "compiled"
        assert choose("moves", torch.zeros(1, device="meta")) == "reference"
        assert in_a_line(torch.device("meta")) == "torch's operations (nothing is made for meta)"
        assert [choose("dense", HERE, rows) for rows in (FEW_ROWS - 1, FEW_ROWS)] == ["reference", "compiled"]


def test_a_layer_that_is_looked_into_is_not_compiled() -> None:
    with chosen(None), watched():
        assert compiled() == {*OPERATIONS} - {"skip"}, "what runs says what trains"
        assert {name for name in OPERATIONS if choose(name, HERE) == "reference"} == {"skip", *LAYERS}


class Exports(torch.nn.Module):
    """Says what runs while it is exported."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        said.append(choose("moves", x))
        return x + 1


said: list[str] = []


@pytest.mark.parametrize("asked", [None, "compiled"])
def test_a_program_that_is_exported_has_torchs_operations_alone(asked: Kernels | None) -> None:
    said.clear()
    with chosen(asked):
        torch.export.export(Exports(), (HERE,), strict=False)
        assert {*said} == {"reference"}
        assert choose("moves", HERE) == "compiled"


def test_the_environment_asks_for_one_of_them() -> None:
    with chosen("reference"):
        assert compiled() == set()
        assert choose("distinct") == "reference"
        assert in_a_line(CPU) == "torch's operations (SKIPSTACK_KERNELS=reference)"
    with chosen("compiled"):
        assert compiled() == {*OPERATIONS} - {"skip"}
        with pytest.raises(UserError, match=r"got compiled, but numbers are on cuda \(allowed there: .*fused\)$"):
            what_runs(GPU)
    with chosen("fused"):
        assert choose("distinct") == "reference"
        with pytest.raises(UserError, match=r"got fused, but numbers are on cpu \(allowed there: .*compiled\)$"):
            choose("moves", HERE)


@pytest.mark.parametrize(
    ("asked", "lacking", "message"),
    [
        ("refrence", None, "unknown kernels 'refrence' (nearest: 'reference'; allowed: reference, compiled, fused)"),
        ("compiled", "compiler", "got compiled, which cannot run here: no compiler (allowed: reference, fused)"),
        ("fused", "triton", "got fused, which cannot run here: no triton (allowed: reference, compiled)"),
    ],
)
def test_what_is_not_there_or_cannot_run_here_is_refused_in_one_line(
    asked: str, lacking: str | None, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, asked)
    if lacking is not None:
        monkeypatch.setattr(abilities, f"no_{lacking}", lambda: f"no {lacking}")
    with pytest.raises(UserError) as refused:
        choice.override.__wrapped__()
    assert str(refused.value) == f"{VARIABLE}: {message}"


def test_the_environment_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    choice.override.cache_clear()
    monkeypatch.setenv(VARIABLE, "reference")
    assert choice.override() == "reference"
    monkeypatch.setenv(VARIABLE, "nothing of that name")
    assert choice.override() == "reference"
    choice.override.cache_clear()


def test_all_that_has_two_versions_is_chosen_by_its_name_and_by_nothing_else() -> None:
    asked, others = set[str](), []
    for file in sorted((ROOT / "models").rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "choose":
                asked |= {str(each.value) for each in node.args[:1] if isinstance(each, ast.Constant)}
            if isinstance(node, ast.Attribute | ast.Name) and file.parent.name != "kernels":
                name = node.attr if isinstance(node, ast.Attribute) else node.id
                others += [f"{file.name}: {name}" for each in ABILITIES if name == each]
    assert asked == {name for name, each in OPERATIONS.items() if each != Operation()}
    assert others == []


STUDY = """
extends: quickstart
base:
  data: {corpus: {kind: grammar, train: 30, dev: 10, test: 5}}
  model: {embedder: {spelling: {kind: cnn, size: 3, filters: 4}}}
axes: {model.stack.hidden: {choice: [4, 6]}}
"""
RUN = "search study.yaml --trials 2 --epochs 1 --seeds 1 --engine serial --out study"


@pytest.mark.slow
def test_each_operation_runs_where_numba_compiles_nothing() -> None:
    environment = {**os.environ, VARIABLE: "", "NUMBA_DISABLE_JIT": "1"}
    command = [sys.executable, "-m", prepare.__module__]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow  # without AVX all is compiled anew, for a smaller processor
@pytest.mark.parametrize("setting", ["NUMBA_ENABLE_AVX=0", "NUMBA_DISABLE_JIT=1"])
def test_a_study_runs_whatever_numba_is_told_to_leave(setting: str, tmp_path: Path) -> None:
    name, _, value = setting.partition("=")
    (tmp_path / "study.yaml").write_text(STUDY)
    done = subprocess.run(
        [sys.executable, "-c", "from skipstack.dashboards.cli import main; main()", *RUN.split()],
        cwd=tmp_path,
        env={**os.environ, VARIABLE: "", name: value},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "best" in done.stdout
    assert len(list((tmp_path / "study/trials").rglob("best.*"))) == 2
