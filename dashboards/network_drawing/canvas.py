"""Draws lines, boxes and text as a self-contained SVG that is readable on light and dark pages, in colour and grey."""

from collections.abc import Sequence
from math import hypot
from typing import Final, Literal
from xml.etree import ElementTree as ET

Point = tuple[float, float]
Anchor = Literal["start", "middle", "end"]

WIDTH: Final = 390
"""The width of a drawing in pixels, which fits a small phone without scaling."""

MARGIN, BETWEEN = 10, 26
"""The margin around a drawing and the distance between its parts, in pixels."""

INK, PAPER = "#1f2328", "#ffffff"
"""The colours of text and lines, and of the background. ``DARK`` replaces them on dark screens."""

BLUE, VERMILLION = "#0072b2", "#d55e00"
"""The colours (Okabe and Ito, 2008) of shortcuts and skips, and of fed-back labels. Fed-back labels are also dashed."""

DASHED = "6 3"

FONTS: Final = "Liberation Sans, Arial, Helvetica, sans-serif"

LETTERS: Final = 12
"""The font size in pixels; small text is one pixel smaller."""

DARK: Final = """\
<style>@media screen and (prefers-color-scheme: dark) {
[fill="#1f2328"] { fill: #e6edf3; } [stroke="#1f2328"] { stroke: #e6edf3; }
[fill="#ffffff"] { fill: #0d1117; } [stroke="#ffffff"] { stroke: #0d1117; }
[fill="#0072b2"] { fill: #56b4e9; } [stroke="#0072b2"] { stroke: #56b4e9; }
}</style>
"""
"""The style sheet that replaces the colours of a drawing on dark screens."""


def wide(words: str, letters: float = LETTERS) -> float:
    """Estimate the width of a text in pixels. ``letters``: the font size in pixels."""
    narrow = sum(letter in "ijltfr.,:;|!'()[] " for letter in words)
    return letters * (0.6 * (len(words) - narrow) + 0.32 * narrow)


class Canvas:
    """Collects shapes; later shapes lie on top of earlier ones. x points right and y down, in pixels."""

    def __init__(self) -> None:
        self._shapes = ET.Element("svg")

    def text(
        self, at: Point, words: str, *, anchor: Anchor = "middle", bold: bool = False, small: bool = False
    ) -> None:
        """Add text whose ``anchor`` point is at ``at``, vertically centred."""
        weight = {"font_weight": "bold"} if bold else {}
        size = LETTERS - small
        added = self._add("text", x=at[0], y=at[1] + 4, text_anchor=anchor, font_size=size, **weight, fill=INK)
        added.text = words

    def box(self, at: Point, width: float, height: float, *, shade: float = 0.0) -> None:
        """Add a filled box centred at ``at``; ``shade`` from 0 to 1 makes it darker."""
        corner = {"x": at[0] - width / 2, "y": at[1] - height / 2, "width": width, "height": height, "rx": 4}
        self._add("rect", **corner, fill=PAPER, stroke="none")
        self._add("rect", **corner, fill=INK, fill_opacity=shade, stroke=INK, stroke_width=1.2)

    def circle(self, at: Point, radius: float, sign: str = "", *, colour: str = INK) -> None:
        """Add a filled circle, with the text ``sign`` in it if one is given."""
        self._add("circle", cx=at[0], cy=at[1], r=radius, fill=PAPER, stroke=colour, stroke_width=1.5)
        if sign:
            self.text(at, sign, small=True)

    def line(
        self,
        points: Sequence[Point],
        *,
        colour: str = INK,
        dash: str = "",
        width: float = 1.3,
        arrow: bool = True,
        bend: float = 5,
    ) -> None:
        """Add a line through points. ``bend``: the radius of its corners. ``arrow``: whether it ends in an arrow."""
        tip, behind = points[-1], points[-2]
        path = f"M {_at(points[0])}"
        for before, corner, after in zip(points, points[1:], points[2:], strict=False):
            path += f" L {_at(_towards(corner, before, bend))} Q {_at(corner)} {_at(_towards(corner, after, bend))}"
        path += f" L {_at(_towards(tip, behind, 4) if arrow else tip)}"
        dashed = {"stroke_dasharray": dash} if dash else {}
        self._add("path", d=path, fill="none", stroke=colour, stroke_width=width, **dashed)
        if arrow:
            (x, y), (back_x, back_y) = tip, _towards(tip, behind, 7)
            across_x, across_y = (back_y - y) / 2, (x - back_x) / 2
            corners = [tip, (back_x + across_x, back_y + across_y), (back_x - across_x, back_y - across_y)]
            self._add("path", d=f"M {' L '.join(map(_at, corners))} Z", fill=colour)

    def svg(self, height: float, *, title: str, about: str) -> str:
        """The drawing as SVG, ``height`` pixels high. ``title`` and ``about`` describe it for screen readers."""
        size = {"width": f"{WIDTH}", "height": f"{height:.5g}"}
        shown = {**size, "viewBox": f"0 0 {WIDTH} {height:.5g}", "font-family": FONTS, "role": "img"}
        page = ET.Element("svg", {"xmlns": "http://www.w3.org/2000/svg", **shown, "aria-labelledby": "title about"})
        ET.SubElement(page, "title", id="title").text = title
        ET.SubElement(page, "desc", id="about").text = about
        ET.SubElement(page, "rect", {**size, "fill": PAPER})
        page.extend(self._shapes)
        ET.indent(page, "")
        return ET.tostring(page).decode().replace(">\n", f">\n{DARK}", 1) + "\n"

    def _add(self, kind: str, **attributes: float | str) -> ET.Element:
        """Add a shape. An attribute such as ``stroke_width`` becomes the SVG attribute ``stroke-width``."""
        written = {
            name.replace("_", "-"): each if isinstance(each, str) else f"{each:.5g}"
            for name, each in attributes.items()
        }
        return ET.SubElement(self._shapes, kind, written)


def _at(point: Point) -> str:
    return f"{point[0]:.5g} {point[1]:.5g}"


def _towards(start: Point, end: Point, pixels: float) -> Point:
    """The point this many pixels from ``start`` towards ``end``, at most halfway."""
    length = hypot(end[0] - start[0], end[1] - start[1]) or 1.0
    share = min(pixels, length / 2) / length
    return start[0] + share * (end[0] - start[0]), start[1] + share * (end[1] - start[1])
