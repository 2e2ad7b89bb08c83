"""Renders Vega-Lite specifications with vl-convert, with its own fonts and without a network.

vl-convert runs V8, which reserves many gigabytes of addresses and ends its process where it gets none, as under
``ulimit -v``. So pictures of reports are rendered in a process of their own (``reports/pictures/drawing_process.py``).
"""

from collections.abc import Mapping
from typing import Any

import vl_convert


def svg(specification: Mapping[str, Any], version: str) -> str:
    """The picture as SVG. The same specification gives the same text. ``version``: of Vega-Lite."""
    return vl_convert.vegalite_to_svg(dict(specification), vl_version=version)


def png(specification: Mapping[str, Any], version: str, *, scale: float) -> bytes:
    """The picture as PNG, enlarged by ``scale``."""
    return vl_convert.vegalite_to_png(dict(specification), vl_version=version, scale=scale)


def load() -> None:
    """Load the renderer, which takes longer than a chart."""
    vl_convert.vegalite_to_svg({"data": {"values": []}, "mark": "point"})
