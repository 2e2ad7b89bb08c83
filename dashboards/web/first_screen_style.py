"""The style of a first screen. It equals that of Streamlit's page, so that nothing moves when that page appears."""

from typing import Final

from skipstack.dashboards.formats.style import EITHER, FONT
from skipstack.dashboards.web.elements import WIDE

COLUMN: Final = 640
"""Columns are placed below each other in windows of at most this width, in pixels."""

REM: Final = 16
"""The CSS unit rem, in pixels."""


def content_width(window: int, columns: int = 1) -> int:
    """The width in pixels of one of ``columns`` columns of a page, in a window ``window`` pixels wide."""
    if window <= COLUMN:
        return round(window - 1.6 * REM)
    page = window - 4 * REM if window < 1000 else min(window, 120 * REM) - 19.5 * REM
    return round((page - 2 * REM * (columns - 1)) / columns)


STYLE: Final = f"""<style>
#first {{ {EITHER} color-scheme: light dark; position: fixed; inset: 0; z-index: 2; overflow-y: scroll;
  font: 16px/1.6 {FONT}; background: var(--paper); color: var(--ink); -webkit-font-smoothing: auto; }}
#first *, #first *::before {{ box-sizing: border-box; }}
#first main {{ padding: 1.6rem 2rem 3rem; max-width: 120rem; display: flex; flex-direction: column; gap: 0.6rem; }}
#first main > .stHtml:first-child {{ margin-top: 0.6rem; }}
#first .group {{ display: flex; flex-direction: column; gap: 1rem; }}
#first .group.half {{ width: calc((100% - 2rem) / 2); }}
#first p {{ margin: 0; }} #first .stHtml p {{ margin: 0.1rem 0; }}
#first .numbers {{ display: flex; flex-wrap: wrap; gap: 1rem; }} #first .numbers div {{ min-width: 8rem; }}
#first .numbers p {{ font-size: 14px; line-height: 16px; padding: 4px 0; }}
#first .numbers p + p {{ font-size: 1.7rem; line-height: 32px; padding: 0 0 4px; }}
#first .room {{ height: 99px; }}
#first .panels {{ display: flex; gap: 2rem; align-items: flex-start; }}
#first .panels > div {{ flex: 1; min-width: 0; }} #first .panels svg {{ display: block; }}
#first a {{ color: var(--cyan); }}
#first nav a, #first .questions a {{ color: var(--ink); text-decoration: none; font-size: 14px; line-height: 22.4px; }}
#first nav {{ display: flex; flex-direction: column; gap: 0.6rem; padding: 1.6rem 2rem 0; }}
#first nav div {{ display: flex; flex-wrap: wrap; gap: 0.25rem; align-self: flex-start; }}
#first nav a {{ padding: 0.25rem 0.6rem; border-radius: 0.4rem; }}
#first nav a.chosen {{ background: var(--line); }}
#first nav p {{ border: 1px solid var(--line); border-radius: 0.5rem; height: 40px; font-size: 14px; line-height: 38px;
  padding: 0 8.6px; overflow: hidden; background: var(--band); }}
#first .questions {{ display: flex; flex-wrap: wrap; row-gap: 4px; }}
#first .questions a {{ border: 1px solid var(--line); margin-right: -1px; height: 32px; line-height: 30px;
  padding: 0 1rem; }}
#first .questions a:first-child {{ border-radius: 0.5rem 0 0 0.5rem; }}
#first .questions a:last-child {{ border-radius: 0 0.5rem 0.5rem 0; }}
#first .questions a.chosen {{ color: var(--blue); border-color: var(--blue);
  background: color-mix(in srgb, var(--blue) 10%, transparent); }}
{WIDE} {{
  #first nav {{ position: fixed; inset: 0 auto 0 0; width: 15.5rem; padding: 1.4rem 0.9rem; background: var(--band);
    border-right: 1px solid var(--line); }}
  #first nav div {{ flex-direction: column; flex-wrap: nowrap; }}
  #first main {{ padding-left: 17.5rem; }}
}}
@media (max-width: {COLUMN}px) {{
  #first main {{ padding: 0 0.8rem 2rem; }} #first nav {{ padding: 1rem 0.8rem 0; }}
  #first nav a {{ padding: 0.2rem 0.45rem; }} #first .group.half {{ width: 100%; }}
}}
</style>"""
"""The CSS of a first screen, whose outermost element has the id ``first``."""
