"""The script that draws charts in a browser: Vega, Vega-Lite and Vega-Embed, as vl-convert has them, so that nothing is
fetched from elsewhere.

Putting it together takes seconds and runs V8. So the process that draws pictures does it, once for each version, and
the user's cache keeps it.
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
    """The script. Raises UndrawnError if it cannot be made."""
    kept = _kept()
    try:
        return kept.read_text(encoding="utf-8")
    except OSError:  # nobody has made it yet, or there is no home
        text = DRAWING.script(SNIPPET, VERSION)
    try:
        kept.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(kept, text.encode())
    except OSError:  # a cache that cannot be written costs seconds at each start, and nothing else
        pass
    return text


def charts_version() -> str:
    """The version of the script, without making it."""
    made_of = f"{version('vl-convert-python')} {version('altair')} {SNIPPET}"
    return hashlib.sha256(made_of.encode()).hexdigest()[:12]


def _kept() -> Path:
    return user_cache_path("skipstack", appauthor=False) / "charts" / f"{charts_version()}.js"
