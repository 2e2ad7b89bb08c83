"""The features of forms, against a plain reading of each form character by character."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from skipstack.data.corpora.config import VocabularyConfig
from skipstack.data.store.features import CAPITAL_CLASSES, capital_class, lexicon
from skipstack.data.store.vocabulary import Vocabulary, spelling

some_text = st.text(min_size=1, max_size=10)


def vocabulary_of(*forms: str, **config: object) -> Vocabulary:
    return Vocabulary.build(VocabularyConfig(**config), forms, np.ones(len(forms), dtype=np.int64))


@pytest.mark.parametrize(
    ("wanted", "forms"),
    [
        (0, [""]),
        (1, ["house", "1984", "...", "東京", "don't", "ß"]),
        (2, ["House", "I", "A", "'Tis", "3D", "Al-qaida", "Éa"]),
        (3, ["NATO", "U.S.", "B2B", "AI", "ÉA"]),
        (4, ["iPhone", "McDonald", "New~York", "PhD", "x-Ray"]),
    ],
)
def test_capitals_fall_into_five_classes(wanted: int, forms: list[str]) -> None:
    assert {form: capital_class(form) for form in forms} == dict.fromkeys(forms, wanted)
    assert wanted < CAPITAL_CLASSES


def test_the_boundary_is_zero_everywhere() -> None:
    features = lexicon(vocabulary_of("cat", "dog"), ["", "cat"], 3)
    assert (features.word_F[0], features.capital_F[0]) == (0, 0)
    assert not features.prefix_FA[0].any()
    assert not features.suffix_FA[0].any()
    assert not features.spelling_FC[0].any()


def test_a_spelling_is_as_wide_as_the_longest_form_and_never_wider_than_its_limit() -> None:
    assert lexicon(vocabulary_of(), [""], 3).spelling_FC.tolist() == [[0]]
    features = lexicon(vocabulary_of("ab"), ["", "b" * 70, "ab"], 3)
    assert features.spelling_FC.tolist() == [[0] * 64, [3] * 64, [2, 3, *[0] * 62]]


def test_a_list_of_forms_begins_with_the_boundary() -> None:
    with pytest.raises(AssertionError, match="boundary"):
        lexicon(vocabulary_of("cat"), ["cat"], 3)


def test_a_worked_example() -> None:
    features = lexicon(vocabulary_of("abc"), ["", "abc", "ABd", "b"], 2)
    assert features.word_F.tolist() == [0, 2, 1, 1]
    assert features.capital_F.tolist() == [0, 1, 4, 1]
    assert features.prefix_FA.tolist() == [[0, 0], [2, 3], [1, 1], [3, 0]]
    assert features.suffix_FA.tolist() == [[0, 0], [4, 3], [1, 1], [3, 0]]


@given(st.lists(some_text, max_size=8), st.lists(some_text, max_size=8), st.integers(0, 7), st.booleans())
@example(["a\0b", " c"], ["a\0", "\0", "\ud800a"], 3, True)
def test_affixes_agree_with_reading_character_by_character(
    train: list[str], others: list[str], affix: int, digits_to_nine: bool
) -> None:
    vocabulary = vocabulary_of(*train, digits_to_nine=digits_to_nine)
    forms = ["", *train, *others]
    features = lexicon(vocabulary, forms, affix)
    ids = {character: 2 + place for place, character in enumerate(vocabulary.characters)}

    def read(characters: list[str]) -> list[int]:
        kept = [ids.get(character, 1) for character in characters[:affix]]
        return kept + [0] * (affix - len(kept))

    texts = [list(spelling(form, vocabulary.config)) for form in forms]
    assert features.prefix_FA.tolist() == [read(text) for text in texts]
    assert features.suffix_FA.tolist() == [read(text[::-1]) for text in texts]
    longest = max(1, *map(len, texts))
    spelled = [[ids.get(character, 1) for character in text] for text in texts]
    assert features.spelling_FC.tolist() == [row + [0] * (longest - len(row)) for row in spelled]
    assert features.word_F.tolist() == [vocabulary.word_id(form) for form in forms]
    assert features.capital_F.tolist() == [capital_class(form) for form in forms]
    for array in (features.word_F, features.capital_F, features.prefix_FA, features.suffix_FA, features.spelling_FC):
        assert array.dtype == np.int64


@given(st.lists(some_text, min_size=1, max_size=8), st.integers(0, 7))
def test_fewer_characters_are_the_first_columns_of_more(train: list[str], affix: int) -> None:
    vocabulary = vocabulary_of(*train)
    few, many = lexicon(vocabulary, ["", *train], affix), lexicon(vocabulary, ["", *train], 7)
    np.testing.assert_array_equal(few.prefix_FA, many.prefix_FA[:, :affix])
    np.testing.assert_array_equal(few.suffix_FA, many.suffix_FA[:, :affix])
