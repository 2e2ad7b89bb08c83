"""Compacts many lines of a ledger into one Parquet file: the same bytes in the same order, one row per append.

A row has the ``payload`` of its line and its CRC-32, so compaction neither parses nor rewrites an event. Pages have
checksums of their own.
"""

from collections.abc import Iterable, Iterator
from io import BytesIO
from itertools import islice, zip_longest

import pyarrow as pa
import pyarrow.parquet as pq

from skipstack.search.ledger.lines import Line, checksum, damaged

ROWS = 10_000
"""Number of lines in memory at once."""

SCHEMA = pa.schema([("crc", pa.binary(8)), ("payload", pa.large_binary())])


def compacted(lines: Iterable[Line]) -> bytes:
    """The content of a Parquet file with these whole lines."""
    rest = iter(lines)
    file = BytesIO()
    with pq.ParquetWriter(file, SCHEMA, compression="zstd", write_page_checksum=True) as writer:
        while payloads := [line.payload for line in islice(rest, ROWS) if line.payload is not None]:
            writer.write_table(pa.table([list(map(checksum, payloads)), payloads], schema=SCHEMA))
    return file.getvalue()


def lines_in(content: bytes, name: str) -> Iterator[Line]:
    """The lines of the Parquet file ``name``, numbered by row from 1. Raises UserError if it is damaged."""
    number = 0
    try:
        file = pq.ParquetFile(pa.BufferReader(content), page_checksum_verification=True)
        for batch in file.iter_batches(ROWS):
            for crc, payload in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                number += 1
                if checksum(payload) != crc:
                    raise damaged(f"{name}:{number}")
                yield Line(name, number, payload)
    except (pa.ArrowException, OSError) as error:
        raise damaged(f"{name}:{number + 1}", "it is no whole Parquet file") from error


def same(lines: Iterable[Line], others: Iterable[Line]) -> bool:
    """Whether both hold the same payloads in the same order."""
    return all(
        one is not None and other is not None and one.payload == other.payload
        for one, other in zip_longest(lines, others)
    )
