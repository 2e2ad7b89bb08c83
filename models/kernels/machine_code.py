"""A cache of machine code for later processes: a file for each function and the types of its arguments.

A file's name depends on everything that determines the code: the function's sources (``sources.py``), the versions of
the compilers, numba's settings, and the CPU as numba describes it to LLVM. A file begins with a digest of its name and
code. So code runs only if it was written under exactly this name. A truncated or changed file is compiled anew. If
files cannot be written or read, as on a full disk, each process compiles for itself.
"""

import hashlib
import logging
import os
import pickle
import re
import shutil
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, Final

import llvmlite
import numba
import numpy as np
from llvmlite import binding
from numba import config
from numba.core.caching import _Cache
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps
from platformdirs import user_cache_path

from skipstack.data.basis.atomic_files import write_atomically
from skipstack.models.kernels.sources import digest_of

LOG: Final = logging.getLogger(__name__)
WRITTEN, READ = CompileResult._reduce, CompileResult._rebuild
"""Numba's own functions that prepare code for pickling, and that rebuild it."""

SETTINGS: Final = (
    *("BOUNDSCHECK", "DEBUGINFO_DEFAULT", "DEBUG_NRT", "DISABLE_INTEL_SVML", "ENABLE_PROFILING", "NRT_STATS", "OPT"),
    *("EXTEND_VARIABLE_LIFETIMES", "LLVM_REFPRUNE_FLAGS", "LLVM_REFPRUNE_PASS", "LOOP_VECTORIZE", "SLP_VECTORIZE"),
    "USING_SVML",
)
"""The settings of numba, besides those of the CPU, that change the code that numba generates."""
DIGEST: Final = hashlib.sha256
OURS: Final = re.compile(r"[0-9a-f]{16}|[\w.]+-[0-9a-f]{32}|\.[\w.]+-[0-9a-f]{32}\.[0-9a-f]{16}")
"""The names of our entries in the cache: folders of old versions, files, and unfinished files of killed processes."""
HOUR, DAY = 3_600.0, 86_400.0
UNUSED: Final = 30 * DAY
"""Seconds without use after which ``tidy`` removes an entry."""
ROOM: Final = 2**27
"""The maximum size of the cache in bytes, which ``tidy`` enforces. Only entries used within a day may exceed it."""


class Kept(_Cache):  # type: ignore[misc]
    """The cached code of one function, with the methods that numba calls on a cache."""

    def __init__(self, function: Callable[..., object]) -> None:
        """Prepares the cache. Raises OSError if the sources of ``function`` are unreadable or ``place`` fails."""
        place()
        assert function.__closure__ is None, "all that a function is made of stands in its sources"
        module, name = function.__module__, function.__qualname__
        self._made_of = module, name, function.__code__.co_firstlineno, digest_of(module), made_by()
        self._short = f"{module.rpartition('.')[2]}.{re.sub(r'[^.0-9A-Za-z_]', '', name)}"

    @property
    def cache_path(self) -> str:
        """The cache's folder, the same for all functions."""
        return str(place())

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Loads the cached code for arguments of these types; returns None if it is missing, unreadable or damaged."""
        target_context.refresh()
        file, content = self.file(sig, target_context.codegen()), b""
        try:
            content = file.read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except IsADirectoryError:
            pass  # handled as a damaged file
        except OSError as error:
            _done_without(error)
            return None
        code = _whole(content, file.name)
        if code is None:
            LOG.warning("skipstack: %s is damaged, so it is compiled anew", file)
            return None
        _used(file)
        return READ(target_context, *pickle.loads(code))

    def save_overload(self, sig: Any, data: Any) -> None:
        """Writes the code for later processes. If that fails, warns, once per process."""
        assert not data.library.has_dynamic_globals, "an address is another one in the next process"
        file, code = self.file(sig, data.codegen), dumps(WRITTEN(data))
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            if file.is_dir():
                shutil.rmtree(file)
            write_atomically(file, _digest(code, file.name) + code)
            _tidied(file.parent)
        except OSError as error:
            _done_without(error)

    def file(self, signature: Any, codegen: Any) -> Path:
        """Returns the path of the function's code for arguments of these types, on this CPU."""
        told = repr((self._made_of, signature, codegen.magic_tuple()))
        return place() / f"{self._short}-{DIGEST(told.encode()).hexdigest()[:32]}"

    def enable(self) -> None:
        """Does nothing: the cache is always enabled."""

    def disable(self) -> None:
        """Does nothing: the cache is never disabled."""

    def flush(self) -> None:
        """Does nothing: all files have been written already."""


def keep(machine_code: Any, function: Callable[..., object]) -> None:
    """Makes numba use our cache for this dispatcher or callback. If that fails, warns, once per process."""
    try:
        machine_code._cache = Kept(function)
    except OSError as error:
        _done_without(error)


def place() -> Path:
    """Returns the cache's folder: under ``NUMBA_CACHE_DIR`` if that is set, otherwise in the user's cache. Raises
    OSError if the variable is not set and the user has no home folder.
    """
    if config.CACHE_DIR:
        return Path(config.CACHE_DIR) / "skipstack"
    cache = user_cache_path("skipstack", appauthor=False)
    if not cache.is_absolute():  # such as ~/.cache, if the system knows no home of the user
        raise FileNotFoundError(f"there is no home for {cache}; NUMBA_CACHE_DIR names another place")
    return cache / "compiled"


def made_by() -> str:
    """Returns the versions of the compilers, of Python and of numpy, and the ``SETTINGS``, as text."""
    versions = numba.__version__, llvmlite.__version__, binding.llvm_version_info, np.__version__
    python = sys.version, sys.implementation.cache_tag, getattr(sys, "abiflags", "")
    return repr((versions, python, [(name, str(getattr(config, name, None))) for name in SETTINGS]))


def tidy(folder: Path, now: float) -> None:
    """Removes entries that no process has used for ``UNUSED`` seconds. If all entries take more than ``ROOM`` bytes,
    also removes the least recently used entries, except entries used within a day.

    ``now``: the time, in seconds since the epoch. Raises OSError if the folder cannot be read.
    """
    found = []
    for entry in folder.iterdir():
        with suppress(FileNotFoundError):  # another process may tidy at the same time
            if OURS.fullmatch(entry.name):
                found.append((now - entry.stat().st_mtime, _size(entry), entry))
    room = ROOM
    for unused, size, entry in sorted(found):
        room -= size
        if unused > (UNUSED if room >= 0 else DAY):
            if entry.is_dir():
                shutil.rmtree(entry, ignore_errors=True)
            else:
                entry.unlink(missing_ok=True)


def _used(file: Path) -> None:
    """Updates the file's time of use, at most once an hour. Ignores errors: a container image may be read-only."""
    now = time.time()
    with suppress(OSError):
        if now - file.stat().st_mtime > HOUR:
            os.utime(file, (now, now))


def _size(entry: Path) -> int:
    return sum(each.stat().st_size for each in (entry, *entry.rglob("*")))


def _whole(content: bytes, name: str) -> bytes | None:
    """Returns the code in a file's content; None if the file is damaged, or was written under another name."""
    size = DIGEST().digest_size
    digest, code = content[:size], content[size:]
    return code if digest == _digest(code, name) else None


def _digest(code: bytes, name: str) -> bytes:
    digest = DIGEST(name.encode())
    digest.update(code)
    return digest.digest()


@cache
def _tidied(folder: Path) -> None:
    """Tidies the cache once in each process that writes to it."""
    tidy(folder, time.time())


def _done_without(error: OSError) -> None:
    """Warns, once per process, that machine code is not cached."""
    if not _SAID:
        _SAID.append(error)
        LOG.warning("skipstack: machine code is not kept, so each process compiles anew (%r)", error)


_SAID: Final[list[OSError]] = []
