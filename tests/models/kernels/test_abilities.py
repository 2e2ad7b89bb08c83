"""A GPU whose Triton cannot launch: why is told, torch's loops run, and a study ends well.

There is no GPU here: the CPU stands in for one, with what runs there, and Triton asks for the same things as ever.
"""

import sysconfig
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch

from skipstack.models.kernels import abilities, choice
from skipstack.models.kernels.choice import in_a_line
from tests.command_line import typed
from tests.models.kernels.chosen import chosen
from tests.models.kernels.fused.dry import COMPILER

pytestmark = [
    pytest.mark.skipif(find_spec("triton") is None, reason="Triton is not installed: this system has none"),
    pytest.mark.skipif(COMPILER is None, reason="no C compiler"),
]

STUDY = """
extends: quickstart
base:
  data: {corpus: {kind: grammar, train: 30, dev: 10, test: 5}}
axes: {model.stack.hidden: {choice: [4, 6]}}
"""
RUN = "--trials", 2, "--epochs", 1, "--seeds", 1, "--engine", "serial", "--device", "cpu"


@pytest.fixture
def gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """The CPU as a GPU, on a machine that has compiled nothing yet."""
    from triton.runtime import driver

    for name in ("TRITON_LIBCUDA_PATH", "TRITON_CACHE_DIR"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    for name in ("_default", "_active"):
        monkeypatch.setattr(driver, name, None)
    monkeypatch.setattr(choice, "GPUS", frozenset({"cpu"}))
    with forgotten():
        yield monkeypatch


@contextmanager
def forgotten() -> Iterator[None]:
    """Within and afterwards, what was found out of Triton is found out anew."""
    found = abilities.no_triton, choice._warn_of_unfused
    try:
        for each in found:
            each.cache_clear()
        with chosen(None):
            yield
    finally:
        for each in found:
            each.cache_clear()


def compiler(folder: Path, *lines: str) -> str:
    """In place of the C compiler, a program of these lines."""
    written = folder / "compiler"
    written.write_text("\n".join(["#!/bin/bash", *lines]) + "\n")
    written.chmod(0o755)
    return str(written)


def without_headers(folder: Path) -> str:
    """The C compiler of a machine that has no headers of Python."""
    return compiler(
        folder,
        'for each in "$@"; do case $each in -I*/include/python*) ;; *) kept+=("$each");; esac; done',
        f'exec {COMPILER} "${{kept[@]}}"',
    )


def test_without_the_headers_of_python_the_reason_is_told(
    gpu: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    gpu.setenv("CC", without_headers(tmp_path))
    empty = tmp_path / "include/python"
    gpu.setattr(sysconfig, "get_path", lambda *_: str(empty))
    assert abilities.no_triton() == f"Triton needs {empty}/Python.h, as of Debian's python3-dev"
    assert "Python.h: No such file" in capfd.readouterr().err, "it was the compiler that missed it"
    assert in_a_line(torch.device("cpu")) == f"torch's operations ({abilities.no_triton()})"


def test_without_a_compiler_and_with_one_that_fails_it_is_told(gpu: pytest.MonkeyPatch, tmp_path: Path) -> None:
    gpu.setenv("CC", compiler(tmp_path, "exit 3"))
    told = abilities.no_triton()
    assert told is not None
    assert told.startswith("Triton cannot launch (CalledProcessError: ")
    assert told.endswith("returned non-zero exit status 3.)")
    gpu.delenv("CC")
    gpu.setenv("PATH", str(tmp_path))
    assert abilities.no_triton.__wrapped__() == "Triton finds no C compiler"


@pytest.mark.slow
def test_a_study_warns_once_and_ends_well_by_the_loops_of_torch(
    gpu: pytest.MonkeyPatch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gpu.setenv("CC", without_headers(tmp_path))
    (tmp_path / "study.yaml").write_text(STUDY)
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        answer = typed("search", "study.yaml", *RUN, "--out", "study")
    assert answer.code == 0, answer
    assert "failed" not in answer.out + answer.error, answer
    assert len(list((tmp_path / "study/trials").rglob("best.*"))) == 2
    ours = [str(each.message) for each in told if "GPU" in str(each.message)]
    assert ours == [f"on this GPU torch's operations run, several for each fused one: {abilities.no_triton()}"]
