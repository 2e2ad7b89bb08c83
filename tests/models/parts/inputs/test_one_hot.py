"""Words as unit vectors, and what does not fit them."""

import pytest
import torch

from skipstack.data.basis.errors import UserError
from skipstack.data.tasks.tasks import TASKS
from skipstack.models.configs.inputs import OneHotConfig
from skipstack.models.configs.model import FeedbackConfig, ModelConfig, StackConfig
from skipstack.models.layers.lanes import Lane
from skipstack.models.networks.build import Sizes, build
from skipstack.models.networks.model import Network
from skipstack.models.parts.inputs.base import LexiconTensors
from tests.models.corpora import small_corpus

CPU = torch.device("cpu")
CORPUS = small_corpus()
KNOWN = len(CORPUS.vocabulary.words)


SMALL = StackConfig(depth=1, hidden=4)


def model(size: int, task: str = "tagging", stack: FeedbackConfig | StackConfig = SMALL) -> Network:
    sizes = Sizes.of(CORPUS.vocabulary, CORPUS.stored.tags, task=TASKS[task])
    embedder = OneHotConfig(size=size)
    config = ModelConfig(embedder=embedder, stack=stack)
    return build(config, sizes=sizes, lanes=[Lane(seed=1)] * 2, dtype=torch.float64, device=CPU)[0]


def test_known_words_are_unit_vectors_and_all_different() -> None:
    words = {form: CORPUS.lexicon.word_F[row] for row, form in enumerate(CORPUS.stored.forms)}
    forms = torch.arange(len(words)).view(1, -1, 1).expand(2, -1, -1)
    x = model(KNOWN + 3).embedder(forms, LexiconTensors.on(CPU, CORPUS.lexicon))
    known = torch.tensor([CORPUS.stored.counts_F[row] > 0 for row in range(len(words))])
    assert torch.equal(x[1, known, 0].sum(-1), torch.ones(int(known.sum())).double())
    assert len({tuple(row) for row in x[0, known, 0].tolist()}) == KNOWN
    assert not x[0, ~known].any()


def test_a_vocabulary_without_places_is_refused() -> None:
    with pytest.raises(UserError, match=rf"model\.embedder\.size: got 2 for a vocabulary of {KNOWN} words"):
        model(2)


def test_label_feedback_does_not_classify_texts() -> None:
    with pytest.raises(UserError, match=r"model\.stack\.kind: got feedback for a corpus of classified texts"):
        model(KNOWN, "classification", FeedbackConfig())
