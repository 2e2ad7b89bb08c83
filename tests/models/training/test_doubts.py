"""Losses that are asked about at the end of an epoch, to wait for the device once, are right all the same."""

import pytest
import torch

from skipstack.models.configs.heads import CrfConfig
from skipstack.models.configs.inputs import EmbedderConfig
from skipstack.models.configs.model import ModelConfig, StackConfig
from skipstack.models.configs.training import Constant, Sgd, TrainingConfig
from skipstack.models.layers.lanes import Lane
from skipstack.models.parts.heads.chain.partition import Doubts
from skipstack.models.parts.heads.doubts import settled
from skipstack.models.training.evaluate import Evaluation
from skipstack.models.training.loop import Training
from tests.models.corpora import small_corpus

CORPUS = small_corpus(train=24, dev=12)
MODEL = ModelConfig(
    embedder=EmbedderConfig(word_size=6, dropout=0.3), stack=StackConfig(depth=1, hidden=5), head=CrfConfig()
)
MILD, WILD = 0.1, 1e5
"""Learning rates: of the second, scores are so large after the first update that no matrix product holds them."""


def training(rate: float) -> Training:
    recipe = TrainingConfig(
        epochs=3, batch_size=4, optimiser=Sgd(learning_rate=rate, momentum=0.5), schedule=Constant()
    )
    lanes = [Lane(seed=0), Lane(seed=1)]
    return Training(model=MODEL, training=recipe, corpus=CORPUS, lanes=lanes, order_seed=0, device=torch.device("cpu"))


@pytest.mark.parametrize(("rate", "doubted"), [(MILD, False), (WILD, True)])
def test_an_epoch_that_is_asked_about_at_its_end_equals_one_whose_losses_are_right_one_by_one(
    rate: float, doubted: bool
) -> None:
    asked, plain = training(rate), training(rate)
    asked.trusting = True
    for _ in range(2):
        ours = asked.run_epoch()
        expected = plain.run_epoch()
        assert ours.train_loss == expected.train_loss
        assert ours.dev_loss == expected.dev_loss
    assert torch.tensor(ours.train_loss).isfinite().all()
    assert asked.trusting != doubted
    for name, tensor in asked.state_dict().items():
        assert torch.equal(tensor, plain.state_dict()[name]), name


def test_an_epoch_in_doubt_is_begun_again_from_where_it_began() -> None:
    run, updates = training(WILD), list[int]()
    run.trusting = True
    run.train_epoch(lambda: updates.append(1))
    assert run.epoch == 1
    assert len(updates) == 2 * len(list(run.batches()))


def test_what_is_read_on_another_device_is_computed_again_only_in_doubt() -> None:
    for rate, times in ((MILD, 1), (WILD, 2)):
        run = training(rate)
        run.train_epoch()
        counted: list[Evaluation] = []

        def evaluate(run: Training = run, counted: list[Evaluation] = counted) -> Evaluation:
            counted.append(run.evaluate("dev"))
            return counted[-1]

        found = settled(run.model.head, torch.device("meta"), evaluate)
        assert len(counted) == times
        assert found.loss == run.evaluate("dev").loss
        assert run.model.head.doubts is None


def test_doubts_that_nobody_had_have_not_arisen() -> None:
    doubts = Doubts()
    assert not doubts.arose()
    doubts.note(torch.tensor([[False, False]]))
    assert not doubts.arose()
    doubts.note(torch.tensor([[False, True]]))
    doubts.note(torch.tensor([[False, False]]))
    assert doubts.arose()
