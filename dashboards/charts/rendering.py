"""Renders Vega-Lite specifications as pictures with vl-convert, which needs no network and has its own fonts.

vl-convert runs V8, which reserves many gigabytes of address space. If it does not get them, for example under ``ulimit
-v``, it ends the process. Therefore the pictures of reports are rendered in a subprocess
(``reports/pictures/drawing_process.py``).
"""

from collections.abc import Mapping
from typing import Any

import vl_convert


def svg(specification: Mapping[str, Any], version: str) -> str:
    """Render a specification as SVG. Equal specifications give equal texts. ``version``: the version of Vega-Lite."""
    return vl_convert.vegalite_to_svg(dict(specification), vl_version=version)


def script(snippet: str, version: str) -> str:
    """Put together Vega, Vega-Lite and Vega-Embed as one script for browsers, followed by ``snippet``."""
    return vl_convert.javascript_bundle(snippet, vl_version=version)


def load() -> None:
    """Load the renderer in advance, since that takes longer than rendering a chart."""
    vl_convert.vegalite_to_svg({"data": {"values": []}, "mark": "point"})
