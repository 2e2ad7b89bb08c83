"""Span counts: conlleval's figures on hard cases, its plain twin on random tags, and published figures."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skipstack.data.basis.arrays import Ids
from skipstack.data.labels.schemes import PREFIXES, RARE, Scheme, joined, spans_of
from skipstack.data.labels.spans import Spans, find_spans, reading, types_of
from skipstack.data.tasks.f1 import SpanCounts, spans_by_sentence
from tests.oracles import conlleval

SCHEMES: tuple[Scheme, ...] = tuple(PREFIXES)
Tags = Sequence[str]


def counted(gold: Sequence[Tags], lanes: Sequence[Sequence[Tags]], scheme: Scheme) -> list[SpanCounts]:
    """What the arrays count of all sentences, by gold tags and each lane's."""
    return [SpanCounts(*lane) for lane in counted_by_sentence(gold, lanes, scheme).sum(axis=1).tolist()]


def counted_by_sentence(gold: Sequence[Tags], lanes: Sequence[Sequence[Tags]], scheme: Scheme) -> Ids:
    """What the arrays count of each sentence of each lane."""
    every = sorted({tag for sentences in (gold, *lanes) for tags in sentences for tag in tags})
    types = types_of([tag for tag in every if tag != RARE], scheme)
    how = reading(every, scheme, types)
    offsets_S1 = np.cumsum([0, *map(len, gold)])
    ids = [np.array([every.index(tag) for tags in sentences for tag in tags]) for sentences in (gold, *lanes)]
    _, spans = find_spans(ids[0][None], offsets_S1, how)
    return spans_by_sentence(np.stack(ids[1:]), offsets_S1, how, spans)


HARD = [
    # scheme, gold, predicted, and what conlleval counts by its tables: gold, predicted, correct
    ("bio", "B-x I-x", "I-x I-x", (1, 1, 1)),  # an I at the start begins a chunk
    ("bio", "O B-x I-x", "O I-x I-x", (1, 1, 1)),  # and so it does after O
    ("bio", "B-x I-x", "B-x I-y", (1, 2, 0)),  # another type ends a chunk and begins one
    ("bio", "B-x I-y", "B-x B-y", (2, 2, 2)),  # in the gold tags as well
    ("bio", "B-x B-x", "B-x I-x", (2, 1, 0)),  # starts together, goes on too long
    ("bio", "B-x I-x", "B-x B-x", (1, 2, 0)),
    ("bio", "B-x I-x O", "B-x I-x I-x", (1, 1, 0)),
    ("bio", "B-x I-x I-x", "O I-x I-x", (1, 1, 0)),  # ends together, starts too late
    ("bio", "O O", "I-x I-x", (0, 1, 0)),
    ("bio", "B-x O", "O O", (1, 0, 0)),
    ("bio", "B-x O B-x", "B-x I-x B-x", (2, 2, 1)),
    ("bio", "B-x I-x B-y", "B-x I-x B-x", (2, 2, 1)),  # right words, wrong type
    ("bio", "B-x / I-x", "B-x / I-x", (2, 2, 2)),  # no chunk crosses the end of a sentence
    ("bio", "B-x I-x / O", "B-x I-x / I-x", (1, 2, 1)),
    ("iob1", "I-x I-x O I-x", "I-x I-x O B-x", (2, 2, 2)),  # B where I would do
    ("iob1", "I-x B-x I-y", "I-x I-x I-y", (3, 2, 1)),
    ("bioes", "B-x E-x", "B-x I-x", (1, 1, 1)),  # the end of the sentence ends it too
    ("bioes", "S-x S-x", "E-x E-x", (2, 2, 2)),  # E after E begins a chunk
    ("bioes", "S-x S-x", "E-x I-x", (2, 2, 2)),  # and so does I after E
    ("bioes", "B-x I-x E-x", "B-x E-x I-x", (1, 2, 0)),
    ("bioes", "B-x E-x B-x E-x", "B-x I-x I-x E-x", (2, 1, 0)),
    ("bilou", "U-x U-x", "L-x I-x", (2, 2, 2)),
    ("bilou", "B-x L-x B-x L-x", "B-x I-x I-x L-x", (2, 1, 0)),
    ("io", "I-x O I-y", "I-x I-x I-y", (2, 2, 1)),
    ("bmes", "B-n E-n S-v", "B-n E-v S-v", (2, 3, 1)),
    ("bmes", "B-n M-n E-n S-n", "B-n M-n M-n E-n", (2, 1, 0)),
]


@pytest.mark.parametrize(("scheme", "gold", "predicted", "wanted"), HARD)
def test_hard_cases_are_counted_as_conlleval_does(
    scheme: Scheme, gold: str, predicted: str, wanted: tuple[int, int, int]
) -> None:
    sentences = [[part.split() for part in text.split("/")] for text in (gold, predicted)]
    [counts] = counted(sentences[0], [sentences[1]], scheme)
    assert (counts.gold, counts.predicted, counts.correct) == wanted
    assert conlleval.counts(list(zip(*sentences, strict=True))) == wanted


@pytest.mark.first(2)
@pytest.mark.parametrize("scheme", SCHEMES)
@settings(max_examples=50)
@given(data=st.data(), lanes=st.integers(1, 3))
def test_counts_agree_with_conlleval_on_any_tags(scheme: Scheme, data: st.DataObject, lanes: int) -> None:
    lengths = data.draw(st.lists(st.integers(1, 6), min_size=1, max_size=4))
    inside = [joined(prefix, name) for prefix in PREFIXES[scheme].all for name in ("x", "y")]
    tags = st.sampled_from([*inside, *(["O"] if PREFIXES[scheme].outside else [])])
    drawn = [[data.draw(st.lists(tags, min_size=n, max_size=n)) for n in lengths] for _ in range(1 + lanes)]
    gold, *predicted = drawn
    wanted = [conlleval.counts(list(zip(gold, sentences, strict=True))) for sentences in predicted]
    counts = counted(gold, predicted, scheme)
    assert [(each.gold, each.predicted, each.correct) for each in counts] == wanted
    alone = [[conlleval.counts([pair]) for pair in zip(gold, sentences, strict=True)] for sentences in predicted]
    assert counted_by_sentence(gold, predicted, scheme)[..., :3].tolist() == [list(map(list, lane)) for lane in alone]
    for each, sentences in zip(counts, predicted, strict=True):
        bounds = [
            {(span.start, span.stop) for span in spans_of(one, scheme)}
            & {(span.start, span.stop) for span in spans_of(other, scheme)}
            for one, other in zip(gold, sentences, strict=True)
        ]
        assert each.segmented == sum(map(len, bounds))


def test_segmentation_counts_a_word_whatever_its_tag() -> None:
    [counts] = counted([["B-n", "E-n", "S-v", "S-v"]], [[["B-v", "E-v", "S-v", "S-n"]]], "bmes")
    assert (counts.correct, counts.segmented) == (1, 3)
    assert (counts.value, counts.segmentation_f1) == (1 / 3, 1)


def test_rare_is_in_no_span() -> None:
    [counts] = counted([["B-x", "I-x", "I-x"]], [[["B-x", RARE, "I-x"]]], "bio")
    assert (counts.gold, counts.predicted, counts.correct) == (1, 2, 0)


def test_a_token_without_a_decision_is_in_no_span() -> None:
    """A chain decides on no tag, -1, where none is allowed."""
    how = reading(["B-x", "I-x"], "bio", ["x"])
    gold = Spans(np.array([0, 2]), np.array([2, 3]), np.array([0, 0]))
    counts = spans_by_sentence(np.array([[0, 1, -1]]), np.array([0, 2, 3]), how, gold)
    assert counts.tolist() == [[[1, 1, 1, 1], [1, 0, 0, 0]]]


def test_a_gold_span_of_a_type_that_no_tag_has_is_missed() -> None:
    how = reading(["B-x", "O"], "bio", ["x", "y"])
    gold = Spans(np.array([0, 2]), np.array([1, 3]), np.array([1, 0]))
    counts = spans_by_sentence(np.array([[0, 1, 0]]), np.array([0, 3]), how, gold)
    assert counts.tolist() == [[[2, 2, 1, 2]]]


def test_the_figures_are_those_that_conlleval_prints() -> None:
    # The example on the page of the CoNLL-2000 shared task: 459 phrases, 539 found, 371 correct.
    counts = SpanCounts(gold=459, predicted=539, correct=371, segmented=459)
    printed = [round(100 * share, 2) for share in (counts.precision, counts.recall, counts.value)]
    assert printed == [68.83, 80.83, 74.35]
    assert counts.segmentation_f1 == 2 * 459 / (459 + 539)


@pytest.mark.parametrize(("gold", "predicted"), [(0, 0), (3, 0), (0, 3)])
def test_where_there_is_nothing_to_divide_by_the_figures_are_zero(gold: int, predicted: int) -> None:
    counts = SpanCounts(gold=gold, predicted=predicted, correct=0, segmented=0)
    assert (counts.precision, counts.recall, counts.value, counts.segmentation_f1) == (0, 0, 0, 0)
