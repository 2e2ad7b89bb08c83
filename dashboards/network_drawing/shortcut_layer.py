"""Draws the inside of a layer with a shortcut: where the skip enters, and the state for the next time step."""

from collections.abc import Mapping
from typing import Final

from skipstack.dashboards.network_drawing.canvas import BLUE, Canvas, Point
from skipstack.dashboards.network_drawing.layout import MARGIN
from skipstack.data.basis.user_code.configs import OwnConfig
from skipstack.models.configs.cells import GATES, ShortcutConfig
from skipstack.models.configs.topologies import TOPOLOGIES, Link, Links

SPINE, MEMORY, SKIP, GATE = 250, 170, 30, 100
"""The x of the line from below to h, of the memory, of the skip and of its gates."""

PLUS: Final = 9
"""The radius of a sum."""

JOINED: Final[Mapping[Link, str]] = {
    "none": "{}",
    "plain": "{} + skip",
    "gated": "{} + g · skip",
    "gated_apart": "{} + g' · skip",
    "highway": "(1 - g) · {} + g · skip",
    "shared": "{} + o · skip",
}
"""The formula that combines a value with the skip, by link (``models.configs.topologies.Link``)."""

Signs = Mapping[str, str]
"""The sign in the circle of each link's gate; empty if the skip has no gate."""


def equations(config: ShortcutConfig) -> list[str]:
    """The equations of a layer with this shortcut at one time step."""
    links = TOPOLOGIES[config.topology]
    if links.memory:
        lines = ["c~ = i · s + f · c of the step before", f"c = {JOINED[links.internal].format('c~')}"]
        inner = "c~"
    else:
        lines, inner = [f"m = {JOINED[links.internal].format('i · s')}"], "m"
    lines.append(f"h = {JOINED[links.output].format(f'o · tanh({inner})')}")
    if links.gates:
        gate = _equation(config).format(probability=config.probability)
        lines.append(gate if links.gates == 1 else f"{gate}; g' likewise")
    return lines


def _equation(config: ShortcutConfig) -> str:
    """The equation of its gate; for a gate of the user's own, its name in the study."""
    return f"g: {config.gate.kind}" if isinstance(config.gate, OwnConfig) else GATES[config.gate]


def sign(config: ShortcutConfig) -> str:
    """The sign in the circle of a gate: a sigmoid, a matrix or a probability; empty if the skip has no gate."""
    equation = _equation(config)
    if TOPOLOGIES[config.topology].gates == 0 or equation.startswith("g = 1"):
        return ""
    return "p" if "probability" in equation else "W" if equation.startswith("W") else "σ"


def shortcut_layer(canvas: Canvas, config: ShortcutConfig, top: float) -> float:
    """Draws the layer below ``top``; returns its lower end."""
    links = TOPOLOGIES[config.topology]
    memory = "keeps a memory c" if links.memory else "keeps no memory"
    canvas.text((MARGIN, top + 8), f"{config.topology}: {memory}", anchor="start", bold=True)
    top += 24
    g = "g" if sign(config) not in ("", "W") else sign(config)
    signs = {"gated": g, "gated_apart": f"{g}'" if g else "", "highway": g, "shared": "o"}
    end = (_memory if links.memory else _block)(canvas, links, signs, top)
    for line in equations(config):
        end += 18
        canvas.text((MARGIN, end), line, anchor="start")
    return end + 8


def _block(canvas: Canvas, links: Links, signs: Signs, top: float) -> float:
    """A layer without a memory: its inner value m is new at every step."""
    out, inner, bottom = (SPINE, top + 34), (SPINE, top + 142), top + 216
    _skip(canvas, bottom, [y for y, link in ((out[1], links.output), (inner[1], links.internal)) if link != "none"])
    canvas.line([(SPINE, bottom - 8), (SPINE, top + 8)])
    _value(canvas, (SPINE, top + 98), "o · tanh")
    _value(canvas, (SPINE, top + 182), "i · s")
    _sum(canvas, out, links.output, signs)
    _sum(canvas, inner, links.internal, signs)
    canvas.text((SPINE + 16, inner[1]), "m", anchor="start")
    return _ends(canvas, top, bottom)


def _memory(canvas: Canvas, links: Links, signs: Signs, top: float) -> float:
    """A layer with a memory c, drawn as a loop on the left."""
    out, kept, enters, bottom = (SPINE, top + 34), (MEMORY, top + 136), (SPINE, top + 178), top + 250
    _skip(canvas, bottom, [y for y, link in ((out[1], links.output), (kept[1], links.internal)) if link != "none"])
    canvas.line([(SPINE, bottom - 8), (SPINE, top + 8)])
    joined = links.internal != "none"
    start = kept if joined else (SPINE, kept[1])
    if joined:
        canvas.line([(SPINE, kept[1]), (MEMORY + PLUS, kept[1])], width=2.6)
    canvas.line([start, kept, (MEMORY, enters[1]), (SPINE - PLUS, enters[1])], width=2.6)
    _value(canvas, (SPINE, top + 98), "o · tanh")
    _value(canvas, (SPINE, top + 216), "i · s")
    _sum(canvas, out, links.output, signs)
    _sum(canvas, kept, links.internal, signs)
    if links.internal == "highway":
        canvas.circle(((SPINE + MEMORY) / 2, kept[1]), 13, "1-g", colour=BLUE)
    canvas.circle(enters, PLUS, "+")
    canvas.circle(((SPINE + MEMORY) / 2, enters[1]), PLUS, "f")
    canvas.text((SPINE + 16, kept[1]), "c~", anchor="start")
    canvas.text((MEMORY - 8, (kept[1] + enters[1]) / 2 + 10), "c, one step later", anchor="end", small=True)
    return _ends(canvas, top, bottom)


def _skip(canvas: Canvas, bottom: float, heights: list[float]) -> None:
    """The skip: a line from the source up to its last branch."""
    highest = min(heights, default=bottom)
    canvas.line([(SKIP, bottom - 8), (SKIP, highest)], colour=BLUE, width=1.8, arrow=False)
    canvas.text((SKIP, bottom), "skip")


def _sum(canvas: Canvas, at: Point, link: Link, signs: Signs) -> None:
    """The sum at ``at``, which the skip enters from the left."""
    if link == "none":
        return
    x, y = at
    canvas.line([(SKIP, y), (x - PLUS, y)], colour=BLUE, width=1.8)
    if signs.get(link):
        canvas.circle((GATE, y), 11, signs[link], colour=BLUE)
    if link == "highway" and x == SPINE:
        canvas.circle((x, y + 31), 13, "1-g", colour=BLUE)
    canvas.circle(at, PLUS, "+")


def _value(canvas: Canvas, at: Point, words: str) -> None:
    canvas.box(at, 76, 24)
    canvas.text(at, words)


def _ends(canvas: Canvas, top: float, bottom: float) -> float:
    canvas.text((SPINE + 12, top + 12), "h", anchor="start", bold=True)
    canvas.text((SPINE, bottom), "below, h of the step before")
    return bottom + 8
