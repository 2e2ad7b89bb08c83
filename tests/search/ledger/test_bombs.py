"""A compacted ledger that would unpack to gigabytes: a few kilobytes from elsewhere, told as damage beforehand."""

import gzip
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skipstack.search.ledger import lines
from skipstack.search.ledger.lines import Line, compacted, encoded, lines_in
from tests.command_line import refusal

MEGA = 1 << 20


def test_a_line_without_end_takes_no_more_memory_than_the_longest_that_is_allowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "LONGEST", MEGA)
    file = tmp_path / "ledger" / "000001.jsonl.gz"
    file.parent.mkdir()
    file.write_bytes(gzip.compress(bytes(100 * MEGA)))
    assert file.stat().st_size < MEGA
    tracemalloc.start()
    for command in ("report", "resume"):
        assert refusal(command, tmp_path).startswith(f"skipstack: {file}:1: damaged")
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 50 * MEGA


@pytest.mark.slow
def test_lines_are_unpacked_one_after_another(tmp_path: Path) -> None:
    (file := tmp_path / "000001.jsonl.gz").write_bytes(gzip.compress(encoded(b"1 " + b"a" * MEGA) * 300))
    tracemalloc.start()
    assert sum(1 for _ in lines_in(file)) == 300
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 10 * MEGA


@given(st.lists(st.binary(max_size=30) | st.binary(max_size=3).map(lambda few: few * 100_000), min_size=1, max_size=40))
@settings(max_examples=30)
def test_what_we_write_is_read(tmp_path_factory: pytest.TempPathFactory, payloads: list[bytes]) -> None:
    payloads = [payload.replace(b"\n", b" ") for payload in payloads]  # JSON has none
    written = [Line("x", number, payload) for number, payload in enumerate(payloads, 1)]
    file = tmp_path_factory.mktemp("ledger") / "000001.jsonl.gz"
    file.write_bytes(compacted(written))
    assert [line.payload for line in lines_in(file)] == payloads
    assert [line.number for line in lines_in(file)] == list(range(1, len(payloads) + 1))
