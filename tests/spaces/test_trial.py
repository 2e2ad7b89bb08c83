import pytest
from pydantic import ValidationError

from skipstack.spaces.trial import TrialConfig


def test_words_start_from_given_vectors_or_from_a_language_model() -> None:
    pretraining = {"pretraining": {"word_epochs": 3}}
    with pytest.raises(ValidationError, match=r"word_epochs: got 3 with data.vectors glove.txt \(allowed: 0, or no"):
        TrialConfig.model_validate({"data": {"vectors": "glove.txt"}, "training": pretraining})
    assert TrialConfig.model_validate({"training": pretraining})
    labels_alone = {"pretraining": {"word_epochs": 0}}
    assert TrialConfig.model_validate({"data": {"vectors": "glove.txt"}, "training": labels_alone})


def test_classes_beside_words_have_a_vector_and_a_vector_has_classes() -> None:
    beside = {"vocabulary": {"word_classes": ["city_name"], "classes": "beside"}}
    sized = {"embedder": {"kind": "tokens", "class_size": 4}}
    assert TrialConfig.model_validate({"data": beside, "model": sized})
    assert TrialConfig.model_validate({"data": {"vocabulary": {"word_classes": ["city_name"]}}})
    with pytest.raises(ValidationError, match=r"class_size: got 4 without classes beside words \(allowed: 0, or"):
        TrialConfig.model_validate({"model": sized})
    with pytest.raises(ValidationError, match=r"classes: got beside where no class is read \(allowed: instead, or"):
        TrialConfig.model_validate({"data": beside})
