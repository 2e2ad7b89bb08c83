"""Pretrained vectors in training: placed in every lane alike, trained like other words or held still."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch

from skipstack.data.basis.errors import UserError
from skipstack.data.store.vectors import Pretrained
from skipstack.models.configs.inputs import EmbedderConfig, FeatureMapConfig
from skipstack.models.configs.model import ModelConfig, StackConfig
from skipstack.models.configs.training import Adagrad, Adam, AdamW, Constant, LazyAdam, Optimiser, Sgd, TrainingConfig
from skipstack.models.layers.lanes import Lane
from skipstack.models.training.loop import Training
from tests.models.corpora import small_corpus
from tests.models.steps import equal_solo_runs, steps

PLAIN = small_corpus()
SIZE = 6
ROWS = np.array([2, 5, 9])
CORPUS = replace(PLAIN, vectors=Pretrained(ROWS, np.random.default_rng(1).normal(size=(3, SIZE)).astype(np.float32)))
OPTIMISERS = pytest.mark.parametrize(
    "optimiser",
    [
        Sgd(learning_rate=0.3),
        Sgd(learning_rate=0.3, momentum=0.9),
        Adam(learning_rate=0.02),
        Adagrad(learning_rate=0.1),
        LazyAdam(learning_rate=0.02),
        AdamW(learning_rate=0.02, weight_decay=0.5),
    ],
    ids=str,
)
DEVICES = [pytest.param("cpu"), pytest.param("cuda", marks=pytest.mark.gpu)]


def network(word_vectors: str = "trainable", word_size: int = SIZE) -> ModelConfig:
    embedder = {"word_size": word_size, "capital_size": 2, "affix_characters": 1, "word_vectors": word_vectors}
    return ModelConfig(
        embedder=EmbedderConfig.model_validate(embedder), stack=StackConfig(depth=1, hidden=5), initial_scale=1.0
    )


def training(
    optimiser: Optimiser, *seeds: int, corpus: object = CORPUS, model: ModelConfig | None = None, device: str = "cpu"
) -> Training:
    config = TrainingConfig(batch_size=4, optimiser=optimiser, schedule=Constant(), clip_norm=0.5, precision="float64")
    return Training(
        model=model or network(),
        training=config,
        corpus=corpus,  # type: ignore[arg-type]
        lanes=[Lane(seed=seed) for seed in seeds],
        order_seed=11,
        device=torch.device(device),
    )


def table(run: Training) -> torch.Tensor:
    return run.model.embedder.words.table.detach().cpu().clone()


def test_every_lane_starts_with_the_vectors_and_other_rows_start_as_before() -> None:
    with_vectors, without = training(Sgd(), 3, 4), training(Sgd(), 3, 4, corpus=PLAIN)
    assert CORPUS.vectors is not None
    for lane in (0, 1):
        assert np.array_equal(table(with_vectors)[lane, ROWS].numpy(), CORPUS.vectors.values_PE.astype(np.float64))
    rest = np.setdiff1d(np.arange(table(without).shape[1]), ROWS)
    assert torch.equal(table(with_vectors)[:, rest], table(without)[:, rest])
    ours, theirs = with_vectors.model.state_dict(), without.model.state_dict()
    assert [name for name in ours if not torch.equal(ours[name], theirs[name])] == ["embedder.words.table"]


@OPTIMISERS
@pytest.mark.parametrize("device", DEVICES)
def test_frozen_rows_do_not_change_by_a_bit_and_all_others_are_trained(optimiser: Optimiser, device: str) -> None:
    run = training(optimiser, 3, 4, model=network("frozen"), device=device)
    before = table(run)
    steps(run, 20)
    moved = (table(run) != before).any(dim=-1)
    used = set(PLAIN.lexicon.word_F[PLAIN.stored.splits["train"].forms_N].tolist())
    decays = isinstance(optimiser, AdamW)  # so that rows move that nothing looks up
    expected = torch.tensor([(decays or row in used) and row not in ROWS for row in range(before.shape[1])])
    expected[0] = True  # the boundary, in the window
    assert torch.equal(moved, expected.expand(2, -1))


@OPTIMISERS
def test_trainable_rows_are_trained(optimiser: Optimiser) -> None:
    run = training(optimiser, 3)
    before = table(run)
    steps(run, 20)
    assert (table(run) != before).any(dim=-1)[0, ROWS].all()


@pytest.mark.first(2)
@pytest.mark.parametrize("word_vectors", ["trainable", "frozen"])
@OPTIMISERS
def test_a_lane_of_a_fused_run_equals_the_solo_run_with_its_seed(optimiser: Optimiser, word_vectors: str) -> None:
    equal_solo_runs(partial(training, optimiser, model=network(word_vectors)), (3, 4), 20)


@pytest.mark.parametrize("word_vectors", ["trainable", "frozen"])
def test_the_vectors_of_feature_maps_are_placed_and_held_as_others_are(word_vectors: str) -> None:
    embedder = FeatureMapConfig.model_validate({"word_size": SIZE, "maps": 4, "word_vectors": word_vectors})
    model = ModelConfig(embedder=embedder, stack=StackConfig(depth=1, hidden=5), initial_scale=1.0)
    run = training(Sgd(learning_rate=0.3), 3, 4, model=model)
    before = table(run)
    assert CORPUS.vectors is not None
    for lane in (0, 1):
        assert np.array_equal(before[lane, ROWS].numpy(), CORPUS.vectors.values_PE.astype(np.float64))
    steps(run, 20)
    assert (table(run) != before).any(dim=-1)[:, ROWS].all() == (word_vectors == "trainable")
    assert (table(run) == before).all(dim=-1)[:, ROWS].all() == (word_vectors == "frozen")


def test_frozen_gradients_do_not_count_in_the_norm_that_is_clipped() -> None:
    """The clipped gradient of the rest has the norm 0.5 by itself."""
    run = training(Sgd(learning_rate=0.3), 3, model=network("frozen"))
    steps(run, 1)
    gradients = [parameter.grad for parameter in run.model.parameters() if parameter.grad is not None]
    assert (run.model.embedder.words.table.grad[:, ROWS] == 0).all()  # type: ignore[index]
    assert float(torch.cat([gradient.flatten() for gradient in gradients]).norm()) == pytest.approx(0.5)


def test_a_run_resumed_goes_on_with_frozen_rows() -> None:
    whole, first = (training(Adam(learning_rate=0.02), 3, model=network("frozen")) for _ in range(2))
    first.run_epoch()
    second = training(Adam(learning_rate=0.02), 3, model=network("frozen"))
    second.load_state_dict({name: value.clone() for name, value in first.state_dict().items()})
    whole.run_epoch()
    assert second.run_epoch().train_loss == whole.run_epoch().train_loss
    assert torch.equal(table(second), table(whole))


def test_vectors_of_another_size_are_told_and_a_network_without_words_needs_none() -> None:
    with pytest.raises(UserError, match=r"model.embedder.word_size: got 7 \(allowed: 6, the size of the vectors, or 0"):
        training(Sgd(), 3, model=network(word_size=7))
    steps(training(Sgd(), 3, model=network("frozen", word_size=0)), 2)
