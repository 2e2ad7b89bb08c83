"""Spans by characters: how they meet tokens, in records as Prodigy and doccano write them, and in brat's files."""

import json
import re
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from skipstack.data.corpora.sources import open_source
from skipstack.data.formats.brat import BratCorpus
from skipstack.data.formats.files import SourceFile
from skipstack.data.formats.format import Unit
from skipstack.data.formats.plain_lines import places_in, tokens_in
from skipstack.data.formats.sentences import Sentence
from skipstack.data.formats.span_records import SpanRecordCorpus
from skipstack.data.formats.texts import tokens_of
from skipstack.data.labels.schemes import repaired, spans_of
from skipstack.data.store.stored import open_store
from skipstack.data.store.writing import store
from tests.data.formats.reading import file_of, in_format, told

TEXT = "Ann Lee's firm, O'Neil & Co.\nmoved to  New York."


def read(*records: dict[str, Any], **options: Any) -> list[Sentence]:
    lines = "".join(json.dumps(record) + "\n" for record in records)
    return in_format(SpanRecordCorpus, **options).read(file_of(lines), "tag")


def spanned(*spans: tuple[int, int, str], text: str = TEXT) -> dict[str, Any]:
    return {"text": text, "spans": [{"start": start, "end": end, "label": label} for start, end, label in spans]}


def brat(text: str, spans: str, **options: Any) -> list[Sentence]:
    beside = SourceFile(Path("1.ann"), spans.encode())
    return in_format(BratCorpus, **options).read(SourceFile(Path("1.txt"), text.encode(), (beside,)), "tag")


@given(
    text=st.text("ab'é\u0301.漢字 \t\u3000\u00a0\r\n<br/>_", max_size=30),
    unit=st.sampled_from(["word", "character", "text"]),
)
def test_places_are_those_of_the_tokens(text: str, unit: Unit) -> None:
    """Words and characters are compared with plain definitions, texts with the reader of labelled texts."""
    places = places_in(text, unit)
    found = [text[start:end] for start, end in places]
    bare = text.replace("\t", " ").replace("\r", " ").replace("\n", " ")
    by_unit = {
        "word": [word for word in bare.split(" ") if word],
        "character": [*bare.replace(" ", "").replace("\u3000", "")],
        "text": tokens_of(text),
    }
    assert found == by_unit[unit] == tokens_in(text, unit)
    assert sorted(places) == places


def plainly(text: str, given: list[tuple[int, int, str]]) -> list[tuple[tuple[str, ...], list[str]]]:
    """The words and tags of each line where spans are fitted: each span is held against each line and each other span,
    token by token.
    """
    places = places_in(text, "word")
    line_of = [len(re.findall(r"[\r\n]", text[:start])) for start, _ in places]
    found: list[tuple[list[int], str]] = []
    for start, stop, kind in given:
        covered = [token for token, (begin, end) in enumerate(places) if start < end and begin < stop]
        if start < stop and len({line_of[token] for token in covered}) == 1 and (covered, kind) not in found:
            found.append((covered, kind))
    tags = ["O"] * len(places)
    for covered, kind in sorted(found, key=lambda each: (-len(each[0]), each[0][0])):
        if all(tags[token] == "O" for token in covered):
            tags[covered[0] : covered[-1] + 1] = [f"B-{kind}", *[f"I-{kind}"] * (len(covered) - 1)]
    by_line = [[token for token in range(len(places)) if line_of[token] == line] for line in sorted({*line_of})]
    words = [text[start:end] for start, end in places]
    return [(tuple(words[token] for token in line), [tags[token] for token in line]) for line in by_line]


@given(text=st.text("ab  \r\n", min_size=1, max_size=30).filter(str.strip), draw=st.data())
def test_spans_of_any_lines_are_fitted_as_plain_loops_say(text: str, draw: st.DataObject) -> None:
    ends = st.integers(0, len(text))
    pairs = draw.draw(st.lists(st.tuples(ends, ends, st.sampled_from("xy")), max_size=8))
    spans = [(min(one, other), max(one, other), kind) for one, other, kind in pairs]
    found = read(spanned(*spans, text=text), unit="word", misfits="fit")
    assert [(each.words, [*each.tags]) for each in found] == plainly(text, spans)


words = st.lists(st.text("abé漢😀", min_size=1, max_size=4), min_size=1, max_size=8)


@given(words=words, draw=st.data(), form=st.sampled_from(["mappings", "offsets", "lists", "brat"]))
def test_spans_of_whole_words_are_read_back(words: list[str], draw: st.DataObject, form: str) -> None:
    tag = st.sampled_from(["O", "B-x", "I-x", "B-y z", "I-y z"] if form != "brat" else ["O", "B-x", "I-x"])
    tags = repaired(draw.draw(st.lists(tag, min_size=len(words), max_size=len(words))), "bio")
    starts = [0, *accumulate(len(word) + 1 for word in words)]
    spans = [(starts[a.start], starts[a.stop] - 1, a.type) for a in spans_of(tags, "bio")]
    text = " ".join(words)
    match form:
        case "mappings":
            found = read(spanned(*spans, text=text), unit="word")
        case "offsets":
            entities = [{"start_offset": start, "end_offset": end, "label": label} for start, end, label in spans]
            found = read({"text": text, "entities": entities}, spans="entities", unit="word")
        case "lists":
            found = read({"text": text, "label": spans[::-1]}, spans="label", unit="word")
        case _:
            lines = [
                f"T{at}\t{span[2]} {span[0]} {span[1]}\t{text[span[0] : span[1]]}\n" for at, span in enumerate(spans)
            ]
            found = brat(text, "".join(lines), unit="word")
    assert found == [Sentence(tuple(words), tags)]


def test_each_line_of_a_text_is_a_sentence_and_blanks_at_the_ends_of_spans_do_not_count() -> None:
    """The characters of the spans: with a blank after the first, and before the others."""
    first, second = read(spanned((0, 10, "PER"), (15, 28, "ORG"), (37, 47, "LOC")))
    assert first == Sentence(
        ("Ann", "Lee's", "firm", ",", "O'Neil", "&", "Co", "."),
        ("B-PER", "I-PER", "O", "O", "B-ORG", "I-ORG", "I-ORG", "I-ORG"),
    )
    assert second == Sentence(("moved", "to", "New", "York", "."), ("O", "O", "B-LOC", "I-LOC", "O"))


def test_a_span_within_a_token_is_refused_and_all_are_counted() -> None:
    fine = spanned((39, 47, "LOC"))
    message = told(read, fine, spanned((0, 7, "PER"), (39, 47, "LOC")), spanned((41, 47, "LOC"), (17, 22, "PER")))
    assert message == (
        "train.txt:2: got the span 'Ann Lee' (0 to 7), which cuts the token \"Lee's\"; 3 spans do not fit, allowed: "
        "none, or misfits: fit"
    )


MISFITS = {
    "a cut token at its end": ([(0, 7, "PER")], {0: "B-PER", 1: "I-PER"}, 1),
    "cut tokens at both ends": ([(1, 8, "PER")], {0: "B-PER", 1: "I-PER"}, 1),
    "the longest of three": (
        [(16, 22, "PER"), (16, 28, "ORG"), (23, 27, "X")],
        dict(zip(range(4, 8), ["B-ORG", "I-ORG", "I-ORG", "I-ORG"], strict=True)),
        2,
    ),
    "the first of two as long": ([(4, 14, "A"), (0, 9, "B")], {0: "B-B", 1: "I-B"}, 1),
    "the same twice": ([(16, 22, "PER"), (16, 22, "PER")], {4: "B-PER"}, 0),
    "on two lines": ([(23, 34, "ORG")], {}, 1),
    "blanks alone": ([(37, 39, "LOC")], {}, 1),
    "nothing": ([(5, 5, "LOC")], {}, 1),
}


@pytest.mark.parametrize(("spans", "tags", "count"), MISFITS.values(), ids=MISFITS)
def test_spans_are_fitted_to_tokens_and_counted(
    spans: list[tuple[int, int, str]], tags: dict[int, str], count: int
) -> None:
    found = read(spanned(*spans), misfits="fit")
    assert [tag for sentence in found for tag in sentence.tags] == [tags.get(at, "O") for at in range(13)]
    assert [sentence.fitted for sentence in found] == [count, 0]
    if count:
        assert f"{count} span" in told(read, spanned(*spans))


def test_spans_of_texts_without_a_token_are_counted_beside_them() -> None:
    blank, ann = spanned((0, 1, "PER"), text=" "), spanned((1, 3, "PER"), text="Ann")
    assert [each.fitted for each in read(blank, ann, ann, blank, blank, misfits="fit")] == [2, 3]
    assert read(blank, misfits="fit") == []


def test_only_the_types_that_are_asked_for_are_read() -> None:
    nested = spanned((16, 28, "ORG"), (16, 22, "PER"))
    assert read(nested, types=["PER"])[0].tags == ("O", "O", "O", "O", "B-PER", "O", "O", "O")


def test_tokens_of_the_records_are_taken_where_they_are_named() -> None:
    """The tokens of spaCy, as Prodigy writes them: a line end is a token of its own, which is no word."""
    tokens = [(0, 3), (4, 7), (7, 9), (9, 10), (10, 12)]
    record = {
        **spanned((4, 7, "PER"), text="Ann Lee's\nok"),
        "tokens": [{"text": "", "start": start, "end": end, "id": at} for at, (start, end) in enumerate(tokens)],
    }
    form = in_format(SpanRecordCorpus, tokens="tokens")
    assert form.token_unit == "word"
    assert read(record, tokens="tokens") == [
        Sentence(("Ann", "Lee", "'s"), ("O", "B-PER", "O")),
        Sentence(("ok",), ("O",)),
    ]
    with pytest.raises(ValidationError, match="unit: got 'word' for records that have tokens"):
        in_format(SpanRecordCorpus, tokens="tokens", unit="word")


def test_rejected_and_ignored_records_are_skipped() -> None:
    answers = [{**spanned((0, 3, "PER"), text="Ann"), "answer": answer} for answer in ("reject", "accept", "ignore")]
    assert read(*answers) == [Sentence(("Ann",), ("B-PER",))]


@pytest.mark.parametrize(
    ("record", "says"),
    [
        ({"txt": "a", "spans": []}, "unknown key 'text' (nearest: 'txt'; allowed: txt, spans)"),
        ({"text": ["a"], "spans": []}, "got text: ['a'], allowed: text"),
        ({"text": "a", "spans": {"a": 1}}, "got spans: {'a': 1}, allowed: a list"),
        (
            {"text": "a", "spans": [[0, 1]]},
            "got [0, 1] as a span or token, allowed: a mapping with start, end and label",
        ),
        ({"text": "a", "spans": [[True, 1, "X"]]}, "got {'start': True, 'end': 1, 'label': 'X'} as a span or token"),
        ({"text": "a", "spans": [[0, 1, 3]]}, "got the label 3 of a span, allowed: text"),
        ({"text": "a", "spans": [[0, 1, " "]]}, "got a span without a type, 'a' (0 to 1), allowed: a type"),
        (
            {"text": "a", "spans": [[0, 2, "X"]]},
            "got a span from character 0 to 2, allowed: 0 to 1, the length of the te",
        ),
        (
            {"text": "a", "spans": [[1, 0, "X"]]},
            "got a span from character 1 to 0, allowed: 0 to 1, the length of the te",
        ),
    ],
)
def test_what_is_no_record_of_spans_is_told_with_its_line(record: dict[str, Any], says: str) -> None:
    assert told(read, spanned((0, 3, "X")), record).startswith(f"train.txt:2: {says}")


def test_spans_under_another_key_and_wrong_tokens_are_told() -> None:
    assert told(read, {"text": "a", "label": []}) == "train.txt:1: unknown key 'spans' (allowed: text, label)"
    late = {**spanned(text="ab"), "tokens": [{"start": 1, "end": 2}, {"start": 0, "end": 1}]}
    assert "got a token from character 0 to 1, allowed: in order" in told(read, late, tokens="tokens")
    assert "unknown key 'tokens'" in told(read, spanned(), tokens="tokens")


@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_brat_counts_line_ends_and_the_byte_order_mark(end: str, mark: str) -> None:
    text = f"{mark}to Bonn{end}{end}via Köln{end}"
    place = text.index("Köln")
    (first, second) = brat(text, f"{mark}T1\tCity {place} {place + 4}\tKöln{end}R1\tx Arg1:T1 Arg2:T1{end}")
    assert (first, second) == (Sentence(("to", "Bonn"), ("O", "O")), Sentence(("via", "Köln"), ("O", "B-City")))
    assert first.document == second.document == "1.txt"


def test_a_span_in_pieces_is_whole_if_blanks_alone_are_between() -> None:
    assert brat("New  York", "T1\tCity 0 3;5 9\tNew York") == [Sentence(("New", "York"), ("B-City", "I-City"))]
    apart = "T1\tCity 0 5;10 14\tNorth York"
    assert "which is in several pieces" in told(brat, "North and York", apart)
    (fitted,) = brat("North and York", apart, misfits="fit")
    assert (fitted.tags, fitted.fitted) == (("B-City", "I-City", "I-City"), 1)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("T2\tCity 3", "got 'T2\\tCity 3', allowed: T1, a tab, type start end, a tab, the text"),
        ("T2\tCity 3 7\tKöln", "got the text 'Köln' of 3 to 7, allowed: 'Bonn', as there"),
        ("T2\tCity 3 99\tBonn", "got a span from character 3 to 99, allowed: 0 to 7, the length of the text"),
        ("T2\tCity 3 6\tBon", "got the span 'Bon' (3 to 6), which cuts the token 'Bonn'; 1 span does not fit"),
        (f"T2\tCity 3 {'9' * 5000}\tBonn", "got 'T2\\tCity 3 999"),
    ],
)
def test_what_is_wrong_in_a_file_of_spans_is_told_with_its_line(line: str, says: str) -> None:
    assert told(brat, "to Bonn", f"T1\tA 0 2\tto\n{line}\n").startswith(f"1.ann:2: {says}")


def test_a_text_without_its_file_of_spans_and_other_names_are_told(tmp_path: Path) -> None:
    (tmp_path / "1.txt").write_text("to Bonn")
    corpus = BratCorpus(train="1.txt", dev="1.txt", test="1.txt")
    assert "1.ann" in told(open_source, corpus, data_dir=None, folder=tmp_path)
    key = []
    for spans in ("", "T1\tCity 3 7\tBonn\n"):
        (tmp_path / "1.ann").write_text(spans)
        key.append(open_source(corpus, data_dir=None, folder=tmp_path).key)
    assert key[0] != key[1]
    other = corpus.model_copy(update={"train": "1.ann"})
    assert "1.ann: got a name of another end (allowed: .txt" in told(open_source, other, data_dir=None, folder=tmp_path)


def test_fitted_spans_are_counted_in_the_store(tmp_path: Path) -> None:
    for split, span in (("train", (0, 2)), ("dev", (0, 3)), ("test", (1, 3))):
        (tmp_path / split).write_text(json.dumps(spanned((*span, "PER"), text="Ann left")))
    corpus = SpanRecordCorpus(train="train", dev="dev", test="test", misfits="fit")
    stored = open_store(store(corpus, data_dir=None, folder=tmp_path, root=tmp_path / "stores"))
    assert dict(stored.fitted) == {"train": 1, "test": 1}
    assert (stored.scheme, stored.tags) == ("bio", ("B-PER", "O"))
