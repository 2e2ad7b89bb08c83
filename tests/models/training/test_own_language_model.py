"""A head of one's own in a language model: perplexity needs the loss of each word, not only of each sentence."""

from pathlib import Path

import numpy as np
import pytest
import torch

from skipstack.data.basis.errors import UserError
from skipstack.data.basis.user_code.configs import known
from skipstack.data.basis.user_code.files import load_source
from skipstack.data.corpora.config import DataConfig
from skipstack.data.store.prepared import PreparedCorpus, prepare
from skipstack.data.store.stored import open_store
from skipstack.data.store.writing import store
from skipstack.models.configs.inputs import LONGEST_AFFIX
from skipstack.models.configs.model import ModelConfig
from skipstack.models.configs.training import TrainingConfig
from skipstack.models.layers.lanes import Lane
from skipstack.models.training.loop import Training

HEADS = b"""
from typing import Literal
from skipstack.own import Decoded, Frozen, LinearHead, log_loss, log_losses

class OfSentences(LinearHead):
    class Config(Frozen):
        kind: Literal["of_sentences"] = "of_sentences"

    def __init__(self, config, *, features, tags, transitions, streams):
        super().__init__(lanes=streams.lanes, features=features, tags=tags)

    def loss(self, features, gold, counts):
        return log_loss(self.scores(features).log_softmax(dim=-1), gold.tags_RUB)

    def decode(self, features, counts):
        return Decoded(self.scores(features).argmax(dim=-1))

class Summed(OfSentences):
    class Config(Frozen):
        kind: Literal["summed"] = "summed"

    def losses(self, features, gold, counts):
        return self.loss(features, gold, counts).unsqueeze(1)

class OfTags(OfSentences):
    class Config(Frozen):
        kind: Literal["of_tags"] = "of_tags"

    def losses(self, features, gold, counts):
        return log_losses(self.scores(features).log_softmax(dim=-1), gold.tags_RUB)
"""

CODE = load_source(HEADS, "heads_of_language_models.py")
NEEDED = r"model.head.kind: got {}, which has one loss a sentence, for .*whose method losses returns one of each tag"


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> PreparedCorpus:
    folder: Path = tmp_path_factory.mktemp("text")
    for split in ("train", "dev", "test"):
        (folder / split).write_text("the cat sat on the mat\nthe dog ran\n" * 20)
    said = {"kind": "running_text", **{split: split for split in ("train", "dev", "test")}}
    data = DataConfig.model_validate({"corpus": said})
    return prepare(open_store(store(data.corpus, root=folder, data_dir=None, folder=folder)), data, LONGEST_AFFIX)


def network(corpus: PreparedCorpus, head: str) -> Training:
    embedder = {"word_size": 4, "capital_size": 0, "affix_characters": 0, "window": 0}
    stack = {"depth": 1, "hidden": 4, "directions": "forward"}
    with known([CODE]):
        model = ModelConfig.model_validate({"embedder": embedder, "stack": stack, "head": {"kind": head}})
    return Training(
        model=model,
        training=TrainingConfig(batch_size=4),
        corpus=corpus,
        lanes=[Lane(seed=1)],
        order_seed=1,
        device=torch.device("cpu"),
    )


def test_a_head_without_losses_of_each_tag_is_refused_before_training(text: PreparedCorpus) -> None:
    with pytest.raises(UserError, match=NEEDED.format("of_sentences")):
        network(text, "of_sentences")


def test_losses_that_are_one_a_sentence_are_refused_where_each_is_counted(text: PreparedCorpus) -> None:
    run = network(text, "summed")
    with pytest.raises(UserError, match=NEEDED.format("Summed")):
        run.evaluate("dev")


def test_losses_of_each_tag_count_as_those_of_softmax(text: PreparedCorpus) -> None:
    own, ours = (network(text, head).evaluate("dev") for head in ("of_tags", "softmax"))
    assert np.allclose(own.sentences_RSC, ours.sentences_RSC)
