"""Opens the files of a bundle (a folder or a zip archive) that may be untrusted. Nothing is unpacked to the disk."""

import os
import shlex
import stat
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final, NoReturn

from skipstack.data.basis.disk_errors import disk_trouble
from skipstack.data.basis.errors import UserError, missing_here, unknown
from skipstack.search.study.record.folder import StudyFolder

MOST_PACKED: Final = 200
"""The maximum compression ratio of an archive, against zip bombs. Trained weights can hardly be compressed."""

WHOLE_BUNDLE: Final = "a folder or .zip that `skipstack export` made"


@contextmanager
def source_at(path: Path) -> Iterator["FolderSource | ArchiveSource"]:
    """Yields access to the files of the bundle at ``path``. Raises UserError if there is no readable bundle. The error
    of a full or failing disk is raised as it is, since the disk may be another one, to which the bundle is copied.
    """
    with _refused_where_unreadable(path):
        if StudyFolder(path).ledger.is_dir():
            export = shlex.join(["skipstack", "export", str(path), "--best", "1", "--to", f"{path}-best"])
            raise UserError(f"{path}: a study, not a bundle (allowed: {WHOLE_BUNDLE}, as `{export}` writes it)")
        if path.is_dir():
            yield FolderSource(path)
        elif path.is_file() and zipfile.is_zipfile(path):
            yield ArchiveSource(path)
        else:
            raise missing_here(path, "bundle", WHOLE_BUNDLE)


@contextmanager
def _refused_where_unreadable(path: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, RuntimeError) as error:  # a symbolic link to itself raises RuntimeError
        if disk_trouble(error) is not None:
            raise
        reason = getattr(error, "strerror", None) or " ".join(str(error).split())
        raise UserError(f"{path}: cannot be read: {reason} (allowed: {WHOLE_BUNDLE})") from None


class FolderSource:
    """Reads the files of a bundle that is a folder."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def check_names(self, names: Iterable[str]) -> None:
        """Do nothing: a folder may have further files, which are not read."""

    @contextmanager
    def open(self, name: str, most: int) -> Iterator[IO[bytes]]:
        """Opens a file. Raises UserError unless it is a regular file in the bundle with at most ``most`` bytes."""
        file = self.path / name
        if not os.path.lexists(file):
            raise UserError(f"{file}: no such file (allowed: every file of {WHOLE_BUNDLE})")
        if not file.resolve().is_relative_to(self.path.resolve()):
            raise UserError(f"{file}: leads out of the bundle (allowed: files that lie in it)")
        with _refused_where_unreadable(self.path):
            opened = open(file, "rb", opener=_without_waiting)  # noqa: SIM115 (closed by the next statement)
        with opened:
            status = os.fstat(opened.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise UserError(f"{file}: is no ordinary file (allowed: files)")
            if status.st_size > most:
                raise too_large(str(file), status.st_size, most)
            yield opened


class ArchiveSource:
    """Reads the files of a bundle that is a zip archive, without unpacking it. Raises UserError if the archive is
    damaged, or has repeated names, encrypted files, links, or a compression ratio above ``MOST_PACKED``.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            archive = zipfile.ZipFile(path)
        except (zipfile.BadZipFile, ValueError, RuntimeError, NotImplementedError) as error:
            self._refuse(str(error))
        self.members = self._checked(archive)

    def check_names(self, names: Iterable[str]) -> None:
        """Raise UserError if the archive has a file whose name is not among ``names``."""
        allowed = list(names)
        for name in self.members.keys() - set(allowed):
            raise UserError(f"{self.path}: {unknown('file', name, allowed)}")

    @contextmanager
    def open(self, name: str, most: int) -> Iterator[IO[bytes]]:
        """Opens a file. Raises UserError if it is missing, damaged or larger than ``most`` bytes."""
        if name not in self.members:
            raise UserError(f"{self.path}: {name}: no such file (allowed: every file of {WHOLE_BUNDLE})")
        member = self.members[name]
        if member.file_size > most:
            raise too_large(f"{self.path}: {name}", member.file_size, most)
        try:
            with zipfile.ZipFile(self.path) as archive, archive.open(member) as opened:
                yield opened
        except (zipfile.BadZipFile, zlib.error, EOFError, ValueError, RuntimeError, NotImplementedError) as error:
            if isinstance(error, UserError):
                raise
            self._refuse(f"{name}: {error}")

    def _checked(self, archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
        with archive:
            members: dict[str, zipfile.ZipInfo] = {}
            for member in archive.infolist():
                name = member.orig_filename
                if name in members:
                    self._refuse(f"{name} is there twice")
                if member.flag_bits & 1:
                    self._refuse(f"{name} is encrypted")
                if stat.S_IFMT(member.external_attr >> 16) not in (0, stat.S_IFREG):
                    self._refuse(f"{name} is no ordinary file")
                members[name] = member
        size, packed = sum(member.file_size for member in members.values()), self.path.stat().st_size
        if size > MOST_PACKED * packed:
            self._refuse(f"{packed:,} bytes unfold to {size:,}")
        return members

    def _refuse(self, why: str) -> NoReturn:
        raise UserError(f"{self.path}: {' '.join(why.split())} (allowed: {WHOLE_BUNDLE})") from None


def too_large(where: str, size: int, most: int) -> UserError:
    """Create the UserError for a file of ``size`` bytes, which is more than ``most``. ``where``: names the file."""
    return UserError(f"{where}: got {size:,} bytes (allowed: {most:,})")


def _without_waiting(path: str, flags: int) -> int:
    """Open a file without blocking, since opening a named pipe could wait forever."""
    return os.open(path, flags | os.O_NONBLOCK)
