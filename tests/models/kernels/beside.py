"""A recurrent layer by one of its versions, to be put beside the loop of its steps, which defines it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, get_args

import pytest
import torch
from torch import Tensor

from skipstack.models.configs.cells import CELLS, CellKind, ShortcutConfig
from skipstack.models.configs.topologies import TOPOLOGIES
from skipstack.models.ground.kernel_names import Kernels
from skipstack.models.kernels import layers
from skipstack.models.layers.cell import Cell
from skipstack.models.layers.lanes import Streams
from skipstack.models.layers.layer import LayerSizes
from skipstack.models.parts.cells.build import build_cell, build_shortcut
from tests.models.kernels.chosen import chosen

DIRECTIONS: Final = 2
UPDATED: Final = tuple(f"{name} updated" for name, links in TOPOLOGIES.items() if links.updates_cell)
"""Topologies whose output reads the updated cell state."""
LSTMS: Final = ("lstm", *(name for name, links in TOPOLOGIES.items() if links.memory), *UPDATED)
BLOCKS: Final = tuple(name for name, links in TOPOLOGIES.items() if not links.memory)
"""Cells and topologies that are one operation on a GPU."""
RECURRENT: Final = (*(name for name, (_, states) in CELLS.items() if states), *TOPOLOGIES, *UPDATED)
"""All that have steps."""


def drawn(generator: torch.Generator, *shape: int, apart: bool = False, dtype: torch.dtype = torch.float64) -> Tensor:
    """Random numbers; ``apart``: they do not stand row after row."""
    numbers = torch.randn(*shape, dtype=dtype, generator=generator)
    return (numbers.transpose(0, -1).contiguous().transpose(0, -1) if apart else numbers).requires_grad_()


def cell_of(kind: str, lanes: int, hidden: int) -> Cell:
    """A cell without a source, or a topology of a shortcut, over a layer of ``hidden`` + 1 features."""
    sizes = LayerSizes(lanes=lanes, directions=DIRECTIONS, below=hidden + 1, hidden=hidden)
    streams = Streams(range(lanes), "dropout", torch.device("cpu"))
    if kind in get_args(CellKind):
        cell = build_cell(kind, sizes, streams)  # type: ignore[arg-type]
    else:
        topology, _, cell_output = kind.partition(" ")
        config = {"topology": topology, "cell_output": cell_output or "original"}
        cell = build_shortcut(ShortcutConfig.model_validate(config), sizes, streams)
    assert isinstance(cell, Cell)
    return cell


@contextmanager
def running(kernels: Kernels) -> Iterator[None]:
    """Within, layers run so, also where their numbers are on a CPU and kernels of a GPU are interpreted."""
    if kernels != "fused":
        with chosen(kernels):
            yield
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(layers, "choose", lambda *_: "fused")
        yield


def passes(
    kind: str,
    kernels: Kernels,
    sizes: tuple[int, ...],
    *,
    started: bool,
    seed: int,
    learns: bool = True,
    apart: bool = False,
    dtype: torch.dtype = torch.float64,
) -> list[Tensor]:
    """The output of a cell, its last state, and the gradients of what it reads and of its weights, of random numbers.

    ``sizes``: lanes, steps, sentences and hidden units; ``learns``: whether what is below asks for a gradient.
    """
    lanes, steps, sentences, hidden = sizes
    groups, generator = lanes * DIRECTIONS, torch.Generator().manual_seed(seed)

    def draw(*shape: int) -> Tensor:
        return drawn(generator, *shape, apart=apart, dtype=dtype)

    cell = cell_of(kind, lanes, hidden)
    for parameter in cell.parameters():
        parameter.data = draw(*parameter.shape).detach()
    below_GTBI = draw(groups, steps, sentences, hidden + 1).requires_grad_(learns)
    skipped_GTBH = None if kind in get_args(CellKind) else draw(groups, steps, sentences, hidden)
    above_GTBF = draw(groups, steps, sentences, cell.features).detach()
    before, start = below_GTBI.detach().clone(), None
    if started:
        with torch.no_grad(), chosen("reference"):
            last = cell.run(below_GTBI, skipped_GTBH).last
        assert last is not None
        start = draw(*last.shape).detach()
    with running(kernels):
        unrolled = cell.run(below_GTBI, skipped_GTBH, start)
        read: list[Any] = [each for each in (below_GTBI, skipped_GTBH) if each is not None and each.requires_grad]
        gradients = torch.autograd.grad(
            unrolled.output_GTBF, [*read, *cell.parameters()], above_GTBF, materialize_grads=True
        )
    assert unrolled.last is not None
    assert torch.equal(below_GTBI, before), "what is below is left as it is"
    return [unrolled.output_GTBF.detach(), unrolled.last, *gradients]
