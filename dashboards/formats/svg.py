"""Embeds an SVG drawing in an HTML page, allowing only elements that cannot load, link or run anything."""

import re
import xml.etree.ElementTree as ET
from typing import Final

SPACE: Final = "http://www.w3.org/2000/svg"

ELEMENTS: Final = frozenset(
    {
        *("svg", "g", "defs", "clipPath", "linearGradient", "stop", "title", "desc"),
        *("path", "rect", "line", "circle", "text", "tspan"),
    }
)
"""The elements that a drawing may have. None of them can load, link or run anything."""

INNER: Final = re.compile(r"url\(#([^)]*)\)")
"""Matches a reference to another element of the drawing."""


def inlined(svg: str, *, name: str, about: str) -> str:
    """Convert an SVG drawing into an element for an HTML page.

    ``name``: a prefix for the ids inside the drawing, so that several drawings can be on the same page. ``about``: the
    description for screen readers. Raises ValueError for an element or attribute that is not allowed.
    """
    root = ET.fromstring(svg)
    for element in root.iter():
        own = element.tag.removeprefix(f"{{{SPACE}}}")
        if own not in ELEMENTS:
            raise ValueError(f"got <{own}> in a picture (allowed: {', '.join(sorted(ELEMENTS))})")
        element.tag = own
        for attribute, value in element.attrib.items():
            if attribute.startswith(("on", "{", "href")) or "url(" in INNER.sub("", value):
                raise ValueError(f"got {attribute}={value!r} in a picture")
            element.set(attribute, INNER.sub(rf"url(#{name}-\1)", value))
        if "id" in element.attrib:
            element.set("id", f"{name}-{element.get('id')}")
    width, height = root.get("width"), root.get("height")
    root.attrib = {"viewBox": root.get("viewBox", f"0 0 {width} {height}"), "role": "img", "aria-label": about}
    root.set("style", f"max-width: {width}px")
    return ET.tostring(root, encoding="unicode", short_empty_elements=False)
