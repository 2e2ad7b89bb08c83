"""Words and tags in two files side by side, as slot filling is published."""

from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from skipstack.data.corpora.sources import open_source
from skipstack.data.formats.columns import ColumnCorpus
from skipstack.data.formats.files import SourceFile
from skipstack.data.formats.parallel import ParallelCorpus
from skipstack.data.formats.sentences import Sentence
from tests.data.formats.reading import in_format, told
from tests.splits import read_splits

LINES = [
    ("listen to westbam on google music ", "O O B-artist O B-service I-service ", "PlayMusic"),
    ("rate this book four", "O O O B-rating", "RateBook"),
]
SNIPS = ParallelCorpus(train="train/seq.in", dev="valid/seq.in", test="test/seq.in", scheme="bio")


@pytest.fixture
def published(tmp_path: Path) -> Path:
    """SNIPS as it is published, with two sentences a split."""
    for split in ("train", "valid", "test"):
        (tmp_path / split).mkdir()
        for name, lines in zip(("seq.in", "seq.out", "label"), zip(*LINES, strict=True), strict=True):
            (tmp_path / split / name).write_text("".join(f"{line}\n" for line in lines))
    return tmp_path


def beside(words: str, **others: str) -> SourceFile:
    """A file of words, and the files beside it, by the ends of their names."""
    return SourceFile(
        Path("seq.in"), words.encode(), tuple(SourceFile(Path(end), text.encode()) for end, text in others.items())
    )


def both(words: str, tags: str) -> SourceFile:
    return beside(words, **{"seq.out": tags})


def test_snips_is_read_as_it_is_published(published: Path) -> None:
    splits = read_splits(SNIPS, data_dir=None, folder=published)
    assert splits["train"] == splits["dev"] == splits["test"]
    assert splits["dev"][1] == Sentence(("rate", "this", "book", "four"), ("O", "O", "O", "B-rating"))
    source = open_source(SNIPS, data_dir=None, folder=published)
    assert (source.task, source.scheme) == ("tagging", "bio")


def test_the_label_of_each_sentence_is_learnt_instead(published: Path) -> None:
    intents = ParallelCorpus(**{**SNIPS.model_dump(), "scheme": None, "tags": "label", "unit": "sentence"})
    source = open_source(intents, data_dir=None, folder=published)
    assert source.task == "classification"
    assert [sentence.tags for sentence in source.read()["test"]] == [("PlayMusic",), ("RateBook",)]


def test_tags_that_change_are_another_corpus(published: Path) -> None:
    key = open_source(SNIPS, data_dir=None, folder=published).key
    (published / "valid/seq.out").write_text("O O O O O O\nO O O O\n")
    assert open_source(SNIPS, data_dir=None, folder=published).key != key


word = st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters=" \ufeff"), min_size=1, max_size=5)


@given(rows=st.lists(st.lists(st.tuples(word, word), min_size=1, max_size=5), max_size=5))
def test_what_is_written_side_by_side_is_read_back(rows: list[list[tuple[str, str]]]) -> None:
    texts = ["".join(" ".join(pair[side] for pair in row) + "\n" for row in rows) for side in (0, 1)]
    read = in_format(ParallelCorpus).read(both(*texts), "tag")
    assert read == [Sentence(tuple(pair[0] for pair in row), tuple(pair[1] for pair in row)) for row in rows]


@pytest.mark.parametrize(
    ("words", "tags", "expected"),
    [
        ("a b\n", "O\n", "seq.out:1: got 1 tag, allowed: one for each of the 2 words on line 1 of seq.in"),
        ("a\nb\n", "O\n", "seq.out:2: got nothing, allowed: tags for line 2 of seq.in"),
        ("a\n", "O\nO\n", "seq.in:2: got nothing, allowed: words for line 2 of seq.out"),
        ("a\n", "X-city\n", "seq.out:1: got the tag 'X-city', allowed in bio: O, B-type, I-type"),
    ],
)
def test_lines_that_do_not_fit_are_told_with_their_file(words: str, tags: str, expected: str) -> None:
    form = in_format(ParallelCorpus, scheme="bio")
    assert told(form.read, both(words, tags), "tag") == expected


def test_a_path_of_another_end_is_told(published: Path) -> None:
    other = SNIPS.model_copy(update={"words": ".words"})
    message = told(open_source, other, data_dir=None, folder=published)
    assert message.endswith("seq.in: got a name of another end (allowed: words: .words, or words: its own end)")


@pytest.mark.parametrize("separator", ["tab", "whitespace"])
def test_words_that_are_read_as_columns_are_told_of_their_kind(separator: Literal["tab", "whitespace"]) -> None:
    form = in_format(ColumnCorpus, separator=separator)
    message = told(form.read, both("listen to westbam\nrate this\n", ""), "tag")
    assert "words and tags in two files side by side are read with kind: parallel" in message


@pytest.mark.parametrize("name", ["../seq.out", "/etc/passwd", "a\\b", ""])
def test_tags_are_in_the_folder_of_their_words(name: str) -> None:
    """A received bundle may name only files in folders that the user allows."""
    with pytest.raises(ValidationError, match="tags"):
        ParallelCorpus(train="seq.in", dev="seq.in", test="seq.in", tags=name)


def test_options_that_contradict_each_other_are_refused() -> None:
    with pytest.raises(ValidationError, match=r"tags: got 'seq.in', the end of words, too"):
        ParallelCorpus(train="seq.in", dev="seq.in", test="seq.in", tags="seq.in")
    with pytest.raises(ValidationError, match=r"scheme: got 'bio' for labels of sentences"):
        ParallelCorpus(train="seq.in", dev="seq.in", test="seq.in", unit="sentence", scheme="bio")
