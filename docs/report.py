"""Draws ``docs/report.svg``, what ``skipstack ablate`` has confirmed of a study::

skipstack search quickstart && skipstack ablate runs/quickstart
python docs/report.py runs/quickstart > docs/report.svg
"""

import sys
from dataclasses import replace
from io import StringIO
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import DEFAULT_TERMINAL_THEME

from skipstack.dashboards.formats.page import Page, shortened
from skipstack.dashboards.formats.text import PAGE, renderable
from skipstack.dashboards.reports.study_report import study_report
from skipstack.search.analysis.study_frames import study_frames

FRAME = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="monospace" role="img">
<title>The report of a study</title>
<style>
.{unique_id}-matrix {{ font-size: {char_height}px; line-height: {line_height}px; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal"><rect width="{terminal_width}" height="{terminal_height}"/></clipPath>
{lines}
</defs>
<rect width="{width}" height="{height}" rx="8" fill="#ffffff" stroke="#d0d7de"/>
<g transform="translate({terminal_x}, 24)" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""
"""Rich's SVG template without its window frame, and without fonts from the network."""


def picture(page: Page) -> str:
    """Draw a page without its details as SVG. Equal pages give equal texts."""
    console = Console(
        file=StringIO(), record=True, width=PAGE, force_terminal=True, color_system="standard", highlight=False
    )
    console.print(renderable(shortened(page), PAGE))
    return console.export_svg(theme=DEFAULT_TERMINAL_THEME, code_format=FRAME, unique_id="report")


if __name__ == "__main__":
    page = study_report(study_frames(Path(sys.argv[1])), confirmed=True).page
    rows, notes, *_ = page.groups  # without what it cost, which is another on each machine
    sys.stdout.write(picture(replace(page, groups=(rows, notes), details=())))
