"""Which forms become words, which characters are known, and the JSON text of both."""

import json
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skipstack.data.basis.errors import UserError
from skipstack.data.corpora.config import VocabularyConfig
from skipstack.data.store.vocabulary import UNKNOWN, Vocabulary, normalise, spelling

configs = st.builds(
    VocabularyConfig, minimum_count=st.integers(1, 4), lowercase=st.booleans(), digits_to_nine=st.booleans()
)
forms_and_counts = st.dictionaries(st.text(max_size=6), st.integers(0, 3), max_size=20)


def built(forms: dict[str, int], **config: object) -> Vocabulary:
    return Vocabulary.build(VocabularyConfig(**config), list(forms), np.array(list(forms.values()), dtype=np.int64))


@pytest.mark.parametrize(
    ("form", "config", "wanted"),
    [
        ("Route-66", {}, "route-99"),
        ("Route-66", {"digits_to_nine": False}, "route-66"),
        ("Route-66", {"lowercase": False}, "Route-99"),
        ("٣x²", {}, "9x²"),  # an Arabic-Indic three is a decimal digit, a superscript two is not
        ("ΟΔΟΣ", {}, "οδος"),
    ],
)
def test_a_form_is_normalised_as_configured(form: str, config: dict[str, object], wanted: str) -> None:
    assert normalise(form, VocabularyConfig(**config)) == wanted


def test_spelling_keeps_the_case() -> None:
    assert spelling("Route-66", VocabularyConfig()) == "Route-99"


def test_the_cut_off_counts_the_normalised_forms_together() -> None:
    forms = {"": 0, "The": 1, "the": 1, "1984": 1, "2001": 1, "cat": 1}
    assert built(forms, minimum_count=2).words == ("9999", "the")
    assert built(forms, minimum_count=2, lowercase=False, digits_to_nine=False).words == ()


def test_words_come_by_falling_count_then_by_text() -> None:
    assert built({"": 0, "b": 2, "z": 5, "a": 2, "c": 1}).words == ("z", "a", "b", "c")


def test_a_form_outside_train_is_unknown_unless_its_normalised_form_is_a_word() -> None:
    vocabulary = built({"": 0, "Cat": 3, "dog": 1, "rare": 1, "DOG": 0, "cow": 0}, minimum_count=1)
    ids = {form: vocabulary.word_id(form) for form in ("", "Cat", "CAT", "DOG", "cow", "never")}
    assert ids == {"": 0, "Cat": 2, "CAT": 2, "DOG": 3, "cow": UNKNOWN, "never": UNKNOWN}


def test_characters_are_those_of_train_with_their_case_and_escape_the_cut_off() -> None:
    vocabulary = built({"": 0, "Ab7": 1, "é": 1, "Q": 0}, minimum_count=9)
    assert vocabulary.words == ()
    assert vocabulary.characters == ("9", "A", "b", "é")


@given(configs, forms_and_counts)
def test_building_agrees_with_counting_token_by_token(config: VocabularyConfig, forms: dict[str, int]) -> None:
    tokens = [form for form, count in forms.items() if form for _ in range(count)]
    counted = Counter(normalise(token, config) for token in tokens)
    vocabulary = Vocabulary.build(config, list(forms), np.array(list(forms.values()), dtype=np.int64))
    assert set(vocabulary.words) == {word for word, count in counted.items() if count >= config.minimum_count}
    assert set(vocabulary.characters) == {c for token in tokens for c in spelling(token, config)}
    for token in tokens:
        number = vocabulary.word_id(token)
        assert number == UNKNOWN or vocabulary.words[number - 2] == normalise(token, config)
        assert (number == UNKNOWN) == (counted[normalise(token, config)] < config.minimum_count)


@given(configs, forms_and_counts)
def test_json_gives_the_same_vocabulary_back(config: VocabularyConfig, forms: dict[str, int]) -> None:
    vocabulary = Vocabulary.build(config, list(forms), np.array(list(forms.values()), dtype=np.int64))
    vocabulary.word_id("used before, so that its look-up table is there")
    again = Vocabulary.from_json(vocabulary.to_json())
    assert again == vocabulary
    assert hash(again) == hash(vocabulary)
    assert again.to_json() == vocabulary.to_json()


def test_equal_vocabularies_have_one_text_whatever_order_the_forms_came_in() -> None:
    forms = {"": 0, "b": 2, "A": 2, "c3": 1}
    assert built(forms).to_json() == built(dict(reversed(forms.items()))).to_json()


GOOD = json.loads(built({"": 0, "a": 2, "b": 1}).to_json())


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"extra": 1}, "unknown key 'extra'"),
        ({"line\nbreak": 1}, r"unknown key 'line\nbreak'"),
        ({"config": {**GOOD["config"], "stem": True}}, "config.stem: unknown key"),
        ({"config": {**GOOD["config"], "minimum_count": 0}}, "config.minimum_count: got 0"),
        ({"config": {**GOOD["config"], "minimum_count": "1"}}, "config.minimum_count: got '1'"),
        ({"words": ["a", "b", "a"]}, "words: got 'a' twice"),
        ({"words": ["a", ""]}, "words: got an empty word"),
        ({"words": ["a", 3]}, "words.1: got 3"),
        ({"words": None}, "words: got null"),
        ({"characters": ["b", "a"]}, "characters: got 'a' after 'b'"),
        ({"characters": ["a", "a"]}, "characters: got 'a' after 'a'"),
        ({"characters": ["ab"]}, "characters: got 'ab'"),
    ],
)
def test_a_text_that_is_no_vocabulary_is_refused_in_one_line(change: dict[str, object], said: str) -> None:
    with pytest.raises(UserError, match="vocabulary") as refused:
        Vocabulary.from_json(json.dumps({**GOOD, **change}))
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("text", ["", "[]", "{", '{"config": {}}', "null"])
def test_a_text_of_another_shape_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(UserError, match="vocabulary") as refused:
        Vocabulary.from_json(text)
    assert "\n" not in str(refused.value)
