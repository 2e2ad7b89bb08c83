"""Writes Arrow files with a manifest atomically, and maps them into memory."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from skipstack.data.basis.arrays import first_not_finite
from skipstack.data.basis.atomic_files import fsync_path, temporary_folder_beside
from skipstack.data.basis.errors import UserError, newer
from skipstack.data.basis.ordinary_files import content, opened

FORMAT: Final = 4
"""The version of the file format, in manifests and in the names of folders. Increase it with every change."""

FIRST: Final = 4
"""The format version of a store if its manifest names none."""

MANIFEST = "manifest.json"


class DamagedStoreError(UserError):
    """Raised if files of a stored corpus or of stored vectors are missing, changed or invalid."""


@contextmanager
def written_beside(target: Path) -> Iterator[Path]:
    """Yield a new folder to fill. When the context ends, the folder is renamed to ``target``.

    Its files and its name are flushed to disk: a study's ledger says that they are there, and must survive a power cut.
    If another process has filled ``target`` meanwhile, that folder stays. Raises OSError if the renaming fails for any
    other reason.
    """
    with temporary_folder_beside(target) as temporary:
        yield temporary
        for each in (*temporary.iterdir(), temporary):
            fsync_path(each)
        try:
            temporary.rename(target)
        except OSError:
            if not target.is_dir():
                raise
        fsync_path(target.parent)


def write_tables(folder: Path, tables: Mapping[str, pa.RecordBatch], notes: Mapping[str, Any]) -> None:
    """Write one Arrow file per table, and a manifest with ``notes``, the files' digests, and its own digest."""
    for name, table in tables.items():
        with pa.OSFile(str(folder / name), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
            writer.write_batch(table)
    digests = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in tables}
    manifest = json.loads(json.dumps({"format": FORMAT, **notes, "files": digests}))
    text = json.dumps({**manifest, "digest": _digest(manifest)}, indent=1) + "\n"
    (folder / MANIFEST).write_text(text, encoding="utf-8")


def read_tables(folder: Path) -> tuple[dict[str, pa.RecordBatch], dict[str, Any]]:
    """Read the tables and notes that ``write_tables`` wrote. The tables are memory-mapped.

    Every table is checked: its offsets ascend within their buffers, texts are UTF-8, and nothing is null. Raises
    UserError if a newer version of skipstack wrote the store. Another error, such as ValueError or OSError, is raised
    if the store is incomplete or was changed.
    """
    manifest = json.loads(content(folder / MANIFEST))
    if not isinstance(found := manifest.get("format", FIRST), int):
        raise ValueError(f"{MANIFEST}: format: got {found!r}, allowed: an integer")
    if found > FORMAT:
        raise newer(f"{folder}: a stored corpus", found, FORMAT)
    if manifest.pop("digest") != _digest(manifest):
        raise ValueError(f"{MANIFEST} was changed after it was written")
    files = manifest["files"]
    if outside := [name for name in files if Path(name).name != name]:
        raise ValueError(f"{MANIFEST}: got the file {outside[0]!r}, allowed: names in the folder")
    return {name: _map(folder / name, digest) for name, digest in files.items()}, manifest


def check_columns(tables: Mapping[str, pa.RecordBatch], columns: Mapping[str, pa.Schema]) -> None:
    """Raise ValueError unless ``tables`` has exactly the files in ``columns``, with exactly their columns, in order."""
    if set(tables) != set(columns):
        raise ValueError(f"{MANIFEST}: got the files {_listed(tables)}, allowed: {_listed(columns)}")
    for name, schema in columns.items():
        if not (found := tables[name].schema).equals(schema):
            raise ValueError(f"{name}: got the columns {_columns(found)}, allowed: {_columns(schema)}")


def _digest(manifest: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(manifest, sort_keys=True).encode()).hexdigest()


def _map(path: Path, digest: str) -> pa.RecordBatch:
    """Map the record batch of a file into memory, and check it. The map stays open while any of its arrays exists."""
    opened(path).close()
    with pa.memory_map(str(path)) as mapped:
        buffer = mapped.read_buffer()
    if hashlib.sha256(buffer).hexdigest() != digest:
        raise ValueError(f"{path.name} was changed after it was written")
    try:
        file = pa.ipc.open_file(buffer)
        if file.num_record_batches != 1:
            raise ValueError(f"got {file.num_record_batches} record batches, allowed: 1")
        table = file.get_batch(0)
    except (ValueError, pa.ArrowException) as error:
        raise ValueError(f"{path.name}: {error}") from error
    check_whole(path.name, table)
    return table


def check_whole(file: str, table: pa.RecordBatch) -> None:
    """Raise ValueError if a column contains nulls, or if its buffers are inconsistent.

    ``file``: the file's name in errors.
    """
    for name in table.schema.names:
        _check_column(f"{file}: column {name}", table[name])


def _check_column(where: str, column: pa.Array) -> None:
    try:
        column.validate(full=True)
    except pa.ArrowException as error:
        raise ValueError(f"{where}: {error}") from error
    entries = column.values if isinstance(column, pa.LargeListArray | pa.FixedSizeListArray) else column
    for each, what in ((column, "row"), (entries, "entry")):
        if each.null_count:
            raise ValueError(f"{where}, {what} {each.is_null().index(True)}: got null, allowed: a value")


def check_finite(file: str, values_WE: NDArray[np.float32]) -> None:
    """Raise ValueError if a number of the vectors is NaN or infinite. ``file``: the name of their file in errors."""
    if (wrong := first_not_finite(values_WE)) is not None:
        row, entry = wrong
        got = values_WE[row, entry]
        raise ValueError(f"{file}: column vector, row {row}, entry {entry}: got {got}, allowed: finite numbers")


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "none"


def _columns(schema: pa.Schema) -> str:
    return ", ".join(f"{field.name} ({field.type})" for field in schema)
