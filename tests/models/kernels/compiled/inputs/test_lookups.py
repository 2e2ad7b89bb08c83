"""The compiled windows of looked up rows beside those of torch's operations, which define them."""

from typing import Any

import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from skipstack.data.store.features import CAPITAL_CLASSES
from skipstack.models.configs.inputs import CharacterCnnConfig, EmbedderConfig
from skipstack.models.kernels.rows import gradient_rows
from skipstack.models.layers.lanes import Streams
from skipstack.models.layers.lookup import Lookup
from skipstack.models.parts.inputs.base import LexiconTensors
from skipstack.models.parts.inputs.characters import CharacterCnn
from skipstack.models.parts.inputs.tokens import TokenEmbedder
from tests.models.kernels.chosen import chosen

FORMS, WORDS, CHARACTERS, CLASSES, CPU = 9, 7, 5, 4, torch.device("cpu")
PARTS = st.fixed_dictionaries(
    {
        "word_size": st.integers(1, 20),
        "capital_size": st.integers(0, 3),
        "affix_characters": st.integers(0, 2),
        "affix_size": st.integers(1, 4),
        "class_size": st.integers(0, 3),
        "spelling": st.sampled_from([None, CharacterCnnConfig(size=2, filters=3)]),
        "window": st.sampled_from([0, 3, 5]),
        "window_gate": st.just(False),
    }
)


def lexicon(generator: torch.Generator) -> LexiconTensors:
    """Of random features; spellings are padded at the end."""

    def ids(below: int, *shape: int) -> Tensor:
        return torch.randint(1, below, (FORMS, *shape), generator=generator)

    spelling_FC = ids(CHARACTERS, 4)
    spelling_FC[torch.arange(4) >= ids(5).unsqueeze(1)] = 0
    lengths_F = (spelling_FC != 0).sum(dim=1).numpy()
    return LexiconTensors(
        ids(WORDS), ids(CAPITAL_CLASSES), ids(CHARACTERS, 2), ids(CHARACTERS, 2), spelling_FC, ids(CLASSES), lengths_F
    )


def made(config: EmbedderConfig, dropout_R: list[float], *, by_row: bool) -> TokenEmbedder:
    """With random weights, the same each time, and draws that begin anew."""
    count = len(dropout_R)
    spelling = (
        None if config.spelling is None else CharacterCnn(count, CHARACTERS, CharacterCnnConfig(size=2, filters=3))
    )
    streams = Streams(range(count), "dropout", CPU)
    embedder = TokenEmbedder(
        config,
        words=WORDS,
        characters=CHARACTERS,
        classes=CLASSES,
        spelling=spelling,
        dropout_R=dropout_R,
        streams=streams,
    ).double()
    for each in embedder.parameters():
        torch.nn.init.normal_(each, generator=torch.Generator().manual_seed(each.numel()))
    for module in embedder.modules():
        if isinstance(module, Lookup):
            module.by_row = by_row
    return embedder


def passes(embedder: TokenEmbedder, forms_RTB: Tensor, known: LexiconTensors, above: torch.Generator) -> list[Tensor]:
    """What comes out, and the gradients of all weights, as whole tables."""
    x_RTBI = embedder(forms_RTB, known)
    torch.autograd.backward(x_RTBI, torch.randn(x_RTBI.shape, generator=above, dtype=x_RTBI.dtype))
    gradients = [each.grad for each in embedder.parameters() if each.grad is not None]
    return [x_RTBI, *(each.to_dense() for each in gradients)]


@given(
    config=PARTS,
    dropout_R=st.lists(st.sampled_from([0.0, 0.3, 0.5]), min_size=1, max_size=3),
    by_row=st.booleans(),
    sizes=st.tuples(st.integers(1, 6), st.integers(1, 4)),
    seed=st.integers(0, 2**32 - 1),
)
def test_tokens_and_gradients_are_those_of_the_operations_of_torch(
    config: Any, dropout_R: list[float], by_row: bool, sizes: tuple[int, int], seed: int
) -> None:
    config, source = EmbedderConfig(**config), torch.Generator().manual_seed(seed)
    known = lexicon(source)
    forms_RTB = torch.randint(FORMS, (len(dropout_R), *sizes), generator=source)
    state = source.get_state()
    with chosen("compiled"):
        ours = passes(made(config, dropout_R, by_row=by_row), forms_RTB, known, source)
    with chosen("reference"):
        theirs = passes(made(config, dropout_R, by_row=by_row), forms_RTB, known, source.set_state(state))
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-12)


@given(config=PARTS, sizes=st.tuples(st.integers(1, 6), st.integers(1, 4)), seed=st.integers(0, 2**32 - 1))
def test_gradients_by_row_are_those_of_whole_tables_to_the_last_bit(
    config: Any, sizes: tuple[int, int], seed: int
) -> None:
    source = torch.Generator().manual_seed(seed)
    known = lexicon(source)
    forms_RTB = torch.randint(FORMS, (2, *sizes), generator=source)
    state, found = source.get_state(), []
    for by_row in (False, True):
        embedder = made(EmbedderConfig(**config), [0.3, 0.3], by_row=by_row).float()
        with chosen("compiled"):
            passes(embedder, forms_RTB, known, source.set_state(state))
            for each in embedder.parameters():
                if each.grad is not None and each.grad.is_sparse:
                    gradient_rows(each)
        found.append([each.grad.to_dense() for each in embedder.parameters() if each.grad is not None])
    assert all(torch.equal(*each) for each in zip(*found, strict=True))


@given(
    rows_RN=st.lists(st.lists(st.integers(0, 6), min_size=5, max_size=5), min_size=1, max_size=3),
    seed=st.integers(0, 2**32 - 1),
)
def test_the_sums_of_rows_are_those_of_the_operations_of_torch_to_the_last_bit(
    rows_RN: list[list[int]], seed: int
) -> None:
    above_RNE = torch.randn(len(rows_RN), 5, 3, generator=torch.Generator().manual_seed(seed))

    def summed() -> list[Tensor]:
        lookup = Lookup(len(rows_RN), 7, 3)
        lookup.by_row = True
        torch.autograd.backward(lookup(torch.tensor(rows_RN)), above_RNE)
        return [*gradient_rows(lookup.table), lookup.table.grad.to_dense()]  # type: ignore[union-attr]

    with chosen("compiled"):
        ours = summed()
    with chosen("reference"):
        theirs = summed()
    assert all(torch.equal(*each) for each in zip(ours, theirs, strict=True))
