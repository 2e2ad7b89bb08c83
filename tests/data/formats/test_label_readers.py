"""Readers of labelled spans: slot lines, tagged words, segmented text; what is wrong is told with file and line."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from skipstack.data.basis.errors import UserError
from skipstack.data.corpora.config import Corpus, NamedCorpus
from skipstack.data.corpora.sources import token_unit
from skipstack.data.corpora.synthetic.grammar import GrammarCorpus
from skipstack.data.corpora.synthetic.numbers import NumbersCorpus
from skipstack.data.formats.characters import in_characters, in_words
from skipstack.data.formats.columns import ColumnCorpus
from skipstack.data.formats.files import SourceFile
from skipstack.data.formats.segmented import SegmentedCorpus
from skipstack.data.formats.sentences import Sentence
from skipstack.data.formats.slots import SlotCorpus
from skipstack.data.formats.texts import TextCorpus
from skipstack.data.formats.word_tags import MARKS, Mark, WordTagCorpus
from skipstack.data.labels.schemes import PREFIXES, Scheme, Span, converted, spans_of
from tests.data.formats.reading import file_of, in_format, read_columns, told

words = st.text("a_/漢字-[]1", min_size=1, max_size=4)
tagged = st.lists(st.tuples(words, st.sampled_from(["n", "NR", "v-x"])), min_size=1, max_size=5)


def read_slots(file: SourceFile) -> list[Sentence]:
    return in_format(SlotCorpus).read(file, "slot")


def read_word_tags(file: SourceFile, separator: Mark, **options: Any) -> list[Sentence]:
    return in_format(WordTagCorpus, separator=separator, **options).read(file, "pos")


def read_segmented(file: SourceFile, **options: Any) -> list[Sentence]:
    return in_format(SegmentedCorpus, **options).read(file, "segmentation")


def sentence(text: str, tags: str) -> Sentence:
    return Sentence(tuple(text.split()), tuple(tags.split()))


def test_slot_lines_lose_their_ends_and_their_intent() -> None:
    text = "BOS to new york EOS\t O O B-city I-city atis_flight\n\nBOS hi EOS\tO O atis_flight#atis_day\n"
    assert read_slots(file_of(text)) == [sentence("to new york", "O B-city I-city"), sentence("hi", "O")]


def test_illegal_slots_are_repaired() -> None:
    assert read_slots(file_of("BOS a b EOS\tO I-x I-y O")) == [sentence("a b", "B-x B-y")]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("BOS a b EOS O O O O", "got 'BOS a b EOS O O O O', allowed: BOS, words, EOS, a tab, tags"),
        ("a b EOS\tO O O", "got 'a b EOS\\tO O O', allowed: BOS, words, EOS, a tab, tags"),
        ("BOS EOS\tO O", "got 'BOS EOS\\tO O', allowed: BOS, words, EOS, a tab, tags"),
        ("BOS a EOS\tO B-x", "got 2 tags for 3 words, allowed: one each, BOS and EOS included"),
        ("BOS a EOS\tB-x O O", "got the tag 'B-x' at BOS, allowed: O"),
        ("BOS a EOS\tO S-x O", "got the tag 'S-x', allowed in bio: O, B-type, I-type"),
        ("BOS a b EOS\tO B-x I O", "got the tag 'I', allowed: a type, as on line 2"),
    ],
)
def test_what_is_wrong_in_slot_lines_is_told_with_file_and_line(line: str, said: str) -> None:
    assert told(read_slots, file_of(f"BOS fine EOS\tO O O\n{line}\n")) == f"train.txt:2: {said}"


@given(written=st.lists(tagged, min_size=1, max_size=4), separator=st.sampled_from(MARKS))
def test_tagged_words_are_parted_at_the_last_separator(written: list[list[tuple[str, str]]], separator: Mark) -> None:
    lines = [" ".join(f"{word}{separator}{tag}" for word, tag in tokens) for tokens in written]
    read = read_word_tags(file_of("\r\n\r\n".join(lines)), separator=separator)
    assert read == [Sentence(*map(tuple, zip(*tokens, strict=True))) for tokens in written]


def test_slots_are_read_with_their_scheme_and_the_label_of_each_sentence_instead() -> None:
    """As the MIT corpora, ATIS and SNIPS are passed on: a word may be the mark itself."""
    file = file_of("to:O york:I-city ::O <=> fly;ask\n\nhi:O <=> a b\n")
    options: dict[str, Any] = {"separator": ":", "label_after": "<=>"}
    slots = read_word_tags(file, scheme="bio", **options)
    assert slots == [sentence("to york :", "O B-city O"), sentence("hi", "O")]
    assert slots[0].written == ("O", "I-city", "O")
    labels = in_format(WordTagCorpus, unit="sentence", **options)
    assert (labels.task(labels.layer), labels.token_unit, labels.label_scheme) == ("classification", "word", None)
    assert labels.read(file, labels.layer) == [Sentence(("to", "york", ":"), ("fly;ask",)), Sentence(("hi",), ("a b",))]
    for line in ("to:O", "to:O <=>", "<=> fly"):
        message = told(read_word_tags, file_of(f"hi:O <=> x\n{line}\n"), **options)
        assert message == f"train.txt:2: got {line!r}, allowed: words, <=>, the label of the sentence"
    for wrong in ({"unit": "sentence"}, {"unit": "character", "scheme": "bio"}):
        with pytest.raises(ValidationError, match=r"label_after: got null|scheme: got 'bio' for unit: character"):
            in_format(WordTagCorpus, **wrong)


def test_ids_and_brackets_of_the_peoples_daily_are_passed_over() -> None:
    line = "19980101-01-001-002/m  [中央/n  人民/n  台/n]nt  １/m  [/w  ]/w  ////w  [新华社/n]nt  \r\r\n"
    file = file_of(line, "gbk")
    assert read_word_tags(file, separator="/", encoding="gbk", identified=True, brackets=True) == [
        sentence("中央 人民 台 １ [ ] /// 新华社", "n n n m w w w n")
    ]


def test_brackets_are_characters_like_others_where_they_mean_nothing() -> None:
    assert read_word_tags(file_of("[a_n b]c_n"), separator="_") == [sentence("[a b]c", "n n")]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("a/n b", "got 'b', allowed: word/TAG"),
        ("a/n /n", "got '/n', allowed: word/TAG"),
        ("a/ b/n", "got 'a/', allowed: word/TAG"),
        ("[a/n b/n", "got a [ without its ], allowed: both on the same line"),
        ("a/n b/n]nt", "got 'b/n]nt', a ] without its [, allowed: both on the same line"),
        ("[a/n [b/n c/n]nt", "got a [ without its ], allowed: both on the same line"),
        ("a[b/n c/n]nt", "got 'a[b/n', a bracket within a word, allowed: brackets around whole words"),
        ("[a/n b]c/n", "got 'b]c/n', a bracket within a word, allowed: brackets around whole words"),
        ("[[a/n b/n]nt c/n]nt", "got '[[a/n', a bracket within a word, allowed: brackets around whole words"),
        ("[a/n b/n]nt]nt", "got 'b/n]nt]nt', a bracket within a word, allowed: brackets around whole words"),
    ],
)
def test_what_is_wrong_in_tagged_words_is_told_with_file_and_line(line: str, said: str) -> None:
    assert told(read_word_tags, file_of(f"[a/n]nt\n{line}\n"), separator="/", brackets=True) == f"train.txt:2: {said}"


def test_an_id_without_words_is_told() -> None:
    with pytest.raises(UserError, match=r"train.txt:1: got '1998/m' alone, allowed: words after the id of a line"):
        read_word_tags(file_of("1998/m \n"), separator="/", identified=True)


def test_another_encoding_is_told_with_file_and_line() -> None:
    with pytest.raises(UserError, match=r"train.txt:2: got the byte 0x.., allowed: utf-8 text"):
        read_word_tags(file_of("a/n\n漢/n\n", "gbk"), separator="/")
    with pytest.raises(UserError, match=r"train.txt:1: got the byte 0xff, allowed: gbk text"):
        read_segmented(file_of(b"\xff\xff"), encoding="gbk")


@given(tagged)
def test_the_characters_of_words_have_them_as_their_spans(tokens: list[tuple[str, str]]) -> None:
    characters = in_characters([word for word, _ in tokens], [tag for _, tag in tokens])
    assert "".join(characters.words) == "".join(word for word, _ in tokens)
    spans = spans_of(characters.tags, "bmes")
    assert [("".join(characters.words[span.start : span.stop]), span.type) for span in spans] == tokens


@given(tagged, st.sampled_from([each for each in PREFIXES if each != "io"]))
def test_words_come_back_from_their_characters_in_every_scheme(tokens: list[tuple[str, str]], scheme: Scheme) -> None:
    characters = in_characters([word for word, _ in tokens], [tag for _, tag in tokens])
    assert in_words(characters.words, converted(characters.tags, "bmes", scheme), scheme) == tokens


def test_a_character_in_no_span_is_a_word_of_its_own() -> None:
    assert in_words("中国人民好", ["RARE", "O", "B-n", "I-n", "I-v"], "bio") == [
        ("中", "RARE"),
        ("国", "O"),
        ("人民", "n"),
        ("好", "v"),
    ]
    assert in_words("人民好", ["E-n", "RARE", "E-n"], "bmes") == [("人", "n"), ("民", "RARE"), ("好", "n")]
    assert in_words("", [], "bmes") == []


@pytest.mark.parametrize(
    ("corpus", "expected"),
    [
        (GrammarCorpus(), "word"),
        (NumbersCorpus(), "word"),
        (TextCorpus(train="a", dev="a", test="a"), "text"),
        (NamedCorpus(name="conll2003"), "word"),
        (NamedCorpus(name="pku-199801"), "character"),
        (NamedCorpus(name="ud-chinese-simplified"), "character"),
        (WordTagCorpus(train="a", dev="a", test="a"), "word"),
        (WordTagCorpus(train="a", dev="a", test="a", unit="character"), "character"),
        (SegmentedCorpus(train="a", dev="a", test="a"), "character"),
        (ColumnCorpus(train="a", dev="a", test="a", scheme="bmes"), "word"),
    ],
)
def test_what_stands_between_blanks_is_told_by_the_kind_of_corpus(corpus: Corpus, expected: str) -> None:
    assert token_unit(corpus) == expected


def test_segmented_text_is_read_without_types() -> None:
    read = read_segmented(file_of("中国  人\u3000民日报\n\n好\n"))
    assert read == [sentence("中 国 人 民 日 报", "B E S B M E"), sentence("好", "S")]
    assert spans_of(read[0].tags, "bmes") == [Span(0, 2, ""), Span(2, 3, ""), Span(3, 6, "")]


def test_columns_are_read_in_their_scheme_and_repaired() -> None:
    text = "-DOCSTART- -X- O O\n\nEU NNP I-NP I-ORG\nrejects VBZ I-VP O\nGerman JJ I-NP B-MISC\n"
    read = read_columns(file_of(text), tag=3, separator="whitespace", comment="-DOCSTART-", scheme="iob1")
    assert read == [sentence("EU rejects German", "I-ORG O I-MISC")]


def test_a_tag_outside_the_scheme_of_columns_is_told_with_file_and_line() -> None:
    assert (
        told(read_columns, file_of("a\tO\nb\tI-x\n\nc\tE-x\n"), scheme="bio")
        == "train.txt:4: got the tag 'E-x', allowed in bio: O, B-type, I-type"
    )


@pytest.mark.parametrize(
    ("tags", "said"),
    [
        (["O", "B-x", "O", "B"], "4: got the tag 'B', allowed: a type, as on line 2"),
        (["B", "O", "I-x"], "3: got the tag 'I-x', allowed: no type, as on line 1"),
    ],
)
def test_spans_with_and_without_a_type_in_one_file_are_told(tags: list[str], said: str) -> None:
    assert told(read_columns, file_of("".join(f"a\t{tag}\n" for tag in tags)), scheme="bio") == f"train.txt:{said}"
    untyped = [tag[:1] for tag in tags]
    read = read_columns(file_of("".join(f"a\t{tag}\n" for tag in untyped)), scheme="bio")
    assert [tag[:1] for tag in read[0].tags] == [tag.replace("I", "B") for tag in untyped]
