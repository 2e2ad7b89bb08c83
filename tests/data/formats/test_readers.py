"""The readers: what is written is read back, and what is wrong is told with file and line."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skipstack.data.formats.columns import Separator
from skipstack.data.formats.conllu import ConlluCorpus
from skipstack.data.formats.files import SourceFile
from skipstack.data.formats.sentences import Sentence
from tests.data.formats.reading import file_of, in_format, read_columns, told
from tests.oracles.trees import trees

HARD = "a\u2028\u0085\u00a0\x0b\x0c\x1c#_é漢\U0001f600-.3"
"""Characters at which ``str.splitlines`` or ``str.split`` would cut a word, or that formats use."""

words = st.text(HARD, min_size=1, max_size=6).filter(lambda word: not word.startswith("#"))
tags = st.text("ABC-\u0085\u2028\\/", min_size=1, max_size=4)
sentences = st.lists(st.tuples(words, tags), min_size=1, max_size=5).map(
    lambda tokens: Sentence(tuple(word for word, _ in tokens), tuple(tag for _, tag in tokens))
)
corpora = st.lists(sentences, min_size=1, max_size=5)
line_ends = st.sampled_from(["\n", "\r\n"])
marks = st.sampled_from(["", "\ufeff"])
last = st.sampled_from([0, 1, 2, 5])


def read_conllu(file: SourceFile, layer: str) -> list[Sentence]:
    return in_format(ConlluCorpus).read(file, layer)


def conllu_line(
    number: str, word: str, tag: str = "_", xpos: str = "_", head: int | str = 0, relation: str = "root"
) -> str:
    return "\t".join([number, word, "lemma", tag, xpos, "_", str(head), relation, "_", "_"])


def arcs(*heads: int | str) -> list[str]:
    return [conllu_line(str(number), "w", head=head) for number, head in enumerate(heads, start=1)]


@given(corpora, line_ends, marks, last)
def test_conllu_reads_back_what_was_written(written: list[Sentence], end: str, mark: str, ends: int) -> None:
    blocks = []
    for sentence in written:
        lines = ["# sent_id = 1", "#text with no space", conllu_line("1-2", "both"), conllu_line("0.1", "nothing")]
        for number, (word, tag) in enumerate(zip(sentence.words, sentence.tags, strict=True), start=1):
            lines += [conllu_line(str(number), word, "X", tag), conllu_line(f"{number}.1", "nothing")]
        blocks.append(end.join(lines))
    text = mark + (end + end).join(blocks) + end * ends
    assert read_conllu(file_of(text), "xpos") == written
    assert [set(sentence.tags) for sentence in read_conllu(file_of(text), "upos")] == [{"X"}] * len(written)


@given(st.lists(st.sampled_from([tree for words in (1, 2, 3, 4) for tree in trees(words, single_root=True)])), tags)
def test_conllu_reads_back_the_trees_that_were_written(written: list[tuple[int, ...]], relation: str) -> None:
    def block(heads: tuple[int, ...]) -> str:
        lines = [conllu_line(str(n), "w", head=head, relation=f"{relation}:{n}") for n, head in enumerate(heads, 1)]
        return "\n".join([conllu_line("1-2", "both", head="_", relation="_"), *lines, conllu_line("1.1", "", head="_")])

    expected = [
        Sentence(("w",) * len(heads), tuple(f"{relation}:{n}" for n in range(1, len(heads) + 1)), heads)
        for heads in written
    ]
    assert read_conllu(file_of("\n\n".join(map(block, written))), "heads") == expected


@given(corpora, line_ends, marks, last, st.sampled_from(["utf-8", "utf-16-le", "gb18030"]))
def test_columns_read_back_what_was_written(
    written: list[Sentence], end: str, mark: str, ends: int, encoding: str
) -> None:
    def block(sentence: Sentence) -> str:
        tokens = zip(sentence.words, sentence.tags, strict=True)
        return end.join(["### before", *(f"{tag}\t\t{word}" for word, tag in tokens), "# after"])

    text = mark + (end + end).join(block(sentence) for sentence in written) + end * ends
    read = read_columns(file_of(text.encode(encoding)), word=2, tag=0, comment=("# ", "###"), encoding=encoding)
    assert read == written


@given(corpora, st.sampled_from([" ", "\t", "  ", " \t "]))
def test_whitespace_is_blanks_and_tabs_and_nothing_else(written: list[Sentence], between: str) -> None:
    blocks = [
        "\n".join(f" {word}{between}{tag} " for word, tag in zip(sentence.words, sentence.tags, strict=True))
        for sentence in written
    ]
    assert read_columns(file_of("\n \t\n".join(blocks)), separator="whitespace") == written


def test_blanks_around_words_and_tags_are_no_part_of_them_and_are_counted() -> None:
    """In columns by tabs and in CoNLL-U; blanks within stay."""
    (columns,) = read_columns(file_of("New York \tX\nin\t X\non\tY\n"))
    assert columns == Sentence(("New York", "in", "on"), ("X", "X", "Y"))
    (conllu,) = read_conllu(file_of(f"{conllu_line('1', ' a', 'X')}\n{conllu_line('2', 'b', 'X ')}"), "upos")
    assert conllu == Sentence(("a", "b"), ("X", "X"))
    assert (columns.stripped, conllu.stripped) == (2, 2)


@pytest.mark.parametrize("end", ["\r", "\n", "\r\n"])
def test_every_kind_of_line_ends_is_read(end: str) -> None:
    lines = ["a\tX", "b\tY", "", "c\tX", ""]
    assert read_columns(file_of(end.join(lines))) == [Sentence(("a", "b"), ("X", "Y")), Sentence(("c",), ("X",))]


def test_two_kinds_of_line_ends_in_a_file_are_told() -> None:
    for read in (lambda file: read_columns(file), lambda file: read_conllu(file, "upos")):
        assert told(read, file_of("\na\tX\rb\tY\n")) == (
            "train.txt:2: got a carriage return within the line, allowed: one kind of line ends"
        )
    assert told(read_columns, file_of(b"a\tX\rb\xff\tX\r")).startswith("train.txt:2: got the byte 0xff")


def test_an_underscore_is_a_word() -> None:
    assert read_conllu(file_of(conllu_line("1", "_", "PUNCT", "NFP")), "xpos") == [Sentence(("_",), ("NFP",))]


@pytest.mark.parametrize("text", ["", "\n\n", "# only a comment\n", "\ufeff", conllu_line("1.1", "nothing")])
def test_a_conllu_file_without_words_has_no_sentences(text: str) -> None:
    assert read_conllu(file_of(text), "upos") == []


@pytest.mark.parametrize(
    ("lines", "layer", "expected"),
    [
        (["1\ta\tb"], "upos", "train.txt:3: got 3 columns, allowed: 10"),
        (
            [conllu_line("1", "a", "X"), conllu_line("1", "b", "X")],
            "upos",
            "train.txt:4: got the id '1', allowed here: 2",
        ),
        ([conllu_line("one", "a", "X")], "upos", "train.txt:3: got the id 'one'"),
        ([conllu_line("1", "", "X")], "upos", "train.txt:3: got an empty word"),
        ([conllu_line("1", "a", "X")], "xpos", "train.txt:3: got '_' as the xpos tag of 'a', allowed: "),
        ([conllu_line("1", "a", "")], "upos", "train.txt:3: got '' as the upos tag of 'a'"),
        (["\t\t"], "upos", "train.txt:3: got 3 columns"),
        ([conllu_line("1", "a", relation="_")], "heads", "train.txt:3: got '_' as the relation of 'a', allowed: "),
        (arcs(0, 3), "heads", "train.txt:4: got the head '3', allowed here: 0 to 2"),
        (arcs(0, "_"), "heads", "train.txt:4: got the head '_', allowed here: 0 to 2"),
        (arcs(0, -1), "heads", "train.txt:4: got the head '-1', allowed here: 0 to 2"),
        (arcs(2, 1), "heads", "train.txt:3: got a sentence without a word of head 0, allowed: exactly one"),
        (arcs(2, 0, 0), "heads", "train.txt:5: got head 0, which word 2 has too, allowed: one in a sentence"),
        (arcs(0, 2), "heads", "train.txt:4: got heads in a circle (2, 2), allowed: a tree under head 0"),
        (arcs(0, 4, 2, 3), "heads", "train.txt:4: got heads in a circle (2, 4, 3, 2), allowed: a tree under head 0"),
    ],
)
def test_what_is_wrong_in_conllu_is_told_with_file_and_line(lines: list[str], layer: str, expected: str) -> None:
    assert told(read_conllu, file_of("\n".join(["# comment", "", *lines])), layer).startswith(expected)


@pytest.mark.parametrize(
    ("lines", "separator", "expected"),
    [
        (["a\tX", "b\tX\tY"], "tab", "train.txt:4: got 3 columns (separator: tab), allowed: 2 on every line"),
        (
            ["a X"],
            "tab",
            "train.txt:3: got 1 column (separator: tab; 2 with separator: whitespace), allowed: at least 2, because",
        ),
        (["a\tX", "\tX"], "tab", "train.txt:4: got an empty word, allowed: text in column 0"),
        (["a\tX", "b\t "], "tab", "train.txt:4: got an empty tag, allowed: text in column 1"),
        (["\t"], "tab", "train.txt:3: got an empty word"),
        (["a X", "b"], "whitespace", "train.txt:4: got 1 column (separator: whitespace), allowed: 2"),
    ],
)
def test_what_is_wrong_in_columns_is_told_with_file_and_line(
    lines: list[str], separator: Separator, expected: str
) -> None:
    assert told(
        read_columns, file_of("\n".join(["# comment", "", *lines])), separator=separator, comment="#"
    ).startswith(expected)


@pytest.mark.parametrize(
    ("content", "encoding", "expected"),
    [
        ("a\tX\n\u2028é\tX\n".encode() + b"b\xff\tX\n", "utf-8", "train.txt:3: got the byte 0xff, allowed: utf-8 text"),
        ("é\tX\n".encode(), "ascii", "train.txt:1: got the byte 0xc3, allowed: ascii text"),
        (b"a", "utf-88", "unknown encoding 'utf-88'"),
        (b"a", "base64", "unknown encoding 'base64'"),
    ],
)
def test_bytes_that_are_no_text_are_told(content: bytes, encoding: str, expected: str) -> None:
    assert told(lambda: list(file_of(content).lines(encoding))).startswith(expected)


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    for path in (tmp_path / "none.tsv", tmp_path):
        assert str(path) in told(SourceFile.read, path)
