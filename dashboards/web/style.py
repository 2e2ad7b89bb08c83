"""The style sheet of the pages: the colours, the typeface and the tables of reports, then ``style.css``."""

from pathlib import Path
from typing import Final

from skipstack.dashboards.formats.style import DARK, FONT, LIGHT, PICTURES, TABLES

STYLE: Final = "\n".join(
    (
        f":root {{ color-scheme: light dark; {LIGHT} }}",
        f"@media screen and (prefers-color-scheme: dark) {{ :root {{ {DARK} }} }}",
        f"body {{ font-family: {FONT}; }}",
        TABLES,
        PICTURES,
        Path(__file__).with_name("style.css").read_text(encoding="utf-8"),
    )
)
