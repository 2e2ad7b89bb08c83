"""The compiled character CNN beside the one of torch's operations, which defines it."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from skipstack.data.store.vocabulary import BOUNDARY, FIRST_KNOWN
from skipstack.models.configs.inputs import CharacterCnnConfig, CharacterCnnsConfig
from skipstack.models.parts.inputs.characters import CharacterCnn, CharacterCnns, SpellingReader
from tests.models.kernels.chosen import chosen

SIZES = st.tuples(*(st.integers(1, most) for most in (2, 6, 7, 5, 20)), st.sampled_from([1, 2, 3, 4, 5]))
"""Lanes, spellings, characters of the longest, numbers of each, filters, and characters that a filter sees."""


def passes(network: SpellingReader, ids_RNC: Tensor, above_RNF: Tensor) -> list[Tensor]:
    """What it makes of spellings, and the gradients of its weights."""
    y_RNF = network(ids_RNC)
    return [y_RNF, *torch.autograd.grad(y_RNF, list(network.parameters()), above_RNF)]


def network_of(lanes: int, size: int, filters: int, width: int, generator: torch.Generator) -> SpellingReader:
    """Of few characters, so that spellings repeat them and sums are equal, with random weights in float64.

    Where the width is even, those of all smaller widths stand beside these filters.
    """
    network: SpellingReader
    if width % 2 == 0:
        beside = (1,) * (width - 1)
        config = CharacterCnnsConfig(size=size, filters=(*beside, filters))
        network = CharacterCnns(lanes, FIRST_KNOWN + 3, config).double()
    else:
        alone = CharacterCnnConfig(size=size, filters=filters, width=width)
        network = CharacterCnn(lanes, FIRST_KNOWN + 3, alone).double()
    for each in network.parameters():
        torch.nn.init.normal_(each, generator=generator)
    return network


@given(sizes=SIZES, seed=st.integers(0, 2**32 - 1))
@settings(max_examples=80)
def test_it_gives_what_the_operations_of_torch_give(sizes: tuple[int, ...], seed: int) -> None:
    lanes, spellings, longest, size, filters, width = sizes
    generator = torch.Generator().manual_seed(seed)
    network = network_of(lanes, size, filters, width, generator)
    ids_RNC = torch.randint(1, FIRST_KNOWN + 3, (lanes, spellings, longest), generator=generator)
    lengths_RN = torch.randint(0, longest + 1, (lanes, spellings), generator=generator)
    ids_RNC[torch.arange(longest) >= lengths_RN.unsqueeze(-1)] = BOUNDARY
    features = filters if width % 2 else filters + width - 1
    above_RNF = torch.randn(lanes, spellings, features, dtype=torch.float64, generator=generator)
    with chosen("compiled"):
        ours = passes(network, ids_RNC, above_RNF)
    with chosen("reference"):
        theirs = passes(network, ids_RNC, above_RNF)
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-12)


def test_what_is_no_number_comes_out_again() -> None:
    network = network_of(1, 2, 20, 3, torch.Generator().manual_seed(1))
    with torch.no_grad(), chosen("compiled"):
        network.vectors.table[0, FIRST_KNOWN] = torch.nan
        y_RNF = network(torch.tensor([[[3, 3, 3, 3], [3, FIRST_KNOWN, 3, 3], [FIRST_KNOWN, 3, 3, 3]]]))
    assert y_RNF[0, 0].isfinite().all()
    assert y_RNF[0, 1:].isnan().all()
