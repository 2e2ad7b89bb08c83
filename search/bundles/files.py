"""Reads the files of a bundle, a folder or a zip archive, which may be untrusted.

Nothing is unpacked and no code is run. Only the files in ``FILES`` are read, none larger than the manifest says, and
the SHA-256 of each must be that in ``manifest.json``. The manifest detects damage; it does not prove who made the
bundle.
"""

import hashlib
import json
import os
import stat
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final, NoReturn

from pydantic import Field, NonNegativeInt, PositiveInt, ValidationError

from skipstack.data.basis.errors import UserError, newer, unknown
from skipstack.data.basis.explain import explain
from skipstack.data.basis.frozen import Frozen

FORMAT: Final = 5
"""The format in a bundle's manifest; raised when a bundle of another version would be misread.

Format 4 added the model card. Format 5 added the splits of the training, and the seeds and epochs of several networks;
earlier bundles have one network, trained on train (``search/bundles/checks.py`` reads those).
"""

MANIFEST, WEIGHTS, CARD = "manifest.json", "weights.safetensors", "README.md"

FILES = ("config.json", "vocabulary.json", "tags.json", "metrics.json", "provenance.json", WEIGHTS, CARD)

FILES_OF: Final[Mapping[int, tuple[str, ...]]] = {3: FILES[:-1], 4: FILES, FORMAT: FILES}
"""The files of each format that can be read."""

LARGEST_MANIFEST, LARGEST_TEXT, LARGEST_WEIGHTS = 2**16, 2**28, 2**34
"""The maximum bytes of the manifest, of any other text and of the weights."""

MOST_PACKED = 200
"""The maximum compression ratio of an archive: trained weights hardly compress at all."""

WHOLE_BUNDLE = "a folder or .zip that `skipstack export` made"


class Sealed(Frozen):
    """The expected size and hash of a file."""

    bytes: NonNegativeInt
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class Manifest(Frozen):
    """The manifest of a bundle: its format and all its files."""

    format: PositiveInt
    files: dict[str, Sealed]


def seal(folder: Path) -> None:
    """Write the manifest of the files in ``folder``."""
    files = {}
    for name in FILES:
        content = (folder / name).read_bytes()
        files[name] = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    text = json.dumps({"format": FORMAT, "files": files}, indent=2) + "\n"
    (folder / MANIFEST).write_text(text, encoding="utf-8")


def pack(folder: Path, archive: Path) -> None:
    """Write a bundle's folder as an uncompressed zip archive, with the same bytes for the same bundle."""
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_STORED) as packed:
        for name in (MANIFEST, *FILES):
            packed.writestr(zipfile.ZipInfo(name), (folder / name).read_bytes())


def copy_bundle(path: Path, to: Path) -> None:
    """Write the bundle at ``path``, a folder or a zip archive, into the new folder ``to``. Raises UserError as
    ``read_files`` does.
    """
    to.mkdir(parents=True)
    for name, content in read_files(path).items():
        (to / name).write_bytes(content)
    seal(to)


def read_files(path: Path) -> dict[str, bytes]:
    """Every file of the bundle at ``path``, a folder or a zip archive. Raises UserError, one line, on anything else."""
    source: _Folder | _Archive
    try:
        if path.is_dir():
            source = _Folder(path)
        elif path.is_file() and zipfile.is_zipfile(path):
            source = _Archive(path)
        else:
            raise UserError(f"{path}: no bundle here (allowed: {WHOLE_BUNDLE})")
        manifest = _manifest(path, source.read(MANIFEST, LARGEST_MANIFEST))
        return {name: _unsealed(path, name, source, sealed) for name, sealed in manifest.files.items()}
    except (OSError, RuntimeError) as error:  # the latter of a link to itself
        reason = getattr(error, "strerror", None) or " ".join(str(error).split())
        raise UserError(f"{path}: cannot be read: {reason} (allowed: {WHOLE_BUNDLE})") from None


def parsed(where: str, content: bytes) -> Any:
    """Parse untrusted JSON: UTF-8, finite numbers, limited depth. Raises UserError."""
    try:
        text = content.decode("utf-8")
        value = json.loads(text, parse_constant=_refuse_constant)
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeDecodeError:
        raise UserError(f"{where}: got text in another encoding (allowed: UTF-8)") from None
    except UnicodeEncodeError:
        raise UserError(f"{where}: got half a surrogate pair (allowed: whole characters)") from None
    except json.JSONDecodeError as error:
        raise UserError(f"{where}:{error.lineno}: not JSON ({error.msg})") from None
    except ValueError as error:
        raise UserError(f"{where}: not JSON ({error})") from None
    except RecursionError:
        raise UserError(
            f"{where}: not JSON that can be read (mappings and lists lie too deep in one another)"
        ) from None
    return value


class _Folder:
    """A bundle as a folder."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self, name: str, most: int) -> bytes:
        """A file's content, of no more bytes than ``most``."""
        file = self.path / name
        if not os.path.lexists(file):
            raise UserError(f"{file}: no such file (allowed: every file of {WHOLE_BUNDLE})")
        if file.resolve().parent != self.path.resolve():
            raise UserError(f"{file}: leads out of the bundle (allowed: files that lie in it)")
        with open(file, "rb", opener=_without_waiting) as opened:
            status = os.fstat(opened.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise UserError(f"{file}: is no ordinary file (allowed: files)")
            if status.st_size > most:
                _too_large(str(file), status.st_size, most)
            return opened.read(most + 1)


class _Archive:
    """A bundle as a zip archive; no file is unpacked to the disk."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            archive = zipfile.ZipFile(path)
        except (zipfile.BadZipFile, ValueError, RuntimeError, NotImplementedError) as error:
            self._refuse(str(error))
        self.members = self._checked(archive)

    def read(self, name: str, most: int) -> bytes:
        """A file's content, of no more bytes than ``most``, and no more than the archive announces."""
        if name not in self.members:
            raise UserError(f"{self.path}: {name}: no such file (allowed: every file of {WHOLE_BUNDLE})")
        member = self.members[name]
        if member.file_size > most:
            _too_large(f"{self.path}: {name}", member.file_size, most)
        try:
            with zipfile.ZipFile(self.path) as archive, archive.open(member) as opened:
                return opened.read(most + 1)
        except (zipfile.BadZipFile, zlib.error, EOFError, ValueError, RuntimeError, NotImplementedError) as error:
            self._refuse(f"{name}: {error}")

    def _checked(self, archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
        with archive:
            members: dict[str, zipfile.ZipInfo] = {}
            for member in archive.infolist():
                name = member.orig_filename
                if name not in (MANIFEST, *FILES):
                    raise UserError(f"{self.path}: {unknown('file', name, (MANIFEST, *FILES))}")
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


def _without_waiting(path: str, flags: int) -> int:
    """Open a file without blocking, since opening a pipe could wait forever."""
    return os.open(path, flags | os.O_NONBLOCK)


def _manifest(path: Path, content: bytes) -> Manifest:
    where = f"{path / MANIFEST}"
    value = parsed(where, content)
    found = value.get("format") if isinstance(value, Mapping) else None
    if isinstance(found, int) and found > FORMAT:
        raise newer(f"{path}: a bundle", found, FORMAT)
    if not isinstance(found, int) or found not in FILES_OF:
        allowed = ", ".join(map(str, FILES_OF))
        raise UserError(f"{path}: got a bundle of format {found} (allowed: {allowed}): export it anew from its study")
    try:
        manifest = Manifest.model_validate(value)
    except ValidationError as error:
        raise UserError(explain(error, Manifest, file=where)) from None
    wanted = FILES_OF[manifest.format]
    for name in manifest.files:
        if name not in wanted:
            raise UserError(f"{where}: {unknown('file', name, wanted)}")
    for name in wanted:
        if name not in manifest.files:
            raise UserError(f"{where}: {name} is missing (allowed: {', '.join(wanted)})")
    return manifest


def _unsealed(path: Path, name: str, source: _Folder | _Archive, sealed: Sealed) -> bytes:
    largest = LARGEST_WEIGHTS if name == WEIGHTS else LARGEST_TEXT
    if sealed.bytes > largest:
        _too_large(f"{path / name}", sealed.bytes, largest)
    content = source.read(name, sealed.bytes)
    if len(content) != sealed.bytes:
        raise UserError(f"{path / name}: got {len(content):,} bytes (allowed: {sealed.bytes:,}, as {MANIFEST} says)")
    digest = hashlib.sha256(content).hexdigest()
    if digest != sealed.sha256:
        raise UserError(f"{path / name}: got sha256 {digest[:12]} (allowed: {sealed.sha256[:12]}, as {MANIFEST} says)")
    return content


def _too_large(where: str, size: int, most: int) -> NoReturn:
    raise UserError(f"{where}: got {size:,} bytes (allowed: {most:,})")


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"got {name}, allowed: finite numbers")
