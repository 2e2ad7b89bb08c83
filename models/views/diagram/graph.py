"""A network as a graph: its parts, and what each reads of which time steps. Torch-free: drawings are made from it."""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from skipstack.models.configs.cells import ShortcutConfig
from skipstack.models.configs.skips import SkipConfig

Direction = Literal["forward", "backward"]

Kind = Literal["input", "token", "made", "layer", "labels", "join", "text", "head"]
"""What a part is: something looked up for a token; a token, or a window of tokens, put together; something made of it
below the layers; a layer; vectors of earlier labels; both directions side by side; one vector for a whole text; what
decides."""

Role = Literal["reads", "shortcut", "passed", "state", "fed_back", "moves"]
"""Why a part reads another: as what stands below it; as the output of an earlier layer that it takes by a shortcut; as
what a highway lets pass unchanged; as its own earlier state; as what the network decided on earlier; as the tag before,
which a chain of tags scores its moves from."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """A part of a network. ``name`` is its own alone; ``label`` says what it is.

    ``size``: numbers that it puts out at a time step, None where the corpus decides; ``note``: where they come from.
    ``direction`` and ``layer`` (from 1, bottom up) are those of layers. ``carries`` is what a layer hands from one time
    step to the next.
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
    """Those of a layer; it puts out a number for each, or two, as Sutskever's cell."""
    tokens: int = 1
    """Those that a window has."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """``end`` reads ``start`` at the time steps from ``first`` to ``last``, 0 the own one and -1 the one before.

    They count in the order in which the direction of ``end`` reads. ``gate`` says what weighs it, if anything does.
    """

    start: str
    end: str
    role: Role = "reads"
    first: int = 0
    last: int = 0
    gate: str = ""


@dataclass(frozen=True, kw_only=True)
class Diagram:
    """All parts of a network, each after those below it, and what each reads.

    ``shortcut``: what layers with a source are made of; ``skip``: which earlier states skipping layers read; None where
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
        """What a part reads, in one of these roles; without any, all of it."""
        return [each for each in self.readings if each.end == end and (not roles or each.role in roles)]

    @cached_property
    def levels(self) -> dict[str, int]:
        """How high each part stands: 0 reads nothing of the same time step, the others stand above all that they read.

        What is fed back from earlier time steps leads downwards, and does not count.
        """
        levels: dict[str, int] = {}
        for part in self.parts:
            below = [levels[each.start] for each in self.into(part.name, "reads", "shortcut", "passed")]
            levels[part.name] = 1 + max(below, default=-1)
        return levels

    def of_kind(self, *kinds: Kind) -> list[Part]:
        """The parts of these kinds, bottom up."""
        return [part for part in self.parts if part.kind in kinds]
