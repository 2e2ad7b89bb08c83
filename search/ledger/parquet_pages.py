"""What reading a Parquet file would take: the pages of its columns, before any of them is unpacked.

A footer may say anything, and a page of a few bytes may unpack to gigabytes. Sizes and encodings that count stand in
the header of each page, in Thrift's compact protocol; these are read here, and nothing else of a page.
"""

from collections.abc import Iterator
from typing import Any, Final

SMALL: Final = 1 << 26
"""Bytes that a page may unpack to in any case."""

MOST_PACKED: Final = 200
"""How many times its own size a larger page may unpack to; ledgers are packed about ten times."""

DATA_PAGE, DICTIONARY_PAGE = 0, 2
PLAIN, PLAIN_DICTIONARY, RLE_DICTIONARY = 0, 2, 8
"""Kinds of pages and encodings of values, by Parquet's numbers: those that we write."""

TRUE, FALSE, BYTE, DOUBLE, BINARY, STRUCT = 1, 2, 3, 7, 8, 12
INTEGERS: Final = (4, 5, 6)
"""The types of the compact protocol that headers have."""

DEEPEST: Final = 8
"""Structs within one another in a header: there are three."""

Struct = dict[int, Any]


class PagesError(ValueError):
    """The pages are none that we write, or would unpack to too much."""


def check_pages(content: memoryview, metadata: Any) -> int:
    """How many rows of the file, whose footer is ``metadata``, unpack to no more than ``SMALL`` at once; one at least.

    Raises PagesError unless all its pages are such as we write.
    """
    rows = SMALL
    for group in range(metadata.num_row_groups):
        for place in range(metadata.row_group(group).num_columns):
            column = metadata.row_group(group).column(place)
            start = column.data_page_offset
            if column.has_dictionary_page and 0 < column.dictionary_page_offset < start:
                start = column.dictionary_page_offset
            end = start + column.total_compressed_size
            if not 0 <= start <= end <= len(content):
                raise PagesError("a column lies outside of it")
            for header, size in _pages(content[start:end]):
                unpacked, values = _checked_page(header, size)
                rows = min(rows, SMALL * max(1, values) // max(1, unpacked))
    return max(1, rows)


def _pages(column: memoryview) -> Iterator[tuple[Struct, int]]:
    """The header of each page of a column, and the bytes that the page takes."""
    place = 0
    while place < len(column):
        reader = _Reader(column, place)
        header = reader.struct()
        size = header.get(3)
        if not isinstance(size, int) or not 0 <= size <= len(column) - reader.place:
            raise PagesError("a page lies outside of its column")
        yield header, size
        place = reader.place + size


def _checked_page(header: Struct, size: int) -> tuple[int, int]:
    """What a page of ``size`` bytes unpacks to: bytes, and values. Any row may name the whole of a dictionary."""
    kind, unpacked = header.get(1), header.get(2)
    if kind not in (DATA_PAGE, DICTIONARY_PAGE):
        raise PagesError(f"a page is of kind {kind}")
    about = header.get(5 if kind == DATA_PAGE else 7)
    encoding = about.get(2) if isinstance(about, dict) else None
    if encoding not in (PLAIN, PLAIN_DICTIONARY, RLE_DICTIONARY):
        raise PagesError(f"a page has the encoding {encoding}")
    if not isinstance(unpacked, int) or not 0 <= unpacked <= max(SMALL, MOST_PACKED * size):
        raise PagesError(f"a page of {size:,} bytes unpacks to {unpacked if unpacked is None else f'{unpacked:,}'}")
    if kind == DICTIONARY_PAGE:
        return unpacked, 1
    values = about.get(1) if isinstance(about, dict) else None
    if not isinstance(values, int):
        raise PagesError("a page says no number of values")
    return unpacked, values


class _Reader:
    """Reads Thrift's compact protocol; a struct is a mapping from the numbers of its fields. Raises PagesError."""

    def __init__(self, content: memoryview, place: int) -> None:
        self._content = content
        self.place = place

    def struct(self, depth: int = 0) -> Struct:
        """A struct, up to its end."""
        if depth > DEEPEST:
            raise PagesError("a header is too deep")
        fields: Struct = {}
        number = 0
        while head := self._byte():
            kind = head & 0x0F
            number = number + (head >> 4) if head >> 4 else self._zigzag()
            fields[number] = kind == TRUE if kind in (TRUE, FALSE) else self._value(kind, depth)
        return fields

    def _value(self, kind: int, depth: int) -> Any:
        if kind in INTEGERS:
            return self._zigzag()
        if kind == STRUCT:
            return self.struct(depth + 1)
        if kind == BYTE:
            return self._byte()
        if kind in (BINARY, DOUBLE):
            return self._skip(self._varint() if kind == BINARY else 8)
        raise PagesError("a header has what no header of ours has")  # lists and mappings

    def _skip(self, count: int) -> None:
        if count > len(self._content) - self.place:
            raise PagesError("a header lies outside of its column")
        self.place += count

    def _byte(self) -> int:
        if self.place >= len(self._content):
            raise PagesError("a header lies outside of its column")
        self.place += 1
        return self._content[self.place - 1]

    def _varint(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value
            if shift > 63:
                raise PagesError("a number in a header is too long")

    def _zigzag(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)
