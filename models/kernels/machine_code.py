"""Machine code, kept for later processes in a folder that is named by all that it was made from.

That is the sources and constants of what is compiled, numba and LLVM, the CPU as numba describes it to LLVM, and the
settings of numba that change code. Processes write one after another. What cannot be written or read, as on a full
disk, is done without: each process then compiles for itself.
"""

import fcntl
import hashlib
import logging
import os
import pickle
import platform
import re
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, Final

import llvmlite
import numba
from numba import config
from numba.core.caching import CompileResultCacheImpl, FunctionCache, UserProvidedCacheLocator
from numba.core.registry import cpu_target
from platformdirs import user_cache_path

LOG: Final = logging.getLogger(__name__)

SOURCES: Final = ("compiled", "gemm", "compiling.py", "philox.py")
"""What is compiled, and the constants in it: files and folders beside this one."""
SETTINGS: Final = (
    *("BOUNDSCHECK", "DEBUGINFO_DEFAULT", "DEBUG_NRT", "DISABLE_INTEL_SVML", "ENABLE_PROFILING", "NRT_STATS", "OPT"),
    *("EXTEND_VARIABLE_LIFETIMES", "LLVM_REFPRUNE_FLAGS", "LLVM_REFPRUNE_PASS", "LOOP_VECTORIZE", "SLP_VECTORIZE"),
)
"""Of numba, beside those of the CPU, by which it makes other code."""
NAME: Final = re.compile("[0-9a-f]{16}")
"""Of a folder, all of which are ours where they stand."""
DAY: Final = 86_400.0
UNUSED: Final = 30 * DAY
"""A folder that no process has used for so long goes."""
LEFT: Final = 3
"""Beyond so many, one goes that none has used for a day."""


def place_of(sources: Sequence[Path], chosen: str) -> Path:
    """Where the machine code of these files and folders is kept: under what the user chose, or in the cache."""
    digest = hashlib.sha256()
    for source in sources:
        for file in sorted(source.rglob("*.py")) if source.is_dir() else [source]:
            digest.update(f"{file.relative_to(source.parent)}\n".encode())
            digest.update(file.read_bytes())
    settings = [str(getattr(config, name, None)) for name in SETTINGS]
    made_by = numba.__version__, llvmlite.__version__, platform.python_version()
    digest.update(repr((made_by, cpu_target.target_context.codegen().magic_tuple(), settings)).encode())
    kept = Path(chosen) / "skipstack" if chosen else user_cache_path("skipstack", appauthor=False) / "compiled"
    return kept / digest.hexdigest()[:16]


@cache
def place() -> Path | None:
    """Where this process keeps its own; None where nothing can be kept, as in a container without a home."""
    own = place_of([Path(__file__).with_name(name) for name in SOURCES], config.CACHE_DIR)
    try:
        own.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        _done_without(error)
        return None
    with suppress(OSError):  # of an image that is read only, say: what is there can be read
        os.utime(own)  # it is used
    return own


class Kept(FunctionCache):  # type: ignore[misc]
    """What was compiled of one function. Only where there is a ``place``."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """None where there is nothing, or nothing that can be read."""
        try:
            return super().load_overload(sig, target_context)
        except OSError as error:
            _done_without(error)
        except (EOFError, pickle.UnpicklingError) as error:  # a power cut left it half written
            _done_without(error)
            self._write(self.flush)
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """For later processes, if it can be written."""
        self._write(lambda: FunctionCache.save_overload(self, sig, data))

    def _write(self, write: Any) -> None:
        own = place()
        assert own is not None, "there is a place"
        try:
            with alone(own):
                write()
            _tidied(own)
        except OSError as error:
            _done_without(error)


class _Place(UserProvidedCacheLocator):  # type: ignore[misc]
    """The one folder; its name tells versions of sources apart, so nothing else does."""

    def __init__(self, function: Any, file: str) -> None:
        self._py_file = file
        self._function = function

    def get_cache_path(self) -> str:
        """Of all functions alike."""
        return str(place())

    def get_source_stamp(self) -> str:
        """The same for all that is in it, wherever the sources were copied to, and when."""
        return ""

    def get_disambiguator(self) -> str:
        """Files of the same name in several folders, and functions of the same name in a file."""
        module = hashlib.sha256(self._function.__module__.encode()).hexdigest()[:8]
        return f"{module}-{self._function.__code__.co_firstlineno}"

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> "_Place":
        """For any function."""
        return cls(py_func, py_file)


class _Results(CompileResultCacheImpl):  # type: ignore[misc]
    _locator_classes = (_Place,)


Kept._impl_class = _Results


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Within, no other process writes there: numba's index would lose what two write at once, or mix it up."""
    descriptor = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def tidy(own: Path, now: float) -> None:
    """Remove what earlier versions left beside it and nobody has used for long (``UNUSED``, ``LEFT``)."""
    beside = [each for each in own.parent.iterdir() if NAME.fullmatch(each.name) and each != own]
    unused = {each: now - each.stat().st_mtime for each in beside}
    for number, each in enumerate(sorted(beside, key=unused.__getitem__), start=2):
        if unused[each] > (UNUSED if number <= LEFT else DAY):
            shutil.rmtree(each, ignore_errors=True)


@cache
def _tidied(own: Path) -> None:
    """Once a process that has compiled something."""
    tidy(own, time.time())


def _done_without(error: Exception) -> None:
    """Said once a process."""
    if not _SAID:
        _SAID.append(error)
        LOG.warning("skipstack: machine code is not kept, so each process compiles anew (%r)", error)


_SAID: Final[list[Exception]] = []
