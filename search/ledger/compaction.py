"""Compacts many lines of a ledger into one file: the same lines in the same order, compressed (gzip)."""

import gzip
import zlib
from collections.abc import Callable, Iterable, Iterator
from io import BytesIO
from itertools import zip_longest
from pathlib import Path
from typing import Final

from skipstack.data.basis.atomic_files import atomic_file
from skipstack.data.basis.ordinary_files import opened
from skipstack.search.ledger.lines import Line, damaged, decoded, encoded

SUFFIX: Final = ".jsonl.gz"
"""The suffix of a compacted file's name."""

LEVEL: Final = 3
"""The compression level: a file is a few percent larger than at the highest one, and written three times as fast."""

LONGEST: Final = 1 << 28
"""Most bytes that a line may unpack to: a file from an untrusted source may unpack to a thousand times its size."""


def compacted(lines: Iterable[Line]) -> bytes:
    """The content of a file with these whole lines; the same for the same lines."""
    packed = BytesIO()
    with gzip.GzipFile("", "wb", LEVEL, packed, mtime=0) as file:
        for line in lines:
            if line.payload is not None:
                file.write(encoded(line.payload))
    return packed.getvalue()


def lines_in(path: Path) -> Iterator[Line]:
    """The lines of a compacted file. Raises UserError if it is damaged."""
    number = 0
    try:
        with opened(path) as packed, gzip.GzipFile(fileobj=packed) as file:
            while text := file.readline(LONGEST):
                number += 1
                if (payload := decoded(text)) is None:
                    raise damaged(f"{path}:{number}")
                yield Line(str(path), number, payload)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise damaged(f"{path}:{number + 1}", "it is no whole gzip file") from error
    if not number:
        raise damaged(str(path), "it is empty")


def write_compacted(path: Path, lines: Callable[[], Iterable[Line]]) -> None:
    """Write a compacted file as a whole, durably. Raises OSError if it does not read as it was written."""
    with atomic_file(path, fsync=True) as temporary:
        temporary.write_bytes(compacted(lines()))
        if not _same(lines_in(temporary), lines()):
            raise OSError(f"{temporary}: does not read as it was written")


def _same(lines: Iterable[Line], others: Iterable[Line]) -> bool:
    """Whether both hold the same payloads in the same order."""
    return all(
        one is not None and other is not None and one.payload == other.payload
        for one, other in zip_longest(lines, others)
    )
