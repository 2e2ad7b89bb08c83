"""Reads tables in files of Arrow and Parquet. This module loads pyarrow, which is slow to import."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from skipstack.data.basis.errors import UserError, one_line, unknown
from skipstack.data.formats.files import SourceFile
from skipstack.data.formats.json_lines import Record


def rows(file: SourceFile, columns: Sequence[str] | None) -> tuple[dict[str, list[str]], Iterator[tuple[int, Record]]]:
    """Read ``columns``, or all, of a file of Parquet, of Arrow (as Feather and IPC write it) or of Arrow's streams.

    Returns two values. The first maps each column of Hugging Face's type ``ClassLabel``, which holds the numbers of
    classes, to the names of these classes. The second iterates over the rows, each with its number, counted from 1.
    Raises UserError for a file that cannot be read, or lacks a column.
    """
    try:
        table = _table(file.content)
        chosen = table.column_names if columns is None else [*columns]
        for name in chosen:
            if name not in table.column_names:
                raise UserError(f"{file.path}: {unknown('column', name, table.column_names)}")
        listed = table.select(chosen).to_pylist()
    except UserError:
        raise
    except (pa.ArrowException, OSError, ValueError, KeyError) as error:
        raise UserError(f"{file.path}: got a table that cannot be read ({one_line(error)})") from error
    return _class_names(table.schema), enumerate(listed, start=1)


def arrow_table(source: pa.NativeFile) -> pa.Table:
    """Read a file or a stream of Arrow; some libraries write streams. Raises ArrowException for any other content."""
    opened = pa.ipc.open_file if source.read(6) == b"ARROW1" else pa.ipc.open_stream
    source.seek(0)
    with opened(source) as reader:
        return reader.read_all()


def _table(content: bytes) -> pa.Table:
    buffer = pa.BufferReader(content)
    return pq.ParquetFile(buffer).read() if content.startswith(b"PAR1") else arrow_table(buffer)


def _class_names(schema: Any) -> dict[str, list[str]]:
    """Find the names of class labels in the metadata that Hugging Face's ``datasets`` writes into a schema."""
    try:
        features = json.loads(schema.metadata[b"huggingface"])["info"]["features"]
        inner = {column: feature.get("feature", feature) for column, feature in features.items()}
        return {column: [*map(str, each["names"])] for column, each in inner.items() if each.get("names")}
    except (TypeError, KeyError, ValueError, AttributeError):
        return {}
