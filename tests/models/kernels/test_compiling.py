"""Machine code is kept for later processes, apart for each version of all that it is made of."""

import errno
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import llvmlite
import numba
import numpy as np
import pytest
from llvmlite import binding
from numba import config, njit
from numba.core.registry import CPUTarget

from skipstack.models.kernels import machine_code
from skipstack.models.kernels.gemm.registers import REGISTERS
from skipstack.models.kernels.machine_code import DAY, OURS, ROOM, UNUSED, Kept, keep, made_by, tidy
from tests.pages import ROOT

PASS = """
import torch
from skipstack.models.kernels.compiled.inputs import lookups
table, rows = torch.zeros(1, 4, 3), torch.zeros(1, 2, 3, 1, dtype=torch.long)
lookups.SideBySide.apply(1, lambda _: None, (False,), table, rows)
(made,) = lookups.lay.stats.cache_misses.values() or (0,)
print(made)
"""
"""One of our functions, of those that are compiled soon."""


def test_other_settings_and_versions_have_other_code(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [made_by()]
    for owner, name, value in (
        (config, "OPT", type(config.OPT)(1)),
        (config, "BOUNDSCHECK", 1),
        (config, "USING_SVML", True),
        (numba, "__version__", "0.0"),
        (llvmlite, "__version__", "0.0"),
        (binding, "llvm_version_info", (0, 0, 0)),
        (np, "__version__", "0.0"),
        (sys, "version", "0.0"),
        (sys, "abiflags", "t"),
    ):
        monkeypatch.setattr(owner, name, value, raising=False)
        found.append(made_by())
    assert len({*found}) == len(found)
    monkeypatch.setattr(config, "DUMP_LLVM", 1)
    assert made_by() == found[-1], "what numba prints changes no code"


def test_other_cpus_have_other_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a home that machines of several kinds share."""
    kept, found = Kept(twice.py_func), []
    for name, value in (("CPU_NAME", None), ("CPU_NAME", "haswell"), ("CPU_FEATURES", "+sse2"), ("ENABLE_AVX", 0)):
        monkeypatch.setattr(config, name, value)
        found.append(kept.file((), CPUTarget("cpu").target_context.codegen()))
    assert len({*found[:3]}) == 3


def test_what_nobody_has_used_for_long_goes_and_nothing_else(tmp_path: Path) -> None:
    now = time.time()
    code, folder, left = f"lstm.forward-{0:032x}", f"{0:016x}", f".lstm.forward-{0:032x}.{0:016x}"
    days = {code: 31.0, folder: 31.0, left: 31.0, "other": 90.0, "other-file": 90.0}
    days |= {f"dense.backward-{number:032x}": age for number, age in enumerate((0.0, 0.5, 2.0, 29.0))}
    put(tmp_path, days, now)
    tidy(tmp_path, now)
    assert {each.name for each in tmp_path.iterdir()} == {*days} - {code, folder, left}


def test_what_there_is_no_room_for_goes_the_oldest_first_and_nothing_of_today(tmp_path: Path) -> None:
    now, large = time.time(), ROOM // 3
    days = {f"dense.backward-{number:032x}": age for number, age in enumerate((0.1, 0.2, 0.3, 0.4, 2.0, 3.0))}
    put(tmp_path, days, now)
    for name in days:
        os.truncate(tmp_path / name, large)
        os.utime(tmp_path / name, (now - days[name] * DAY, now - days[name] * DAY))
    tidy(tmp_path, now)
    assert sorted(days[each.name] for each in tmp_path.iterdir()) == [0.1, 0.2, 0.3, 0.4]
    tidy(tmp_path, now + 0.95 * DAY)
    assert sorted(days[each.name] for each in tmp_path.iterdir()) == [0.1, 0.2, 0.3]


def put(folder: Path, days: dict[str, float], now: float) -> None:
    for name, age in days.items():
        if len(name) == 16:
            (folder / name).mkdir()
        else:
            (folder / name).touch()
        os.utime(folder / name, (now - age * DAY, now - age * DAY))


def test_what_is_used_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))
    functions = Functions()
    functions.values()
    long_ago = time.time() - UNUSED - DAY
    for file in functions.files:
        os.utime(file, (long_ago, long_ago))
    assert Functions().run[0](3.0) == 6.0
    tidy(tmp_path / "skipstack", time.time())
    assert [each.name.split("-")[0] for each in functions.files] == ["test_compiling.twice"]


@pytest.mark.slow
def test_a_later_process_finds_what_an_earlier_one_compiled(tmp_path: Path) -> None:
    made = []
    for _ in range(2):
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
        run = subprocess.run([sys.executable, "-c", PASS], env=environment, capture_output=True, text=True, check=False)
        assert run.returncode == 0, run.stderr
        made.append(int(run.stdout))
    assert made == [1, 0]
    assert [each.name for each in tmp_path.iterdir()] == ["skipstack"]


@pytest.mark.slow
def test_where_nothing_may_be_kept_the_loops_are_compiled_all_the_same() -> None:
    environment = {**os.environ, "NUMBA_CACHE_DIR": "/dev/null"}
    run = subprocess.run([sys.executable, "-c", PASS], env=environment, capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout) == (0, "1\n"), run.stderr
    assert run.stderr.count("machine code is not kept") == 1


@njit
def twice(x: float) -> float:
    return 2 * x


@njit
def thrice(x: float) -> float:
    return 3 * x


class Functions:
    """Some that keep what was compiled of them as ours do, in a process that has found nothing yet."""

    def __init__(self) -> None:
        self.run = [njit(each.py_func) for each in (twice, thrice)]
        for each in self.run:
            each._cache = Kept(each.py_func)

    def values(self) -> list[float]:
        return [each(number) for each in self.run for number in (3, 3.0)]

    @property
    def found(self) -> int:
        return sum(sum(each.stats.cache_hits.values()) for each in self.run)

    @property
    def files(self) -> list[Path]:
        return sorted(Path(config.CACHE_DIR, "skipstack").iterdir())


VALUES = [6, 6.0, 9, 9.0]


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of code for nothing else."""
    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path / "kept"))
    monkeypatch.setattr(machine_code, "_SAID", [])
    machine_code._tidied.cache_clear()
    return tmp_path / "kept"


@pytest.mark.usefixtures("kept")
def test_a_second_process_finds_what_a_first_one_left() -> None:
    first, second = Functions(), Functions()
    assert [(each.values(), each.found) for each in (first, second)] == [(VALUES, 0), (VALUES, 4)]
    assert all(OURS.fullmatch(each.name) for each in first.files)
    assert len(first.files) == 4


@pytest.mark.usefixtures("kept")
def test_code_is_no_longer_found_once_a_source_of_it_has_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    Functions().values()
    monkeypatch.setattr(machine_code, "digest_of", lambda _: "other")
    changed = Functions()
    assert (changed.values(), changed.found, len(changed.files)) == (VALUES, 0, 8)


CALLS = {
    "mkdir": (Path, "mkdir"),
    "open and read": (Path, "read_bytes"),
    "open and write": (Path, "write_bytes"),
    "rename": (os, "replace"),
    "list": (Path, "iterdir"),
    "look": (Path, "stat"),
    "touch": (os, "utime"),
}


REFUSALS = [
    pytest.param(number, call, marks=[pytest.mark.slow] * (number != errno.ENOSPC and call != "open and write"))
    for number in (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS, errno.EACCES)
    for call in CALLS
]


@pytest.mark.first(4)
@pytest.mark.parametrize(("number", "call"), REFUSALS)
def test_a_disk_that_refuses_is_done_without_and_said_once(
    number: int, call: str, kept: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    owner, name = CALLS[call]
    before, refused = getattr(owner, name), list[str]()

    def refuses(path: Any, *given: Any, **named: Any) -> Any:
        if not Path(path).is_relative_to(kept):
            return before(path, *given, **named)
        refused.append(str(path))
        raise OSError(number, os.strerror(number), str(path))

    if call in ("touch", "open and read"):
        assert Functions().run[0](3) == 6
        for file in Functions().files:
            os.utime(file, (0, 0))
    with monkeypatch.context() as patch:
        patch.setattr(owner, name, refuses)
        assert [Functions().run[0](3) for _ in range(2)] == [6, 6]
    assert refused
    said = [record.getMessage() for record in caplog.records]
    assert len(said) == (call != "touch")
    assert all("is not kept" in line and os.strerror(number) in line for line in said)


@pytest.mark.usefixtures("kept")
def test_a_folder_that_is_removed_meanwhile_is_made_anew() -> None:
    functions = Functions()
    assert functions.run[0](3) == 6
    shutil.rmtree(functions.files[0].parent)
    assert functions.values() == VALUES
    assert len(functions.files) == 3


def test_a_user_without_a_home_keeps_nothing_and_is_told_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A container may run as a user whom it does not know. Else a folder called ~ would appear where they stand."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(config, "CACHE_DIR", "")
    monkeypatch.setattr(machine_code, "_SAID", [])
    monkeypatch.setattr(machine_code, "user_cache_path", lambda *_, **__: Path("~/.cache/skipstack"))
    for function in (njit(twice.py_func), njit(thrice.py_func)):
        keep(function, function.py_func)
        assert function(3) in (6, 9)
    assert [*tmp_path.iterdir()] == []
    (said,) = caplog.records
    assert "there is no home" in said.getMessage()


def cut(content: bytes, number: random.Random, _: list[bytes]) -> bytes:
    return content[: number.randrange(len(content))]


def flipped(content: bytes, number: random.Random, _: list[bytes]) -> bytes:
    changed = bytearray(content)
    for _ in range(number.choice([1, 1, 8])):
        changed[number.randrange(len(changed))] ^= 1 << number.randrange(8)
    return bytes(changed)


def zeroed(content: bytes, number: random.Random, _: list[bytes]) -> bytes:
    """A page of it, as a power cut leaves it, or all."""
    page = number.randrange(0, len(content), 4096)
    return number.choice([content[:page] + bytes(4096) + content[page + 4096 :], bytes(len(content)), b""])


def longer(content: bytes, number: random.Random, _: list[bytes]) -> bytes:
    return content + number.randbytes(number.randrange(1, 100))


def another(content: bytes, number: random.Random, others: list[bytes]) -> bytes:
    """Of another function, of other arguments, or of an earlier version; or its head with the code of such a one."""
    other = number.choice([each for each in others if each != content])
    return number.choice([other, content[:32] + other[32:], other[:32] + content[32:]])


def foreign(_: bytes, number: random.Random, __: list[bytes]) -> bytes:
    return number.randbytes(5000)


DAMAGES: list[Callable[[bytes, random.Random, list[bytes]], bytes]] = [cut, flipped, zeroed, longer, another, foreign]


@pytest.mark.slow
@pytest.mark.parametrize("repetitions", [70, pytest.param(200, marks=pytest.mark.slow)])
def test_damaged_code_is_compiled_anew_and_never_run(
    repetitions: int, kept: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """In one file or in several, in one way after the other."""
    with monkeypatch.context() as patch:
        patch.setattr(machine_code, "digest_of", lambda _: "of an earlier version")
        assert Functions().values() == VALUES
    earlier = [each.read_bytes() for each in Functions().files]
    shutil.rmtree(kept)
    assert Functions().values() == VALUES
    whole = {each: each.read_bytes() for each in Functions().files}
    number = random.Random(0)
    for repetition in range(repetitions):
        damaged = number.sample(sorted(whole), number.choice([1, 1, 1, 1, 2]))
        for file in damaged:
            damage = (
                DAMAGES[repetition % (len(DAMAGES) + 1)] if repetition % (len(DAMAGES) + 1) < len(DAMAGES) else None
            )
            if damage is None:
                file.unlink()
                file.mkdir()
                (file / "code").write_bytes(whole[file])
            else:
                file.write_bytes(damage(whole[file], number, [*whole.values(), *earlier]))
        caplog.clear()
        repaired, later = Functions(), Functions()
        told = f"repetition {repetition}: {[each.name for each in damaged]}"
        assert (repaired.values(), repaired.found) == (VALUES, 4 - len(damaged)), told
        assert sorted(record.args[0] for record in caplog.records if record.args) == sorted(damaged), told
        assert (later.values(), later.found) == (VALUES, 4), told
        assert later.files == sorted(whole), told


@pytest.mark.slow
def test_what_several_processes_write_at_once_is_all_there(tmp_path: Path) -> None:
    """Each compiles the same functions, and begins where another may be writing them."""
    code = "from tests.models.kernels.test_compiling import Functions, VALUES; assert Functions().values() == VALUES"
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    writers = [subprocess.Popen([sys.executable, "-c", code], env=environment, cwd=ROOT) for _ in range(3)]
    assert [each.wait() for each in writers] == [0, 0, 0]
    functions = [each for each in (tmp_path / "skipstack").iterdir() if each.name.startswith("test_compiling.")]
    assert len(functions) == 4
    assert all(OURS.fullmatch(each.name) and each.name[0] != "." for each in (tmp_path / "skipstack").iterdir())


@pytest.mark.slow
def test_importing_what_is_compiled_changes_no_setting_of_numba() -> None:
    """Else what a user compiles of their own would be kept where ours is."""
    code = (
        "from numba import config; before = {**vars(config)}\n"
        "import skipstack.models.kernels.compiled.philox\n"
        "assert {name: value for name, value in vars(config).items() if before[name] is not value} == {}"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


OWN = """
import sys
import numba
import numpy as np
import skipstack.models.training.prepare as compiled

compiled.prepare()
assert "scipy.linalg" not in sys.modules, "numba looks for it elsewhere"

@numba.njit
def own(x):
    return np.dot(x, x), np.linalg.inv(x)

x = np.random.default_rng(0).normal(size=(4, 4))
for ours, theirs in zip(own(x), (x @ x, np.linalg.inv(x)), strict=True):
    np.testing.assert_allclose(ours, theirs, rtol=1e-10)
"""


@pytest.mark.slow
@pytest.mark.skipif(REGISTERS is None, reason="here products are those of scipy's BLAS")
def test_scipy_is_loaded_for_who_asks_numba_for_linear_algebra_alone() -> None:
    subprocess.run([sys.executable, "-c", OWN], check=True)
