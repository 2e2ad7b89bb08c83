"""A network as a graph, from which drawings are made. The nodes are the network's parts, such as layers; an edge says
which time steps of one part another part reads. Imports no torch.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from skipstack.models.configs.cells import ShortcutConfig
from skipstack.models.configs.skips import SkipConfig

Direction = Literal["forward", "backward"]

Kind = Literal["input", "token", "made", "layer", "labels", "join", "text", "head"]
"""The kind of a part. ``input``: features of a token, such as a vector that is looked up. ``token``: the concatenated
features of a token or a window.
``made``: other features computed below the layers. ``layer``: one direction of a layer. ``labels``: vectors of earlier
labels. ``join``: the outputs of both directions, concatenated. ``text``: a pooled vector for a whole text. ``head``:
the output layer."""

Role = Literal["reads", "shortcut", "passed", "state", "fed_back", "moves"]
"""The role in which a part reads another part or itself. ``reads``: the input from below. ``shortcut``: a shortcut from
an earlier layer. ``passed``: the input that a highway layer passes on unchanged. ``state``: the layer's own earlier
state. ``fed_back``: earlier decisions that are fed back. ``moves``: the previous tag, for a chain's transition scores.
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """A part of a network.

    ``name``: a unique name. ``kind``: the kind of the part. ``label``: a short description for a drawing. ``size``: the
    number of features that the part puts out at a time step; None if it depends on the corpus. ``note``: a remark on
    the size for a drawing. ``direction``: a layer's direction of reading. ``layer``: a layer's number, counted from 1
    at the bottom. ``carries``: the states that a layer passes to the next time step.
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
    """The number of hidden units of a layer; it puts out one feature for each unit, or two with cell ``sutskever``."""
    tokens: int = 1
    """The number of tokens in a window."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """An edge of the graph: part ``end`` reads the output of part ``start``.

    ``role``: the role in which it is read. ``first``, ``last``: the first and last time step at which ``start`` is
    read, relative to the current step: 0 is the same step, -1 the previous one in the direction of reading of ``end``.
    ``between``: whether the steps between ``first`` and ``last`` are read as well. ``gate``: the gate that weights what
    is read, or the labels that are fed back, in words for a drawing; empty if there are none.
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

    ``parts``: the parts, each after the parts below it. ``readings``: the edges of the graph. ``shortcut``: the config
    of layers that take a shortcut; None if there are none. ``skip``: the config of layers that skip, which tells which
    earlier states they read; None if there are none.
    """

    parts: tuple[Part, ...]
    readings: tuple[Reading, ...]
    shortcut: ShortcutConfig | None = None
    skip: SkipConfig | None = None

    @cached_property
    def named(self) -> dict[str, Part]:
        """The parts by their names."""
        return {part.name: part for part in self.parts}

    def into(self, end: str, *roles: Role) -> list[Reading]:
        """Return the readings by which the part called ``end`` reads others, in these roles, or by default in all."""
        return [each for each in self.readings if each.end == end and (not roles or each.role in roles)]

    @cached_property
    def levels(self) -> dict[str, int]:
        """The height of each part in a drawing, by its name: 0 for a part that reads nothing, or else 1 above the
        highest part that it reads.

        Only the roles ``reads``, ``shortcut`` and ``passed`` count, since the others lead from earlier time steps.
        """
        levels: dict[str, int] = {}
        for part in self.parts:
            below = [levels[each.start] for each in self.into(part.name, "reads", "shortcut", "passed")]
            levels[part.name] = 1 + max(below, default=-1)
        return levels

    def of_kind(self, *kinds: Kind) -> list[Part]:
        """Return the parts of these kinds, bottom up."""
        return [part for part in self.parts if part.kind in kinds]
