"""The grammar corpus: its tags follow from the words, and not from the words near by."""

import os
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Sequence

import pytest

from skipstack.data.corpora.synthetic.grammar import EDITION, LONGEST, SHORTEST, GrammarCorpus, sentences
from skipstack.data.formats.sentences import Sentence
from skipstack.data.labels.trees import find_cycle
from skipstack.data.store.writing import fingerprint
from tests.oracles.grammar import Cue, kind, read

SIZES = GrammarCorpus()
MANY = 6000
FAR = 4
"""Tokens between a word and its cue, from which on we call the cue far."""


@pytest.fixture(scope="module")
def many() -> list[Sentence]:
    return sentences(11, "train", MANY)


@pytest.fixture(scope="module")
def splits() -> dict[str, list[Sentence]]:
    sizes = {"train": SIZES.train, "dev": SIZES.dev, "test": SIZES.test}
    return {split: sentences(SIZES.seed, split, size) for split, size in sizes.items()}


@pytest.fixture(scope="module")
def cues(many: list[Sentence]) -> list[Cue]:
    return [cue for sentence in many for cue in read(sentence.words)[1]]


def tokens(of: Sequence[Sentence]) -> list[tuple[str, str]]:
    return [token for sentence in of for token in zip(sentence.words, sentence.tags, strict=True)]


def test_a_reader_that_sees_only_the_words_finds_every_tag(many: list[Sentence]) -> None:
    for sentence in many:
        assert read(sentence.words)[0] == list(sentence.tags), " ".join(sentence.words)


@pytest.mark.slow
def test_the_same_words_never_have_other_tags_or_another_tree(many: list[Sentence]) -> None:
    # Coarser than the words, so that sentences do repeat: names, prefixes and words of one kind are the same word.
    def shape(sentence: Sentence) -> tuple[str, ...]:
        closed = ("AUX", "TIME", "SUPPOSE", "PUNCT")
        return tuple(
            word if kind(word) in closed else kind(word) + ("s" if word.endswith("s") else "")
            for word in sentence.words
        )

    tags_of: defaultdict[tuple[str, ...], set[tuple[object, ...]]] = defaultdict(set)
    times = Counter(shape(sentence) for sentence in many)
    for sentence, parsed in zip(many, sentences(11, "train", MANY, parsed=True), strict=True):
        tags_of[shape(sentence)].add((sentence.tags, parsed.tags, parsed.heads))
    assert sum(count for count in times.values() if count > 1) > MANY / 10
    assert all(len(tags) == 1 for tags in tags_of.values())


def test_the_most_frequent_tag_of_each_word_is_right_for_about_four_tokens_in_five(
    splits: dict[str, list[Sentence]],
) -> None:
    by_word: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for word, tag in tokens(splits["train"]):
        by_word[word][tag] += 1
    overall = Counter(tag for _, tag in tokens(splits["train"]))
    for split in ("dev", "test"):
        right = sum(by_word.get(word, overall).most_common(1)[0][0] == tag for word, tag in tokens(splits[split]))
        assert 0.76 < right / len(tokens(splits[split])) < 0.85


def test_many_readings_depend_on_a_far_word(many: list[Sentence], cues: list[Cue]) -> None:
    far = [cue for cue in cues if abs(cue.at - cue.token) >= FAR]
    assert len(far) > 0.45 * len(cues)
    assert len(far) > len(many)  # more than one a sentence
    left = sum(cue.at < cue.token for cue in far)
    assert 0.2 < left / len(far) < 0.8
    assert {cue.rule for cue in far} == {1, 3, 4, 5, 6}


def test_clauses_nest_between_an_auxiliary_and_its_verb(many: list[Sentence]) -> None:
    nested = 0
    for sentence in many:
        for cue in read(sentence.words)[1]:
            between = sentence.tags[cue.at + 1 : cue.token]
            nested += cue.rule == 1 and "MARK" in between and bool({"PAST", "PRESENT", "AUX"} & set(between))
    assert nested > MANY / 20


NOMINAL, VERBAL = {"NAME", "NOUN", "PLURAL"}, {"BASE", "PARTICIPLE", "PAST", "PRESENT"}
RELATIONS = {
    "acl": (VERBAL, NOMINAL, "left"),
    "advcl": (VERBAL, VERBAL, "right"),
    "advmod": ({"ADV", "TIME"}, VERBAL, "either"),
    "amod": ({"ADJ"}, NOMINAL, "right"),
    "aux": ({"AUX"}, VERBAL, "right"),
    "case": ({"PREP"}, NOMINAL, "right"),
    "cc": ({"CONJ"}, VERBAL, "right"),
    "conj": (VERBAL, VERBAL, "left"),
    "det": ({"DET"}, NOMINAL, "right"),
    "mark": ({"MARK"}, VERBAL, "right"),
    "nmod": (NOMINAL, NOMINAL, "left"),
    "nsubj": (NOMINAL, VERBAL, "right"),
    "obj": (NOMINAL, VERBAL, "left"),
    "obl": (NOMINAL, VERBAL, "either"),
    "punct": ({"PUNCT"}, VERBAL | NOMINAL, "left"),
    "root": (VERBAL, set(), "either"),
}
"""The tags of a dependent and of its head, and where the head stands."""


@pytest.mark.slow
def test_relations_join_words_of_the_right_kind_on_the_right_side(many: list[Sentence]) -> None:
    seen = set()
    for tagged, parsed in zip(many, sentences(11, "train", MANY, parsed=True), strict=True):
        assert parsed.words == tagged.words
        assert parsed.heads is not None
        for place, (relation, head) in enumerate(zip(parsed.tags, parsed.heads, strict=True), start=1):
            below, above, side = RELATIONS[relation]
            assert tagged.tags[place - 1] in below, (relation, parsed)
            assert (head == 0) == (relation == "root")
            if head:
                assert tagged.tags[head - 1] in above, (relation, parsed)
                assert side in ("either", "left" if head < place else "right"), (relation, parsed)
                seen.add(relation)
    assert seen == RELATIONS.keys() - {"root"}


def test_heads_are_trees_without_crossing_arcs_and_verbs_have_one_subject(many: list[Sentence]) -> None:
    for sentence in sentences(11, "train", MANY // 4, parsed=True):
        heads = sentence.heads
        assert heads is not None
        assert heads.count(0) == 1
        assert find_cycle(heads) == []
        arcs = [(min(head, word), max(head, word)) for word, head in enumerate(heads, start=1)]
        assert not any(a < c < b < d for a, b in arcs for c, d in arcs), sentence
        for relation in ("nsubj", "obj", "aux"):
            of = [head for head, name in zip(heads, sentence.tags, strict=True) if name == relation]
            assert len(set(of)) == len(of), (relation, sentence)


def test_a_time_word_alone_does_not_tell_the_tense_and_an_opening_alone_does_not() -> None:
    counts = Counter(
        (sentence.words[0] == "suppose", sentence.words[cue.at], sentence.tags[cue.token])
        for sentence in sentences(3, "train", 2000)
        for cue in read(sentence.words)[1]
        if cue.rule == 3
    )
    assert set(counts) == {
        (False, "now", "PRESENT"),
        (False, "yesterday", "PAST"),
        (True, "now", "PAST"),
        (True, "yesterday", "PRESENT"),
    }
    assert min(counts.values()) > 100


def test_sentences_are_short_and_the_words_few_but_open(splits: dict[str, list[Sentence]]) -> None:
    assert {len(sentence.words) for split in splits.values() for sentence in split} == {*range(SHORTEST, LONGEST + 1)}
    counts = Counter(word for word, _ in tokens(splits["train"]))
    common = [word for word, count in counts.items() if count >= 10]
    assert 60 <= len(common) <= 120
    assert len({tag for _, tag in tokens(splits["train"])}) == 16
    for split in ("dev", "test"):
        unseen = [(word, tag) for word, tag in tokens(splits[split]) if word not in counts]
        assert 5 <= len(unseen) <= 60
        assert all(word[0].isupper() == (tag == "NAME") for word, tag in unseen)


def test_every_tag_and_every_reading_of_dev_and_test_is_in_train(splits: dict[str, list[Sentence]]) -> None:
    tags = {tag for _, tag in tokens(splits["train"])}
    assert all(tag in tags for split in splits.values() for _, tag in tokens(split))


def test_splits_and_seeds_are_streams_of_their_own() -> None:
    drawn = [sentences(seed, split, 50) for seed in (0, 1) for split in ("train", "dev", "test")]
    assert all(one != other for index, one in enumerate(drawn) for other in drawn[:index])


def test_a_longer_split_begins_with_the_shorter_one() -> None:
    assert sentences(5, "dev", 40)[:15] == sentences(5, "dev", 15)


@pytest.mark.slow
def test_another_process_draws_the_same_corpus(splits: dict[str, list[Sentence]]) -> None:
    program = (
        "from skipstack.data.corpora.synthetic.grammar import GrammarCorpus;"
        "from skipstack.data.corpora.sources import open_source;"
        "from pathlib import Path;"
        "from skipstack.data.store.writing import fingerprint;"
        "print(fingerprint(open_source(GrammarCorpus(), data_dir=None, folder=Path()).read()))"
    )
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        ran = subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
        )
        assert ran.stdout.strip() == fingerprint(splits)


def test_the_default_corpus_is_the_one_of_this_edition(splits: dict[str, list[Sentence]]) -> None:
    """If this fails the grammar has changed: raise EDITION and put the new fingerprint here."""
    assert (EDITION, fingerprint(splits)) == (1, "4ba081a46185e528")
