"""Draws the inside of a layer with a shortcut: where the skip enters, and the states for the next time step."""

from collections.abc import Mapping
from typing import Final

from skipstack.dashboards.network_drawing.canvas import BLUE, MARGIN, Canvas, Point
from skipstack.data.basis.user_code.configs import OwnConfig
from skipstack.models.configs.cells import GATES, ShortcutConfig
from skipstack.models.configs.topologies import TOPOLOGIES, Link, Links, reads_updated

SPINE, MEMORY, SKIP, GATE = 250, 170, 30, 100
"""The x positions (in pixels) of four parts: the line from the input up to h, the memory, the skip and its gates."""

PLUS: Final = 9
"""The radius of the circle that marks a sum, in pixels."""

JOINED: Final[Mapping[Link, str]] = {
    "none": "{}",
    "plain": "{} + skip",
    "gated": "{} + g · skip",
    "gated_apart": "{} + g' · skip",
    "highway": "(1 - g) · {} + g · skip",
    "shared": "{} + o · skip",
}
"""The formula that combines a value with the skip, by link (``models.configs.topologies.Link``)."""


def equations(config: ShortcutConfig) -> list[str]:
    """The equations of a layer with this shortcut at one time step."""
    links = TOPOLOGIES[config.topology]
    if links.memory:
        lines = ["c~ = i · s + f · c of the step before", f"c = {JOINED[links.internal].format('c~')}"]
        inner = "c" if reads_updated(config) else "c~"
    else:
        lines, inner = [f"m = {JOINED[links.internal].format('i · s')}"], "m"
    lines.append(f"h = {JOINED[links.output].format(f'o · tanh({inner})')}")
    if links.gates:
        gate = _equation(config).format(probability=config.probability)
        lines.append(gate if links.gates == 1 else f"{gate}; g' likewise")
    return lines


def _equation(config: ShortcutConfig) -> str:
    """The equation of the layer's gate. For a gate of the user's own, the name of its kind."""
    return f"g: {config.gate.kind}" if isinstance(config.gate, OwnConfig) else GATES[config.gate]


def sign(config: ShortcutConfig) -> str:
    """The sign in a gate's circle: W for a matrix, p for a random gate, σ for any other gate. Empty without a gate."""
    equation = _equation(config)
    if TOPOLOGIES[config.topology].gates == 0 or equation.startswith("g = 1"):
        return ""
    return "p" if "probability" in equation else "W" if equation.startswith("W") else "σ"


def shortcut_layer(canvas: Canvas, config: ShortcutConfig, top: float) -> float:
    """Draw the inside of the layer and its equations below ``top``. Returns the lower end of the drawing."""
    links = TOPOLOGIES[config.topology]
    g = "g" if sign(config) not in ("", "W") else sign(config)
    signs = {"gated": g, "gated_apart": f"{g}'" if g else "", "highway": g, "shared": "o"}
    memory = "keeps a memory c" if links.memory else "keeps no memory"
    canvas.text((MARGIN, top + 8), f"{config.topology}: {memory}", anchor="start", bold=True)
    out, inner, bottom = top + 58, top + (160 if links.memory else 166), top + (274 if links.memory else 240)
    joins = [y for y, link in ((out, links.output), (inner, links.internal)) if link != "none"]
    canvas.line([(SKIP, bottom - 8), (SKIP, min(joins, default=bottom))], colour=BLUE, width=1.8, arrow=False)
    canvas.text((SKIP, bottom), "skip")
    read = top + 122
    if reads_updated(config):
        canvas.line([(SPINE, bottom - 8), (SPINE, inner)], arrow=False)
        canvas.line([(MEMORY, inner), (MEMORY, read), (SPINE - 38, read)])
        canvas.line([(SPINE, read), (SPINE, top + 32)])
    else:
        canvas.line([(SPINE, bottom - 8), (SPINE, top + 32)])
    if links.memory:
        _memory(canvas, links, inner)
    for y, words in ((read, "o · tanh"), (bottom - 34, "i · s")):
        canvas.box((SPINE, y), 76, 24)
        canvas.text((SPINE, y), words)
    _sum(canvas, (SPINE, out), links.output, signs)
    _sum(canvas, (MEMORY if links.memory else SPINE, inner), links.internal, signs)
    canvas.text((SPINE + 16, inner), "c~" if links.memory else "m", anchor="start")
    canvas.text((SPINE + 12, top + 36), "h", anchor="start", bold=True)
    canvas.text((SPINE, bottom), "below, h of the step before")
    end = bottom + 8
    for line in equations(config):
        end += 18
        canvas.text((MARGIN, end), line, anchor="start")
    return end + 8


def _memory(canvas: Canvas, links: Links, kept: float) -> None:
    """Draw the memory c as a loop on the left, from the height ``kept`` through the forget gate f to a sum."""
    between, enters = (SPINE + MEMORY) / 2, kept + 42
    joined = links.internal != "none"
    if joined:
        canvas.line([(SPINE, kept), (MEMORY + PLUS, kept)], width=2.6)
    start = MEMORY if joined else SPINE
    canvas.line([(start, kept), (MEMORY, kept), (MEMORY, enters), (SPINE - PLUS, enters)], width=2.6)
    if links.internal == "highway":
        canvas.circle((between, kept), 13, "1-g", colour=BLUE)
    canvas.circle((SPINE, enters), PLUS, "+")
    canvas.circle((between, enters), PLUS, "f")
    canvas.text((MEMORY - 8, (kept + enters) / 2 + 10), "c, one step later", anchor="end", small=True)


def _sum(canvas: Canvas, at: Point, link: Link, signs: Mapping[str, str]) -> None:
    """Draw a sum at the point ``at``, with the skip entering from the left. Nothing is drawn if ``link`` is "none".

    ``signs``: the sign of the skip's gate, by link; empty or absent for a link without a gate.
    """
    if link == "none":
        return
    x, y = at
    canvas.line([(SKIP, y), (x - PLUS, y)], colour=BLUE, width=1.8)
    if signs.get(link):
        canvas.circle((GATE, y), 11, signs[link], colour=BLUE)
    if link == "highway" and x == SPINE:
        canvas.circle((x, y + 31), 13, "1-g", colour=BLUE)
    canvas.circle(at, PLUS, "+")
