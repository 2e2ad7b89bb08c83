"""Batches on their way to a device: what is known of them, and who makes them."""

import threading
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from skipstack.data.store.batches import Batch, evaluation_batches, training_batches
from skipstack.models.configs.heads import CrfConfig, HeadConfig, MarginConfig
from skipstack.models.configs.inputs import CharacterLstmConfig, EmbedderConfig
from skipstack.models.configs.model import ModelConfig, StackConfig
from skipstack.models.layers.lanes import Lane
from skipstack.models.networks.build import Sizes, build
from skipstack.models.parts.inputs.base import LexiconTensors
from skipstack.models.training.loading import AHEAD, Loader, _apart, ahead
from tests.models.corpora import small_corpus

CORPUS, CPU, LANES = small_corpus(train=24, dev=12), torch.device("cpu"), 3
LEXICON = LexiconTensors.on(CPU, CORPUS.lexicon)


def unseen(batch: Batch) -> Batch:
    """The same with tags that train does not have, in every third place."""
    tags_RUB = np.where(np.arange(batch.tags_RUB.size).reshape(batch.tags_RUB.shape) % 3, batch.tags_RUB, -1)
    return replace(batch, tags_RUB=tags_RUB)


@pytest.mark.parametrize("head", [CrfConfig(), MarginConfig()], ids=lambda config: config.kind)
@pytest.mark.parametrize("shared", [False, True])
def test_what_is_known_of_a_batch_is_what_would_be_found_in_its_tensors(head: HeadConfig, shared: bool) -> None:
    embedder = EmbedderConfig(word_size=4, window=3, spelling=CharacterLstmConfig(size=3, hidden=2))
    config = ModelConfig(embedder=embedder, stack=StackConfig(depth=1, hidden=4, composition=0), head=head)
    lanes = [Lane(seed=seed) for seed in range(LANES)]
    model, _ = build(config, sizes=Sizes.of_corpus(CORPUS), lanes=lanes, dtype=torch.float64, device=CPU)
    loader = Loader(embedder=model.eval().embedder, lexicon=LEXICON, lanes=LANES, device=CPU)
    train, seeds = CORPUS.stored.splits["train"], range(LANES)
    own = training_batches(train, batch_size=4, order_seed=0, lane_seeds=seeds, epoch=0)
    batches = list(evaluation_batches(train, batch_size=4) if shared else own)
    for (batch, (tokens, gold)), changed in zip(loader(map(unseen, batches)), map(unseen, batches), strict=True):
        assert batch.tags_RUB.tolist() == changed.tags_RUB.tolist()
        assert gold.counted_R is not None
        assert gold.counted_R.tolist() == np.broadcast_to(batch.tag_counts_RB.sum(axis=1), LANES).tolist()
        assert tokens.distinct is not None
        found, unknown = replace(tokens, distinct=None), replace(gold, open=None)
        assert torch.equal(model.loss(tokens, gold, LEXICON), model.loss(found, unknown, LEXICON))


@given(shapes=st.lists(st.lists(st.integers(0, 4), max_size=3), min_size=1, max_size=5))
def test_tensors_that_travel_together_come_apart_as_they_were(shapes: list[list[int]]) -> None:
    values = [torch.rand(shape) for shape in shapes]
    parts = _apart(torch.cat([value.flatten() for value in values]), shapes)
    assert all(torch.equal(part, value) for part, value in zip(parts, values, strict=True))


def made(count: int, threads: list[int]) -> Iterator[tuple[int]]:
    for number in range(count):
        threads.append(threading.get_ident())
        yield (number,)
    raise RuntimeError("no more")


def test_one_thread_makes_what_comes_next_in_its_order_and_its_error_comes_in_its_place() -> None:
    threads: list[int] = []
    coming = ahead(made(7, threads))
    for number in range(7):
        assert next(coming) == (number,)
        assert len(threads) <= number + 1 + AHEAD
    with pytest.raises(RuntimeError, match="no more"):
        next(coming)
    assert len(set(threads)) == 1
    assert threads[0] != threading.get_ident()


def test_the_thread_ends_with_a_reader_who_stops_early() -> None:
    before, threads = threading.active_count(), list[int]()
    coming = ahead(made(100, threads))
    assert next(coming) == (0,)
    coming.close()
    assert threading.active_count() == before
    assert len(threads) <= 1 + AHEAD


def test_on_a_cpu_there_is_no_thread() -> None:
    embedder = EmbedderConfig(word_size=4)
    config = ModelConfig(embedder=embedder, stack=StackConfig(depth=0))
    model, _ = build(config, sizes=Sizes.of_corpus(CORPUS), lanes=[Lane(seed=0)], dtype=torch.float64, device=CPU)
    before, threads = threading.active_count(), set()
    loader = Loader(embedder=model.embedder, lexicon=LEXICON, lanes=1, device=CPU)

    def batches() -> Iterator[Batch]:
        for batch in evaluation_batches(CORPUS.stored.splits["dev"], batch_size=4):
            threads.add(threading.get_ident())
            yield batch

    assert len(list(loader(batches()))) == 3
    assert threads == {threading.get_ident()}
    assert threading.active_count() == before
