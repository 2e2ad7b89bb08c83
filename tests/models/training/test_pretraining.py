"""Language models before the first epoch: what they read, what they learn, and where their vectors go."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn import functional

from skipstack.data.basis.seeding import derive, generator
from skipstack.data.store.stored import Split
from skipstack.models.configs.feedback import FeedbackConfig
from skipstack.models.configs.inputs import EmbedderConfig
from skipstack.models.configs.model import ModelConfig, StackConfig
from skipstack.models.configs.training import Adagrad, Adam, AdamW, LazyAdam, Optimiser, PretrainingConfig, Sgd
from skipstack.models.ground.initialise import initialise
from skipstack.models.layers.lanes import Lane
from skipstack.models.networks.build import Sizes, build
from skipstack.models.networks.model import Network
from skipstack.models.training import lane_optimiser
from skipstack.models.training.pretraining import WindowModel, pretrain, vectors, windows
from tests.models.corpora import small_corpus

CORPUS = small_corpus()
CONFIG = PretrainingConfig(word_epochs=2, label_epochs=1, context=2, hidden=4, batch_size=16)


def split_of(*sentences: list[int]) -> Split:
    tokens = np.concatenate(sentences).astype(np.int32)
    lengths = np.array([len(sentence) for sentence in sentences], dtype=np.int32)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return Split(tokens, tokens, lengths, offsets, offsets)


def network(stack: StackConfig | FeedbackConfig, *seeds: int, word_size: int = 3) -> Network:
    embedder = EmbedderConfig(word_size=word_size, capital_size=2, affix_characters=0)
    sizes = Sizes.of(CORPUS.vocabulary, CORPUS.stored.tags)
    lanes = [Lane(seed=seed) for seed in seeds]
    config = ModelConfig(embedder=embedder, stack=stack)
    return build(config, sizes=sizes, lanes=lanes, dtype=torch.float64, device=torch.device("cpu"))[0]


def changed(config: PretrainingConfig, model: Network, *seeds: int) -> set[str]:
    before = {name: value.clone() for name, value in model.state_dict().items()}
    pretrain(config, model, CORPUS, seeds, 1.0)
    return {name for name, value in model.state_dict().items() if not torch.equal(value, before[name])}


def test_a_window_is_what_stands_around_a_token_in_its_own_sentence() -> None:
    sentences = [[5, 6, 7, 8], [9], [4, 3]]
    split = split_of(*sentences)
    expected = []
    for sentence in sentences:
        padded = [-1, -1, *sentence, -1, -1]
        expected += [[*padded[t : t + 2], *padded[t + 3 : t + 5]] for t in range(len(sentence))]
    assert windows(split.forms_N.astype(np.int64), split, 2, -1).tolist() == expected


def test_the_language_model_is_its_equation() -> None:
    model = WindowModel(lanes=2, rows=7, size=3, window=4, hidden=5).double()
    generator = torch.Generator().manual_seed(0)
    for parameter in model.parameters():
        parameter.data = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
    seen, targets = (torch.randint(0, 7, shape, generator=generator) for shape in ((2, 6, 4), (2, 6)))
    loss = model.loss(seen, targets).detach()
    for lane in range(2):
        w = {name: value.detach()[lane].numpy() for name, value in model.named_parameters()}
        for place in range(6):
            x = np.concatenate([w["items.table"][item] for item in seen[lane, place]])
            h = 1 / (1 + np.exp(-(x @ w["window"] + w["bias_window"][0])))
            scores = h @ w["output"] + w["bias_output"][0]
            expected = np.log(np.exp(scores).sum()) - scores[targets[lane, place]]
            assert abs(float(loss[lane, place]) - expected) < 1e-12


def test_words_that_stand_in_the_same_places_get_vectors_alike() -> None:
    rng = np.random.default_rng(0)
    frames = [([1], [2], (3, 4)), ([5], [6], (7, 8))]
    sentences = []
    for _ in range(200):
        before, behind, between = frames[rng.integers(2)]
        sentences.append([*before, int(rng.choice(between)), *behind])
    split = split_of(*sentences)
    config = PretrainingConfig(word_epochs=10, context=1, hidden=8, optimiser=Adam(learning_rate=0.02))
    like = torch.zeros(1, 9, 6, dtype=torch.float64)
    (table,) = vectors(config, "words", split.forms_N.astype(np.int64), split, 0, like, [0], 1.0)
    alike = functional.cosine_similarity(table.unsqueeze(0), table.unsqueeze(1), dim=-1)
    # What predicts the same words alike: 1 and 2 stand around 3 and 4, 5 and 6 around 7 and 8.
    assert alike[3, 4] > max(float(alike[first, second]) for first in (3, 4) for second in (7, 8))
    assert alike[7, 8] > max(float(alike[first, second]) for first in (3, 4) for second in (7, 8))


@pytest.mark.parametrize(("name", "epochs"), [("words", 4), ("labels", 3)])
def test_the_rate_falls_from_epoch_to_epoch_by_as_much_to_0_after_the_last(name: str, epochs: int) -> None:
    """Of a language model whose batch is all of train, so that each epoch is one step of gradient descent."""
    split, rate = split_of([5, 6, 7, 8], [1], [4, 3, 2]), 0.4
    ids = split.forms_N.astype(np.int64)
    config = PretrainingConfig(
        word_epochs=4, label_epochs=3, context=1, hidden=4, batch_size=8, optimiser=Sgd(learning_rate=rate)
    )
    (table,) = vectors(config, name, ids, split, 0, torch.zeros(1, 9, 6, dtype=torch.float64), [5], 1.0)
    model = WindowModel(lanes=1, rows=9, size=6, window=2, hidden=4).double()
    initialise(model, [derive(5, "pretraining", name)], 1.0)
    seen, targets = torch.as_tensor(windows(ids, split, 1, 0))[None], torch.as_tensor(ids)[None]
    for epoch in range(epochs):
        loss = model.loss(seen, targets).mean()
        gradients = torch.autograd.grad(loss, list(model.parameters()))
        for parameter, gradient in zip(model.parameters(), gradients, strict=True):
            parameter.data -= rate * (epochs - epoch) / epochs * gradient
    assert (table - model.items.table.detach()[0]).abs().max() < 1e-12


@pytest.mark.parametrize(
    ("stack", "started"),
    [
        (StackConfig(depth=1, hidden=3), {"embedder.words.table"}),
        (FeedbackConfig(variant="e", hidden=3), {"embedder.words.table"}),
        (FeedbackConfig(variant="j", hidden=3), {"embedder.words.table"}),
        (
            FeedbackConfig(variant="i", hidden=3, label_size=4, directions="both"),
            {"embedder.words.table", "layer.labels.table", "layer.labels.bias_begin"},
        ),
        (
            FeedbackConfig(variant="i_and_e", hidden=3, label_size=4),
            {"embedder.words.table", "layer.labels.table", "layer.labels.bias_begin"},
        ),
    ],
    ids=["stack", "e", "j", "i", "i_and_e"],
)
def test_words_and_labels_that_have_vectors_start_from_the_language_models(stack: Any, started: set[str]) -> None:
    model = network(stack, 3, 4)
    assert changed(CONFIG, model, 3, 4) == started
    train = CORPUS.stored.splits["train"]
    ids, table = CORPUS.lexicon.word_F[train.forms_N], model.state_dict()["embedder.words.table"]
    assert torch.equal(table, vectors(CONFIG, "words", ids, train, 0, table, [3, 4], 1.0))


@pytest.mark.parametrize(("word_epochs", "label_epochs"), [(0, 1), (1, 0), (0, 0)])
def test_without_epochs_they_start_as_other_weights(word_epochs: int, label_epochs: int) -> None:
    config = CONFIG.model_copy(update={"word_epochs": word_epochs, "label_epochs": label_epochs})
    started = changed(config, network(FeedbackConfig(hidden=3, label_size=4), 3), 3)
    assert ("embedder.words.table" in started) == bool(word_epochs)
    assert ("layer.labels.table" in started) == bool(label_epochs)


def test_a_network_without_words_pretrains_its_labels_alone() -> None:
    started = changed(CONFIG, network(FeedbackConfig(hidden=3, label_size=4), 3, word_size=0), 3)
    assert started == {"layer.labels.table", "layer.labels.bias_begin"}


def test_a_lanes_language_models_are_those_of_its_seed_alone() -> None:
    together, alone = (network(FeedbackConfig(hidden=3, label_size=4), *seeds) for seeds in ((3, 4), (4,)))
    pretrain(CONFIG, together, CORPUS, (3, 4), 1.0)
    pretrain(CONFIG, alone, CORPUS, (4,), 1.0)
    for name, value in alone.state_dict().items():
        assert (together.state_dict()[name][1] - value[0]).abs().max() < 1e-12
        assert "bias" in name or not torch.equal(together.state_dict()[name][0], value[0])


PAIRS = split_of(*([2 * pair + 1, 2 * pair + 2] for pair in range(6)))
"""Each token predicts the only other one of its sentence, so that one batch of an epoch looks a word up."""


def learnt(optimiser: Optimiser, epochs: int) -> Tensor:
    config = PretrainingConfig(word_epochs=epochs, context=1, hidden=4, batch_size=6, optimiser=optimiser)
    like = torch.zeros(1, 13, 3, dtype=torch.float64)
    return vectors(config, "words", PAIRS.forms_N.astype(np.int64), PAIRS, 0, like, [0], 1.0)[0]


def test_lazy_adam_moves_the_words_of_a_batch_alone() -> None:
    """Adam's first step moves a number by the learning rate, whatever its gradient; words of the first batch alone."""
    first = generator(derive(0, "pretraining", "words"), "order", 0).permutation(12)[:6]
    read = PAIRS.forms_N[first ^ 1]
    moved = (learnt(LazyAdam(learning_rate=0.01), 1) - learnt(LazyAdam(), 0)).abs()
    assert moved[read] == pytest.approx(0.01, rel=1e-3)
    averaged = (learnt(Adam(learning_rate=0.01), 1) - learnt(Adam(), 0)).abs()
    assert (averaged[read] > 0.015).all()


@pytest.mark.parametrize("optimiser", [Sgd(), Sgd(momentum=0.9), Adagrad(), Adam(), AdamW()], ids=str)
def test_words_get_the_same_vectors_if_their_table_has_many_rows(
    optimiser: Optimiser, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = learnt(optimiser, 3)
    monkeypatch.setattr(lane_optimiser, "MANY_ROWS", 2)
    assert torch.equal(learnt(optimiser, 3), expected)
