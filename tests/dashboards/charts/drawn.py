"""What a drawing holds, read from its SVG."""

import re
import xml.etree.ElementTree as ET
from typing import Any

from skipstack.dashboards.charts import rendering
from skipstack.dashboards.charts.drawing import VERSION, specification

SVG = "{http://www.w3.org/2000/svg}"


def as_svg(chart: Any) -> str:
    """The SVG of a chart."""
    return rendering.svg(specification(chart), VERSION)


class Drawing:
    """A chart as it is drawn: its words, and its marks by kind and colour."""

    def __init__(self, chart: Any) -> None:
        self.svg = as_svg(chart)
        self.root = ET.fromstring(self.svg)

    @property
    def words(self) -> list[str]:
        """All that is written, piece by piece."""
        return ["".join(element.itertext()) for element in self.root.iter(f"{SVG}text")]

    def marks(self, kind: str) -> list[ET.Element]:
        """The marks of a kind, such as ``symbol``, ``rect``, ``rule`` and ``line``, legends and axes aside."""
        return self._of(f"mark-{kind} role-mark")

    @property
    def legend(self) -> list[ET.Element]:
        """The symbols of the legends."""
        return self._of("mark-symbol role-legend-symbol")

    def _of(self, kind: str) -> list[ET.Element]:
        groups = (g for g in self.root.iter(f"{SVG}g") if g.get("class", "").startswith(kind))
        return [mark for group in groups for mark in group if mark.tag != f"{SVG}g"]

    def coloured(self, kind: str, colour: str) -> list[ET.Element]:
        """Those that are filled with a colour or drawn in it."""
        return [mark for mark in self.marks(kind) if colour in (mark.get("fill"), mark.get("stroke"))]


def place(symbol: ET.Element) -> tuple[float, float]:
    """Where a symbol stands, in pixels from the left and from the top."""
    found = re.match(r"translate\(([-\d.]+),([-\d.]+)\)", symbol.get("transform", ""))
    assert found is not None
    return float(found[1]), float(found[2])
