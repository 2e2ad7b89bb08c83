"""Places the parts of a network: rows by depth, a column for each direction of reading, tracks beside the columns.

Shortcuts and fed-back labels run in tracks on the outer side of a column; recurrent connections leave and enter a
layer on the inner side.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Final

from skipstack.models.views.diagram.graph import Diagram, Direction, Part

WIDTH: Final = 390
"""The width of a drawing in pixels: it fits a small phone without scaling."""

MARGIN, BETWEEN = 10, 26
"""Pixels around a drawing, and between two of its parts."""

BOX, TALL, JOIN = 92, 32, 18
"""Width and height of a layer, and height of the box that joins two directions, in pixels."""

GAP: Final = 22
"""Pixels between one row and the next."""

GATE: Final = 30
"""Pixels between a layer and the first track, with room for a gate."""

LOOP: Final = 50
"""Pixels between a layer and the middle, with room for its recurrent connection."""

PASSING: Final = 34
"""Pixels beside the last of several inputs, with room for the line that a highway carries unchanged."""

LABELS: Final = (12, 84)
"""Pixels by which a box of label vectors lies outside its column, so that lines from below pass it, and its width."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """The centre and size of a part."""

    x: float
    y: float
    width: float
    height: float
    outside: int = -1
    """The outer side of its column: -1 left, 1 right."""

    @property
    def top(self) -> tuple[float, float]:
        """The centre of its upper edge."""
        return self.x, self.y - self.height / 2

    @property
    def bottom(self) -> tuple[float, float]:
        """The centre of its lower edge."""
        return self.x, self.y + self.height / 2

    def side(self, out: int, down: float) -> tuple[float, float]:
        """A point of its left (-1) or right (1) edge, ``down`` pixels below the middle."""
        return self.x + out * self.width / 2, self.y + down


@dataclass(frozen=True, kw_only=True, slots=True)
class Places:
    """The place of each part by name, the track of each source of shortcuts, and the total height."""

    parts: Mapping[str, Place]
    tracks: Mapping[str, int]
    spacing: float
    height: float

    def track(self, start: str, place: Place) -> float:
        """The x of the track for connections from ``start``, beside a part of its column."""
        return place.x + place.outside * (place.width / 2 + GATE + self.spacing * self.tracks[start])


def places(diagram: Diagram, top: float) -> Places:
    """Places all parts, the highest one right below ``top``."""
    tracks = _tracks(diagram)
    most = max(tracks.values(), default=-1) + 1
    spacing = min(11.0, 34 / max(most, 1))
    columns = _columns(diagram, GATE + (most - 1) * spacing if tracks else 0.0)
    rows = _rows(diagram)
    total = sum(map(_row_height, rows)) + GAP * (len(rows) - 1)
    placed: dict[str, Place] = {}
    bottom = top + total
    for row in rows:
        middle = bottom - _row_height(row) / 2
        for part, (x, width) in zip(row, _across(diagram, row, columns, placed), strict=True):
            placed[part.name] = Place(
                x=x, y=middle, width=width, height=_height(part), outside=1 if x > WIDTH / 2 + 1 else -1
            )
        bottom -= _row_height(row) + GAP
    return Places(parts=placed, tracks=tracks, spacing=spacing, height=total)


def _rows(diagram: Diagram) -> Sequence[Sequence[Part]]:
    """The parts of each row, bottom up; label vectors are right below the layers that read them."""
    labels = {part.name for part in diagram.of_kind("labels")}
    own = {each.start: diagram.levels[each.end] - 0.5 for each in diagram.readings if each.start in labels}
    level = {part.name: own.get(part.name, diagram.levels[part.name]) for part in diagram.parts}
    return [[part for part in diagram.parts if level[part.name] == height] for height in sorted(set(level.values()))]


def _row_height(row: Sequence[Part]) -> float:
    return max(map(_height, row))


def _height(part: Part) -> float:
    return TALL if part.kind != "join" else JOIN if part.label else JOIN / 2


def _columns(diagram: Diagram, tracks: float) -> Mapping[Direction, float]:
    """The centre of each direction's column; ``tracks``: the total width of its tracks and gates."""
    directions = list(dict.fromkeys(part.direction for part in diagram.of_kind("layer") if part.direction))
    if len(directions) < 2:
        return dict.fromkeys(directions, WIDTH / 2)
    loop = LOOP if any(each.role == "state" for each in diagram.readings) else 8
    off = min(BOX / 2 + loop, WIDTH / 2 - MARGIN - tracks - BOX / 2)
    return {"forward": WIDTH / 2 - off, "backward": WIDTH / 2 + off}


def _across(
    diagram: Diagram, row: Sequence[Part], columns: Mapping[Direction, float], below: Mapping[str, Place]
) -> list[tuple[float, float]]:
    """The centre and width of each part of a row; a part computed from one other part is above it."""
    first = row[0]
    if first.kind == "labels":
        outwards = {part.name: -1 if columns[part.direction] <= WIDTH / 2 else 1 for part in row if part.direction}
        return [
            (columns[part.direction] + LABELS[0] * outwards[part.name], LABELS[1]) for part in row if part.direction
        ]
    if first.direction:
        return [(columns[part.direction], BOX) for part in row if part.direction]
    if first.kind == "made":
        return [(below[start].x, below[start].width) for start in (diagram.into(part.name)[0].start for part in row)]
    if first.kind == "input":
        beside = PASSING if len(row) > 1 and any(reading.role == "passed" for reading in diagram.readings) else 0
        room = WIDTH - 2 * MARGIN - beside
        each = min((room - 10 * (len(row) - 1)) / len(row), 210 if len(row) == 1 else 130)
        left = MARGIN + room / 2 - (len(row) - 1) * (each + 10) / 2
        return [(left + place * (each + 10), each) for place in range(len(row))]
    both = WIDTH - 2 * min(columns.values(), default=WIDTH / 2) + BOX
    wide = {"head": both if len(diagram.into(first.name, "reads")) > 1 else 150.0, "join": both, "text": 210.0}
    return [(WIDTH / 2, wide.get(first.kind, WIDTH - 2 * MARGIN))]


def _tracks(diagram: Diagram) -> Mapping[str, int]:
    """The track of each source of shortcuts, counted from the inside.

    All shortcuts of one source share a track; two sources share one if the first one's last shortcut ends at or below
    the layer where the second begins.
    """
    ends: dict[str, dict[Direction | None, int]] = {}
    for each in diagram.readings:
        if each.role == "shortcut":
            end = diagram.named[each.end]
            assert end.layer is not None, "a shortcut leads to a layer"
            own = ends.setdefault(each.start, {})
            own[end.direction] = max(end.layer, own.get(end.direction, 0))
    tracks: dict[str, int] = {}
    last: dict[tuple[Direction | None, int], int] = {}
    begins = {start: diagram.named[start].layer or 0 for start in ends}  # 0: the network's input
    for start in sorted(ends, key=lambda start: (begins[start], start)):
        free = (each for each in count() if all(last.get((to, each), 0) <= begins[start] for to in ends[start]))
        tracks[start] = next(free)
        last |= {(to, tracks[start]): end for to, end in ends[start].items()}
    return tracks
