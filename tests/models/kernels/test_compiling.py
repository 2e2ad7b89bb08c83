"""Machine code is kept for later processes, apart for each version of all that it is made of."""

import ast
import errno
import os
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path

import llvmlite
import numba
import pytest
from numba import config, njit
from numba.core.caching import IndexDataCacheFile
from numba.core.registry import CPUTarget

from skipstack.models.kernels import machine_code
from skipstack.models.kernels.choice import VARIABLE
from skipstack.models.kernels.gemm.registers import REGISTERS
from skipstack.models.kernels.machine_code import place_of, tidy
from tests.pages import ROOT

PASS = """
import torch
from skipstack.models.kernels.compiled.time import lstm
from skipstack.models.kernels.layers import Weights
from skipstack.models.kernels.layers import lstm_layer
lstm_layer(torch.zeros(1, 2, 3, 5), Weights(torch.zeros(1, 1, 5, 8), torch.zeros(1, 1, 8), torch.zeros(1, 1, 2, 8)))
(made,) = lstm.forward.stats.cache_misses.values() or (0,)
print(made)
"""


def test_a_change_in_any_file_or_folder_of_the_sources_moves_the_place(tmp_path: Path) -> None:
    (tmp_path / "part").mkdir()
    for name in ("one.py", "part/other.py"):
        (tmp_path / name).write_text("x = 1\n")
    sources = [tmp_path / "one.py", tmp_path / "part"]
    found = [place_of(sources, "")]
    assert place_of(sources, "") == found[0]
    for name in ("one.py", "part/other.py"):
        (tmp_path / name).write_text("x = 2\n")
        found.append(place_of(sources, ""))
    (tmp_path / "part/other.py").rename(tmp_path / "part/moved.py")
    found.append(place_of(sources, ""))
    assert len({*found}) == 4
    assert {each.parent for each in found} == {found[0].parent}
    assert place_of(sources, "/chosen") == Path("/chosen/skipstack") / found[-1].name


def test_other_settings_and_versions_move_it_too(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [place_of([], "")]
    for owner, name, value in (
        (config, "OPT", type(config.OPT)(1)),
        (config, "BOUNDSCHECK", 1),
        (numba, "__version__", "0.0"),
        (llvmlite, "__version__", "0.0"),
        (config, "CPU_FEATURES", "+sse2"),
        (config, "CPU_NAME", "haswell"),
    ):
        monkeypatch.setattr(owner, name, value)
        if name.startswith("CPU"):
            monkeypatch.setattr(machine_code, "cpu_target", CPUTarget("cpu"))
        found.append(place_of([], ""))
    assert len({*found}) == len(found)
    monkeypatch.setattr(config, "DUMP_LLVM", 1)
    assert place_of([], "") == found[-1], "what numba prints changes no code"


def test_nothing_that_is_compiled_has_a_constant_from_files_that_its_place_does_not_tell_apart() -> None:
    known = {f"skipstack.models.kernels.{name.removesuffix('.py')}" for name in machine_code.SOURCES}
    foreign = []
    for source in (ROOT / "models/kernels" / name for name in machine_code.SOURCES):
        for file in sorted(source.rglob("*.py")) if source.is_dir() else [source]:
            for node in ast.walk(ast.parse(file.read_text())):
                if not isinstance(node, ast.ImportFrom) or not str(node.module).startswith("skipstack."):
                    continue
                if any(f"{node.module}.".startswith(f"{each}.") for each in known):
                    continue
                named = {name.name: getattr(import_module(str(node.module)), name.name) for name in node.names}
                foreign += [f"{file.name}: {name}" for name, value in named.items() if not callable(value)]
    assert foreign == []


def test_what_nobody_has_used_for_long_goes_and_nothing_else(tmp_path: Path) -> None:
    own, now = tmp_path / f"{0:016x}", time.time()
    days = {own: 90.0, tmp_path / "other": 90.0}
    days |= {tmp_path / f"{number:016x}": age for number, age in enumerate((0.5, 0.6, 0.7, 2.0, 31.0), start=1)}
    for folder, age in days.items():
        folder.mkdir()
        (folder / "code").touch()
        os.utime(folder, (now - age * 86_400, now - age * 86_400))
    tidy(own, now)
    assert sorted(days[each] for each in tmp_path.iterdir()) == [0.5, 0.6, 0.7, 90.0, 90.0]


def test_a_later_process_finds_what_an_earlier_one_compiled(tmp_path: Path) -> None:
    made = []
    for _ in range(2):
        environment = {**os.environ, VARIABLE: "compiled", "NUMBA_CACHE_DIR": str(tmp_path)}
        run = subprocess.run([sys.executable, "-c", PASS], env=environment, capture_output=True, text=True, check=False)
        assert run.returncode == 0, run.stderr
        made.append(int(run.stdout))
    assert made == [1, 0]
    assert len(list(tmp_path.iterdir())) == 1


def test_where_nothing_may_be_kept_the_loops_are_compiled_all_the_same() -> None:
    environment = {**os.environ, VARIABLE: "compiled", "NUMBA_CACHE_DIR": "/dev/null"}
    run = subprocess.run([sys.executable, "-c", PASS], env=environment, capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout) == (0, "1\n"), run.stderr
    assert run.stderr.count("machine code is not kept") == 1


@njit
def twice(x: float) -> float:
    return 2 * x


class Function:
    """One that keeps what was compiled of it as ours do, in a process that has kept nothing yet."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        folder.mkdir(exist_ok=True)
        patch.setattr(machine_code, "place", lambda: folder)
        patch.setattr(machine_code, "_SAID", [])
        self.run = njit(twice.py_func)
        self.run._cache = machine_code.Kept(twice.py_func)

    @property
    def found(self) -> int:
        return sum(self.run.stats.cache_hits.values())


def test_a_second_function_finds_what_a_first_one_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = (Function(tmp_path / "kept", monkeypatch) for _ in range(2))
    assert [(each.run(3.0), each.found) for each in (first, second)] == [(6.0, 0), (6.0, 1)]


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO, errno.EACCES, errno.EROFS])
@pytest.mark.parametrize("where", ["_save_index", "_save_data", "_load_index", "_load_data"])
def test_a_disk_that_refuses_is_done_without_and_said_once(
    number: int, where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    Function(tmp_path / "kept", monkeypatch).run(1.0)

    def refused(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(IndexDataCacheFile, where, refused)
    function = Function(tmp_path / "kept", monkeypatch)
    assert (function.run(3.0), function.run(3)) == (6.0, 6)
    said = [record.getMessage() for record in caplog.records]
    assert len(said) == (where != "_load_data")  # which numba itself takes for a file that is gone
    assert all("is not kept" in line and os.strerror(number) in line for line in said)


def test_a_folder_that_is_removed_meanwhile_is_done_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    function = Function(tmp_path / "kept", monkeypatch)
    (tmp_path / "kept").rmdir()
    assert function.run(3.0) == 6.0
    assert len(caplog.records) == 1


@pytest.mark.parametrize("ending", [".nbi", ".nbc"])
def test_what_a_power_cut_left_half_written_is_compiled_anew_and_kept(
    ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Function(tmp_path / "kept", monkeypatch).run(1.0)
    for file in (tmp_path / "kept").glob(f"*{ending}"):
        file.write_bytes(file.read_bytes()[:20] if ending == ".nbc" else b"")
    damaged, later = (Function(tmp_path / "kept", monkeypatch) for _ in range(2))
    assert [(each.run(3.0), each.found) for each in (damaged, later)] == [(6.0, 0), (6.0, 1)]


def test_what_several_write_at_once_is_all_there(tmp_path: Path) -> None:
    """Each adds a line to a file that it reads first, as numba does with its index."""
    adding = (
        "import sys; from pathlib import Path; from skipstack.models.kernels.machine_code import alone;"
        "folder = Path(sys.argv[1]); file = folder / 'index'\n"
        "for _ in range(100):\n"
        "    with alone(folder): file.write_text((file.read_text() if file.exists() else '') + 'x')"
    )
    writers = [subprocess.Popen([sys.executable, "-c", adding, str(tmp_path)]) for _ in range(3)]
    assert [each.wait() for each in writers] == [0, 0, 0]
    assert (tmp_path / "index").read_text() == "x" * 300


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


@pytest.mark.skipif(REGISTERS is None, reason="here products are those of scipy's BLAS")
def test_scipy_is_loaded_for_who_asks_numba_for_linear_algebra_alone() -> None:
    subprocess.run([sys.executable, "-c", OWN], check=True)
