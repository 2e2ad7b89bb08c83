"""Records with lists of words and tags, in JSON lines, Arrow and Parquet."""

import json
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from skipstack.data.formats.files import SourceFile
from skipstack.data.formats.records import RecordCorpus
from skipstack.data.formats.sentences import Sentence
from tests.data.formats.reading import file_of, in_format, told


def read(content: str | bytes, **options: Any) -> list[Sentence]:
    return in_format(RecordCorpus, **options).read(file_of(content), "tag")


def arrow(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table.schema) as file:
        file.write_table(table)
    return sink.getvalue().to_pybytes()


def stream(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as file:
        file.write_table(table)
    return sink.getvalue().to_pybytes()


def parquet(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    return sink.getvalue().to_pybytes()


WRITERS = {"arrow": arrow, "stream": stream, "parquet": parquet}
text = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=5).filter(lambda each: each.strip(" "))


@given(rows=st.lists(st.lists(st.tuples(text, text), max_size=4), max_size=4), ascii_alone=st.booleans())
def test_every_form_of_the_same_records_is_read_alike(rows: list[list[tuple[str, str]]], ascii_alone: bool) -> None:
    """Blanks at the ends of words and tags are removed; a record without words is no sentence."""
    records = [{"tokens": [word for word, _ in row], "ner_tags": [tag for _, tag in row]} for row in rows]
    wanted = [
        Sentence(tuple(word.strip(" ") for word, _ in row), tuple(tag.strip(" ") for _, tag in row))
        for row in rows
        if row
    ]
    lines = "\ufeff" + "\r\n\r\n".join(json.dumps(record, ensure_ascii=ascii_alone) for record in records)
    assert read(lines) == wanted
    schema = pa.schema({"tokens": pa.list_(pa.string()), "ner_tags": pa.large_list(pa.string())})
    table = pa.Table.from_pylist(records, schema=schema)
    assert [read(write(table)) for write in WRITERS.values()] == [wanted] * 3


def test_blanks_around_words_and_tags_are_counted() -> None:
    (sentence,) = read('{"tokens": [" a", "b", "c\\u00a0"], "ner_tags": ["X", "Y ", "Z"]}')
    assert (sentence.words, sentence.tags, sentence.stripped) == (("a", "b", "c\u00a0"), ("X", "Y", "Z"), 2)


def test_numbers_have_the_names_of_the_config_or_of_the_file() -> None:
    line = '{"tokens": ["to", "Bonn"], "ner_tags": [0, 1]}'
    assert read(line, names=["O", "B-LOC"]) == [Sentence(("to", "Bonn"), ("O", "B-LOC"))]
    for kind in ("List", "Sequence"):
        feature = {"feature": {"names": ["O", "B-LOC"], "_type": "ClassLabel"}, "_type": kind}
        told_by = {"huggingface": json.dumps({"info": {"features": {"ner_tags": feature}}})}
        table = pa.table({"tokens": [["to", "Bonn"]], "ner_tags": [[0, 1]]}).replace_schema_metadata(told_by)
        for write in WRITERS.values():
            assert read(write(table)) == read(line, names=["O", "B-LOC"])
            assert read(write(table), names=["x", "y"]) == [Sentence(("to", "Bonn"), ("x", "y"))]


def test_tags_in_a_scheme_are_repaired_and_others_refused() -> None:
    line = '{"tokens": ["a", "b"], "ner_tags": ["I-x", "O"]}\n'
    (sentence,) = read(line, scheme="bio")
    assert (sentence.tags, sentence.written) == (("B-x", "O"), ("I-x", "O"))
    message = told(read, f'{line}{{"tokens": ["a"], "ner_tags": ["E-x"]}}', scheme="bio")
    assert message == "train.txt:2: got the tag 'E-x', allowed in bio: O, B-type, I-type"


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("[]", "got '[]', allowed: an object of JSON, such as {...}, on each line"),
        ('{"tokens": ["a"]', 'got \'{"tokens": ["a"]\', allowed: an object of JSON on each line'),
        ("[" * 100_000, f"got '{'[' * 40}', allowed: an object of JSON on each line"),
        ('{"token": ["a"], "ner_tags": ["X"]}', "unknown key 'tokens' (nearest: 'token'; allowed: token, ner_tags)"),
        ('{"tokens": ["a"], "ner_tags": []}', "got 1 word and 0 tags (allowed: as many tags as words)"),
        ('{"tokens": ["a", ""], "ner_tags": ["X", "X"]}', "got an empty word, word 2 (allowed: text)"),
        ('{"tokens": ["a", null], "ner_tags": ["X", "X"]}', "got NoneType as word 2 (allowed: str)"),
        ('{"tokens": "a b", "ner_tags": ["X"]}', "got its words as 'a b', which is str (allowed: a tuple of str)"),
        ('{"tokens": ["a"], "ner_tags": 1}', "got its tags as 1, which is int (allowed: a tuple of str)"),
        ('{"tokens": ["a"], "ner_tags": [true]}', "got True, which is bool as tag 1 (allowed: str)"),
        (
            '{"tokens": ["a"], "ner_tags": [-100]}',
            "got the number -100 as a tag, allowed: 0 to 1, the numbers of names",
        ),
        (
            r'{"tokens": ["\ud83d"], "ner_tags": ["X"]}',
            r"got half of a surrogate pair (\ud800 to \udfff), allowed: char",
        ),
    ],
)
def test_what_is_no_record_is_told_with_its_line(line: str, says: str) -> None:
    first = '{"tokens": ["\\ud83d\\ude00"], "ner_tags": ["X"]}\n'
    assert told(read, first + line, names=["O", "B-x"]).startswith(f"train.txt:2: {says}")


@pytest.mark.parametrize("form", WRITERS)
def test_a_table_that_cannot_be_read_is_told(form: str) -> None:
    content = WRITERS[form](pa.table({"tokens": [["a"]], "tags": [["X"]]}))
    assert told(read, content) == "train.txt: unknown column 'ner_tags' (nearest: 'tags'; allowed: tokens, tags)"
    assert told(read, content[: len(content) // 2]).startswith("train.txt: got a table that cannot be read (")
    message = told(read, WRITERS[form](pa.table({"tokens": [["a"], ["b"]], "ner_tags": [["X"], None]})))
    assert message == "train.txt:2: got its tags as NoneType (allowed: a tuple of str)"


def test_options_that_contradict_each_other_are_refused() -> None:
    with pytest.raises(ValidationError, match="tag: got 'tokens', which has the words"):
        in_format(RecordCorpus, tag="tokens")
    with pytest.raises(ValidationError, match="Extra inputs"):
        in_format(RecordCorpus, encoding="gbk")


def test_packed_lines_are_told() -> None:
    form = in_format(RecordCorpus)
    assert "got a file packed by gzip" in told(form.read, SourceFile(file_of("").path, b"\x1f\x8b..."), "tag")
