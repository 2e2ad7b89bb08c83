"""Draws lines, boxes and text as self-contained SVG, for light and dark pages, readable in colour and in grey."""

from collections.abc import Sequence
from math import hypot
from typing import Final, Literal
from xml.sax.saxutils import escape

Point = tuple[float, float]
Anchor = Literal["start", "middle", "end"]

INK, PAPER = "#1f2328", "#ffffff"
"""The colours of text and lines, and of the background; they are swapped on dark pages."""

BLUE, VERMILLION = "#0072b2", "#d55e00"
"""The colours of shortcuts and skips, and of fed-back labels (Okabe and Ito, 2008). Dashes tell them apart in grey."""

DASHED = "6 3"

FONTS: Final = "Liberation Sans, Arial, Helvetica, sans-serif"

LETTERS: Final = 12
"""The font size in pixels; small text has one less."""

DARK: Final = """\
<style>@media screen and (prefers-color-scheme: dark) {
[fill="#1f2328"] { fill: #e6edf3; } [stroke="#1f2328"] { stroke: #e6edf3; }
[fill="#ffffff"] { fill: #0d1117; } [stroke="#ffffff"] { stroke: #0d1117; }
[fill="#0072b2"] { fill: #56b4e9; } [stroke="#0072b2"] { stroke: #56b4e9; }
}</style>
"""
"""Swaps the colours of a drawing that is a page of its own; an HTML page does it for its pictures."""


def wide(words: str, letters: float = LETTERS) -> float:
    """An upper estimate of the width of text in pixels."""
    narrow = sum(letter in "ijltfr.,:;|!'()[] " for letter in words)
    return letters * (0.6 * (len(words) - narrow) + 0.32 * narrow)


class Canvas:
    """Collects shapes, later ones on top; x points right and y down, in pixels."""

    def __init__(self, width: float) -> None:
        self.width = width
        self.shapes: list[str] = []

    def text(
        self, at: Point, words: str, *, anchor: Anchor = "middle", bold: bool = False, small: bool = False
    ) -> None:
        """Text, vertically centred at ``at``."""
        x, y = at
        weight = ' font-weight="bold"' if bold else ""
        self.shapes.append(
            f'<text x="{x:.5g}" y="{y + 4:.5g}" text-anchor="{anchor}" font-size="{LETTERS - small}"{weight} '
            f'fill="{INK}">{escape(words)}</text>'
        )

    def box(self, at: Point, width: float, height: float, *, shade: float = 0.0, dash: str = "") -> None:
        """A filled box centred at ``at``; ``shade`` from 0 to 1 makes it darker."""
        x, y = at
        corner = f'x="{x - width / 2:.5g}" y="{y - height / 2:.5g}" width="{width:.5g}" height="{height:.5g}" rx="4"'
        self.shapes.append(f'<rect {corner} fill="{PAPER}" stroke="none"/>')
        dashed = f' stroke-dasharray="{dash}"' if dash else ""
        self.shapes.append(
            f'<rect {corner} fill="{INK}" fill-opacity="{shade:g}" stroke="{INK}" stroke-width="1.2"{dashed}/>'
        )

    def circle(self, at: Point, radius: float, sign: str = "", *, colour: str = INK) -> None:
        """A filled circle with a sign in it."""
        x, y = at
        self.shapes.append(
            f'<circle cx="{x:.5g}" cy="{y:.5g}" r="{radius:g}" fill="{PAPER}" stroke="{colour}" stroke-width="1.5"/>'
        )
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
        """A line through points, with corners rounded by ``bend`` and an arrowhead at its end."""
        path = [f"M {points[0][0]:.5g} {points[0][1]:.5g}"]
        for before, corner, after in zip(points, points[1:], points[2:], strict=False):
            start, end = _towards(corner, before, bend), _towards(corner, after, bend)
            path.append(f"L {start[0]:.5g} {start[1]:.5g} Q {corner[0]:.5g} {corner[1]:.5g} {end[0]:.5g} {end[1]:.5g}")
        end = _towards(points[-1], points[-2], 4) if arrow else points[-1]
        path.append(f"L {end[0]:.5g} {end[1]:.5g}")
        dashed = f' stroke-dasharray="{dash}"' if dash else ""
        self.shapes.append(
            f'<path d="{" ".join(path)}" fill="none" stroke="{colour}" stroke-width="{width:g}"{dashed}/>'
        )
        if arrow:
            self._head(points[-1], points[-2], colour)

    def _head(self, tip: Point, behind: Point, colour: str) -> None:
        (x, y), (back_x, back_y) = tip, _towards(tip, behind, 7)
        side_x, side_y = (back_y - y) / 2, (x - back_x) / 2
        corners = [(back_x + side_x, back_y + side_y), (back_x - side_x, back_y - side_y)]
        path = " ".join(f"L {each_x:.5g} {each_y:.5g}" for each_x, each_y in corners)
        self.shapes.append(f'<path d="M {x:.5g} {y:.5g} {path} Z" fill="{colour}"/>')

    def svg(self, height: float, *, title: str, about: str, alone: bool) -> str:
        """The drawing as SVG, with title and description for screen readers.

        ``alone``: as a page of its own, which swaps its colours on dark screens.
        """
        size = f'width="{self.width:g}" height="{height:.5g}" viewBox="0 0 {self.width:g} {height:.5g}"'
        lines = "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="{FONTS}" role="img" '
                'aria-labelledby="title about">',
                f'<title id="title">{escape(title)}</title>',
                f'<desc id="about">{escape(about)}</desc>',
                *([DARK.rstrip()] if alone else []),
                f'<rect width="{self.width:g}" height="{height:.5g}" fill="{PAPER}"/>',
                *self.shapes,
                "</svg>\n",
            ]
        )
        return lines.encode("ascii", "xmlcharrefreplace").decode("ascii")  # independent of the encoding of a terminal


def _towards(start: Point, end: Point, pixels: float) -> Point:
    """The point this many pixels from ``start`` towards ``end``, at most halfway."""
    length = hypot(end[0] - start[0], end[1] - start[1]) or 1.0
    share = min(pixels, length / 2) / length
    return start[0] + share * (end[0] - start[0]), start[1] + share * (end[1] - start[1])
