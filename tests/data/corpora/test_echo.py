"""The echo corpus: what decides is one word, whatever is known of the others; and the distance moves nothing else."""

from collections import Counter, defaultdict
from fractions import Fraction
from itertools import product

import pytest
from pydantic import ValidationError

from skipstack.data.corpora.config import DataConfig
from skipstack.data.corpora.synthetic.echo import (
    ASKED,
    COLOURS,
    EDITION,
    FARTHEST,
    LONGEST,
    SHORTEST,
    EchoCorpus,
    sentences,
    tagged,
)
from skipstack.data.formats.sentences import Sentence
from skipstack.data.labels.schemes import Scheme
from skipstack.data.store.stored import open_store
from skipstack.data.store.writing import fingerprint, store

DISTANCES = (1, 2, 4, 6, 8, 16)
SIZES = EchoCorpus()


def drawn(distance: int, seed: int = 3, split: str = "train", size: int = 400) -> list[Sentence]:
    return sentences(seed, split, size, distance=distance)


@pytest.mark.parametrize("distance", DISTANCES)
def test_a_reader_that_counts_back_finds_every_tag(distance: int) -> None:
    for sentence in drawn(distance):
        read = []
        for place, word in enumerate(sentence.words):
            back = sentence.words[place - distance] if word.endswith("?") else None
            read.append("O" if back is None else "B-" + back.rstrip("?").upper())
        assert read == list(sentence.tags)


def best(distance: int, length: int, unread: set[int]) -> Fraction:
    """The share of asked words that the best tagger has right which reads all words of a sentence but those that stand
    so many before the asked one: every sentence of the length counted, its last word asked.
    """
    seen: dict[object, Counter[str]] = defaultdict(Counter)
    for colours in product(COLOURS, repeat=length):
        sentence = tagged(colours, {length - 1}, distance)
        known = tuple(word for place, word in enumerate(sentence.words) if length - 1 - place not in unread)
        seen[known][sentence.tags[-1]] += 1
    return Fraction(sum(max(tags.values()) for tags in seen.values()), len(COLOURS) ** length)


@pytest.mark.parametrize("distance", [1, 2, 3, 4])
def test_the_floor_is_a_quarter_whatever_else_is_read_and_the_ceiling_is_everything(distance: int) -> None:
    length = 5
    assert best(distance, length, set()) == 1
    assert best(distance, length, {distance}) == Fraction(1, 4)
    assert best(distance, length, {0, *range(distance + 1, length)}) == 1


@pytest.mark.parametrize("distance", [1, 2, 3, 4])
@pytest.mark.parametrize("window", [0, 1, 2, 3, 4])
def test_a_window_is_perfect_up_to_its_width_and_at_the_floor_beyond(distance: int, window: int) -> None:
    outside = set(range(window + 1, 5))
    assert best(distance, 5, outside) == (1 if distance <= window else Fraction(1, 4))


def test_no_guessing_of_some_asked_words_alone_raises_f1_above_the_share_that_is_right() -> None:
    """F1 = 2 right / (said + gold): every number of spans that may be said, a quarter of those on asked words right."""
    gold = 40
    for on_asked, beside in product(range(gold + 1), range(0, gold + 1, 5)):
        said = on_asked + beside
        f1 = Fraction(2 * Fraction(on_asked, 4), said + gold)
        assert f1 <= Fraction(1, 4)
        assert (f1 == Fraction(1, 4)) == (on_asked == gold and beside == 0)


def test_the_distance_moves_tags_alone() -> None:
    words = [[sentence.words for sentence in drawn(distance)] for distance in DISTANCES]
    assert all(those == words[0] for those in words)
    asked = [[[tag == "O" for tag in sentence.tags] for sentence in drawn(distance)] for distance in DISTANCES]
    assert all(those == asked[0] for those in asked)
    tags = {tuple(sentence.tags for sentence in drawn(distance)) for distance in DISTANCES}
    assert len(tags) == len(DISTANCES)


@pytest.mark.first(2)
@pytest.mark.parametrize("distance", DISTANCES)
def test_tags_are_spread_evenly_and_no_word_of_the_sentence_but_one_tells_them(distance: int) -> None:
    """Each tag of an asked word beside the word so many before it: a quarter, but at the distance itself."""
    many = drawn(distance, size=1500)
    for back in range(FARTHEST + 1):
        pairs = Counter(
            (sentence.words[place - back].rstrip("?").upper(), sentence.tags[place][2:])
            for sentence in many
            for place, word in enumerate(sentence.words)
            if word.endswith("?")
        )
        right = sum(count for (word, tag), count in pairs.items() if word == tag) / pairs.total()
        assert right == 1 if back == distance else abs(right - 0.25) < 0.02
    tags = Counter(tag for sentence in many for tag in sentence.tags if tag != "O")
    assert tags.total() == ASKED * len(many)
    assert max(abs(count / tags.total() - 0.25) for count in tags.values()) < 0.02


def test_lengths_and_asked_words_are_as_they_are_said_to_be() -> None:
    many = drawn(4)
    assert {len(sentence.words) for sentence in many} == {*range(SHORTEST, LONGEST + 1)}
    places = [[place for place, tag in enumerate(sentence.tags) if tag != "O"] for sentence in many]
    assert {len(those) for those in places} == {ASKED}
    assert min(map(min, places)) == FARTHEST
    assert max(map(max, places)) == LONGEST - 1


def test_splits_and_seeds_are_streams_of_their_own_and_a_longer_split_begins_with_the_shorter_one() -> None:
    streams = [drawn(2, seed, split, 50) for seed in (0, 1) for split in ("train", "dev", "test")]
    assert all(one != other for index, one in enumerate(streams) for other in streams[:index])
    assert drawn(8, 5, "dev", 40)[:15] == drawn(8, 5, "dev", 15)


def test_a_distance_beyond_the_sentence_is_refused() -> None:
    for distance in (0, FARTHEST + 1):
        with pytest.raises(ValidationError, match="distance"):
            DataConfig.model_validate({"corpus": {"kind": "echo", "distance": distance}})


def test_its_tags_are_spans_which_f1_counts(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("echo")
    stored = open_store(store(EchoCorpus(train=8, dev=2, test=2), root=folder, data_dir=None, folder=folder))
    expected: Scheme = "bio"
    assert stored.scheme == expected


def test_the_default_corpus_is_the_one_of_this_edition() -> None:
    """If this fails the corpus has changed: raise EDITION and put the new fingerprint here."""
    sizes = {"train": SIZES.train, "dev": SIZES.dev, "test": SIZES.test}
    splits = {split: sentences(SIZES.seed, split, size, distance=SIZES.distance) for split, size in sizes.items()}
    assert (EDITION, fingerprint(splits)) == (1, "d961844be577a1bd")
