"""Draws the whole network: its parts and their inputs."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from skipstack.dashboards.network_drawing.canvas import BLUE, DASHED, INK, VERMILLION, Canvas, Point, wide
from skipstack.dashboards.network_drawing.earlier_steps import steps_of
from skipstack.dashboards.network_drawing.layout import GAP, GATE, Place, Places, places
from skipstack.dashboards.network_drawing.shortcut_layer import sign
from skipstack.models.views.diagram.graph import Diagram, Part, Reading

LOW, HIGH = 7, -7
"""Pixels below the centre of a layer at which shortcuts enter, and at which they leave (negative: above it)."""

PAST: Final = 38
"""Pixels from the centre of a layer to a line that passes a box of label vectors."""

TAGS: Final = 40
"""Pixels above the network for its decisions."""


def network(canvas: Canvas, diagram: Diagram, top: float) -> float:
    """Draws the network below ``top``; returns its lower end."""
    placed = places(diagram, top + TAGS)
    for each in diagram.readings:
        match each.role:
            case "reads":
                _reads(canvas, diagram, each, placed)
            case "passed":
                _passed(canvas, each, placed)
            case "state":
                _state(canvas, diagram.named[each.end], each, placed.parts[each.end])
            case "fed_back":
                _fed_back(canvas, each, placed)
            case "shortcut" | "moves":
                pass
    for part in diagram.parts:
        _part(canvas, part, placed.parts[part.name], takes=bool(diagram.into(part.name, "shortcut")))
    for each in diagram.readings:
        if each.role == "shortcut":
            _shortcut(canvas, diagram, each, placed)
    _tags(canvas, diagram, placed.parts[diagram.parts[-1].name])
    return top + TAGS + placed.height


def _part(canvas: Canvas, part: Part, place: Place, *, takes: bool) -> None:
    """A box, dark if the part ``takes`` a shortcut."""
    shade = 0.14 if takes else 0.05 if part.kind in ("join", "head", "text") else 0.0
    canvas.box((place.x, place.y), place.width, place.height, shade=shade)
    lines = _lines(part, place.width - 8)
    if part.tokens > 1:
        _window(canvas, part, place)
    apart = 14 if len(lines) > 1 else 0
    for number, words in enumerate(lines):
        height = place.y + apart * (number - (len(lines) - 1) / 2)
        canvas.text((place.x, height), words, bold=number == 0 and part.layer is not None, small=number > 0)


def _lines(part: Part, width: float) -> Sequence[str]:
    """The text in a box, as far as it fits."""
    size = "" if part.size is None else str(part.size)
    if part.layer is not None:
        arrow = {"forward": "{} →", "backward": "← {}", None: "{}"}[part.direction]
        size = size if part.size == part.units else f"2 x {part.units}"
        return [part.label, arrow.format(f"{part.layer}: {size}")]
    if part.kind == "join":
        return [f"{part.label}: {size}"] if part.label else []
    own = f"{size}: {part.note}" if size and part.note else size or part.note
    second = own if wide(own, 11) <= width else size
    return [part.label, second] if second else [part.label]


def _window(canvas: Canvas, part: Part, place: Place) -> None:
    """A square for each token, the current one dark."""
    for number in range(part.tokens):
        x = place.x - place.width / 2 + 14 + 14 * number
        canvas.box((x, place.y), 10, 10, shade=0.8 if number == part.tokens // 2 else 0.0)


def _reads(canvas: Canvas, diagram: Diagram, each: Reading, placed: Places) -> None:
    start, end = placed.parts[each.start], placed.parts[each.end]
    beside = [other.start for other in diagram.into(each.end, "reads") if diagram.named[other.start].kind == "labels"]
    if beside:  # lines from further below pass the labels' box on the inner side
        at = start.x if each.start in beside else end.x - end.outside * PAST
        points: list[Point] = [(at, start.top[1]), (at, end.bottom[1])]
    elif abs(start.x - end.x) <= end.width / 2 - 8:
        points = [start.top, (start.x, end.bottom[1])]
    elif abs(start.x - end.x) <= start.width / 2 - 8:
        points = [(end.x, start.top[1]), end.bottom]
    else:
        middle = start.top[1] - GAP / 2
        points = [start.top, (start.x, middle), (end.x, middle), end.bottom]
    canvas.line(points)
    if each.gate:
        canvas.circle((points[-1][0], end.bottom[1] + GAP / 2 + 1), 7.5, "T" if each.gate == "T" else "σ")


def _passed(canvas: Canvas, each: Reading, placed: Places) -> None:
    """A line around the parts in between, on the right."""
    start, end = placed.parts[each.start], placed.parts[each.end]
    out = start.x + start.width / 2 + 22
    canvas.line([start.side(1, 0), (out, start.y), (out, end.y), end.side(1, 0)], colour=BLUE, width=1.8)
    canvas.circle((out, (start.y + end.y) / 2), 12, each.gate.replace(" ", ""), colour=BLUE)


def _shortcut(canvas: Canvas, diagram: Diagram, each: Reading, placed: Places) -> None:
    """A shortcut: from the outer side of its source, or straight up from the network's input, through the gate, to the
    outer side of the layer.
    """
    assert diagram.shortcut is not None, "a shortcut has a config"
    start, end = placed.parts[each.start], placed.parts[each.end]
    track = placed.track(each.start, end)
    leaving, entering = start.side(end.outside, HIGH), end.side(end.outside, LOW)
    if abs(track - start.x) < start.width / 2:
        leaving = (track, start.top[1])
    canvas.line([leaving, (track, leaving[1]), (track, entering[1]), entering], colour=BLUE, width=1.8)
    if shown := sign(diagram.shortcut):
        canvas.circle((entering[0] + end.outside * GATE / 2, entering[1]), 7.5, shown, colour=BLUE)


def _state(canvas: Canvas, part: Part, each: Reading, place: Place) -> None:
    """A recurrent connection: a loop on the inner side with the names of the states, thick if a memory is among them.

    It says how many steps back the states are if they are not the previous ones.
    """
    far = each.first < -1
    start, end = place.side(-place.outside, -9), place.side(-place.outside, 9)
    x = start[0] - place.outside * 15
    width = 2.6 if len(part.carries) > 1 else 1.3
    colour, dash = (BLUE, DASHED) if far else (INK, "")
    canvas.line([start, (x, start[1]), (x, end[1]), end], colour=colour, dash=dash, width=width, bend=8)
    lines = [", ".join(part.carries), *([steps_of(each, "…")] if far else [])]
    for number, words in enumerate(lines):
        at = (x - place.outside * 5, place.y + 12 * (number - (len(lines) - 1) / 2))
        canvas.text(at, words, anchor="start" if place.outside < 0 else "end", small=True)


def _fed_back(canvas: Canvas, each: Reading, placed: Places) -> None:
    """Fed-back labels: a line down the outer side, from the decision to the part that reads it later."""
    start, end = placed.parts[each.start], placed.parts[each.end]
    leaving, entering = start.side(start.outside, 0), end.side(end.outside, 0)
    track = start.x + start.outside * (start.width / 2 + 22)
    canvas.line(
        [leaving, (track, leaving[1]), (track, entering[1]), entering], colour=VERMILLION, dash=DASHED, width=1.8
    )


def _tags(canvas: Canvas, diagram: Diagram, place: Place) -> None:
    """The decisions: a circle for each token, linked for chains and trees; one circle for a whole text."""
    head, (x, y) = diagram.parts[-1], place.top
    y -= GAP + 6
    count = 1 if diagram.of_kind("text") else 5
    at = [x + 30 * (number - (count - 1) / 2) for number in range(count)]
    canvas.line([place.top, (x, y + 6)])
    for left, right in pairwise(at):
        if diagram.into(head.name, "moves"):
            canvas.line([(left + 6, y), (right - 6, y)], width=1.8, arrow=False)
        elif head.label == "biaffine":
            canvas.line([(right - 2, y - 6), (right - 8, y - 12), (left + 8, y - 12), (left + 2, y - 6)], bend=8)
    for each in at:
        canvas.circle((each, y), 6)
