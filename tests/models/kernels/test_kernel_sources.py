"""Machine code is told apart by all of our files that it is made of, and by no other."""

import ast
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from numba import njit
from numba.core.bytecode import FunctionIdentity
from numba.core.ccallback import CFunc
from numba.core.dispatcher import Dispatcher
from numba.core.extending import _Intrinsic

from skipstack.models.kernels import compiling, sources
from skipstack.models.kernels.machine_code import Kept
from skipstack.models.kernels.sources import digest_of, files_of
from skipstack.models.training.prepare import prepare
from tests.pages import ROOT

KERNELS = sorted(
    ".".join(("skipstack", *file.relative_to(ROOT).with_suffix("").parts))
    for folder in ("compiled", "gemm")
    for file in (ROOT / "models/kernels" / folder).rglob("*.py")
    if file.name != "__init__.py"
)
FILES = {
    "root": "from made import plain\nfrom made.parts import (\n  one,\n  TWO,\n)\nimport made.dotted as a, made.last\n",
    "plain": "from __future__ import annotations\n",
    "parts/__init__": "from made.parts.constants import TWO\n",
    "parts/one": "def late():\n    from made.parts.within import X\n",
    "parts/constants": "from made.root import nothing\nTWO = 2\n",
    "parts/within": "X = 1\n",
    "dotted": "import os, made.chosen\n",
    "last": "if True:\n    from made.chosen import some\nelse:\n    from made.otherwise import some\n",
    "chosen": "some = 1\n",
    "otherwise": "some = 2\n",
    "foreign": "from made.root import nothing\n",
}


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A package of these files."""
    package = ModuleType("made")
    package.__path__ = [str(tmp_path)]
    monkeypatch.setitem(sys.modules, "made", package)
    (tmp_path / "parts").mkdir()
    for name, text in FILES.items():
        (tmp_path / f"{name}.py").write_text(text)
    yield tmp_path
    forget()


def forget() -> None:
    sources._read.cache_clear()
    sources._file.cache_clear()


@pytest.mark.parametrize("changed", FILES)
def test_a_change_counts_in_every_file_that_is_imported_and_in_no_other(changed: str, made: Path) -> None:
    forget()
    before = digest_of("made.root")
    (made / f"{changed}.py").write_text(f"{FILES[changed]}# other\n")
    assert digest_of("made.root") == before, "a process reads a file once"
    forget()
    assert (digest_of("made.root") == before) == (changed == "foreign")


def test_a_file_that_moves_counts_and_the_folder_that_all_are_in_does_not(
    made: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    forget()
    before = digest_of("made.root")
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "made"
    made.rename(elsewhere)
    sys.modules["made"].__path__ = [str(elsewhere)]
    forget()
    assert digest_of("made.root") == before
    (elsewhere / "otherwise.py").rename(elsewhere / "otherwise2.py")
    (elsewhere / "last.py").write_text(FILES["last"].replace("otherwise", "otherwise2"))
    forget()
    assert digest_of("made.root") != before


def test_what_has_no_source_is_refused() -> None:
    with pytest.raises(FileNotFoundError, match=r"the source of skipstack\.models\.absent is not there"):
        digest_of("skipstack.models.absent")


@pytest.mark.parametrize("module", KERNELS)
def test_of_each_kernel_the_files_are_those_that_python_would_import(module: str) -> None:
    found, left = {module}, [module]
    while left:
        for name in imported(left.pop()):
            if name not in found:
                found.add(name)
                left.append(name)
    assert set(files_of(module)) == found
    assert "skipstack.models.kernels.choice" not in found, "who chooses has no part in what is chosen"


def imported(module: str) -> Iterator[str]:
    """The modules of the package that a module imports, by its syntax."""
    for node in ast.walk(ast.parse(path_of(module).read_text())):
        if isinstance(node, ast.Import):
            names = [each.name for each in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are by whole names"
            names = [str(node.module), *(f"{node.module}.{each.name}" for each in node.names)]
        else:
            continue
        yield from (each for each in names if each.startswith("skipstack.") and path_of(each).is_file())


def path_of(module: str) -> Path:
    path = ROOT.joinpath(*module.split(".")[1:])
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


@pytest.mark.slow
@pytest.mark.parametrize(
    "modules",
    [
        ["skipstack.models.kernels.compiled.philox", "skipstack.models.kernels.compiled.dense"],
        pytest.param(KERNELS, marks=pytest.mark.slow),
    ],
    ids=["some", "all"],
)
def test_no_kernel_reaches_code_whose_file_does_not_count(modules: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is compiled anew; numba says which functions it reads for it, and these say what they call."""
    prepare()
    read: list[Any] = []
    from_function = FunctionIdentity.from_function.__func__  # type: ignore[attr-defined]

    def noted(cls: type, function: Any) -> Any:
        read.append(function)
        return from_function(cls, function)

    monkeypatch.setattr(FunctionIdentity, "from_function", classmethod(noted))
    seen = 0
    for function, compile_it in kernels(modules):
        read.clear()
        compile_it()
        reached = {str(each.__module__) for one in read for each in (one, *called(one))}
        assert function.__module__ in reached
        ours = {each for each in reached if each.startswith("skipstack.")}
        assert ours <= set(files_of(function.__module__)), f"{function.__module__}.{function.__name__}"
        seen += 1
    assert seen >= (2 if len(modules) < len(KERNELS) else 20), "a CPU without bfloat16 has some less"


def kernels(modules: list[str]) -> Iterator[tuple[Callable[..., None], Callable[[], object]]]:
    """All of these that was compiled here, and what compiles it for the first arguments that it had."""
    for module in modules:
        for value in vars(sys.modules.get(module, ModuleType("absent"))).values():
            if isinstance(value, Dispatcher) and isinstance(value._cache, Kept) and value.py_func.__module__ == module:
                again = njit(nogil=True, **compiling.OPTIONS)(value.py_func)
                for signature in value.signatures[:1]:
                    yield value.py_func, lambda again=again, signature=signature: again.compile(signature)  # type: ignore[misc]
    for value in compiling._NAMED if modules == KERNELS else ():
        signature = value._sig
        again = CFunc(value._pyfunc, (signature.args, signature.return_type), {}, compiling.OPTIONS)
        yield value._pyfunc, again.compile


def called(function: Any) -> Iterator[Any]:
    """The functions, classes and intrinsics that it names."""
    for name in function.__code__.co_names:
        value = function.__globals__.get(name)
        if isinstance(value, _Intrinsic):
            yield value._defn
        elif hasattr(value, "__code__") or isinstance(value, type):
            yield value
