"""Systems and processors that these tests do not run on, as far as they can be played here.

A Mac has no calls that only Linux has, and a processor without AVX, such as ARM, on which BLAS multiplies.
"""

import os
import subprocess
import sys
from inspect import signature
from pathlib import Path

import pytest

import skipstack
from skipstack.data.basis.errors import UserError
from tests.install.environments import SMALL

TYPED = """
import sys

def typed(*arguments):
    from skipstack.dashboards.cli import main
    sys.argv = ["skipstack", *arguments]
    try:
        main()
    except SystemExit as ended:
        assert not ended.code, ended.code
"""

MAC = """
import os
for name in '''
    O_DIRECT O_LARGEFILE O_NOATIME O_PATH O_RSYNC O_TMPFILE copy_file_range eventfd fdatasync getrandom getresgid
    getresuid getxattr listxattr memfd_create pidfd_open pipe2 posix_fadvise posix_fallocate removexattr
    sched_getaffinity sched_getparam sched_getscheduler sched_rr_get_interval sched_setaffinity sched_setparam
    sched_setscheduler setresgid setresuid setxattr splice
'''.split():
    vars(os).pop(name, None)
"""
"""All that the module ``os`` has of Linux alone, gone before anything of ours is imported."""

WITHOUT_AVX = """
from importlib import import_module
from pkgutil import walk_packages
from runpy import run_module
import skipstack.models.kernels.compiled
from skipstack.models.kernels.gemm.registers import REGISTERS

for module in walk_packages(skipstack.models.kernels.compiled.__path__, "skipstack.models.kernels.compiled."):
    import_module(module.name)
assert REGISTERS is None
run_module("skipstack.models.training.prepare", run_name="__main__")
"""


def run(code: str, folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    told = {**os.environ, "OMP_NUM_THREADS": "1", **environment}
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, cwd=folder, env=told, capture_output=True, text=True, check=False)


PLANNED_AND_SEARCHED = f"""
typed("plan", "quickstart", *{SMALL})
typed("search", "quickstart", "--engine", "serial", "--system-metrics", *{SMALL}, "--out", "study")
"""


@pytest.mark.slow
def test_a_study_is_planned_and_searched_with_nothing_that_linux_alone_has(tmp_path: Path) -> None:
    ran = run(MAC + TYPED + PLANNED_AND_SEARCHED, tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert "2 trials: 2 completed" in ran.stdout


@pytest.mark.slow  # all is compiled anew
def test_nor_with_anything_that_avx_alone_has(tmp_path: Path) -> None:
    ran = run(MAC + TYPED + PLANNED_AND_SEARCHED + WITHOUT_AVX, tmp_path, NUMBA_CPU_FEATURES="+sse2")
    assert ran.returncode == 0, ran.stderr
    assert "2 trials: 2 completed" in ran.stdout


WINDOWS = """
import sys
sys.modules["fcntl"] = None  # imported, it is missing
from skipstack.dashboards.cli import main
sys.platform = "win32"
main()
"""


@pytest.mark.parametrize("arguments", [["search", "quickstart"], ["--help"]])
def test_the_command_line_on_windows_says_in_one_line_that_it_is_not_for_it(
    arguments: list[str], tmp_path: Path
) -> None:
    ran = run(WINDOWS, tmp_path, *arguments)
    assert (ran.returncode, ran.stdout) == (2, "")
    (line,) = ran.stderr.splitlines()
    assert line.startswith("skipstack: Windows: ")
    assert list(tmp_path.iterdir()) == []


DESCRIBING = ("choice", "lognormal", "lograndint", "loguniform", "normal", "ordinal", "randint", "uniform")
"""They make values, anywhere."""

FUNCTIONS = [name for name in skipstack.__all__ if name.islower() and name not in ("__version__", *DESCRIBING)]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_each_function_on_windows_says_in_one_line_that_it_is_not_for_it(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    function = getattr(skipstack, name)
    parameters = signature(function).parameters.values()
    first = ["quickstart"] if any(each.kind is not each.KEYWORD_ONLY for each in parameters) else []
    needed = [each.name for each in parameters if each.kind is each.KEYWORD_ONLY and each.default is each.empty]
    with pytest.raises(UserError, match=r"^Windows: [^\n]+$"):
        function(*first, **dict.fromkeys(needed, "any"))
