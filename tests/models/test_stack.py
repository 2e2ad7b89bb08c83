import numpy as np
import pytest
import torch

from models.build import _stack
from models.config import ShortcutConfig, StackConfig
from models.lanes import Dropout, Streams
from models.stack import Stack, backwards
from tests.oracles import networks

LANES, STEPS, BELOW, HIDDEN = 2, 6, 3, 4
LENGTHS = torch.tensor([[6, 2, 1], [3, 6, 4]])


def random_stack(composition: int | tuple[int, ...], directions: str, gate: str = "sigmoid_below") -> Stack:
    config = StackConfig(
        depth=5,
        hidden=HIDDEN,
        composition=composition,
        shortcut=ShortcutConfig(gate=gate),  # type: ignore[arg-type]
        directions=directions,  # type: ignore[arg-type]
    )
    dropout = Dropout([0.5] * LANES, Streams(range(LANES), "dropout", torch.device("cpu")))
    stack = _stack(config, BELOW, LANES, dropout).double().eval()
    generator = torch.Generator().manual_seed(1)
    for parameter in stack.parameters():
        parameter.data = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
    return stack


def random_input() -> torch.Tensor:
    generator = torch.Generator().manual_seed(2)
    return torch.randn(LANES, STEPS, LENGTHS.shape[1], BELOW, generator=generator, dtype=torch.float64)


def twin(stack: Stack, gate: str, x: torch.Tensor, lane: int, direction: int, sentence: int) -> np.ndarray:
    length = int(LENGTHS[lane, sentence])
    layers = [
        {name: p.detach()[lane, direction].numpy() for name, p in layer.named_parameters()} for layer in stack.layers
    ]
    words = list(x[lane, :length, sentence].numpy())
    if direction == 1:
        return np.array(networks.stack(words[::-1], layers, stack.sources, gate)[::-1])
    return np.array(networks.stack(words, layers, stack.sources, gate))


@pytest.mark.parametrize("composition", [1, 2, 3, 4, 5, (0, 1, 0, 2, 2)])
@pytest.mark.parametrize("gate", ["none", "sigmoid_below"])
def test_both_directions_of_a_stack_equal_their_twins_on_every_sentence(
    composition: int | tuple[int, ...], gate: str
) -> None:
    stack, x = random_stack(composition, "both", gate), random_input()
    ours = stack(x, LENGTHS).detach().numpy()
    for lane in range(LANES):
        for sentence, length in enumerate(LENGTHS[lane].tolist()):
            expected = np.hstack([twin(stack, gate, x, lane, direction, sentence) for direction in (0, 1)])
            assert np.abs(ours[lane, :length, sentence] - expected).max() < 1e-10


def test_one_direction_equals_its_twin() -> None:
    stack, x = random_stack(2, "forward"), random_input()
    ours = stack(x, LENGTHS).detach().numpy()
    assert np.abs(ours[1, :4, 2] - twin(stack, "sigmoid_below", x, 1, 0, 2)).max() < 1e-10


def test_what_stands_at_padding_changes_nothing() -> None:
    stack, x = random_stack(5, "both"), random_input()
    inside = torch.arange(STEPS).view(1, -1, 1) < LENGTHS.unsqueeze(1)
    other = torch.where(inside.unsqueeze(-1), x, torch.full_like(x, 1e3))
    assert torch.equal(stack(x, LENGTHS)[inside], stack(other, LENGTHS)[inside])


def test_the_order_of_sentences_changes_nothing() -> None:
    stack, x, order = random_stack(5, "both"), random_input(), [2, 0, 1]
    difference = stack(x, LENGTHS)[:, :, order] - stack(x[:, :, order], LENGTHS[:, order])
    inside = torch.arange(STEPS).view(1, -1, 1) < LENGTHS[:, order].unsqueeze(1)
    assert difference[inside].abs().max() < 1e-12


def test_backwards_turns_each_sentence_by_itself_and_is_its_own_inverse() -> None:
    x = random_input()
    turned = backwards(x, LENGTHS)
    assert torch.equal(turned[0, :2, 1], x[0, :2, 1].flip(0))
    assert torch.equal(turned[0, 2:, 1], x[0, 2:, 1])
    assert torch.equal(backwards(turned, LENGTHS), x)


def test_dropout_falls_on_the_first_and_on_the_last_layer_only() -> None:
    stack, x = random_stack(2, "both"), random_input()
    seen: list[torch.Size] = []
    stack.dropout.register_forward_hook(lambda _, args, __: seen.append(args[0].shape))
    stack(x, LENGTHS)
    assert seen == [torch.Size([LANES, 2, STEPS, LENGTHS.shape[1], HIDDEN])] * 2
