"""The scheme that tags appear to be in is the one they were written in."""

import random

import pytest

from skipstack.data.labels.likely import likely_scheme
from skipstack.data.labels.schemes import PREFIXES, Scheme, Span, tags_of


def written(scheme: Scheme, *, types: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Sentences with spans of one to four tokens, some of them directly after another, in a scheme."""
    draw, sentences = random.Random(7), []
    for _ in range(200):
        spans: list[Span] = []
        for _ in range(draw.randint(1, 5)):
            begin = spans[-1].stop if spans else 0
            begin += draw.randint(PREFIXES[scheme].merging, 3) * PREFIXES[scheme].outside
            spans.append(Span(begin, begin + draw.randint(1, 4), draw.choice(types)))
        sentences.append(tags_of(spans, spans[-1].stop, scheme))
    return sentences


@pytest.mark.parametrize("types", [("city", "date-2"), ("",)])
@pytest.mark.parametrize("scheme", ["bio", "iob1", "bioes", "bilou", "bmes", "bmeso"])
def test_the_scheme_is_told_by_its_tags(scheme: Scheme, types: tuple[str, ...]) -> None:
    assert likely_scheme(written(scheme, types=types)) == scheme


@pytest.mark.parametrize("tags", ["DET NOUN VERB", "O O O", "S B X", "S M E", "B O", "N/N (S\\\\NP)/NP", "B-x NN O"])
def test_other_tags_mark_no_spans(tags: str) -> None:
    assert likely_scheme([tags.split()]) is None
