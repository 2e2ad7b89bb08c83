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
