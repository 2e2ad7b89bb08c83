"""Intents: the token at the end of a sentence comes and goes, and every format that has intents reads the same ones."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from skipstack.data.basis.user_code.files import read_code
from skipstack.data.formats.files import SourceFile
from skipstack.data.formats.format import FileCorpus
from skipstack.data.formats.intents import with_end, without_end
from skipstack.data.formats.parallel import ParallelCorpus
from skipstack.data.formats.recognition import recognise
from skipstack.data.formats.records import RecordCorpus
from skipstack.data.formats.running_text import END
from skipstack.data.formats.sentences import Sentence
from skipstack.data.formats.slots import SlotCorpus
from skipstack.data.formats.word_tags import WordTagCorpus
from skipstack.data.labels.schemes import INTENT, RARE
from tests.data.formats.reading import file_of, in_format, told
from tests.data.formats.test_parallel import beside
from tests.data.formats.test_records import parquet
from tests.own_code.pieces_of import FORMATS, own_corpus

SENTENCES = [
    Sentence(("fly", "to", "york", "now"), ("O", "O", "B-city", "I-city"), intent="flight"),
    Sentence(("how", "much"), ("O", "O"), intent="airfare#flight"),
]
RECORDS = [{"tokens": one.words, "ner_tags": one.tags, "intent": one.intent} for one in SENTENCES]
NAMES = ["airfare#flight", "flight"]


def table() -> bytes:
    """Intents as ``datasets`` writes them: numbers, and their names in the metadata of the schema."""
    features = {"intent": {"names": NAMES, "_type": "ClassLabel"}}
    texts = pa.list_(pa.string())
    schema = pa.schema(
        {"tokens": texts, "ner_tags": texts, "intent": pa.int64()},
        metadata={"huggingface": json.dumps({"info": {"features": features}})},
    )
    rows = [{**record, "intent": NAMES.index(str(record["intent"]))} for record in RECORDS]
    return parquet(pa.Table.from_pylist(rows, schema=schema))


FILES: dict[str, tuple[Callable[[], FileCorpus], SourceFile]] = {
    "slots": (
        lambda: in_format(SlotCorpus, tags="both"),
        file_of("BOS fly to york now EOS\tO O O B-city I-city flight\nBOS how much EOS\tO O O airfare#flight\n"),
    ),
    "word_tag": (
        lambda: in_format(WordTagCorpus, separator=":", label_after="<=>", scheme="bio", unit="both"),
        file_of("fly:O to:O york:B-city now:I-city <=> flight\nhow:O much:O <=> airfare#flight\n"),
    ),
    "parallel": (
        lambda: in_format(ParallelCorpus, scheme="bio", unit="both"),
        beside(
            "fly to york now\n\nhow much\n",
            **{"seq.out": "O O B-city I-city\n\nO O\n", "label": "flight\n\nairfare#flight\n"},
        ),
    ),
    "records": (
        lambda: in_format(RecordCorpus, scheme="bio", intent="intent"),
        file_of("".join(f"{json.dumps(record)}\n" for record in RECORDS)),
    ),
    "records of numbers": (lambda: in_format(RecordCorpus, scheme="bio", intent="intent"), file_of(table())),
    "own": (
        lambda: own_corpus(read_code(FORMATS, "formats.py"), "requests"),
        file_of("flight: fly to [york now]\nairfare#flight: how much\n"),
    ),
}


@pytest.mark.parametrize(("made", "file"), FILES.values(), ids=FILES)
def test_every_format_with_intents_reads_the_same(made: Callable[[], FileCorpus], file: SourceFile) -> None:
    corpus = made()
    assert (corpus.task(corpus.layer), corpus.label_scheme) == ("slots_and_intent", "bio")
    assert corpus.read(file, corpus.layer) == SENTENCES


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("slots", {"tags": "both"}),
        ("word_tag", {"unit": "both"}),
        ("parallel", {"unit": "both"}),
        ("records", {"intent": "intent"}),
        ("records of numbers", {"intent": "intent"}),
    ],
)
def test_a_file_with_intents_is_recognised(name: str, more: dict[str, str], tmp_path: Path) -> None:
    file = FILES[name][1]
    for each in (file, *file.beside):
        (tmp_path / each.path.name).write_bytes(each.content)
    found = recognise(SourceFile.read(tmp_path / file.path.name))
    assert found.sentences == [replace(one, intent=None) for one in SENTENCES]
    assert found.joint is not None
    assert found.joint.options == {**found.options, **more}
    assert found.joint.sentences == SENTENCES


def test_a_corpus_that_learns_no_intents_keeps_its_identity() -> None:
    """A field whose default was added later is left out of the JSON text, which is hashed."""
    for kind, field in ((SlotCorpus, "tags"), (RecordCorpus, "intent"), (ParallelCorpus, "labels")):
        assert field in kind.model_fields
        assert field not in in_format(kind).model_dump()


tags = st.sampled_from(["O", "B-x", "I-x", RARE])
intents = st.text("ab:# ", min_size=1, max_size=3)
sentences = st.builds(
    lambda pairs, intent, document: Sentence(
        tuple(word for word, _ in pairs), tuple(tag for _, tag in pairs), intent=intent, document=document
    ),
    st.lists(st.tuples(st.sampled_from(["a", "b", END]), tags), max_size=4),
    intents,
    st.none() | st.just("file:1"),
)


@given(sentences)
def test_the_token_at_the_end_comes_and_goes(sentence: Sentence) -> None:
    ended = with_end(sentence)
    assert ended.words == (*sentence.words, END)
    assert ended.tags == (*sentence.tags, f"{INTENT}{sentence.intent}")
    assert ended.intent is None
    assert without_end(ended) == sentence
    assert without_end(ended).document == sentence.document
    assert with_end(ended) is ended, "without an intent there is no token to add"


def test_what_cannot_be_right_is_told_as_o() -> None:
    """A network may predict an intent for a word, or a slot for the token at the end."""
    predicted = Sentence(("a", "b", END), ("intent:x", "B-x", "I-x"))
    assert without_end(predicted) == Sentence(("a", "b"), ("O", "B-x"), intent="O")
    assert without_end(Sentence((END,), (RARE,))) == Sentence((), (), intent=RARE)


@pytest.mark.parametrize(
    ("kind", "options", "says"),
    [
        (WordTagCorpus, {"unit": "both", "scheme": "bio"}, "label_after: got null for unit: both"),
        (WordTagCorpus, {"unit": "both", "label_after": "<=>"}, "scheme: got null for slots and intents"),
        (ParallelCorpus, {"unit": "both"}, "scheme: got null for slots and intents"),
        (
            ParallelCorpus,
            {"unit": "both", "scheme": "bio", "labels": "seq.out"},
            "labels: got 'seq.out', the end of tags",
        ),
        (
            ParallelCorpus,
            {"unit": "both", "scheme": "bio", "labels": "seq.in"},
            "labels: got 'seq.in', the end of words",
        ),
        (RecordCorpus, {"intent": "intent"}, "scheme: got null for slots and intents"),
        (RecordCorpus, {"intent": "tokens", "scheme": "bio"}, "intent: got 'tokens', which has the words"),
        (RecordCorpus, {"intent": "ner_tags", "scheme": "bio"}, "intent: got 'ner_tags', which has the tags"),
        (SlotCorpus, {"tags": "intent"}, "tags"),
    ],
)
def test_options_that_do_not_fit_are_refused(kind: type[FileCorpus], options: dict[str, Any], says: str) -> None:
    with pytest.raises(ValidationError, match=says):
        in_format(kind, **options)


@pytest.mark.parametrize(
    ("intent", "says"),
    [
        (None, "train.txt:1: got NoneType as intent 1 (allowed: str)"),
        (1, "train.txt:1: got the number 1 as an intent, allowed: text"),
        (" ", "train.txt:1: got an empty intent, intent 1 (allowed: text)"),
    ],
)
def test_a_record_without_an_intent_is_told(intent: object, says: str) -> None:
    form = in_format(RecordCorpus, scheme="bio", intent="intent")
    record = {"tokens": ["a"], "ner_tags": ["O"]}
    assert told(form.read, file_of(json.dumps({**record, "intent": intent})), "both") == says
    assert "unknown key 'intent'" in told(form.read, file_of(json.dumps(record)), "both")


def test_a_line_without_an_intent_is_told() -> None:
    form = in_format(ParallelCorpus, scheme="bio", unit="both")
    file = beside("a\nb\n", **{"seq.out": "O\nO\n", "label": "x\n"})
    assert told(form.read, file, "both") == "label:2: got nothing, allowed: a label for line 2 of seq.in"


def test_slots_of_a_format_of_ones_own_have_a_scheme(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        FORMATS.read_text().replace('scheme = "bio"', "scheme = None"),
    )
    own = own_corpus(read_code(tmp_path / "mine.py", "mine.py"), "requests")
    said = "requests of mine.py: got no scheme for slots and intents (allowed: that of the slots, such as bio)"
    assert told(own.read, file_of("flight: fly"), "both") == said
