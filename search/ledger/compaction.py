"""Compacts many lines of a ledger into one Parquet file: the same bytes in the same order, one row per append.

A row has the ``payload`` of its line and its CRC-32, so compaction neither parses nor rewrites an event. Pages have
checksums of their own.
"""

from collections.abc import Iterable, Iterator
from io import BytesIO
from itertools import zip_longest

import pyarrow as pa
import pyarrow.parquet as pq

from skipstack.search.ledger.lines import Line, checksum, damaged
from skipstack.search.ledger.parquet_pages import SMALL, PagesError, check_pages

ROWS = 10_000
"""Number of lines in memory at once."""

SCHEMA = pa.schema([("crc", pa.binary(8)), ("payload", pa.large_binary())])

TYPES = ["FIXED_LEN_BYTE_ARRAY", "BYTE_ARRAY"]
"""How Parquet stores the columns."""


def compacted(lines: Iterable[Line]) -> bytes:
    """The content of a Parquet file with these whole lines."""
    file = BytesIO()
    with pq.ParquetWriter(file, SCHEMA, compression="zstd", write_page_checksum=True) as writer:
        for payloads in _batches(iter(lines)):
            writer.write_table(pa.table([list(map(checksum, payloads)), payloads], schema=SCHEMA))
    return file.getvalue()


def lines_in(content: bytes, name: str) -> Iterator[Line]:
    """The lines of the Parquet file ``name``, numbered by row from 1. Raises UserError if it is damaged.

    The file may be anybody's: its pages are checked before they are unpacked, and few rows are read at once where they
    may be large.
    """
    number = 0
    try:
        file = pq.ParquetFile(pa.BufferReader(content), page_checksum_verification=True, pre_buffer=False)
        if [field.physical_type for field in file.schema] != TYPES or file.schema.names != SCHEMA.names:
            raise damaged(name, "it has other columns")
        rows = min(ROWS, check_pages(memoryview(content), file.metadata))
        for batch in file.iter_batches(rows, use_threads=False):
            for crc, payload in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                number += 1
                if payload is None or checksum(payload) != crc:
                    raise damaged(f"{name}:{number}")
                yield Line(name, number, payload)
    except PagesError as error:
        raise damaged(name, str(error)) from None
    except (pa.ArrowException, OSError) as error:
        raise damaged(f"{name}:{number + 1}", "it is no whole Parquet file") from error


def _batches(lines: Iterator[Line]) -> Iterator[list[bytes]]:
    """The payloads, at most ``ROWS`` at once, and no more bytes than a page may unpack to unless one line has them."""
    batch: list[bytes] = []
    size = 0
    for payload in (line.payload for line in lines if line.payload is not None):
        if batch and (len(batch) == ROWS or size + len(payload) > SMALL // 2):
            yield batch
            batch, size = [], 0
        batch.append(payload)
        size += len(payload)
    if batch:
        yield batch


def same(lines: Iterable[Line], others: Iterable[Line]) -> bool:
    """Whether both hold the same payloads in the same order."""
    return all(
        one is not None and other is not None and one.payload == other.payload
        for one, other in zip_longest(lines, others)
    )
