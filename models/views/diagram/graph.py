"""A network as a graph: its parts, and which time steps of each other they read. Torch-free: drawings are made from
it.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from skipstack.models.configs.cells import ShortcutConfig
from skipstack.models.configs.skips import SkipConfig

Direction = Literal["forward", "backward"]

Kind = Literal["input", "token", "made", "layer", "labels", "join", "text", "head"]
"""The kind of a part: a lookup for a token; the joined features of a token or a window; features computed below the
layers; a layer; vectors of earlier labels; both directions joined; a pooled vector for a whole text; the head."""

Role = Literal["reads", "shortcut", "passed", "state", "fed_back", "moves"]
"""The role in which a part reads another: as its input from below; by a shortcut from an earlier layer; as the
unchanged input of a highway; as its own earlier state; as fed-back earlier decisions; as the previous tag, for a
chain's transition scores."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """A part of a network. ``name`` is unique; ``label`` describes it.

    ``size``: features that it puts out at a time step, None if the corpus decides; ``note``: where they come from.
    ``direction`` and ``layer`` (from 1, bottom up) are those of layers. ``carries``: the states that a layer passes to
    the next time step.
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
    """Hidden units of a layer, which puts out one feature for each, or two, as Sutskever's cell."""
    tokens: int = 1
    """The number of tokens in a window."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """``end`` reads ``start`` at the time steps from ``first`` to ``last``, relative to its own: 0 the same, -1 the
    previous one.

    Steps count in the direction of reading of ``end``. ``between``: also the steps between the two. ``gate`` names the
    gate that weights the reading, if any.
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
    """The parts of a network, each after those below it, and what each reads.

    ``shortcut``: the config of layers with a source; ``skip``: which earlier states skipping layers read; None where
    the network has no such layers.
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
        """The readings of a part, in these roles; by default in all."""
        return [each for each in self.readings if each.end == end and (not roles or each.role in roles)]

    @cached_property
    def levels(self) -> dict[str, int]:
        """The height of each part in a drawing: parts that read nothing of the same time step are at 0, the others
        above all that they read.

        Feedback from earlier time steps leads downwards, and does not count.
        """
        levels: dict[str, int] = {}
        for part in self.parts:
            below = [levels[each.start] for each in self.into(part.name, "reads", "shortcut", "passed")]
            levels[part.name] = 1 + max(below, default=-1)
        return levels

    def of_kind(self, *kinds: Kind) -> list[Part]:
        """The parts of these kinds, bottom up."""
        return [part for part in self.parts if part.kind in kinds]
