"""CoNLL-2012's columns: names in brackets, documents, sentences with different numbers of columns."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skipstack.data.formats.conll2012 import Conll2012Corpus
from skipstack.data.formats.sentences import Sentence
from skipstack.data.labels.schemes import repaired, spans_of
from tests.data.formats.examples import ONTONOTES
from tests.data.formats.reading import file_of, in_format, told


def rows(names: Sequence[str], columns: int = 0) -> str:
    more = " *" * columns
    return "".join(f"bc/a 0 {at} w{at} NN * - - - speaker {name}{more} -\n" for at, name in enumerate(names))


def read(text: str, layer: str = "names") -> list[Sentence]:
    return in_format(Conll2012Corpus, tags=layer).read(file_of(text), layer)


def test_either_layer_is_read_with_its_documents() -> None:
    names, pos = read(ONTONOTES * 2), read(ONTONOTES, "pos")
    assert pos == [
        Sentence(("John", "Smith", "left", "Paris"), ("NNP", "NNP", "VBD", "NNP")),
        Sentence(("Why",), ("WRB",)),
    ]
    assert [each.document for each in names] == ["train.txt:1"] * 2 + ["train.txt:10"] * 2
    schemes = {layer: in_format(Conll2012Corpus, tags=layer).label_scheme for layer in ("names", "pos", None)}
    assert schemes == {"names": "bio", "pos": None, None: "bio"}


tag = st.sampled_from(["O", "B-GPE", "I-GPE", "B-WORK_OF_ART", "I-WORK_OF_ART"])


@given(written=st.lists(st.tuples(st.lists(tag, min_size=1, max_size=5), st.integers(0, 2)), max_size=2))
def test_names_in_brackets_are_read_back(written: list[tuple[list[str], int]]) -> None:
    text, wanted = "#begin document (bc/a); part 000\n", []
    for tags, columns in written:
        legal = repaired(tags, "bio")
        cells = ["*"] * len(tags)
        for span in spans_of(legal, "bio"):
            cells[span.start] = f"({span.type}{cells[span.start]}"
            cells[span.stop - 1] += ")"
            if len(cells[span.start]) == len(span.type) + 3 and span.stop == span.start + 1:
                cells[span.start] = f"({span.type})"
        text += rows(cells, columns) + "\n"
        wanted.append(Sentence(tuple(f"w{at}" for at in range(len(tags))), legal))
    assert read(f"{text}#end document\n") == wanted


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (rows(["(GPE*", "*"]), "1: got '(GPE*', a ( without its ), allowed: both in a sentence"),
        (rows(["*", "*)"]), "2: got '*)', a ) without its (, allowed: both in a sentence"),
        (rows(["(GPE*", "(ORG)", "*)"]), "2: got '(ORG)' within the name of line 1, allowed: one after it"),
        (rows(["B-GPE"]), "1: got the name 'B-GPE', allowed: *, (TYPE*, *) and (TYPE)"),
        (rows(["*"]) + rows(["*"], 1), "2: got 13 columns, allowed: at least 12, as many as line 1"),
        ("a b c\n", "1: got 3 columns, allowed: at least 12, as many as line 1"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(text: str, says: str) -> None:
    assert told(read, text) == f"train.txt:{says}"
