"""Locks of files: one at a time, and all where a disk has none."""

import errno
import fcntl
import os
from pathlib import Path

import pytest

from skipstack.data.basis import locks
from skipstack.data.basis.locks import alone, is_named, locked


def test_one_at_a_time_has_a_lock_that_leaves_no_file(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    with alone(lock), pytest.raises(BlockingIOError):
        locked(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    assert not lock.exists()
    os.close(locked(lock, fcntl.LOCK_EX | fcntl.LOCK_NB))


def test_the_lock_of_a_shared_folder_may_be_taken_by_whom_the_umask_lets_write(tmp_path: Path) -> None:
    before = os.umask(0o002)
    try:
        with alone(tmp_path / "lock"):
            assert (tmp_path / "lock").stat().st_mode & 0o777 == 0o664
        os.close(locked(tmp_path / "own", fcntl.LOCK_EX))
    finally:
        os.umask(before)
    assert (tmp_path / "own").stat().st_mode & 0o777 == 0o600


def test_a_lock_whose_file_was_removed_meanwhile_is_taken_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lock, taken = tmp_path / "lock", []

    def slowly(descriptor: int, how: int) -> None:
        taken.append(how)
        if len(taken) == 1:
            lock.unlink()

    monkeypatch.setattr(locks.fcntl, "flock", slowly)
    descriptor = locked(lock, fcntl.LOCK_EX)
    assert is_named(lock, descriptor)
    assert len(taken) == 2
    os.close(descriptor)


def test_where_a_disk_has_no_locks_all_enter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errors[0], "no locks")

    monkeypatch.setattr(locks.fcntl, "flock", refuse)
    errors = [errno.ENOLCK]
    with alone(tmp_path / "lock"):
        pass
    assert not list(tmp_path.iterdir())
    errors = [errno.EIO]
    with pytest.raises(OSError, match="no locks"), alone(tmp_path / "lock"):
        pass
