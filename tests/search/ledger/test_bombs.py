"""Parquet files that would unpack to gigabytes: a few kilobytes as a ledger's segment, told as damage beforehand."""

import struct
import tracemalloc
from collections.abc import Callable, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skipstack.data.basis.errors import UserError
from skipstack.search.ledger.compaction import ROWS, SCHEMA, compacted, lines_in
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.ledger.lines import Line, checksum
from skipstack.search.ledger.parquet_pages import MOST_PACKED, SMALL
from tests.command_line import refusal

MEGA = 1 << 20
ALLOWED = 6 * SMALL
"""Bytes that reading any small file may take: a page, a dictionary, and a batch of rows, each also while it grows."""


def parquet(payloads: Sequence[bytes | None], schema: pa.Schema = SCHEMA, **options: Any) -> bytes:
    """A file of a ledger's columns whose every checksum is right."""
    file = BytesIO()
    table = pa.table([[None if each is None else checksum(each) for each in payloads], payloads], schema=schema)
    with pq.ParquetWriter(file, schema, compression="zstd", write_page_checksum=True, **options) as writer:
        writer.write_table(table, row_group_size=len(payloads))
    return file.getvalue()


def repeated() -> bytes:
    """A line in the dictionary once, and 4,000 rows that name it."""
    line = b"1 " + b"a" * MEGA
    payloads = pa.DictionaryArray.from_arrays(pa.array([0] * 4000, pa.int32()), pa.array([line], pa.large_binary()))
    table = pa.table({"crc": pa.array([checksum(line)] * 4000, pa.binary(8)), "payload": payloads})
    file = BytesIO()
    pq.write_table(table, file, compression="zstd", write_page_checksum=True)
    return file.getvalue()


def one_page() -> bytes:
    """Pages of zeros, of 128 MB each."""
    return parquet([b"%d " % number + bytes(128 * MEGA) for number in (1, 2)], use_dictionary=False)


def shared_beginnings() -> bytes:
    """Each line says how much of the one before it has."""
    encoding = {"payload": "DELTA_BYTE_ARRAY"}
    return parquet([b"1 " + b"a" * MEGA] * 300, use_dictionary=False, column_encoding=encoding)


def many_pages() -> bytes:
    """Each page is as large as one may be."""
    payloads = [b"%d " % number + bytes(SMALL - 100) for number in range(1, 7)]
    return parquet(payloads, use_dictionary=False, data_page_size=1, write_batch_size=1)


def nothing() -> bytes:
    """Rows without a value take no bytes at all."""
    return parquet([None] * 2_000_000)


def second_version() -> bytes:
    """Pages whose headers say other things."""
    return parquet([b"1 " + b"a" * MEGA] * 100, data_page_version="2.0")


BOMBS = (repeated, one_page, shared_beginnings, many_pages, nothing, second_version)


def reading(content: bytes) -> tuple[int, str]:
    """What reading the lines, as a ledger does, takes at most, of Arrow and of Python, and how it ends."""
    pool = pa.proxy_memory_pool(pa.default_memory_pool())
    before = pa.default_memory_pool()
    pa.set_memory_pool(pool)
    tracemalloc.start()
    said = "read"
    try:
        for number, line in enumerate(lines_in(content, "000009.parquet"), 1):
            if not (line.payload or b"").startswith(b"%d " % number):
                said = "another append"
                break
    except UserError as error:
        said = str(error)
    finally:
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        pa.set_memory_pool(before)
    return most + (pool.max_memory() or 0), said


@pytest.mark.first(1)
@pytest.mark.parametrize("bomb", BOMBS)
def test_a_small_file_takes_little_memory_whatever_it_would_unpack_to(bomb: Callable[[], bytes]) -> None:
    content = bomb()
    assert len(content) < MEGA
    taken, said = reading(content)
    assert taken < ALLOWED, f"{taken:,}"
    assert said.startswith("000009.parquet") or said in ("read", "another append")


@pytest.mark.slow
def test_a_footer_that_lies_about_sizes_changes_nothing() -> None:
    """Sizes that count stand in the pages: here the footer says that its columns unpack to nothing."""
    content = one_page()
    (length,) = struct.unpack("<I", content[-8:-4])
    footer = content[-8 - length : -8]
    size = pq.ParquetFile(BytesIO(content)).metadata.row_group(0).column(1).total_uncompressed_size
    written = b""
    number = size * 2
    while True:
        written += bytes([(number & 0x7F) | (0x80 if number > 0x7F else 0)])
        number >>= 7
        if not number:
            break
    assert footer.count(written) == 1
    lying = footer.replace(written, b"\x80" * (len(written) - 1) + b"\x00")
    content = content[: -8 - length] + lying + content[-8:]
    assert pq.ParquetFile(BytesIO(content)).metadata.row_group(0).column(1).total_uncompressed_size == 0
    taken, said = reading(content)
    assert "unpacks to" in said
    assert taken < ALLOWED


def test_other_columns_are_told_as_damage() -> None:
    for schema in (
        pa.schema([("crc", pa.binary(8)), ("payload", pa.binary(8))]),
        pa.schema([("crc", pa.binary(8)), ("other", pa.large_binary())]),
    ):
        assert "it has other columns" in reading(parquet([b"12345678"], schema))[1]


@pytest.mark.slow
@pytest.mark.parametrize("bomb", [repeated, one_page])
def test_a_command_tells_it_in_one_line(bomb: Callable[[], bytes], tmp_path: Path) -> None:
    (tmp_path / "ledger").mkdir()
    (tmp_path / "ledger" / "000001.parquet").write_bytes(bomb())
    for command in ("report", "resume"):
        assert refusal(command, tmp_path).startswith(f"skipstack: {tmp_path}/ledger/000001.parquet")
    with pytest.raises(UserError):
        Ledger(tmp_path / "ledger").read()


@given(st.lists(st.binary(max_size=30) | st.binary(max_size=3).map(lambda few: few * 100_000), max_size=40))
@settings(deadline=None, max_examples=30)
def test_what_we_write_is_read(payloads: list[bytes]) -> None:
    lines = [Line("x", number, payload) for number, payload in enumerate(payloads, 1)]
    assert [line.payload for line in lines_in(compacted(lines), "x")] == payloads


def test_lines_that_pack_well_are_read_as_they_were_written() -> None:
    """Lines of a megabyte that pack to a thousandth, more than a page may hold together; and many short ones."""
    long = [b"%d " % number + b"0" * MEGA for number in range(3 * SMALL // MEGA)]
    many = [b"%d " % number for number in range(ROWS + 10)]
    for payloads in (long, many):
        lines = [Line("x", number, payload) for number, payload in enumerate(payloads, 1)]
        content = compacted(lines)
        assert len(content) * MOST_PACKED < sum(map(len, payloads)) or payloads is many
        assert all(read.payload == line.payload for read, line in zip(lines_in(content, "x"), lines, strict=True))
