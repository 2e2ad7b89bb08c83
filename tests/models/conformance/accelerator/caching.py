"""A stand-in for what torch does with the memory of a GPU, from the rules of ``CUDACachingAllocator.cpp``.

Memory comes from the GPU in segments: of 2 MiB for small tensors, of 20 MiB for larger ones, of whole multiples of
2 MiB for the largest. A tensor takes the smallest free block that holds it, and leaves the rest of the block free if
that is worth it; blocks beside one another become one again. Segments that nobody uses go back once the limit is
reached.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from skipstack.models.conformance.accelerator.memory import Memory

MIB = 2**20
SMALL, LARGE = MIB, 10 * MIB
"""The largest sizes of tensors that come from the segments of 2 and of 20 MiB."""


class Log(Memory):
    """Writes down what is taken and freed, in its order: the place, and the size, below 0 of what is freed."""

    def __init__(self) -> None:
        super().__init__()
        self.events: list[tuple[int, int]] = []

    def taken(self, place: int, size: int) -> None:
        """A tensor is there."""
        super().taken(place, size)
        self.events.append((place, size))

    def freed(self, place: int, size: int) -> None:
        """It has gone."""
        super().freed(place, size)
        self.events.append((place, -size))


@dataclass(slots=True)
class Block:
    """A part of a segment."""

    size: int
    free: bool = True


@dataclass(slots=True)
class Segment:
    """What came from the GPU at once, in blocks one beside another."""

    small: bool
    blocks: list[Block] = field(default_factory=list)

    @property
    def size(self) -> int:
        """Of all blocks."""
        return sum(block.size for block in self.blocks)


class Allocator:
    """``limit``: bytes that it may take from the GPU. ``reserved``: those that it has, ``most``: had at most."""

    def __init__(self, limit: int) -> None:
        self.limit, self.reserved, self.most = limit, 0, 0
        self.segments: list[Segment] = []
        self._places: dict[int, tuple[Segment, Block]] = {}

    def follow(self, events: Iterable[tuple[int, int]]) -> bool:
        """Take and free in that order; whether the limit was enough."""
        for place, size in events:
            if size < 0:
                self._free(place)
            elif not self._take(place, size):
                return False
        return True

    def _take(self, place: int, size: int) -> bool:
        small = size <= SMALL
        found = self._fitting(small, size) or self._segment(small, size)
        if found is None:
            return False
        segment, block = found
        rest = block.size - size
        if rest >= 512 if small else rest > SMALL:
            at = next(place for place, each in enumerate(segment.blocks) if each is block)
            segment.blocks.insert(at + 1, Block(rest))
            block.size = size
        block.free = False
        self._places[place] = segment, block
        return True

    def _fitting(self, small: bool, size: int) -> tuple[Segment, Block] | None:
        fitting = [
            (segment, block)
            for segment in self.segments
            if segment.small == small
            for block in segment.blocks
            if block.free and block.size >= size
        ]
        return min(fitting, key=lambda each: each[1].size, default=None)

    def _segment(self, small: bool, size: int) -> tuple[Segment, Block] | None:
        whole = 2 * MIB if small else 20 * MIB if size < LARGE else -(-size // (2 * MIB)) * 2 * MIB
        if self.reserved + whole > self.limit:
            unused = [each for each in self.segments if all(block.free for block in each.blocks)]
            self.segments = [each for each in self.segments if not all(block.free for block in each.blocks)]
            self.reserved -= sum(each.size for each in unused)
        if self.reserved + whole > self.limit:
            return None
        self.reserved += whole
        self.most = max(self.most, self.reserved)
        block = Block(whole)
        self.segments.append(Segment(small, [block]))
        return self.segments[-1], block

    def _free(self, place: int) -> None:
        segment, block = self._places.pop(place)
        block.free = True
        merged: list[Block] = []
        for each in segment.blocks:
            if merged and merged[-1].free and each.free:
                merged[-1].size += each.size
            else:
                merged.append(each)
        segment.blocks = merged
