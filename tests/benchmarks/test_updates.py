"""What parts of an update cost on one thread: a large table of words by rows, and matrix products in bfloat16."""

import time
from collections.abc import Callable, Sequence
from statistics import median

import pytest
import torch

from skipstack.models.configs.training import Adagrad, LazyAdam, Optimiser, Sgd
from skipstack.models.ground.precision import Precision, products_in
from skipstack.models.layers.lanes import Lane
from skipstack.models.layers.lookup import Lookup
from skipstack.models.networks.build import Sizes, build
from skipstack.models.networks.model import Tokens
from skipstack.models.parts.heads.base import Gold
from skipstack.models.parts.inputs.base import LexiconTensors
from skipstack.models.training.optimisers import optimiser
from skipstack.search.study.study_files.study_file import load_study
from tests.benchmarks.page import record

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(600)]

LANES, WORDS, SIZE, TOKENS = 3, 40_000, 100, 900
TAGS, STEPS = 1_200, 25


def milliseconds(works: Sequence[Callable[[], object]], rounds: int) -> list[float]:
    """The medians of works that take turns, after one round that does not count; the thread's own time."""
    times: list[list[float]] = [[] for _ in works]
    for _ in range(rounds + 1):
        for measured, work in zip(times, works, strict=True):
            started = time.thread_time()
            work()
            measured.append(1000 * (time.thread_time() - started))
    return [median(each[1:]) for each in times]


def update(config: Optimiser, *, by_row: bool) -> Callable[[], None]:
    """Look up the words of a batch, few of them often as in a text, then learn."""
    lookup, generator = Lookup(LANES, WORDS, SIZE), torch.Generator().manual_seed(0)
    lookup.table.data.normal_(generator=generator)
    lookup.by_row = by_row
    learnt, rate_R = optimiser(config, {"table": lookup.table}), torch.full((LANES,), 0.01)
    gradient = torch.randn(LANES, TOKENS, SIZE, generator=generator)

    def once() -> None:
        ids = (torch.rand(LANES, TOKENS, generator=generator) ** 30 * WORDS).long()
        lookup.table.grad = None
        torch.autograd.backward(lookup(ids), gradient)
        learnt.step(rate_R)

    return once


@pytest.mark.parametrize("config", [Sgd(), Adagrad(), LazyAdam()], ids=lambda config: config.kind)
def test_a_large_table_costs_little(config: Optimiser) -> None:
    torch.set_num_threads(1)
    whole, rows = milliseconds([update(config, by_row=False), update(config, by_row=True)], 11)
    record("words", {f"`{config.kind}`": {"all rows": whole, "the rows of the batch": rows}}, "ms")
    assert rows <= 3


@pytest.mark.parametrize("sentences", [1, 32])
def test_an_update_of_wu2017_in_bfloat16(sentences: int) -> None:
    torch.set_num_threads(1)
    base = load_study("wu2017/default")[0].space.base
    sizes = Sizes(words=5_000, characters=80, tags=TAGS)
    model, _ = build(base.model, sizes=sizes, lanes=[Lane(seed=0)], dtype=torch.float32, device=torch.device("cpu"))
    learnt, rate_R = optimiser(base.training.optimiser, dict(model.named_parameters())), torch.tensor([1e-4])
    forms_F = torch.arange(sizes.words)
    affix_FA, spelling_FC = torch.randint(80, (sizes.words, 7)), torch.randint(80, (sizes.words, 10))
    none_F = torch.zeros_like(forms_F)
    lexicon = LexiconTensors(forms_F, none_F, affix_FA, affix_FA, spelling_FC, none_F)
    tokens = Tokens(torch.randint(1, sizes.words, (1, STEPS, sentences)), torch.full((1, sentences), STEPS))
    gold = Gold(torch.randint(TAGS, (1, STEPS, sentences)))

    def step(precision: Precision) -> None:
        with products_in(precision):
            loss = model.loss(tokens, gold, lexicon).sum()
        model.zero_grad()
        torch.autograd.backward(loss)
        learnt.step(rate_R)

    exact, rounded = milliseconds([lambda: step("float32"), lambda: step("bfloat16")], 5)
    name = "1 sentence" if sentences == 1 else f"{sentences} sentences"
    record("bfloat16", {name: {"float32": exact, "bfloat16": rounded}}, "ms")
    assert exact / rounded >= (1.7 if sentences > 1 else 0.9)
