"""Layers on layers, in one or two directions."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count

import torch
from torch import Tensor, nn

from skipstack.models.lanes import Dropout
from skipstack.models.time.layer import Layer, Unrolled


@dataclass(frozen=True, slots=True, eq=False)
class Passed:
    """What passed through a layer: what it read, and what it made of that before any dropout."""

    layer: Layer
    below_GTBI: Tensor
    skipped_GTBH: Tensor | None
    unrolled: Unrolled


class Memory:
    """The states that layers leave at the end of a batch and start the next one from, as constants.

    ``states`` are those of the layers, bottom up; there are none before the first batch.
    """

    def __init__(self) -> None:
        self.states: list[Tensor | None] = []


class Stack(nn.Module):
    """``depth`` layers a direction, bottom up; layer l takes layer ``sources[l]`` as ``skipped`` (0: none).

    The directions are stacks of their own, joined once at the top (wu2017 eq. 18); or they are
    joined in ``each`` layer: from the second on, a layer of either direction reads [forward; backward]
    of the layer below, as its ``below``. ``skipped`` is its own direction's in both cases: it is added
    to a value of the layer, and has that value's width and direction of reading.
    Dropout falls on the outputs of the first and of the last layer, as every later reader sees them;
    the recurrent link inside a layer is never dropped. A stack of no layers puts out its input, ``below`` numbers.
    """

    def __init__(
        self,
        cells: Sequence[Layer],
        sources: Sequence[int],
        directions: int,
        dropout: Dropout,
        *,
        below: int,
        join_each: bool,
    ) -> None:
        super().__init__()
        self.cells = tuple(cells)
        self.layers = nn.ModuleList(cells)
        self.sources = tuple(sources)
        self.directions = directions
        self.dropout = dropout
        self.join_each = join_each
        self.features = directions * cells[-1].features if cells else below

    def forward(
        self,
        x_RTBI: Tensor,
        lengths_RB: Tensor,
        passed: list[Passed] | None = None,
        memory: Memory | None = None,
    ) -> Tensor:
        """[forward; backward] outputs of the top layer in reading order: features_RTB(DF).

        What passes through the layers comes to the end of ``passed``, bottom up. With a
        ``memory``, layers start from the states in it and leave theirs; so texts must go on where they stopped.
        """
        if not self.cells:
            return x_RTBI
        lanes = x_RTBI.shape[0]
        views = [x_RTBI] if self.directions == 1 else [x_RTBI, backwards(x_RTBI, lengths_RB)]
        below_GTBI = torch.stack(views, dim=1).flatten(0, 1)
        outputs_GTBF: list[Tensor] = []
        starts = memory.states if memory is not None and memory.states else [None] * len(self.cells)
        lasts = []
        for number, cell, source in zip(count(1), self.cells, self.sources, strict=False):
            skipped_GTBH = outputs_GTBF[source - 1] if source else None
            unrolled = cell.run(below_GTBI, skipped_GTBH, starts[number - 1])
            lasts.append(unrolled.last)
            output_GTBF = unrolled.output_GTBF
            if passed is not None:
                passed.append(Passed(cell, below_GTBI, skipped_GTBH, unrolled))
            if number in (1, len(self.cells)):
                output_GTBF = self.dropout(_lanes_apart(output_GTBF, lanes)).flatten(0, 1)
            outputs_GTBF.append(output_GTBF)
            below_GTBI = self._joined(output_GTBF, lengths_RB) if self.join_each else output_GTBF
        if memory is not None:
            memory.states = lasts
        top = _lanes_apart(outputs_GTBF[-1], lanes).unbind(1)
        return top[0] if self.directions == 1 else torch.cat([top[0], backwards(top[1], lengths_RB)], dim=-1)

    def _joined(self, output_GTBF: Tensor, lengths_RB: Tensor) -> Tensor:
        """[forward; backward] for each direction, in its own order of reading: both_GTB(2F)."""
        forward, backward = _lanes_apart(output_GTBF, len(lengths_RB)).unbind(1)
        reading = torch.cat([forward, backwards(backward, lengths_RB)], dim=-1)
        opposite = torch.cat([backwards(forward, lengths_RB), backward], dim=-1)
        return torch.stack([reading, opposite], dim=1).flatten(0, 1)


def _lanes_apart(x_GTBF: Tensor, lanes: int) -> Tensor:
    """x_RDTBF."""
    return x_GTBF.view(lanes, -1, *x_GTBF.shape[1:])


def backwards(x_RTBI: Tensor, lengths_RB: Tensor) -> Tensor:
    """Each sentence in the opposite order, its padding still at the end. Its own inverse."""
    lanes, steps, sentences, _ = x_RTBI.shape
    time_T1 = torch.arange(steps, device=x_RTBI.device).unsqueeze(1)
    from_RTB = torch.where(time_T1 < lengths_RB.unsqueeze(1), lengths_RB.unsqueeze(1) - 1 - time_T1, time_T1)
    lane_R11 = torch.arange(lanes, device=x_RTBI.device).view(-1, 1, 1)
    sentence_B = torch.arange(sentences, device=x_RTBI.device)
    rows = (lane_R11 * steps + from_RTB) * sentences + sentence_B
    return x_RTBI.flatten(0, 2).index_select(0, rows.flatten()).view_as(x_RTBI)
