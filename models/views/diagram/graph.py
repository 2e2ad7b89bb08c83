"""A network as a graph, for diagrams. Nodes are parts of the network, such as layers. An edge leads from a part to a
part that reads it, and states at which time steps. Imports no torch.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from skipstack.models.configs.cells import ShortcutConfig
from skipstack.models.configs.skips import SkipConfig

Direction = Literal["forward", "backward"]

Kind = Literal["input", "token", "made", "layer", "labels", "join", "text", "head"]
"""The kind of a part. ``input``: features of a token, such as a word vector. ``token``: the concatenated features of a
token or a window. ``made``: other features computed below the layers. ``layer``: one direction of a layer. ``labels``:
vectors of earlier labels. ``join``: the concatenated outputs of both directions. ``text``: the pooled vector of a whole
text. ``head``: the output layer."""

Role = Literal["reads", "shortcut", "passed", "state", "fed_back", "moves"]
"""The role of an edge. ``reads``: the input from below. ``shortcut``: a shortcut from an earlier layer. ``passed``: the
input that a highway layer passes on unchanged. ``state``: the layer's own earlier state. ``fed_back``: earlier
decisions that are fed back. ``moves``: the previous tag, for a chain's transition scores."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """A part of a network.

    ``name``: a unique name. ``label``: a short description in a diagram. ``size``: the number of output features per
    time step; None if the number depends on the corpus or on a user's own cell. ``note``: remarks in a diagram,
    separated by commas. ``direction``: a layer's direction of reading. ``layer``: a layer's number, counted from 1 at
    the bottom. ``carries``: the states that a layer passes to the next time step; ``state`` in a user's own cell.
    """

    name: str
    kind: Kind
    label: str
    size: int | None = None
    note: str = ""
    direction: Direction | None = None
    layer: int | None = None
    carries: tuple[str, ...] = ()
    units: int | None = None
    """The number of hidden units of a layer. Each unit outputs one feature, two in the cell ``sutskever``, or as many
    as a user's own cell says."""
    tokens: int = 1
    """The number of tokens in a window."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """An edge of the graph: part ``end`` reads the output of part ``start``.

    ``first``, ``last``: the first and last time step at which ``start`` is read, relative to the current step. 0 is the
    same step, -1 the step before it in reading order. ``between``: whether the steps between ``first`` and ``last`` are
    also read. ``gate``: the edge's gate, or the kind of labels that are fed back, in words for a diagram.
    """

    start: str
    end: str
    role: Role = "reads"
    first: int = 0
    last: int = 0
    between: bool = True
    gate: str = ""


@dataclass(frozen=True, kw_only=True)
class Diagram:
    """The graph of a network.

    ``parts``: the nodes, each after the nodes below. ``readings``: the edges. ``shortcut``: the config of layers with a
    shortcut; None without such layers. ``skip``: the config of layers that skip back in time; None without such layers.
    """

    parts: tuple[Part, ...]
    readings: tuple[Reading, ...]
    shortcut: ShortcutConfig | None = None
    skip: SkipConfig | None = None

    @cached_property
    def named(self) -> dict[str, Part]:
        """The parts by name."""
        return {part.name: part for part in self.parts}

    def into(self, end: str, *roles: Role) -> list[Reading]:
        """Return the edges to the part ``end`` that have one of these roles. No ``roles`` means all edges."""
        return [each for each in self.readings if each.end == end and (not roles or each.role in roles)]

    @cached_property
    def levels(self) -> dict[str, int]:
        """The height of each part in a diagram, by name. A part that reads nothing has height 0. Other parts are 1
        above the highest part that they read. Edges from earlier steps (``state``, ``fed_back``, ``moves``) do not
        count.
        """
        levels: dict[str, int] = {}
        for part in self.parts:
            below = [levels[each.start] for each in self.into(part.name, "reads", "shortcut", "passed")]
            levels[part.name] = 1 + max(below, default=-1)
        return levels

    def of_kind(self, *kinds: Kind) -> list[Part]:
        """Return the parts of the given kinds, bottom up."""
        return [part for part in self.parts if part.kind in kinds]
