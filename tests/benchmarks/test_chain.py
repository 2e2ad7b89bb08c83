"""The chain beside pytorch-crf, on the same scores in one process: equal results, and what they cost."""

import statistics
import time
from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torchcrf import CRF

from skipstack.models.parts.heads.chain.decode import best_tagging
from skipstack.models.parts.heads.chain.partition import log_partition
from skipstack.models.parts.heads.chain.program import Chain, score
from tests.benchmarks.page import record

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(600)]

TAGS, SENTENCES, STEPS, ROUNDS, LIMIT = 45, 32, 30, 100, 5


def scores(seed: int, *, full: bool) -> tuple[Tensor, Tensor, Tensor]:
    """Emissions_TBK, gold tags_TB and lengths_B: all of 30 tokens, or of 10 to 30."""
    generator = torch.Generator().manual_seed(seed)
    lengths = torch.randint(10, STEPS + 1, (SENTENCES,), generator=generator)
    lengths[0] = STEPS
    emissions = torch.randn(STEPS, SENTENCES, TAGS, generator=generator)
    tags = torch.randint(TAGS, (STEPS, SENTENCES), generator=generator)
    return emissions, tags, torch.full_like(lengths, STEPS) if full else lengths


def ratio(theirs: Callable[[], object], ours: Callable[[], object]) -> tuple[float, float, float]:
    """Milliseconds of each, and how many times as long theirs takes: medians over rounds of one after the other."""
    times: list[list[float]] = [[], []]
    for _ in range(ROUNDS):
        for measured, function in zip(times, (theirs, ours), strict=True):
            started = time.thread_time()
            function()
            measured.append(1000 * (time.thread_time() - started))
    ratios = [first / second for first, second in zip(*times, strict=True)]
    return statistics.median(times[0]), statistics.median(times[1]), statistics.median(ratios)


@pytest.mark.parametrize("full", [True, False], ids=["all of 30", "10 to 30"])
def test_the_chain_is_several_times_as_fast_as_pytorch_crf(full: bool) -> None:
    torch.set_num_threads(1)
    emissions, tags, lengths = scores(1, full=full)
    mask = torch.arange(STEPS)[:, None] < lengths
    crf = CRF(TAGS)
    own = [part.detach()[None].clone() for part in (crf.start_transitions, crf.transitions, crf.end_transitions)]
    start, transition, end = (part.requires_grad_() for part in own)

    def chain(emissions_RTBK: Tensor) -> Chain:
        return Chain(
            emissions_RTBK=emissions_RTBK,
            start_RK=start,
            transition_RKK=transition,
            end_RK=end,
            lengths_RB=lengths[None],
        )

    def their_loss() -> list[Tensor]:
        crf.zero_grad()
        x = emissions.clone().requires_grad_()
        loss = -crf(x, tags, mask, reduction="none")
        loss.sum().backward()
        gradients = (x.grad, crf.start_transitions.grad, crf.transitions.grad, crf.end_transitions.grad)
        return [loss.detach(), *(each for each in gradients if each is not None)]

    def our_loss() -> list[Tensor]:
        start.grad = transition.grad = end.grad = None
        x = emissions[None].clone().requires_grad_()
        loss = log_partition(chain(x)) - score(chain(x), tags[None])
        loss.sum().backward()
        gradients = (x.grad, start.grad, transition.grad, end.grad)
        return [loss.detach()[0], *(each[0] for each in gradients if each is not None)]

    def their_decoding() -> list[list[int]]:
        with torch.no_grad():
            return list(crf.decode(emissions, mask))

    def our_decoding() -> Tensor:
        return best_tagging(chain(emissions[None]))[0]

    for theirs, ours in zip(their_loss(), our_loss(), strict=True):
        assert torch.allclose(theirs, ours, rtol=1e-5, atol=1e-4)
    decoded_BT = our_decoding().T.tolist()
    assert their_decoding() == [row[:length] for row, length in zip(decoded_BT, lengths.tolist(), strict=True)]

    loss, decoding = ratio(their_loss, our_loss), ratio(their_decoding, our_decoding)
    tokens = f"sentences of {STEPS if full else f'10 to {STEPS}'} tokens"
    columns = ("pytorch-crf, ms", "skipstack, ms", "times as fast")
    measured = {"loss and gradient": loss, "best tagging": decoding}
    record("chain", {f"{name}, {tokens}": dict(zip(columns, each, strict=True)) for name, each in measured.items()})
    assert loss[2] >= LIMIT
    assert decoding[2] > 1
