"""``skipstack check``: right pieces pass every check, and each mistake is told by the check that is about it."""

import subprocess
import sys
from pathlib import Path

import pytest

from skipstack.models.conformance.checks import CHECKS
from skipstack.models.conformance.formats import FORMAT_CHECKS
from skipstack.search.strategy.proposers.conformance import PROPOSER_SUITE
from skipstack.search.strategy.schedulers.conformance import SCHEDULER_SUITE
from tests.own_code.pieces_of import BROKEN, BROKEN_FORMATS, BROKEN_SEARCHING, FORMATS, RIGHT, SEARCHING

pytestmark = pytest.mark.long

TOLD = {
    "wrong_shape": ("shapes", "g has shape (4, 5, 3) (allowed: (4, 5, 3, 4))"),
    "waits": ("waits", "a number of the device is read on the host, such as by .item()"),
    "mixes_devices": ("waits", "an operation mixes tensors of host and device"),
    "copies": ("waits", "times for the device, the built-in piece 0: numbers go to or from the host"),
    "global_noise": ("repeats", "draw from the lanes' streams, not from a global generator"),
    "keeps": ("calls", "no state may be kept between calls"),
    "mixes_sentences": ("sentences", "nothing may be computed over the sentences of a batch"),
    "sees_padding": ("padding", "nothing may be computed over time that reads beyond the end of a sentence"),
    "mixes_lanes": ("lanes", "nothing may be computed over lanes, the first axis"),
    "detached": ("gradient", "its backward pass is detached or wrong somewhere"),
    "wrong_gradient": ("gradient", "its backward pass is detached or wrong somewhere"),
    "counts_updates": ("resumed", "state must be a parameter or a buffer"),
    "raises": ("shapes", "ZeroDivisionError: division by zero"),
}
"""By each broken gate: the check that finds it, and what it says."""


TOLD_OF_FORMATS = {
    "raises": ("reads", "IndexError: tuple index out of range"),
    "cannot_be_made": ("reads", "KeyError: 'cannot_be_made'"),
    "returns_nothing": ("reads", "it read None (allowed: sentences)"),
    "no_example": ("reads", "its example is str (allowed: Example(text, sentences), or several)"),
    "other_layer": ("reads", "its example: unknown layer 'tga' (nearest: 'tag'; allowed: tag)"),
    "unequal_lengths": (
        "sentences",
        "sentence 1 of the example: got 2 words and 1 tag (allowed: as many tags as words)",
    ),
    "empty_sentence": ("sentences", "sentence 3 of the example: got a sentence without a word"),
    "no_text": ("sentences", "sentence 1 of the example: got 88, which is int as tag 1 (allowed: str)"),
    "as_bytes": ("sentences", "sentence 1 of the example: got b'a', which is bytes as word 1 (allowed: str)"),
    "shorter": ("example", "the example is read as 1 sentence (allowed: 2, as it says)"),
    "lowercases": ("example", "sentence 1 of the example is read as Sentence(words=('a', 'b'), tags=('x', 'y'), "),
    "random": ("repeats", "the same text gives other sentences when it is read again"),
    "keeps": ("repeats", "it keeps state between files, or draws at random"),
    "in_any_order": ("elsewhere", "another process reads other sentences: they depend on the order of a set"),
    "crashes_on_others": ("cut_off", "of the example cut off after 'a' it raises ValueError: not enough values"),
    "says_no_place": ("cut_off", "it says 'got no end of a line' (allowed: file.error(line, words), which says where)"),
}
"""Likewise of formats."""

TOLD_OF_SEARCHING = {
    "proposer raises": ("points", "broken_searching.py:21: proposer raises: IndexError: tuple index out of range"),
    "proposer outside_the_space": ("points", "proposer outside_the_space: model.stack.depth: got 4 (allowed: 1, 2, 3)"),
    "proposer no_point": ("points", "as a point (allowed: a value for each active axis by its path, or None)"),
    "proposer nothing": ("points", "it proposes no point"),
    "proposer counts": ("asking", "the same history gives other points after further questions"),
    "proposer global_numbers": ("randomness", "it depends on a global random state"),
    "proposer in_any_order": ("elsewhere", "another process proposes other points: they depend on the order of a set"),
    "scheduler unsure": ("replays", "scheduler unsure: continues returned None (allowed: True or False)"),
    "scheduler looks": ("replays", "broken_searching.py:88: scheduler looks: KeyError: 1"),
    "scheduler remembers": (
        "replays",
        "decides 'stop' if the same reports are replayed: a resumed study would be refused",
    ),
    "scheduler tosses": ("randomness", "it changes a global random state"),
    "scheduler shuffles": ("elsewhere", "another process decides otherwise"),
}
"""Likewise of proposers and schedulers."""


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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_right_formats_pass_every_check_and_one_without_an_example_is_open() -> None:
    code, pieces, error = checked(FORMATS)
    assert (code, error) == (0, "")
    ((outcome, check, words),) = pieces.pop("format arrows")
    assert (outcome, check) == ("open", "example")
    assert "nothing was read (allowed: example = Example(text, sentences), in the class)" in words
    assert set(pieces) == {f"format {kind}" for kind in ("two_lines", "names", "stars", "next_words", "requests")}
    for lines in pieces.values():
        assert [(outcome, check) for outcome, check, _ in lines] == [("holds", check) for check in FORMAT_CHECKS]


@pytest.mark.slow
def test_each_mistake_of_a_format_is_told_once_by_the_check_that_is_about_it() -> None:
    code, pieces, error = checked(BROKEN_FORMATS)
    assert code == 2
    assert error.count("\n") == 1
    assert {outcome for outcome, _, _ in pieces.pop("format right")} == {"holds"}
    assert {name.removeprefix("format ") for name in pieces} == TOLD_OF_FORMATS.keys()
    for name, lines in pieces.items():
        (failure,) = [(check, words) for outcome, check, words in lines if outcome == "FAILS"]
        check, words = TOLD_OF_FORMATS[name.removeprefix("format ")]
        assert failure[0] == check, (name, failure)
        assert words in failure[1], (name, failure)
        assert lines[-1][1:] == failure
    line = BROKEN_FORMATS.read_text().splitlines().index("        self.mark = {}[config.kind]") + 1
    assert pieces["format cannot_be_made"][-1][2].startswith(f"broken_formats.py:{line}: ")


@pytest.mark.slow
def test_right_proposers_and_schedulers_pass_every_check() -> None:
    code, pieces, error = checked(SEARCHING)
    assert (code, error) == (0, "")
    assert set(pieces) == {"proposer near", "proposer backwards", "scheduler plateau", "scheduler best_half"}
    for name, lines in pieces.items():
        suite = PROPOSER_SUITE if name.startswith("proposer") else SCHEDULER_SUITE
        assert [(outcome, check) for outcome, check, _ in lines] == [("holds", check) for check in suite.checks]


@pytest.mark.slow
def test_each_mistake_of_a_proposer_or_a_scheduler_is_told_once_by_the_check_that_is_about_it() -> None:
    code, pieces, error = checked(BROKEN_SEARCHING)
    assert code == 2
    assert error.count("\n") == 1
    assert pieces.keys() == TOLD_OF_SEARCHING.keys()
    for name, lines in pieces.items():
        (failure,) = [(check, words) for outcome, check, words in lines if outcome == "FAILS"]
        check, words = TOLD_OF_SEARCHING[name]
        assert failure[0] == check, (name, failure)
        assert words in failure[1], (name, failure)
        assert lines[-1][1:] == failure
