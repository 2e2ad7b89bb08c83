"""The compiled loss of a softmax beside the one of torch's operations, which defines it."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from skipstack.models.parts.heads.base import UNSEEN, Gold
from skipstack.models.parts.heads.softmax import SoftmaxHead
from tests.models.kernels.chosen import chosen

SIZES = st.tuples(*(st.integers(1, most) for most in (3, 4, 5, 9, 50)))
"""Lanes, tags of a sentence, sentences, features, and tags to choose from."""


def passes(head: SoftmaxHead, features_RUBF: Tensor, gold_RUB: Tensor, above_RUB: Tensor) -> list[Tensor]:
    """The losses, and the gradients of all that they come from."""
    losses_RUB = head.losses(features_RUBF, Gold(gold_RUB), torch.empty(0))
    return [losses_RUB, *torch.autograd.grad(losses_RUB, [features_RUBF, *head.parameters()], above_RUB)]


def both_ways(head: SoftmaxHead, features_RUBF: Tensor, gold_RUB: Tensor, above_RUB: Tensor) -> list[list[Tensor]]:
    """Compiled, and by the operations of torch."""
    given = head, features_RUBF.requires_grad_(), gold_RUB, above_RUB
    with chosen("compiled"):
        ours = passes(*given)
    with chosen("reference"):
        return [ours, passes(*given)]


def head_of(lanes: int, features: int, tags: int, generator: torch.Generator) -> SoftmaxHead:
    """With random weights."""
    head = SoftmaxHead(lanes=lanes, features=features, tags=tags).double()
    for each in head.parameters():
        torch.nn.init.normal_(each, generator=generator)
    return head


@given(sizes=SIZES, scale=st.sampled_from([0.1, 1.0, 30.0]), seed=st.integers(0, 2**32 - 1))
def test_it_gives_what_the_operations_of_torch_give(sizes: tuple[int, ...], scale: float, seed: int) -> None:
    lanes, places, sentences, features, tags = sizes
    generator = torch.Generator().manual_seed(seed)
    head = head_of(lanes, features, tags, generator)
    shape = lanes, places, sentences
    features_RUBF = scale * torch.randn(*shape, features, generator=generator, dtype=torch.float64)
    gold_RUB = torch.randint(UNSEEN, tags, shape, generator=generator)
    above_RUB = torch.randn(shape, generator=generator, dtype=torch.float64)
    for one, other in zip(*both_ways(head, features_RUBF, gold_RUB, above_RUB), strict=True):
        torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-12)


def test_in_float32_it_is_as_near_to_float64_as_torch_is() -> None:
    generator = torch.Generator().manual_seed(1)
    exact = head_of(2, 30, 70, generator)
    features_RUBF = torch.randn(2, 5, 6, 30, generator=generator, dtype=torch.float64)
    gold_RUB = torch.randint(UNSEEN, 70, (2, 5, 6), generator=generator)
    above_RUB = torch.randn(2, 5, 6, generator=generator, dtype=torch.float64)
    expected = both_ways(exact, features_RUBF, gold_RUB, above_RUB)[1]
    rounded = SoftmaxHead(lanes=2, features=30, tags=70)
    rounded.load_state_dict(exact.state_dict())
    found = both_ways(rounded, features_RUBF.detach().float(), gold_RUB, above_RUB.float())
    ours, theirs = ([(one - other).abs().max() for one, other in zip(each, expected, strict=True)] for each in found)
    assert all(own <= 4 * other for own, other in zip(ours, theirs, strict=True))


@pytest.mark.parametrize("what", [torch.nan, torch.inf])
@pytest.mark.parametrize("tag", [0, 17, 39])
def test_a_score_that_is_no_number_is_seen_in_the_loss_of_its_token_alone(what: float, tag: int) -> None:
    head = head_of(1, 2, 40, torch.Generator().manual_seed(1)).float()
    features_RUBF = torch.tensor([[[[1.0, 1.0], [0.0, 1.0]]]])
    with torch.no_grad():
        head.weight[0, 0, tag] = 1e30  # 0 times infinity would be no number, either
        features_RUBF[0, 0, 0, 0] = what
    with torch.no_grad(), chosen("compiled"):
        losses_RUB = head.losses(features_RUBF, Gold(torch.tensor([[[5, 5]]])), torch.empty(0))
    assert not losses_RUB[0, 0, 0].isfinite()
    assert losses_RUB[0, 0, 1].isfinite()
