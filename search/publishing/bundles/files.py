"""Writes and reads the files of a bundle (a folder or a zip archive). A bundle that is read may be untrusted.

Nothing is unpacked, and no code is run. A network's bundle has only the files in ``FILES``. Each file must have the
size and the SHA-256 that ``manifest.json`` records. The manifest detects damage, but does not prove who made the
bundle.

A bundle of kind ``own`` has the model of a user's function (``search/publishing/bundles/own_model.py``). The files of
the model, below ``model/``, are only copied.
"""

import hashlib
import json
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Final, Literal, NoReturn

from pydantic import Field, NonNegativeInt, PositiveInt, ValidationError

from skipstack.data.basis.errors import UserError, newer, older, unknown
from skipstack.data.basis.explain import explain
from skipstack.data.basis.frozen import Frozen, canonical_json
from skipstack.data.basis.printable import UNSEEN
from skipstack.search.publishing.bundles.sources import ArchiveSource, FolderSource, source_at, too_large

FORMAT: Final = 6
"""The latest manifest format, used by bundles of kind ``own``. Increase it when older code would misread a new bundle,
or new code an old one.
"""

NETWORK_FORMAT: Final = 5
"""The manifest format of networks' bundles. ``skipstack upgrade`` rewrites bundles of earlier formats
(``search/publishing/bundles/upgrading.py``).
"""

Kind = Literal["network", "own"]
"""The kind of a bundle: a trained network, or the model of a user's own function."""

MANIFEST, WEIGHTS, CARD = "manifest.json", "weights.safetensors", "README.md"

FILES = ("config.json", "vocabulary.json", "tags.json", "metrics.json", "provenance.json", WEIGHTS, CARD)
"""The files of a network's bundle, except the manifest."""

OWN_FILES: Final = ("config.json", "scores.json", "provenance.json", "versions.json", CARD)
"""The files of a bundle of kind ``own``, except the manifest and the files of the model."""

MODEL: Final = "model"
"""The folder with the model's files in a bundle of kind ``own``."""

LARGEST_MANIFEST, LARGEST_TEXT, LARGEST_WEIGHTS = 2**20, 2**28, 2**34
"""The maximum size in bytes of the manifest, of another text file, and of the weights. Files of a function's model have
no maximum.
"""

CHUNK: Final = 2**20
"""The size in bytes of the chunks in which files are copied, packed and checked."""


class Sealed(Frozen):
    """The size in bytes and the SHA-256 that a file must have."""

    bytes: NonNegativeInt
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class Manifest(Frozen):
    """The manifest of a bundle: its format, its kind, and the size and hash of every other file by name."""

    format: PositiveInt
    kind: Kind = "network"
    files: dict[str, Sealed]


def write_json(path: Path, value: Any) -> None:
    """Write a value as a JSON file of a bundle. Equal values give files with the same bytes."""
    text = json.dumps(json.loads(canonical_json(value)), indent=2, ensure_ascii=False)
    path.write_text(f"{text}\n", encoding="utf-8")


def seal(folder: Path) -> None:
    """Write the manifest of a network's bundle in ``folder``. All other files must be there already."""
    _seal(folder, {"format": NETWORK_FORMAT}, FILES)


def seal_own(folder: Path) -> None:
    """Write the manifest of a bundle of kind ``own`` in ``folder``. All other files must be there already. Raises
    UserError if the name of a model's file is not allowed in a bundle, or if the manifest becomes too large.
    """
    model = sorted(path.relative_to(folder).as_posix() for path in (folder / MODEL).rglob("*") if path.is_file())
    for name in model:
        if not _is_of_model(name):
            raise UserError(f"{name!a}: a name that no bundle can have (allowed: names that can be printed)")
    _seal(folder, {"format": FORMAT, "kind": "own"}, (*OWN_FILES, *model))
    if (size := (folder / MANIFEST).stat().st_size) > LARGEST_MANIFEST:
        raise UserError(f"{too_large(f'the manifest of a model of {len(model):,} files', size, LARGEST_MANIFEST)}")


def _seal(folder: Path, notes: Mapping[str, Any], names: Iterable[str]) -> None:
    files = {}
    for name in names:
        with (folder / name).open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        files[name] = {"bytes": (folder / name).stat().st_size, "sha256": digest}
    text = json.dumps({**notes, "files": files}, indent=2) + "\n"
    (folder / MANIFEST).write_text(text, encoding="utf-8")


def pack(folder: Path, archive: Path) -> None:
    """Write a bundle's folder as an uncompressed zip archive. Equal bundles give archives with the same bytes."""
    names = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))["files"]
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_STORED) as packed:
        for name in (MANIFEST, *names):
            with (folder / name).open("rb") as file, packed.open(zipfile.ZipInfo(name), "w", force_zip64=True) as to:
                while chunk := file.read(CHUNK):
                    to.write(chunk)


def copy_bundle(path: Path, to: Path) -> None:
    """Copy a bundle of any kind into the new folder ``to``, and check its files. ``path``: the bundle, a folder or a
    zip archive. Raises UserError if the bundle is missing or damaged.
    """
    to.mkdir(parents=True)
    with source_at(path) as source:
        manifest = manifest_of(path, source)
        for name, sealed in manifest.files.items():
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            check_sealed(path, name, source, sealed, to / name)
    written = manifest.model_dump(mode="json", exclude_defaults=True)
    (to / MANIFEST).write_text(json.dumps(written, indent=2) + "\n", encoding="utf-8")


def read_files(path: Path) -> dict[str, bytes]:
    """Read and check the files of a network's bundle (a folder or a zip archive) at ``path``. Returns the files'
    contents by name.

    Raises UserError, with a message of one line, if the bundle is missing, damaged, or of kind ``own``.
    """
    with source_at(path) as source:
        manifest = manifest_of(path, source)
        if manifest.kind == "own":
            raise UserError(
                f"{path}: has the model of a function, which skipstack never runs (allowed: a bundle of a network; "
                "`skipstack verify` says what this one is, and skipstack.load_own gives its files)"
            )
        return {name: unsealed(path, name, source, sealed) for name, sealed in manifest.files.items()}


def card_of(path: Path, files: Mapping[str, bytes]) -> str:
    """Return the card among the ``files`` of the bundle at ``path``. Raises UserError if it is not UTF-8."""
    try:
        return files[CARD].decode("utf-8")
    except UnicodeDecodeError:
        raise UserError(f"{path / CARD}: got text in another encoding (allowed: UTF-8)") from None


def is_own(path: Path) -> bool:
    """Whether the bundle at ``path`` is of kind ``own``. Raises UserError if it has no valid manifest."""
    with source_at(path) as source:
        return manifest_of(path, source).kind == "own"


def manifest_of(path: Path, source: FolderSource | ArchiveSource) -> Manifest:
    """Read and check the manifest of the bundle at ``path``. Raises UserError if the manifest is invalid or of another
    format, if its files are not those of a bundle of its kind, or if an archive has further files.
    """
    with source.open(MANIFEST, LARGEST_MANIFEST) as file:
        manifest = _manifest(path, file.read(LARGEST_MANIFEST + 1))
    source.check_names((MANIFEST, *manifest.files))
    return manifest


def check_sealed(
    path: Path, name: str, source: FolderSource | ArchiveSource, sealed: Sealed, to: Path | None = None
) -> None:
    """Read a file of the bundle at ``path`` in chunks, and raise UserError unless it has the size and the hash in
    ``sealed``. ``to``: a new file to which the content is copied. With None, the bundle's file is only checked.
    """
    with source.open(name, sealed.bytes) as file:
        digest, size = hashlib.sha256(), 0
        copy = None if to is None else to.open("xb")
        try:
            while chunk := file.read(CHUNK):
                size += len(chunk)
                digest.update(chunk)
                if copy is not None:
                    copy.write(chunk)
        finally:
            if copy is not None:
                copy.close()
    _check_same(path, name, sealed, size, digest.hexdigest())


def parsed(where: str, content: bytes) -> Any:
    """Parse untrusted JSON. ``where``: names the file in messages. Raises UserError if the content is not UTF-8 or not
    valid JSON, is nested too deeply, or has NaN, Infinity or half a surrogate pair.
    """
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


def _manifest(path: Path, content: bytes) -> Manifest:
    where = f"{path / MANIFEST}"
    value = parsed(where, content)
    found = value.get("format") if isinstance(value, Mapping) else None
    if not isinstance(found, int):
        raise UserError(f"{where}: got format {found} (allowed: {NETWORK_FORMAT}, {FORMAT})")
    if found > FORMAT:
        raise newer(f"{path}: a bundle", found, FORMAT)
    if found < NETWORK_FORMAT:
        raise older(f"{path}: a bundle of format {found}", path)
    try:
        manifest = Manifest.model_validate(value)
    except ValidationError as error:
        raise UserError(explain(error, Manifest, file=where)) from None
    if (manifest.kind == "own") != (manifest.format == FORMAT):
        raise UserError(f"{where}: got kind {manifest.kind} in format {found} (allowed: own in format {FORMAT} alone)")
    wanted = OWN_FILES if manifest.kind == "own" else FILES
    for name in manifest.files:
        if name not in wanted and not (manifest.kind == "own" and _is_of_model(name)):
            raise UserError(f"{where}: {unknown('file', name, wanted)}")
    for name in wanted:
        if name not in manifest.files:
            raise UserError(f"{where}: {name} is missing (allowed: {', '.join(wanted)})")
    return manifest


def _is_of_model(name: str) -> bool:
    """Whether ``name`` is a plain relative path below ``model/`` with only printable characters."""
    parts = name.split("/")
    plain = all(part not in ("", ".", "..") for part in parts) and "\\" not in name and not UNSEEN.search(name)
    return plain and len(parts) > 1 and parts[0] == MODEL and not PurePosixPath(name).is_absolute()


def unsealed(path: Path, name: str, source: FolderSource | ArchiveSource, sealed: Sealed) -> bytes:
    """Read a whole file of a bundle. Raises UserError if it is too large, or differs from ``sealed``."""
    largest = LARGEST_WEIGHTS if name == WEIGHTS else LARGEST_TEXT
    if sealed.bytes > largest:
        raise too_large(f"{path / name}", sealed.bytes, largest)
    with source.open(name, sealed.bytes) as file:
        content = file.read(sealed.bytes + 1)
    _check_same(path, name, sealed, len(content), hashlib.sha256(content).hexdigest())
    return content


def _check_same(path: Path, name: str, sealed: Sealed, size: int, digest: str) -> None:
    if size != sealed.bytes:
        raise UserError(f"{path / name}: got {size:,} bytes (allowed: {sealed.bytes:,}, as {MANIFEST} says)")
    if digest != sealed.sha256:
        raise UserError(f"{path / name}: got sha256 {digest[:12]} (allowed: {sealed.sha256[:12]}, as {MANIFEST} says)")


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"got {name}, allowed: finite numbers")
