"""Running text: what is read of a file, how it is cut into streams, and what is refused."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skipstack.data.basis.errors import UserError
from skipstack.data.formats.files import SourceFile
from skipstack.data.formats.running_text import END, RunningTextCorpus
from skipstack.data.store.stored import Split
from skipstack.data.store.streams import stream_batches
from tests.data.formats.reading import in_format


def file(text: str) -> SourceFile:
    return SourceFile(Path("text.txt"), text.encode())


def text_of(tokens: int) -> Split:
    forms, offsets = np.arange(1, tokens + 1, dtype=np.int32), np.array([0, tokens])
    return Split(forms, forms * 2, np.array([tokens], dtype=np.int32), offsets, offsets)


def test_every_word_and_every_end_is_predicted_once_from_what_stands_before() -> None:
    (text,) = in_format(RunningTextCorpus).read(file(" a b \n\nc\n"), "word")
    assert text.tags == ("a", "b", END, "c", END)
    assert text.words == (END, "a", "b", END, "c")


def test_words_are_cut_as_every_other_reader_cuts_them() -> None:
    (text,) = in_format(RunningTextCorpus).read(file("10\u00a0000 a\u2028b\tc\r\n"), "word")
    assert text.tags == ("10\u00a0000", "a\u2028b", "c", END)


def test_an_end_of_sentence_in_the_text_is_told_with_its_line() -> None:
    with pytest.raises(UserError, match=r"text\.txt:2: got the word <eos>"):
        in_format(RunningTextCorpus).read(file(f"a b\nc {END}\n"), "word")


def test_an_empty_text_is_refused() -> None:
    with pytest.raises(UserError, match=r"text\.txt: got an empty text"):
        in_format(RunningTextCorpus).read(file("\n \n"), "word")


@given(tokens=st.integers(1, 60), streams=st.integers(1, 9), window=st.integers(1, 12))
def test_streams_go_on_and_hold_every_token_once(tokens: int, streams: int, window: int) -> None:
    batches = list(stream_batches(text_of(tokens), streams=streams, window=window))
    rows: list[list[int]] = [[] for _ in range(batches[0].lengths_RB.shape[1])]
    for batch in batches:
        assert batch.forms_RTB.shape == batch.tags_RUB.shape
        assert batch.forms_RTB.shape[1] <= window
        for place, count in enumerate(batch.lengths_RB[0]):
            forms, tags = batch.forms_RTB[0, :, place], batch.tags_RUB[0, :, place]
            assert (tags[:count] == 2 * forms[:count]).all()
            assert (tags[count:] == -1).all()
            assert not forms[count:].any()
            rows[place] += forms[:count].tolist()
    assert [token for row in rows for token in row] == list(range(1, tokens + 1))
    assert len({len(row) for row in rows if row}) <= 2
