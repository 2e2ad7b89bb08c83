"""Measures how much of the product's behaviour the tests check: makes one small mistake at a time, and runs the tests.

    python -m tests.mutation models search/ledger --mutants 300 --seed 0

draws 300 mutants of the modules in these folders (``tests/mutants.py``: swapped operators, changed constants, negated
conditions, removed statements and results), runs the tests that execute the changed line of each, and prints whether
one of them failed. A mutant that survives shows a mistake that no test would notice. Nothing is written to the
checkout.

Each test file is first run unchanged, to learn which tests execute which lines. A mutant then runs in a process forked
from this one, which has loaded torch already, and compiles its module from the changed tree. The tests that execute the
changed line run first, the shortest first, until one fails. If none fails, and their files belong to the module's
folder, all tests of these files run, since the lines of a shared fixture are recorded for only one of its tests. Tests
are taken from the folder of the same name and from the files in the folders above it; ``--tests`` adds others. Files in
``tests`` itself that are added run for every declaration. Tests marked ``slow``, ``cluster`` and the like are left out,
so a mutant that only they notice survives.
"""

import argparse
import ast
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import random
import signal
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from types import CodeType, FrameType
from typing import Any

import pytest

from tests.mutants import mutants, mutated

ROOT = Path(__file__).resolve().parents[1]
LOADED = (
    *("torch", "numpy", "pandas", "pyarrow.parquet", "pydantic", "safetensors.torch", "yaml", "jsonschema"),
    *("optuna", "typer", "rich", "ray.tune"),
)
"""The modules that every child needs, except skipstack's own, in whose place a mutant may be loaded."""
MARKERS = "not slow and not cluster and not gpu and not corpus and not benchmark"
OFTEN = 300
"""The number of calls of a function in a test after which its lines are not recorded any more, to save time."""
LONGEST, PATIENCE, TIMES = 30.0, 30.0, 6.0
"""Time limits, since a mutant may run for ever: the seconds of a test; and the seconds of a child process, plus this
multiple of the time that its tests took unchanged.
"""


@dataclass
class Seen:
    """The record of a test file: the seconds of each test, and by module and line, the tests that execute the line."""

    seconds: dict[str, float] = field(default_factory=dict)
    lines: dict[str, dict[int, set[str]]] = field(default_factory=lambda: defaultdict(lambda: defaultdict(set)))


class Recorder:
    """A pytest plugin that records which lines of skipstack each test executes."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.lines: dict[str, set[tuple[str, int]]] = defaultdict(set)
        self._now: set[tuple[str, int]] = set()
        self._ours: dict[str, str | None] = {}
        self._calls: Counter[CodeType] = Counter()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self._now, self._calls, started = self.lines[item.nodeid], Counter(), time.perf_counter()
        threading.settrace(self._call)
        sys.settrace(self._call)
        result = yield
        sys.settrace(None)
        threading.settrace(None)
        self.seconds[item.nodeid] = time.perf_counter() - started
        return result

    def found(self) -> list[tuple[str | None, int, str]]:
        """Return the module, the line and the test of each record."""
        return [(self._ours[name], line, test) for test, own in self.lines.items() for name, line in own]

    def _call(self, frame: FrameType, event: str, _: object) -> Callable[..., Any] | None:
        name = frame.f_code.co_filename
        if name not in self._ours:
            path = Path(name).resolve()
            inside = path.is_relative_to(ROOT) and "tests" not in path.parts and ".venv" not in path.parts
            self._ours[name] = str(path.relative_to(ROOT)) if inside else None
        if self._ours[name] is None:
            return None
        self._calls[frame.f_code] += 1
        return self._line if self._calls[frame.f_code] <= OFTEN else None

    def _line(self, frame: FrameType, event: str, _: object) -> Callable[..., Any]:
        self._now.add((frame.f_code.co_filename, frame.f_lineno))
        return self._line


class Changed(importlib.abc.MetaPathFinder, importlib.machinery.SourceFileLoader):
    """Finds one module, and loads it from a changed tree."""

    def __init__(self, name: str, path: Path, tree: ast.Module) -> None:
        super().__init__(name, str(path))
        self.tree = tree

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        return (
            importlib.util.spec_from_file_location(fullname, self.path, loader=self) if fullname == self.name else None
        )

    def get_code(self, fullname: str) -> CodeType:
        return compile(self.tree, self.path, "exec")


def forked(work: Callable[[], int], seconds: float) -> int | None:
    """Return the result of ``work`` in a forked process without output; None if it exceeds the time limit."""
    child = os.fork()
    if not child:
        os.setpgid(0, 0)
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.dup2(nowhere, 2)
        os._exit(_status(work))
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.02)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def _status(work: Callable[[], int]) -> int:
    """Return the result of ``work``, or 1 if anything is raised, since a mutant may break pytest itself."""
    try:
        return int(work())
    except BaseException:  # noqa: BLE001 - see above
        return 1


def pytested(tests: Sequence[str], folder: Path, *plugins: object) -> int:
    """Run the tests in this process, up to the first failure."""
    options = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "-o", "addopts=", "-m", MARKERS]
    options += [] if plugins else [f"--timeout={LONGEST}"]
    order = ["--randomly-dont-reset-seed", "--randomly-dont-reorganize", f"--basetemp={folder / str(os.getpid())}"]
    return int(pytest.main([*options, *order, *tests], plugins=list(plugins)))


def record(file: str, folder: Path) -> Seen | None:
    """Record the tests of a file; None if they fail unchanged, or if there are none."""
    notes = folder / f"{file.replace('/', '-')}.json"

    def work() -> int:
        recorder = Recorder()
        code = pytested([file], folder, recorder)
        notes.write_text(json.dumps([recorder.seconds, recorder.found()]))
        return code

    if forked(work, 900) != 0:
        return None
    seconds, lines = json.loads(notes.read_text())
    seen = Seen(seconds)
    for module, line, test in lines:
        seen.lines[module][line].add(test)
    return seen


@dataclass(frozen=True)
class Drawn:
    """A mutant: the path of its module, and its number in the module."""

    path: str
    number: int


def tests_of(drawn: Drawn, seen: Sequence[Seen]) -> list[list[str]]:
    """Return the tests that execute a mutant, the shortest first, and their files in the module's folder."""
    mutant = mutants(ast.parse((ROOT / drawn.path).read_text()))[drawn.number]
    seconds = {test: took for each in seen for test, took in each.seconds.items()}
    found: set[str] = set()
    for each in seen:
        for line, tests in each.lines.get(drawn.path, {}).items():
            if not mutant.in_function or mutant.first <= line <= mutant.last:
                found |= tests
    if not found and not mutant.in_function:  # a module with declarations only: all tests of its folder
        beside = str(Path("tests") / Path(drawn.path).parent)
        found = {test for test in seconds if test.startswith(beside)}
    if not mutant.in_function:  # a declaration may be read without executing a line, e.g. by the page of all fields
        found |= {test for test in seconds if Path(test.partition("::")[0]).parent == Path("tests")}
    files = sorted({test.partition("::")[0] for test in found} & tests_beside(str(Path(drawn.path).parent)))
    return [sorted(found, key=seconds.__getitem__), files]


def tests_beside(folder: str) -> set[str]:
    """Return the test files in the folder of the same name, and those directly in the folders above it."""
    own = ROOT / "tests" / folder
    above = [parent for parent in own.parents if parent.is_relative_to(ROOT / "tests" / Path(folder).parts[0])]
    found = [*own.rglob("test_*.py"), *(path for parent in above for path in parent.glob("test_*.py"))]
    return {str(path.relative_to(ROOT)) for path in found}


def survives(drawn: Drawn, seen: Sequence[Seen], folder: Path) -> str | None:
    """Return a line on the tests that a mutant survives; None if a test fails."""
    by_line, files = tests_of(drawn, seen)
    if not by_line:
        return "no test comes by"
    path = ROOT / drawn.path
    name = ".".join(("skipstack", *Path(drawn.path).with_suffix("").parts))
    seconds = {test: took for each in seen for test, took in each.seconds.items()}
    for tests in filter(None, (by_line, files)):
        inside = {test for test in seconds if test in tests or test.partition("::")[0] in tests}
        limit = PATIENCE + TIMES * sum(seconds[test] for test in inside)

        def work(tests: list[str] = tests) -> int:
            sys.meta_path.insert(0, Changed(name, path, mutated(path, drawn.number)))
            return pytested(tests, folder)

        if forked(work, limit) != 0:
            return None
    return f"{len(by_line)} tests of {len(files)} files"


def main() -> None:
    """Draw mutants, run their tests, and print the results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="+", help="folders of modules, such as models or search/ledger")
    parser.add_argument("--mutants", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tests", nargs="*", default=[], help="further tests, such as tests/search/execution/driver")
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    sys.dont_write_bytecode = True
    os.environ["OMP_NUM_THREADS"] = "1"
    for name in LOADED:
        importlib.import_module(name)
    importlib.import_module("torch").set_num_threads(1)
    paths = [path for folder in options.folders for path in sorted((ROOT / folder).rglob("*.py"))]
    every = [
        Drawn(str(path.relative_to(ROOT)), number)
        for path in dict.fromkeys(paths)
        for number in range(len(mutants(ast.parse(path.read_text()))))
    ]
    drawn = random.Random(options.seed).sample(every, min(options.mutants, len(every)))
    files = sorted({file for folder in options.folders for file in tests_beside(folder)})
    further = [ROOT / each for each in options.tests]
    files += [
        str(path.relative_to(ROOT))
        for each in further
        for path in ([each] if each.is_file() else sorted(each.rglob("test_*.py")))
    ]
    files = list(dict.fromkeys(files))
    with TemporaryDirectory() as scratch, ThreadPoolExecutor(options.processes) as pool:
        folder = Path(scratch)
        os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = str(folder / "hypothesis")
        print(f"{len(drawn)} of {len(every)} mutants; {len(files)} files of tests are run as they are", flush=True)
        recorded = dict(zip(files, pool.map(lambda file: record(file, folder), files), strict=True))
        for file in (file for file, found in recorded.items() if found is None):
            print(f"left out: {file} (fails as it is, or has no fast test)", flush=True)
        seen = [each for each in recorded.values() if each is not None]
        alive = 0
        for each, why in zip(drawn, pool.map(lambda each: survives(each, seen, folder), drawn), strict=True):
            mutant = mutants(ast.parse((ROOT / each.path).read_text()))[each.number]
            alive += why is not None
            told = "killed  " if why is None else "SURVIVED"
            print(f"{told} {each.path}:{mutant.line}  {mutant.change}{'' if why is None else f'  ({why})'}", flush=True)
    print(f"{len(drawn) - alive} of {len(drawn)} mutants killed, {100 * (1 - alive / len(drawn)):.1f} %")


if __name__ == "__main__":
    main()
