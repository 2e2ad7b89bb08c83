"""``skipstack check``: right pieces pass every check, and each mistake is told by the check that is about it."""

import subprocess
import sys
from pathlib import Path

import pytest

from skipstack.models.conformance.checks import CHECKS
from tests.own_code.pieces_of import BROKEN, RIGHT

pytestmark = pytest.mark.long

TOLD = {
    "wrong_shape": ("shapes", "g has shape (4, 5, 3) (allowed: (4, 5, 3, 4))"),
    "waits": ("waits", "a number of the device is read on the host, such as by .item()"),
    "mixes_devices": ("waits", "tensors of the host meet those of the device"),
    "copies": ("waits", "times for the device, with ours 0: numbers go to or from the host"),
    "global_noise": ("repeats", "it draws from a global generator, not from the lanes' streams"),
    "keeps": ("calls", "it keeps something between calls"),
    "mixes_sentences": ("sentences", "nothing may be computed over the sentences of a batch"),
    "sees_padding": ("padding", "nothing may be computed over time that looks beyond the end of a sentence"),
    "mixes_lanes": ("lanes", "nothing may be computed over lanes, the first axis"),
    "detached": ("gradient", "something on the way back is detached or wrong"),
    "wrong_gradient": ("gradient", "something on the way back is detached or wrong"),
    "counts_updates": ("resumed", "it keeps something that is neither parameter nor buffer"),
    "raises": ("shapes", "ZeroDivisionError: division by zero"),
}
"""By each broken gate: the check that finds it, and what it says."""


def checked(file: Path) -> tuple[int, dict[str, list[tuple[str, str, str]]], str]:
    """The exit code, each piece's lines as (outcome, check, words), and the last line.

    In a process of its own, where nothing has gone backward before.
    """
    command = [Path(sys.executable).parent / "skipstack", "check", file]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    pieces: dict[str, list[tuple[str, str, str]]] = {}
    piece = ""
    for line in ran.stdout.splitlines():
        if line.startswith("  "):
            outcome, check, words = line.split(maxsplit=2)
            pieces[piece].append((outcome, check.removesuffix(":"), words))
        else:
            piece = line
            pieces[piece] = []
    return ran.returncode, pieces, ran.stderr


def test_right_pieces_pass_every_check() -> None:
    code, pieces, error = checked(RIGHT)
    assert (code, error) == (0, "")
    assert set(pieces) == {
        "gate soft_step",
        "gate hard",
        "gate noisy",
        "cell minimal",
        "head tempered",
        "embedder word_and_capital",
    }
    for lines in pieces.values():
        assert [(outcome, check) for outcome, check, _ in lines] == [("holds", check) for check in CHECKS]


def test_each_mistake_is_told_once_by_the_check_that_is_about_it() -> None:
    code, pieces, error = checked(BROKEN)
    assert code == 2
    assert error.count("\n") == 1
    assert "failed a check" in error
    found = {}
    for piece, lines in pieces.items():
        (failure,) = [(check, words) for outcome, check, words in lines if outcome == "FAILS"]
        assert lines[-1][1:] == failure
        found[piece.removeprefix("gate ")] = failure
    assert found.keys() == TOLD.keys()
    for kind, (check, words) in TOLD.items():
        assert found[kind][0] == check, (kind, found[kind])
        assert words in found[kind][1], (kind, found[kind])
    line = BROKEN.read_text().splitlines().index("        return g_GTBH / g_GTBH.max().item()") + 1
    assert found["waits"][1].startswith(f"broken.py:{line}: ")
