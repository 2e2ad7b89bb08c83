"""The CSS of HTML pages, for screens of any width in light and dark mode, and for paper."""

from collections.abc import Mapping
from typing import Final

FONT: Final = "Liberation Sans, Arial, Helvetica, sans-serif"
"""The fonts of pages, and of the charts and drawings on them."""

COLOURS: Final[Mapping[str, tuple[str, str]]] = {
    "ink": ("#1f2328", "#e6edf3"),
    "paper": ("#ffffff", "#0d1117"),
    "pale": ("#59636e", "#9ba5b0"),
    "blue": ("#0072b2", "#3d9fe0"),
    "line": ("#d0d7de", "#30363d"),
    "band": ("#f6f8fa", "#161b22"),
    "green": ("#1a7f37", "#57ab5a"),
    "red": ("#b3261e", "#f47067"),
    "cyan": ("#0b5c75", "#6cb6ff"),
    "fault": ("#7a2e1d", "#f2a08f"),
    "mark": ("#1861b5", "#5b9bea"),
    "sky": ("#2398f2", "#a5d3ff"),
}
"""The colours of a page by name, in light mode and in dark mode."""

_LIGHT, _DARK = (" ".join(f"--{name}: {both[dark]};" for name, both in COLOURS.items()) for dark in (0, 1))

THEME: Final = f"""\
:root {{ color-scheme: light dark; {_LIGHT} }}
@media screen and (prefers-color-scheme: dark) {{ :root {{ {_DARK} }} }}"""
"""The CSS variables of the colours, in light mode and on dark screens."""

PICTURES: Final = "\n".join(
    f'svg [{part}="{COLOURS[name][0]}"] {{ {part}: var(--{name}); }}'
    for name in ("ink", "paper", "line", "blue", "fault", "mark", "sky")
    for part in ("fill", "stroke")
)
"""The CSS that replaces the colours of ``dashboards/charts/theme.py`` in pictures by the colours of the page."""

TABLES: Final = """\
.wide { overflow-x: auto; } .wide:focus-visible { outline: 2px solid var(--cyan); }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
caption { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
th, td { padding: 0.15rem 0.6rem; text-align: right; vertical-align: top; font-weight: normal; white-space: pre; }
th[scope=row], th[scope=rowgroup], .left { text-align: left; }
td.left { white-space: normal; min-width: 12rem; overflow-wrap: anywhere; }
thead th { font-weight: bold; } th[scope=colgroup] { text-align: center; border-bottom: 1px solid var(--line); }
thead { border-top: 2px solid; border-bottom: 1px solid; } tbody:last-child { border-bottom: 2px solid; }
.section th { padding-top: 0.6rem; color: var(--cyan); }
tbody tr:not(.section):hover { background: var(--band); }
.mark { display: inline-block; width: 1.2rem; }
.bold > *, td.bold { font-weight: bold; } .dim, .dim > * { color: var(--pale); }
.verdict { font-weight: 600; } summary { cursor: pointer; color: var(--cyan); padding: 0.3rem 0; }
.green { color: var(--green); } .red { color: var(--red); } .cyan { color: var(--cyan); }
"""
"""The CSS of tables, and of the classes named after the words of Rich styles."""

STYLE: Final = (
    f"{THEME}\nbody {{ font: 16px/1.5 {FONT}; }}\n"
    + """\
body { margin: 0; background: var(--paper); color: var(--ink); }
main { max-width: 76rem; margin: 0 auto; padding: 1rem; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; } h1, h2, p, li, code { overflow-wrap: anywhere; }
p, li, figcaption { max-width: 45rem; }
"""
    + TABLES
    + """\
main > .verdict { font-size: 1.1rem; max-width: 52rem; } summary { font-size: 1.1rem; font-weight: 600; }
@media print { details::details-content { content-visibility: visible; height: auto; } summary { list-style: none; } }
.pictures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 32rem), 1fr)); gap: 1rem 2rem; }
.pictures section { min-width: 0; break-inside: avoid; }
figure { margin: 0; } figure svg { width: 100%; height: auto; overflow: visible; }
figcaption { color: var(--pale); font-size: 0.9rem; }
"""
    + f"{PICTURES}\n"
)
