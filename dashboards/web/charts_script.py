"""The script that draws charts in a browser: Vega, Vega-Lite and Vega-Embed, taken from vl-convert, so that the browser
loads nothing from the network.

Bundling the script takes seconds and runs V8. So the process that draws pictures does this, once for each version, and
the script is stored in the user's cache folder.
"""

import hashlib
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Final

from platformdirs import user_cache_path

from skipstack.dashboards.charts.drawing import VERSION
from skipstack.dashboards.reports.pictures.drawing_process import DRAWING
from skipstack.data.basis.atomic_files import write_atomically

SNIPPET: Final = "window.vegaEmbed = vegaEmbed;"


@cache
def charts_script() -> str:
    """The script. Raises UndrawnError if it cannot be bundled."""
    kept = _kept()
    try:
        return kept.read_text(encoding="utf-8")
    except OSError:  # it is not in the cache yet, or the user has no home folder
        text = DRAWING.script(SNIPPET, VERSION)
    try:
        kept.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(kept, text.encode())
    except OSError:  # without a cache, each start only takes seconds longer
        pass
    return text


def charts_version() -> str:
    """The version of the script, computed without the script itself."""
    made_of = f"{version('vl-convert-python')} {version('altair')} {SNIPPET}"
    return hashlib.sha256(made_of.encode()).hexdigest()[:12]


def _kept() -> Path:
    return user_cache_path("skipstack", appauthor=False) / "charts" / f"{charts_version()}.js"
