"""Draws a network: its parts in rows (by depth) and columns (by reading direction), and lines for their inputs.

Shortcuts and fed-back labels run in tracks (vertical lines) on the outer side of a column. Recurrent connections leave
and enter a layer on the inner side. General tools for layered graphs (dot, ELK) have no columns, and would draw
shortcuts through the layers in between.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from skipstack.dashboards.network_drawing.canvas import (
    BLUE,
    DASHED,
    INK,
    MARGIN,
    VERMILLION,
    WIDTH,
    Canvas,
    Point,
    wide,
)
from skipstack.dashboards.network_drawing.earlier_steps import steps_of
from skipstack.dashboards.network_drawing.shortcut_layer import sign
from skipstack.models.views.diagram.graph import Diagram, Part, Reading

BOX, TALL, JOIN = 92, 32, 18
"""The width and height of a layer, and the height of the box that joins two directions, in pixels."""

LINE: Final = 14
"""The pixels between two lines of text in a box."""

GAP: Final = 22
"""The pixels between two rows."""

GATE: Final = 30
"""The pixels between a layer and the first track, enough for the circle of a gate."""

LOOP: Final = 50
"""The pixels between a layer and the middle of the drawing, enough for the layer's recurrent connection."""

PASSING: Final = 34
"""If there are several inputs, the pixels to their right for the line of an input that a highway passes on."""

LABELS: Final = (12, 84)
"""A label box's shift outwards and its width, in pixels. The shift leaves space for lines from below."""

PAST: Final = 38
"""The pixels from the centre of a layer to a line that passes a box of label vectors."""

LOW, HIGH = 7, -7
"""The heights at which shortcuts enter and leave a layer, in pixels below its centre (negative: above)."""

TAGS: Final = 40
"""The pixels above the network for the predicted tags."""


@dataclass(frozen=True, slots=True)
class Box:
    """The box of a part: its centre and size, in pixels."""

    x: float
    y: float
    width: float
    height: float

    @property
    def outside(self) -> int:
        """The outer side of the box's column: -1 for left, 1 for right."""
        return 1 if self.x > WIDTH / 2 else -1

    @property
    def top(self) -> Point:
        """The centre of the upper edge."""
        return self.x, self.y - self.height / 2

    @property
    def bottom(self) -> Point:
        """The centre of the lower edge."""
        return self.x, self.y + self.height / 2

    def side(self, out: int, down: float) -> Point:
        """A point on the left edge (``out`` is -1) or right edge (``out`` is 1), ``down`` pixels below the centre."""
        return self.x + out * self.width / 2, self.y + down


def network(canvas: Canvas, diagram: Diagram, top: float) -> float:
    """Draw the network below ``top``, and return its lower end."""
    tracks = _tracks(diagram)
    boxes, end = _boxes(diagram, top + TAGS, room=max(tracks.values(), default=0.0))
    for each in diagram.readings:
        match each.role:
            case "reads":
                _reads(canvas, diagram, each, boxes)
            case "passed":
                _passed(canvas, each, boxes)
            case "state":
                _state(canvas, diagram.named[each.end], each, boxes[each.end])
            case "fed_back":
                _fed_back(canvas, each, boxes)
            case "shortcut":
                _shortcut(canvas, diagram, each, boxes, tracks[each.start])
            case "moves":
                pass
    for part in diagram.parts:
        _part(canvas, part, boxes[part.name], takes=bool(diagram.into(part.name, "shortcut")))
    _tags(canvas, diagram, boxes[diagram.parts[-1].name])
    return end


def _tracks(diagram: Diagram) -> Mapping[str, float]:
    """The distance in pixels from a column to the track of each source of shortcuts, by the source's name.

    All shortcuts from one source share a track. Two sources share a track if the shortcuts of the lower source end at
    or below the upper source.
    """
    last: dict[int, int] = {}  # the highest layer that shortcuts reach, by their source's layer (0: the input)
    sources = {}
    for each in diagram.readings:
        if each.role == "shortcut":
            sources[each.start] = begin = diagram.named[each.start].layer or 0
            last[begin] = max(diagram.named[each.end].layer or 0, last.get(begin, 0))
    tracks: dict[int, int] = {}
    taken: list[int] = []  # the layer where the last shortcut of each track ends
    for begin in sorted(last):
        tracks[begin] = next((track for track, end in enumerate(taken) if end <= begin), len(taken))
        taken[tracks[begin] : tracks[begin] + 1] = [last[begin]]
    spacing = min(11.0, 34 / max(len(taken), 1))
    return {source: GATE + spacing * tracks[begin] for source, begin in sources.items()}


def _boxes(diagram: Diagram, top: float, room: float) -> tuple[Mapping[str, Box], float]:
    """Return the box of each part by name, and the lower end of the lowest box. The highest box begins at ``top``.
    ``room``: the width of the tracks beside a column, in pixels.
    """
    rows = _rows(diagram)
    columns = _columns(diagram, room)
    heights = [
        TALL + LINE * len(_remarks(row[0])) if row[0].kind != "join" else JOIN if row[0].label else JOIN / 2
        for row in rows
    ]
    end = bottom = top + sum(heights) + GAP * (len(rows) - 1)
    boxes: dict[str, Box] = {}
    for row, height in zip(rows, heights, strict=True):
        for part, (x, width) in zip(row, _across(diagram, row, columns, boxes), strict=True):
            boxes[part.name] = Box(x, bottom - height / 2, width, height)
        bottom -= height + GAP
    return boxes, end


def _rows(diagram: Diagram) -> Sequence[Sequence[Part]]:
    """The parts in rows, bottom up. Label vectors get a row directly below the layers that read them."""
    levels: dict[str, float] = {**diagram.levels}
    for each in diagram.readings:
        if diagram.named[each.start].kind == "labels":
            levels[each.start] = diagram.levels[each.end] - 0.5
    return [[part for part in diagram.parts if levels[part.name] == level] for level in sorted(set(levels.values()))]


def _columns(diagram: Diagram, room: float) -> Mapping[str | None, float]:
    """The horizontal centre of each direction's column. ``room``: the width of a column's tracks, in pixels."""
    directions = {part.direction for part in diagram.of_kind("layer")}
    if len(directions) < 2:
        return dict.fromkeys(directions, WIDTH / 2)
    loop = LOOP if any(each.role == "state" for each in diagram.readings) else 8
    off = min(BOX / 2 + loop, WIDTH / 2 - MARGIN - room - BOX / 2)
    return {"forward": WIDTH / 2 - off, "backward": WIDTH / 2 + off}


def _across(
    diagram: Diagram, row: Sequence[Part], columns: Mapping[str | None, float], below: Mapping[str, Box]
) -> Sequence[tuple[float, float]]:
    """The horizontal centre and the width of each part of a row.

    A part that is computed from a single other part lies directly above that part. ``columns``: the centre of each
    direction's column. ``below``: the boxes of the lower rows.
    """
    first = row[0]
    if first.direction:
        centres = [columns[part.direction] for part in row]
        if first.kind != "labels":
            return [(x, BOX) for x in centres]
        return [(x + (LABELS[0] if x > WIDTH / 2 else -LABELS[0]), LABELS[1]) for x in centres]
    if first.kind == "made":
        starts = [below[diagram.into(part.name)[0].start] for part in row]
        return [(start.x, start.width) for start in starts]
    if first.kind == "input":
        beside = PASSING if len(row) > 1 and any(reading.role == "passed" for reading in diagram.readings) else 0
        room = WIDTH - 2 * MARGIN - beside
        each = min((room - 10 * (len(row) - 1)) / len(row), 210 if len(row) == 1 else 130)
        left = MARGIN + room / 2 - (len(row) - 1) * (each + 10) / 2
        return [(left + number * (each + 10), each) for number in range(len(row))]
    both = WIDTH - 2 * min(columns.values(), default=WIDTH / 2) + BOX
    wide = {"head": both if len(diagram.into(first.name, "reads")) > 1 else 150.0, "join": both, "text": 210.0}
    return [(WIDTH / 2, wide.get(first.kind, WIDTH - 2 * MARGIN))]


def _part(canvas: Canvas, part: Part, box: Box, *, takes: bool) -> None:
    """Draw the box of a part with its text. The box is darker if the part ``takes`` a shortcut. A part that reads
    several tokens shows a square for each token; the square of the current token is dark.
    """
    shade = 0.14 if takes else 0.05 if part.kind in ("join", "head", "text") else 0.0
    canvas.box((box.x, box.y), box.width, box.height, shade=shade)
    if part.tokens > 1:
        for number in range(part.tokens):
            at = (box.x - box.width / 2 + 14 + 14 * number, box.y)
            canvas.box(at, 10, 10, shade=0.8 if number == part.tokens // 2 else 0.0)
    lines = _lines(part, box.width - 8)
    for number, words in enumerate(lines):
        at = (box.x, box.y + LINE * (number - (len(lines) - 1) / 2))
        canvas.text(at, words, bold=number == 0 and part.layer is not None, small=number > 0)


def _remarks(part: Part) -> list[str]:
    """The remarks on a layer: one line each."""
    return part.note.split(", ") if part.layer is not None and part.note else []


def _lines(part: Part, width: float) -> Sequence[str]:
    """The lines of text in a box of this width. The second line loses its note if the note does not fit."""
    size = "" if part.size is None else str(part.size)
    if part.layer is not None:
        arrow = {"forward": "{} →", "backward": "← {}", None: "{}"}[part.direction]
        size = size if part.size in (None, part.units) else f"2 x {part.units}"
        return [part.label, arrow.format(f"{part.layer}: {size}" if size else part.layer), *_remarks(part)]
    if part.kind == "join":
        return [f"{part.label}: {size}" if size else part.label] if part.label else []
    own = f"{size}: {part.note}" if size and part.note else size or part.note
    second = own if wide(own, 11) <= width else size
    return [part.label, second] if second else [part.label]


def _reads(canvas: Canvas, diagram: Diagram, each: Reading, boxes: Mapping[str, Box]) -> None:
    start, end = boxes[each.start], boxes[each.end]
    beside = [other.start for other in diagram.into(each.end, "reads") if diagram.named[other.start].kind == "labels"]
    if beside:  # lines from lower parts pass the box of labels on the inner side
        x = start.x if each.start in beside else end.x - end.outside * PAST
    else:
        x = start.x if abs(start.x - end.x) <= end.width / 2 - 8 else end.x
    canvas.line([(x, start.top[1]), (x, end.bottom[1])])
    if each.gate:
        canvas.circle((x, end.bottom[1] + GAP / 2 + 1), 7.5, "T" if each.gate == "T" else "σ")


def _passed(canvas: Canvas, each: Reading, boxes: Mapping[str, Box]) -> None:
    """Draw the line, with its gate, of an input that a highway passes on. It runs to the right of all parts."""
    start, end = boxes[each.start], boxes[each.end]
    out = start.x + start.width / 2 + 22
    canvas.line([start.side(1, 0), (out, start.y), (out, end.y), end.side(1, 0)], colour=BLUE, width=1.8)
    canvas.circle((out, (start.y + end.y) / 2), 12, each.gate.replace(" ", ""), colour=BLUE)


def _shortcut(canvas: Canvas, diagram: Diagram, each: Reading, boxes: Mapping[str, Box], track: float) -> None:
    """Draw a shortcut through its gate to the outer side of a layer. It leaves a layer on the outer side, and the
    network's input on top.
    """
    assert diagram.shortcut is not None, "a shortcut has a config"
    start, end = boxes[each.start], boxes[each.end]
    out = end.outside
    x = end.side(out, 0)[0] + out * track
    leaving, entering = start.side(out, HIGH), end.side(out, LOW)
    if abs(x - start.x) < start.width / 2:
        leaving = (x, start.top[1])
    canvas.line([leaving, (x, leaving[1]), (x, entering[1]), entering], colour=BLUE, width=1.8)
    if shown := sign(diagram.shortcut):
        canvas.circle((entering[0] + out * GATE / 2, entering[1]), 7.5, shown, colour=BLUE)


def _state(canvas: Canvas, part: Part, each: Reading, box: Box) -> None:
    """Draw a recurrent connection: a loop on the inner side of a layer, labelled with the states that the layer
    carries.

    The line is thick for more than one state, such as a hidden state and a memory. The label also gives the number of
    steps back if it is not 1.
    """
    far = each.first < -1
    start, end = box.side(-box.outside, -9), box.side(-box.outside, 9)
    x = start[0] - box.outside * 15
    width = 2.6 if len(part.carries) > 1 else 1.3
    colour, dash = (BLUE, DASHED) if far else (INK, "")
    canvas.line([start, (x, start[1]), (x, end[1]), end], colour=colour, dash=dash, width=width, bend=8)
    lines = [", ".join(part.carries), *([steps_of(each, "…")] if far else [])]
    for number, words in enumerate(lines):
        at = (x - box.outside * 5, box.y + 12 * (number - (len(lines) - 1) / 2))
        canvas.text(at, words, anchor="start" if box.outside < 0 else "end", small=True)


def _fed_back(canvas: Canvas, each: Reading, boxes: Mapping[str, Box]) -> None:
    """Draw fed-back labels: a line down the outer side, from the decision to the part that reads it later."""
    start, end = boxes[each.start], boxes[each.end]
    leaving, entering = start.side(start.outside, 0), end.side(end.outside, 0)
    x = leaving[0] + start.outside * 22
    canvas.line([leaving, (x, leaving[1]), (x, entering[1]), entering], colour=VERMILLION, dash=DASHED, width=1.8)


def _tags(canvas: Canvas, diagram: Diagram, box: Box) -> None:
    """Draw the predictions: five circles for tokens (linked for chains and trees), or one circle for a whole text."""
    head, (x, y) = diagram.parts[-1], box.top
    y -= GAP + 6
    count = 1 if diagram.of_kind("text") else 5
    at = [x + 30 * (number - (count - 1) / 2) for number in range(count)]
    canvas.line([box.top, (x, y + 6)])
    for left, right in pairwise(at):
        if diagram.into(head.name, "moves"):
            canvas.line([(left + 6, y), (right - 6, y)], width=1.8, arrow=False)
        elif head.label == "biaffine":
            canvas.line([(right - 2, y - 6), (right - 8, y - 12), (left + 8, y - 12), (left + 2, y - 6)], bend=8)
    for each in at:
        canvas.circle((each, y), 6)
