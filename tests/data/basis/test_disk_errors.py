"""Errors of a full or a failing disk: as libraries really raise them, told apart from all others, and tried again."""

import errno
import pickle
import sqlite3
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import torch
from pyarrow import parquet
from safetensors import SafetensorError

from skipstack.data.basis.disk_errors import PAUSES, disk_trouble, tried_again

FULL = "/dev/full"
"""A file on a disk that is always full."""

NUMBERS = torch.zeros(100_000)


def python() -> None:
    with Path(FULL).open("w") as file:
        file.write("x")


def pickled() -> None:
    with Path(FULL).open("wb") as file:
        pickle.dump(NUMBERS.numpy(), file)


def sqlite() -> None:
    with sqlite3.connect(":memory:") as base:
        base.execute("pragma max_page_count = 2")
        base.execute("create table numbers (number)")
        base.executemany("insert into numbers values (?)", [("x" * 1000,)] * 100)


def arrow() -> None:
    with pa.OSFile(FULL, "wb") as file:  # by its name, Arrow would delete it afterwards
        parquet.write_table(pa.table({"a": NUMBERS.numpy()}), file)


def in_another_error() -> None:
    try:
        python()
    except OSError as error:
        raise ValueError("no results") from error


def while_it_was_handled() -> None:
    try:
        python()
    except OSError:
        raise KeyError("results")  # noqa: B904 (as it happens)


def in_a_group() -> None:
    try:
        python()
    except OSError as error:
        group = ExceptionGroup("two", [ValueError("one"), error])
    raise group


def error_of(call: Callable[[], object]) -> Exception:
    with pytest.raises(Exception) as raised:  # noqa: PT011 (of any class)
        call()
    return raised.value


@pytest.mark.skipif(not Path(FULL).exists(), reason=f"this system has no {FULL}")
@pytest.mark.parametrize(
    "call",
    [
        python,
        pickled,
        sqlite,
        arrow,
        in_another_error,
        while_it_was_handled,
        in_a_group,
        lambda: torch.save(NUMBERS, FULL),
        lambda: torch.save(NUMBERS, FULL, _use_new_zipfile_serialization=False),
        lambda: np.savetxt(FULL, NUMBERS.numpy()),
    ],
)
def test_whatever_library_wrote_a_full_disk_is_known(call: Callable[[], object]) -> None:
    trouble = disk_trouble(error_of(call))
    assert trouble is not None
    assert "\n" not in trouble.words


@pytest.mark.parametrize(
    ("error", "full"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), True),
        (OSError(errno.EDQUOT, "Disk quota exceeded"), True),
        (OSError(errno.EIO, "Input/output error", "/mnt/x"), False),
        (OSError(errno.EROFS, "Read-only file system"), False),
        (OSError(errno.ESTALE, "Stale file handle"), False),
        (OSError(errno.ENOTCONN, "Transport endpoint is not connected"), False),
        (TimeoutError(errno.ETIMEDOUT, "Connection timed out", "/mnt/x"), False),
        (SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)"), True),
        (SafetensorError("Error while serializing: I/O error: Input/output error (os error 5)"), False),
        (SafetensorError('IoError(Os { code: 28, kind: StorageFull, message: "No space left on device" })'), True),
        (OSError("Can't write data (file write failed: errno = 28, error message = 'No space left on device')"), True),
        (OSError("100000 requested and 8176 written"), False),
        (RuntimeError("basic_ios::clear: iostream error"), False),
        (sqlite3.OperationalError("database or disk is full"), True),
        (sqlite3.OperationalError("disk I/O error"), False),
        (RuntimeError("OSError: [Errno 28] No space left on device: '/x'"), True),
    ],
    ids=str,
)
def test_a_full_disk_is_told_from_a_failing_one(error: Exception, full: bool) -> None:
    trouble = disk_trouble(error)
    assert trouble is not None
    assert trouble.full is full


@pytest.mark.parametrize(
    "error",
    [
        FileNotFoundError(errno.ENOENT, "No such file or directory"),
        PermissionError(errno.EACCES, "Permission denied"),
        TimeoutError(errno.ETIMEDOUT, "Connection timed out"),  # of a server that a user's function asks
        OSError(errno.EHOSTDOWN, "Host is down"),
        OSError(errno.EFBIG, "File too large"),
        OSError(errno.ENOMEM, "Cannot allocate memory"),
        OSError(errno.EMFILE, "Too many open files"),
        TimeoutError("the server did not answer"),
        RuntimeError("mat1 and mat2 shapes cannot be multiplied (28x5 and 28x5)"),
        ValueError("a program ended with exit code: 28"),
        sqlite3.OperationalError("no such table: runs"),
        MemoryError(),
    ],
    ids=repr,
)
def test_no_other_error_is_taken_for_one_of_a_disk(error: Exception) -> None:
    assert disk_trouble(error) is None


def test_an_error_that_hides_its_context_stands_for_itself() -> None:
    def hidden() -> None:
        try:
            python()
        except OSError:
            raise ValueError("a bug of its own") from None

    assert disk_trouble(error_of(hidden)) is None


def test_errors_that_were_raised_from_each_other_are_read_once() -> None:
    one, other = ValueError("one"), ValueError("other")
    one.__cause__, other.__cause__ = other, one
    assert disk_trouble(one) is None


def test_the_words_have_the_error_and_its_path_or_else_its_place_in_the_code() -> None:
    trouble = disk_trouble(OSError(errno.ENOSPC, "No space left on device", "/home/ann/results"))
    assert trouble is not None
    assert trouble.words == "OSError: [Errno 28] No space left on device: '/home/ann/results'"
    trouble = disk_trouble(error_of(while_it_was_handled))
    assert trouble is not None
    assert trouble.words.startswith("KeyError: 'results', from OSError: [Errno 28] No space left on device; at test_")
    assert trouble.words.endswith(" in python")


@pytest.mark.parametrize("times", range(len(PAUSES) + 2))
def test_a_call_that_a_failing_disk_refuses_is_repeated_after_each_pause(times: int) -> None:
    left, waited = [OSError(errno.EIO, "Input/output error")] * times, list[float]()

    def call() -> str:
        if left:
            raise left.pop()
        return "written"

    if times > len(PAUSES):
        with pytest.raises(OSError, match="Input/output error"):
            tried_again(call, pause=waited.append)
    else:
        assert tried_again(call, pause=waited.append) == "written"
    assert waited == list(PAUSES[:times])


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "full"), ValueError("a bug"), FileNotFoundError("gone")])
def test_a_full_disk_and_any_other_error_are_raised_at_once(error: Exception) -> None:
    def call() -> None:
        raise error

    waited = list[float]()
    with pytest.raises(type(error)):
        tried_again(call, pause=waited.append)
    assert waited == []
