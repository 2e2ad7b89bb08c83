"""Arrow files with a manifest: written atomically, and memory-mapped by their readers."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from skipstack.data.basis.atomic_files import temporary_folder_beside
from skipstack.data.basis.errors import newer
from skipstack.data.basis.ordinary_files import content, opened

FORMAT: Final = 4
"""The version of a store's file format, in its manifest and its name; increase it with every change."""

FIRST: Final = 4
"""The version of a store that does not name its format."""

_MANIFEST = "manifest.json"


@contextmanager
def written_beside(target: Path) -> Iterator[Path]:
    """A new folder that takes the name ``target`` once it is filled; if another process was first, its folder stays."""
    with temporary_folder_beside(target) as temporary:
        yield temporary
        try:
            temporary.rename(target)
        except OSError:
            if not target.is_dir():
                raise


def write_tables(folder: Path, tables: Mapping[str, pa.RecordBatch], notes: Mapping[str, Any]) -> None:
    """Writes one Arrow file per table, and the manifest: ``notes``, the digests of the files, and a digest of both."""
    for name, table in tables.items():
        with pa.OSFile(str(folder / name), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
            writer.write_batch(table)
    digests = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in tables}
    manifest = json.loads(json.dumps({"format": FORMAT, **notes, "files": digests}))
    text = json.dumps({**manifest, "digest": _digest(manifest)}, indent=1) + "\n"
    (folder / _MANIFEST).write_text(text, encoding="utf-8")


def read_tables(folder: Path) -> tuple[dict[str, pa.RecordBatch], dict[str, Any]]:
    """The tables and notes from ``write_tables``, memory-mapped.

    Raises UserError if a newer version wrote them, and ValueError or OSError for an incomplete or changed store.
    """
    manifest = json.loads(content(folder / _MANIFEST))
    if (found := manifest.get("format", FIRST)) > FORMAT:
        raise newer(f"{folder}: a stored corpus", found, FORMAT)
    if manifest.pop("digest") != _digest(manifest):
        raise ValueError(f"{_MANIFEST} was changed after it was written")
    return {name: _map(folder, name, digest) for name, digest in manifest["files"].items()}, manifest


def _digest(manifest: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(manifest, sort_keys=True).encode()).hexdigest()


def _map(folder: Path, name: str, digest: str) -> pa.RecordBatch:
    """The record batch of a file. The map stays open as long as an array of it exists."""
    if Path(name).name != name:
        raise ValueError(f"{name} leads out of the store")
    path = folder / name
    opened(path).close()
    with pa.memory_map(str(path)) as file:
        buffer = file.read_buffer()
    if hashlib.sha256(buffer).hexdigest() != digest:
        raise ValueError(f"{path.name} was changed after it was written")
    return pa.ipc.open_file(buffer).get_batch(0)
