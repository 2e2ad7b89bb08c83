"""Word classes: which words train puts into one, and how they are read from then on."""

from pathlib import Path

import pytest

from skipstack.data.basis.errors import UserError
from skipstack.data.corpora.config import DataConfig, VocabularyConfig
from skipstack.data.corpora.synthetic.grammar import GrammarCorpus
from skipstack.data.formats.columns import ColumnCorpus
from skipstack.data.store.features import lexicon
from skipstack.data.store.prepared import prepare, vocabulary_of
from skipstack.data.store.stored import StoredCorpus, open_store
from skipstack.data.store.vocabulary import BOUNDARY, FIRST_KNOWN, UNKNOWN, Vocabulary
from skipstack.data.store.word_classes import word_classes
from skipstack.data.store.writing import store

TRAIN = """\
from O
Boston B-from.city_name
to O
denver B-to.city_name
on O
may B-date.month_name
12 B-date.day_number

boston B-to.city_name
denver B-city_name
may O
12 B-date.day_number
13 B-date.day_number
reno B-to.city_name
"""
CONFIG = VocabularyConfig(word_classes=("city_name", "month_name"))


@pytest.fixture
def stored(tmp_path: Path) -> StoredCorpus:
    return corpus_of(TRAIN, tmp_path)


def corpus_of(train: str, folder: Path) -> StoredCorpus:
    (folder / "train").write_text(train)
    (folder / "other").write_text("denver O\nomaha B-to.city_name\n")
    own = ColumnCorpus(train="train", dev="other", test="other", separator="whitespace", scheme="bio")
    return open_store(store(own, root=folder / "stores", data_dir=None, folder=folder))


def test_a_word_is_in_a_class_if_train_has_it_twice_in_slots_of_one_family(stored: StoredCorpus) -> None:
    # reno is there once, may is a slot half of the times, omaha is in dev alone, numbers are not asked for
    assert word_classes(stored, CONFIG) == {"boston": "<city_name>", "denver": "<city_name>"}
    numbers = VocabularyConfig(word_classes=("day_number",))
    assert word_classes(stored, numbers) == {"99": "<day_number>"}
    assert word_classes(stored, VocabularyConfig()) == {}


def test_one_time_in_ten_a_word_may_be_something_else(tmp_path: Path) -> None:
    for outside, wanted in ((1, {"boston": "<city_name>"}), (2, {})):
        folder = tmp_path / str(outside)
        folder.mkdir()
        corpus = corpus_of("boston B-city_name\n" * 9 + "boston O\n" * outside, folder)
        assert word_classes(corpus, VocabularyConfig(word_classes=("city_name",))) == wanted


def test_words_of_a_class_are_one_word_with_their_own_characters(stored: StoredCorpus) -> None:
    vocabulary = vocabulary_of(stored, CONFIG)
    assert "<city_name>" in vocabulary.words
    assert not {"boston", "denver"} & set(vocabulary.words)
    assert vocabulary.word_id("Denver") == vocabulary.word_id("boston") > UNKNOWN
    assert vocabulary.word_id("omaha") == UNKNOWN
    assert vocabulary.words[0] == "<city_name>"  # the most frequent: four times
    features = lexicon(vocabulary, ("", "Boston", "denver"), 3)
    assert features.word_F[1] == features.word_F[2]
    assert features.prefix_FA[1].tolist() != features.prefix_FA[2].tolist()
    assert Vocabulary.from_json(vocabulary.to_json()) == vocabulary
    assert prepare(stored, DataConfig(vocabulary=CONFIG, scheme="bioes"), 3).vocabulary == vocabulary


def test_a_class_beside_a_word_leaves_the_word_as_it_is(stored: StoredCorpus) -> None:
    config = VocabularyConfig(word_classes=("city_name", "day_number"), classes="beside")
    vocabulary = vocabulary_of(stored, config)
    assert vocabulary.words == vocabulary_of(stored, VocabularyConfig()).words
    assert vocabulary.class_names == ("<city_name>", "<day_number>")
    features = lexicon(vocabulary, ("", "Boston", "denver", "12", "reno", "omaha", "may"), 3)
    assert features.class_F.tolist() == [BOUNDARY, FIRST_KNOWN, FIRST_KNOWN, FIRST_KNOWN + 1, UNKNOWN, UNKNOWN, UNKNOWN]
    assert features.word_F[1] != features.word_F[2]
    assert Vocabulary.from_json(vocabulary.to_json()).class_id("BOSTON") == FIRST_KNOWN
    assert vocabulary_of(stored, CONFIG).class_names == ()


def test_a_family_that_train_does_not_have_is_told(stored: StoredCorpus) -> None:
    with pytest.raises(UserError) as error:
        word_classes(stored, VocabularyConfig(word_classes=("city_name", "city")))
    assert str(error.value) == (
        "data.vocabulary.word_classes: unknown slot family 'city' (nearest: 'city_name'; "
        "allowed: city_name, day_number, month_name)"
    )


def test_a_corpus_without_slots_has_no_classes(tmp_path: Path) -> None:
    corpus = open_store(store(GrammarCorpus(train=5, dev=5, test=5), root=tmp_path, data_dir=None, folder=tmp_path))
    with pytest.raises(UserError, match=r"data.vocabulary.word_classes: the corpus has no slots"):
        word_classes(corpus, CONFIG)
