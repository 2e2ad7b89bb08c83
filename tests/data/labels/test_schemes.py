"""Label schemes: codecs are exact inverses, repairs are conlleval's, moves are those of legal sequences."""

from collections.abc import Sequence
from itertools import pairwise, product

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from skipstack.data.basis.frozen import canonical_json
from skipstack.data.corpora.config import DataConfig
from skipstack.data.labels.schemes import (
    INTENT,
    PREFIXES,
    RARE,
    Scheme,
    Span,
    closed,
    converted,
    joined,
    parted,
    repaired,
    spans_of,
    tags_of,
    transitions,
)
from tests.oracles import conlleval
from tests.oracles import schemes as by_definition

SCHEMES: tuple[Scheme, ...] = tuple(PREFIXES)
TYPES = ("", "x", "y", "x-y")


def every_tag(scheme: Scheme, types: Sequence[str] = TYPES) -> list[str]:
    tags = [joined(prefix, name) for prefix in PREFIXES[scheme].all for name in types]
    return [*(["O"] if PREFIXES[scheme].outside else []), *tags]


@st.composite
def sentences(draw: st.DrawFn, *schemes: Scheme) -> tuple[list[Span], int]:
    """Spans that all of ``schemes`` can write, and the length of their sentence."""
    gaps = all(PREFIXES[scheme].outside for scheme in schemes)
    spans: list[Span] = []
    end = 0
    for length, name, gap in draw(
        st.lists(st.tuples(st.integers(1, 4), st.sampled_from(TYPES), st.integers(0, 2)), max_size=6)
    ):
        start = end + gap * gaps
        if "io" in schemes and spans and (spans[-1].stop, spans[-1].type) == (start, name):
            continue
        spans.append(Span(start, start + length, name))
        end = start + length
    return spans, end + draw(st.integers(0, 2)) * gaps


@pytest.mark.parametrize("scheme", SCHEMES)
@settings(max_examples=50)
@given(data=st.data())
def test_spans_come_back_from_their_tags(scheme: Scheme, data: st.DataObject) -> None:
    spans, length = data.draw(sentences(scheme))
    tags = tags_of(spans, length, scheme)
    assert len(tags) == length
    assert spans_of(tags, scheme) == spans
    assert repaired(tags, scheme) == tags


@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_short_sentence_is_written_and_read_as_its_scheme_is_defined(scheme: Scheme) -> None:
    """Against a twin that knows only the definitions; sentences that a scheme cannot write are refused."""
    read: dict[tuple[str, ...], list[Span]] = {}
    length = 5
    for extents in by_definition.everything(length, ("x", "y")):
        spans = [Span(*extent) for extent in extents]
        tags = by_definition.tags(extents, length, scheme)
        if (scheme == "bmes" and "O" in tags) or (scheme == "io" and by_definition.touching(extents)):
            with pytest.raises(ValueError, match=f"allowed in {scheme}"):
                tags_of(spans, length, scheme)
            continue
        assert tags_of(spans, length, scheme) == tags
        assert spans_of(tags, scheme) == spans
        assert read.setdefault(tags, spans) == spans
    assert len(read) > 10


@pytest.mark.parametrize(
    ("name", "scheme"),
    [
        ("iob2", "bio"),
        ("IOB2", "bio"),
        ("BIO", "bio"),
        ("iob", "iob1"),
        ("iobes", "bioes"),
        ("BIOES", "bioes"),
        ("biluo", "bilou"),
        *((each, each) for each in ("bio", "iob1", "bioes", "bmes", "bmeso", "bilou", "io")),
    ],
)
def test_a_scheme_is_known_by_each_of_its_names(name: str, scheme: Scheme) -> None:
    """Another name is the same config: the same canonical form, so the same trial and the same prepared corpus."""
    files = {"kind": "columns", "train": "train", "dev": "dev", "test": "test"}
    named = DataConfig.model_validate({"corpus": {**files, "scheme": name}, "scheme": name})
    same = DataConfig.model_validate({"corpus": {**files, "scheme": scheme}, "scheme": scheme})
    assert named.scheme == scheme
    assert canonical_json(named) == canonical_json(same)


@given(source=st.sampled_from(SCHEMES), target=st.sampled_from(SCHEMES), data=st.data())
def test_converting_there_and_back_changes_nothing(source: Scheme, target: Scheme, data: st.DataObject) -> None:
    spans, length = data.draw(sentences(source, target))
    tags = tags_of(spans, length, source)
    there = converted(tags, source, target)
    assert spans_of(there, target) == spans
    assert converted(there, target, source) == tags


@pytest.mark.parametrize(
    ("scheme", "tags"),
    [
        ("bio", "B-x I-x O B-y B-y I-y B-x"),
        ("iob1", "I-x I-x O I-y B-y I-y I-x"),
        ("bioes", "B-x E-x O S-y B-y E-y S-x"),
        ("bilou", "B-x L-x O U-y B-y L-y U-x"),
        ("bmeso", "B-x E-x O S-y B-y E-y S-x"),
    ],
)
def test_a_sentence_is_written_as_each_scheme_defines(scheme: Scheme, tags: str) -> None:
    spans = [Span(0, 2, "x"), Span(3, 4, "y"), Span(4, 6, "y"), Span(6, 7, "x")]
    assert " ".join(tags_of(spans, 7, scheme)) == tags


def test_words_of_one_to_four_characters_are_written_in_bmes() -> None:
    spans = [Span(0, 1, "n"), Span(1, 3, "n"), Span(3, 6, "v"), Span(6, 10, "")]
    assert " ".join(tags_of(spans, 10, "bmes")) == "S-n B-n E-n B-v M-v E-v B M M E"


@pytest.mark.parametrize(
    ("scheme", "tags", "legal"),
    [
        ("bio", "I-x I-x", "B-x I-x"),
        ("bio", "O I-x O I-y I-y", "O B-x O B-y I-y"),
        ("bio", "B-x I-y I-y", "B-x B-y I-y"),
        ("iob1", "B-x I-x O B-x", "I-x I-x O I-x"),
        ("iob1", "I-y B-x B-x", "I-y I-x B-x"),
        ("bioes", "B-x O E-x", "S-x O S-x"),
        ("bioes", "E-x E-x I-x", "S-x S-x S-x"),
        ("bioes", "B-x E-y", "S-x S-y"),
        ("bioes", "S-x E-x", "S-x S-x"),
        ("bioes", "B-x I-x", "B-x E-x"),
        ("bioes", "B-x B-x E-x B-x", "S-x B-x E-x S-x"),
        ("bmes", "M-n M-n S-n M-v", "B-n E-n S-n S-v"),
        ("bilou", "L-x L-x I-x U-x L-y O", "U-x U-x U-x U-x U-y O"),
        ("io", "I-x O I-x I-y I-y", "I-x O I-x I-y I-y"),
    ],
)
def test_illegal_tags_are_repaired_as_conlleval_reads_them(scheme: Scheme, tags: str, legal: str) -> None:
    assert " ".join(repaired(tags.split(), scheme)) == legal


@pytest.mark.parametrize("scheme", SCHEMES)
@settings(max_examples=50)
@given(data=st.data())
def test_repairs_find_the_spans_that_conlleval_finds(scheme: Scheme, data: st.DataObject) -> None:
    tags = data.draw(st.lists(st.sampled_from(every_tag(scheme, ("x", "y"))), max_size=8))
    legal = repaired(tags, scheme)
    assert repaired(legal, scheme) == legal
    spans = len(spans_of(tags, scheme))
    # Every span of one is a span of the other, by the twin.
    assert conlleval.counts([(tags, legal)]) == (spans, spans, spans)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_moves_are_those_of_sequences_that_need_no_repair(scheme: Scheme) -> None:
    tags = every_tag(scheme, ("x", "y"))
    moves = transitions(tags, scheme)
    for length in (1, 2, 3):
        for sequence in product(range(len(tags)), repeat=length):
            written = tuple(tags[tag] for tag in sequence)
            allowed = (
                moves.start_K[sequence[0]]
                and moves.end_K[sequence[-1]]
                and all(moves.between_KK[before, after] for before, after in pairwise(sequence))
            )
            assert allowed == (repaired(written, scheme) == written), written


@pytest.mark.first(2)
@pytest.mark.parametrize("scheme", SCHEMES)
@settings(max_examples=50)
@given(data=st.data())
def test_what_train_lacks_leaves_a_legal_sequence_open(scheme: Scheme, data: st.DataObject) -> None:
    """Some tagging with the tags of train agrees with every tag of another legal sentence that train has."""
    train, test = (tags_of(*data.draw(sentences(scheme)), scheme) for _ in range(2))
    known = sorted(closed(train, scheme))
    assert set(train) <= set(known)
    assume(any(tag == "O" or tag.startswith(("S", "U")) or scheme in ("bio", "iob1", "io") for tag in known))
    moves = transitions(known, scheme)
    fits = [[not (tag in known and tag != each) for each in known] for tag in test[:6]]
    open_K = [moves.start_K[tag] and fits[0][tag] for tag in range(len(known))] if fits else []
    for here in fits[1:]:
        open_K = [
            here[tag] and any(open_K[before] and moves.between_KK[before, tag] for before in range(len(known)))
            for tag in range(len(known))
        ]
    # A sentence that is cut need not have ended.
    assert not fits or any(o and (moves.end_K[tag] or len(test) > 6) for tag, o in enumerate(open_K))


def test_rare_may_stand_anywhere() -> None:
    moves = transitions(["B-x", "I-x", "O", RARE], "bio")
    assert moves.start_K.tolist() == [True, False, True, True]
    assert moves.between_KK.tolist() == [
        [True, True, True, True],
        [True, True, True, True],
        [True, False, True, True],
        [True, True, True, True],
    ]
    assert moves.end_K.all()


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_sentence_with_an_intent_is_legal_slots_and_then_the_intent(scheme: Scheme) -> None:
    tags = [*every_tag(scheme, ("x",)), f"{INTENT}a", f"{INTENT}b"]
    moves = transitions(tags, scheme)
    for length in (1, 2, 3, 4):
        for sequence in product(range(len(tags)), repeat=length):
            *slots, last = (tags[tag] for tag in sequence)
            legal = last.startswith(INTENT) and not any(tag.startswith(INTENT) for tag in slots)
            allowed = (
                moves.start_K[sequence[0]]
                and moves.end_K[sequence[-1]]
                and all(moves.between_KK[before, after] for before, after in pairwise(sequence))
            )
            assert allowed == (legal and repaired(slots, scheme) == tuple(slots)), (slots, last)
    assert set(tags) <= closed(tags, scheme)


@pytest.mark.parametrize(
    ("tag", "scheme", "said"),
    [
        ("X-a", "bio", "got the tag 'X-a', allowed in bio: O, B-type, I-type"),
        ("E-a", "bio", "got the tag 'E-a', allowed in bio: O, B-type, I-type"),
        ("", "iob1", "got the tag '', allowed in iob1: O, B-type, I-type"),
        ("B-", "bioes", "got the tag 'B-', allowed in bioes: O, B-type, I-type, E-type, S-type"),
        ("O", "bmes", "got the tag 'O', allowed in bmes: B-type, M-type, E-type, S-type"),
        ("O-a", "bio", "got the tag 'O-a', allowed in bio: O, B-type, I-type"),
        ("b-a", "bio", "got the tag 'b-a', allowed in bio: O, B-type, I-type"),
    ],
)
def test_a_tag_outside_the_scheme_is_told(tag: str, scheme: Scheme, said: str) -> None:
    with pytest.raises(ValueError, match="got the tag") as error:
        parted(tag, scheme)
    assert str(error.value) == said


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_tag_is_parted_and_joined_again(scheme: Scheme) -> None:
    for tag in every_tag(scheme):
        assert joined(*parted(tag, scheme)) == tag


@pytest.mark.parametrize(
    ("spans", "scheme"),
    [
        ([Span(0, 2, "x"), Span(1, 3, "x")], "bio"),
        ([Span(2, 3, "x"), Span(0, 1, "x")], "bio"),
        ([Span(2, 5, "x")], "bio"),
        ([Span(-1, 2, "x")], "bio"),
        ([Span(0, 2, "x"), Span(3, 4, "x")], "bmes"),
    ],
)
def test_spans_that_no_sentence_of_four_tokens_has_are_refused(spans: list[Span], scheme: Scheme) -> None:
    with pytest.raises(ValueError, match=r"allowed"):
        tags_of(spans, 4, scheme)
