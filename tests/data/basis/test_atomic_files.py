"""A file or folder is whole or absent, whatever happens while it is written."""

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from skipstack.data.basis.atomic_files import (
    atomic_file,
    atomic_folder,
    fsync_path,
    refused_where_unwritable,
    temporary_folder_beside,
    write_atomically,
)
from skipstack.data.basis.errors import UserError

KILLED = """
import os, sys
from pathlib import Path
from skipstack.data.basis.atomic_files import write_atomically
os.replace = lambda *paths: os._exit(9)
write_atomically(Path(sys.argv[1]), b"new")
"""


def test_a_file_is_written_and_then_replaced(tmp_path: Path) -> None:
    path = tmp_path / "file"
    for content in (b"old", b"new and longer", b""):
        write_atomically(path, content)
        assert path.read_bytes() == content
        assert list(tmp_path.iterdir()) == [path]


def test_a_process_that_dies_before_the_rename_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    done = subprocess.run([sys.executable, "-c", KILLED, path], check=False)
    assert done.returncode == 9
    assert path.read_bytes() == b"old"
    (left,) = (each for each in tmp_path.iterdir() if each != path)
    assert left.name.startswith(".file.")
    assert left.read_bytes() == b"new", "all was written: it died at the rename, not before"
    write_atomically(path, b"new")
    assert path.read_bytes() == b"new"


def test_a_disk_that_also_refuses_to_remove_what_failed_hides_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise OSError(errno.EIO, "not removed")

    monkeypatch.setattr(Path, "unlink", refused)
    with pytest.raises(KeyError, match="first"), atomic_file(tmp_path / "file"):
        raise KeyError("first")
    write_atomically(tmp_path / "file", b"whole")  # nothing is left to remove
    assert (tmp_path / "file").read_bytes() == b"whole"


@pytest.mark.parametrize("fsync", [False, True])
def test_nothing_is_left_of_a_file_that_fails(fsync: bool, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with pytest.raises(KeyboardInterrupt), atomic_file(path, fsync=fsync) as temporary:  # noqa: PT012
        temporary.write_bytes(b"half")
        assert path.read_bytes() == b"old"
        raise KeyboardInterrupt
    with pytest.raises(FileNotFoundError), atomic_file(path, fsync=fsync):
        pass  # nothing was written
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_disk_that_refuses_the_rename_leaves_the_old_file_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space left"):
        write_atomically(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(("fsync", "expected"), [(False, ["replace"]), (True, ["fsync", "replace", "fsync"])])
def test_the_disk_has_the_content_before_the_name_and_both_only_where_asked(
    fsync: bool, expected: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []
    for name in ("fsync", "replace"):
        monkeypatch.setattr(os, name, _noted(calls, name, getattr(os, name)))
    write_atomically(tmp_path / "file", b"content", fsync=fsync)
    assert calls == expected
    fsync_path(tmp_path)
    assert calls == [*expected, "fsync"]


def _noted(calls: list[str], name: str, real: Callable[..., Any]) -> Callable[..., Any]:
    def noted(*arguments: Any) -> Any:
        calls.append(name)
        return real(*arguments)

    return noted


def test_a_name_that_leaves_no_room_for_another_beside_it_can_be_written(tmp_path: Path) -> None:
    path = tmp_path / ("n" * 255)
    write_atomically(path, b"content")
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_is_there_once_it_is_filled(tmp_path: Path) -> None:
    path = tmp_path / "above" / "folder"
    with atomic_folder(path) as temporary:
        (temporary / "one").write_bytes(b"1")
        assert temporary.parent == path.parent
        assert not path.exists()
    assert [each.name for each in path.iterdir()] == ["one"]
    assert list(path.parent.iterdir()) == [path]


def test_nothing_is_left_of_a_folder_that_fails(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), atomic_folder(tmp_path / "folder") as temporary:  # noqa: PT012
        (temporary / "one").write_bytes(b"1")
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_holds_something_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "folder"
    path.mkdir()
    with atomic_folder(path) as temporary:  # an empty one is
        (temporary / "one").write_bytes(b"1")
    with pytest.raises(OSError, match="not empty"), atomic_folder(path) as temporary:
        (temporary / "two").write_bytes(b"2")
    assert [each.name for each in path.iterdir()] == ["one"]
    assert list(tmp_path.iterdir()) == [path]


def test_a_temporary_folder_may_be_renamed_or_is_removed(tmp_path: Path) -> None:
    with temporary_folder_beside(tmp_path / "folder") as temporary:
        (temporary / "one").write_bytes(b"1")
    assert list(tmp_path.iterdir()) == []
    with temporary_folder_beside(tmp_path / "folder") as temporary:
        temporary.rename(tmp_path / "folder")
    assert list(tmp_path.iterdir()) == [tmp_path / "folder"]


def test_a_place_that_cannot_be_written_is_refused_in_one_line_and_other_errors_pass(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    below, long, new = tmp_path / "file" / "below", tmp_path / ("n" * 256), tmp_path / "new"
    with pytest.raises(UserError, match="below: cannot be written: Not a directory"), refused_where_unwritable(below):
        write_atomically(below, b"")
    with pytest.raises(UserError, match="cannot be written: File name too long"), refused_where_unwritable(long):
        write_atomically(long, b"")
    with pytest.raises(UserError, match="one: cannot be written: No such file"), refused_where_unwritable(new / "one"):
        write_atomically(new / "one", b"")
    with pytest.raises(FileNotFoundError), refused_where_unwritable(tmp_path / "to"):
        (tmp_path / "what is read").read_bytes()


def test_parents_that_were_made_for_a_folder_go_with_it_where_nothing_came_of_it(tmp_path: Path) -> None:
    with temporary_folder_beside(tmp_path / "one" / "two" / "three") as temporary:
        assert temporary.parent == tmp_path / "one" / "two"
    assert list(tmp_path.iterdir()) == []
    with temporary_folder_beside(tmp_path / "one" / "two" / "three") as temporary:
        temporary.rename(tmp_path / "one" / "two" / "three")
    assert (tmp_path / "one" / "two" / "three").is_dir()
