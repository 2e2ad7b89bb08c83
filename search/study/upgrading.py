"""Rewrites a study that an earlier version wrote, so that it stands in today's format.

Formats that nothing writes any more are read only here.

Until 0.2.0 a long ledger was compacted into Parquet: a row per append, with the ``payload`` of its line and its CRC-32.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from skipstack.data.basis.errors import UserError
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.ledger.lines import SUFFIX, Line, checksum, damaged, write_compacted
from skipstack.search.ledger.segments import PARQUET
from skipstack.search.study.record.folder import StudyFolder

COLUMNS: Final = ["crc", "payload"]

ROWS: Final = 10_000
"""Number of lines that are in memory at once."""


def upgrade(folder: Path) -> list[str]:
    """Rewrite what is of an earlier version in a study's ``folder``; returns what was done, a sentence each.

    Raises UserError where there is no study, where a driver writes it, and for damaged files, which stay as they are.
    """
    ledger = StudyFolder(folder).ledger
    if not ledger.is_dir():
        raise UserError(f"{folder}: is no study's folder, it has no ledger/ (allowed: a folder given to --out)")
    with Ledger(ledger).kept():
        return [_recompacted(path) for path in sorted(ledger.iterdir()) if PARQUET.fullmatch(path.name)]


def _recompacted(path: Path) -> str:
    to = path.with_name(path.stem + SUFFIX)
    write_compacted(to, lambda: parquet_lines(path))
    path.unlink()
    return f"{path.name} is {to.name} now"


def parquet_lines(path: Path) -> Iterator[Line]:
    """The lines of a compacted ledger of versions up to 0.2.0. Raises UserError if it is damaged.

    In a file from elsewhere, a page of a few bytes may unpack to gigabytes.
    """
    import pyarrow as pa  # loaded where there is such a file
    import pyarrow.parquet as pq

    number = 0
    try:
        file = pq.ParquetFile(path, page_checksum_verification=True)
        if file.schema.names != COLUMNS:
            raise damaged(str(path), "it has other columns")
        for batch in file.iter_batches(ROWS, use_threads=False):
            for crc, payload in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                number += 1
                if payload is None or checksum(payload) != crc:
                    raise damaged(f"{path}:{number}")
                yield Line(str(path), number, payload)
    except (pa.ArrowException, OSError) as error:
        raise damaged(f"{path}:{number + 1}", "it is no whole Parquet file") from error
