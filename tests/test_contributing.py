"""CONTRIBUTING.md is short, and its table of files to change for an addition is correct."""

import re

from tests.pages import CONTRIBUTING, ROOT

PIECES = {
    *("gate", "cell", "head", "corpus", "format", "task"),
    *("measure", "scheduler", "proposer", "event", "command"),
}
"""The additions that the table must have a line for."""

MOST_FILES = 3
"""The maximum number of files to change for an addition, without tests."""


def table() -> dict[str, tuple[list[str], list[str]]]:
    """Return, for each kind of addition, the files to change and the test files."""
    _, section = CONTRIBUTING.text.split("## Where to add what\n")
    rows = [re.split(r" *\| *", line.strip("| ")) for line in section.splitlines() if line.startswith("|")]
    assert rows[0] == ["to add a", "touch", "and the tests"]
    return {piece: (_names(touched), _names(tests)) for piece, touched, tests in rows[2:]}


def _names(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def test_it_is_short() -> None:
    assert len(CONTRIBUTING.text.splitlines()) < 200


def test_every_piece_has_a_line_of_files_that_exist_and_are_few() -> None:
    lines = table()
    assert set(lines) >= PIECES
    for piece, (touched, tests) in lines.items():
        assert 1 <= len(touched) <= MOST_FILES, piece
        assert tests, piece
        assert [name for name in touched if not (ROOT / name).exists() or name.startswith("tests/")] == []
        assert [name for name in tests if not (ROOT / name).exists() or not name.startswith("tests/")] == []
