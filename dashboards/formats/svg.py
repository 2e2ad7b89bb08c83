"""A drawing as a part of a page of HTML: of all that SVG can do, what a picture without links and programs needs."""

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
"""None of them loads, links or runs anything."""

INNER: Final = re.compile(r"url\(#([^)]*)\)")


def inlined(svg: str, *, name: str, about: str) -> str:
    """The drawing as an element of HTML, with ``about`` for those who do not see it.

    The names that its parts have begin with ``name``, so that several drawings share a page. Raises ValueError where it
    has an element or an attribute that is no part of a plain picture.
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
