"""Shows the elements of pages: headings, sentences, tables, charts and drawings. Text from users is shown literally."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

import streamlit as st

from skipstack.dashboards.charts.drawing import specification, unchecked, without_words, words
from skipstack.dashboards.formats.html import as_elements
from skipstack.dashboards.formats.page import Report
from skipstack.dashboards.formats.rendering import all_visible
from skipstack.dashboards.formats.style import EITHER, FONT, PICTURES, TABLES
from skipstack.dashboards.reports.pictures.picture import Drawn
from skipstack.dashboards.web import markup
from skipstack.dashboards.web.addresses import trial_addresses, with_linked_marks, with_links
from skipstack.dashboards.web.markup import shown

if TYPE_CHECKING:
    from skipstack.spaces.subject import Subject

PANELS: Final = 3
"""The maximum number of panels of a chart that are shown side by side."""

WIDE: Final = "@media (min-width: 1000px)"
"""The CSS media query for windows so wide that the navigation rail is on the left."""

STYLE: Final = f"""<style>
.stApp {{ {EITHER} }}
.stHtml {{ color: var(--ink); overflow-wrap: anywhere; }}
.stHtml {{ {TABLES} th, td {{ border: 0; }} table {{ margin: 0.3rem 0; font-size: 0.92rem; }} }}
.stHtml a {{ color: var(--cyan); }} .stHtml h2 {{ font-size: 1.2rem; padding: 0.8rem 0 0; margin: 0; }}
.stHtml h3 {{ font-size: 1.05rem; padding: 0.3rem 0 0; margin: 0; }}
.stHtml p {{ margin: 0.1rem 0; max-width: 60rem; }} .stHtml .pale {{ color: var(--pale); font-size: 0.9rem; }}
.stHtml p.verdict {{ font-size: 1.3rem; line-height: 1.4; max-width: 64rem; }}
.stHtml .empty {{ color: var(--pale); border: 1px dashed var(--line); border-radius: 0.5rem; padding: 1.2rem; }}
.stMainBlockContainer {{ padding: 1.6rem 2rem 3rem; max-width: 120rem; }}
.stMainBlockContainer > .stVerticalBlock, .st-key-rail {{ gap: 0.6rem; }}
.stHeader, [data-testid="stHeader"] {{ background: none; }}
[data-stale="true"] {{ opacity: 1 !important; transition: none !important; }}
.stVegaLiteChart {{ {PICTURES} }}
.stImage {{ overflow-x: auto; }} .stImage img {{ max-width: none !important; }} .stMetric {{ min-width: 8rem; }}
.st-key-rail :is(.stRadio, .stRadio > div, [role="radiogroup"]) {{ width: 100%; gap: 0.25rem; }}
.st-key-rail [role="radiogroup"] label {{ padding: 0.25rem 0.6rem; margin: 0; border-radius: 0.4rem; }}
.st-key-rail [role="radiogroup"] label > div > div:first-child:not(:last-child) {{ display: none; }}
.st-key-rail [role="radiogroup"] label:has(input:checked) {{ background: var(--line); font-weight: 600; }}
.st-key-rail [role="radiogroup"] label:has(input:focus-visible) {{ outline: 2px solid var(--cyan); }}
{WIDE} {{
  .st-key-rail {{ position: fixed; inset: 0 auto 0 0; width: 15.5rem !important; padding: 1.4rem 0.9rem; z-index: 1;
    background: var(--band); border-right: 1px solid var(--line); overflow-y: auto; }}
  .st-key-rail [role="radiogroup"] {{ flex-direction: column; align-items: stretch; }}
  .st-key-filters {{ position: fixed; inset: 19rem auto 0 0; width: 15.5rem !important; padding: 0 0.9rem 1rem;
    overflow-y: auto; z-index: 2; }}
  .stMainBlockContainer {{ padding-left: 17.5rem; }}
}}
@media (max-width: 640px) {{
  .stMainBlockContainer {{ padding: 1rem 0.8rem 2rem; }} .stHtml p.verdict {{ font-size: 1.1rem; }}
  .stHtml table {{ font-size: 0.78rem; }} .stHtml :is(th, td) {{ padding: 0.1rem 0.25rem; }}
  .stHtml .mark {{ width: 0.6rem; }}
  .st-key-rail [role="radiogroup"] label {{ padding: 0.2rem 0.45rem; }}
}}
</style>"""
"""The CSS of all pages: tables as in reports, the navigation rail, and charts in the colours of the theme (light or
dark, as in the reader's system). Charts do not fade while they are redrawn.
"""

ICON: Final = "data:image/svg+xml," + quote(
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 8 8"><path fill="#0072b2" '
    'd="M2 0h6v1.6H2z M0 2.1h6v1.6H0z M2 4.2h6v1.6H2z M0 6.3h6v1.6H0z"/></svg>'
)
"""The browser tab's icon: stacked layers. It is inline, since Streamlit would load its own icons from the network."""


def heading(text: str, *, level: int = 2, note: str = "") -> None:
    """Show a heading, and below it a ``note`` on how to read the elements that follow."""
    st.html(markup.heading(text, level=level, note=note))


def sentence(text: str, *, pale: bool = False) -> None:
    """Show a sentence, with text between backticks as code. ``pale``: whether it is a note on a nearby element."""
    st.html(with_links(markup.sentence(text, pale=pale)))


def verdict(said: str) -> None:
    """Show the verdict on a study, at the top of a page about the study."""
    st.html(with_links(markup.verdict(said)))


def empty(text: str) -> None:
    """Show a placeholder for a missing element. The text says what belongs there, and why it is missing."""
    st.html(markup.empty(text))


def chart(drawn: Drawn, key: str) -> None:
    """Show a chart below its headline, as wide as its column or page. Without a chart, show the reason.

    The panels of a wide chart are side by side, up to ``PANELS`` in a row.
    """
    if isinstance(drawn.draw, str):
        empty(f"{drawn.heading}: nothing to draw, since {drawn.draw}.")
        return
    with unchecked():
        made: Any = with_linked_marks(drawn.draw())
        said = words(made)
        headline, sentences = (" ".join(lines) for lines in (made.title.text, made.title.subtitle))
        heading(headline, level=3, note=sentences)
        parts = panels(specification(without_words(made)))
    columns = st.columns(min(len(parts), PANELS), gap="medium") if drawn.wide and len(parts) > 1 else [st.container()]
    for place, part in enumerate(parts):
        with columns[place % len(columns)]:
            st.vega_lite_chart(spec=part, theme=None, width="stretch", alt=said, key=f"{key} {place}")


def charts(drawn: Iterable[Drawn], key: str) -> None:
    """Show charts in two columns, or in one on a narrow page. A wide chart takes the whole width. A last line names the
    charts that cannot be drawn. Each chart is shown before the next is computed.
    """
    row, missing, any_drawn = list[Any](), list[str](), False
    for each in drawn:
        if isinstance(each.draw, str):
            missing.append(f"{each.heading} ({each.draw})")
            continue
        row = [] if each.wide else row or list(st.columns(2, gap="medium"))
        with st.container() if each.wide else row.pop(0):
            chart(each, f"{key}: {each.heading}")
        any_drawn = True
    if missing and any_drawn:
        sentence(f"Not drawn: {', '.join(missing)}.", pale=True)
    elif missing:
        empty(f"Nothing to draw: {', '.join(missing)}.")


def panels(spec: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Split the specification of a chart into its panels. A chart without panels is its only panel. Each panel fits the
    width of its column. Only the first panel keeps its legend.
    """
    common = {
        name: spec[name] for name in ("$schema", "config", "data", "usermeta") if name in spec
    }  # the same for all panels
    parts = spec.get("vconcat", [spec])
    return [_panel(part, common, spec.get("datasets", {}), legend=place == 0) for place, part in enumerate(parts)]


def _panel(
    part: Mapping[str, Any], common: Mapping[str, Any], rows: Mapping[str, Any], *, legend: bool
) -> dict[str, Any]:
    drawn = {**common, **(part if legend else _without_legend(part)), "datasets": {}}
    written, options = json.dumps(drawn), drawn.get("usermeta", {}).get("embedOptions", {})
    return {
        **drawn,
        "datasets": {name: each for name, each in rows.items() if f'"{name}"' in written},
        "config": {**common.get("config", {}), "font": FONT, "background": None, "padding": 6},
        "autosize": {"type": "fit-x", "contains": "padding"},
        "usermeta": {"embedOptions": {**options, "renderer": "svg"}},  # SVG, so that its colours follow the theme
    }


def _without_legend(part: Any) -> Any:
    """A part of a specification without the legends of its scales."""
    match part:
        case dict():
            return {
                name: {**inner, "legend": None}
                if name in ("color", "stroke", "fill", "shape", "strokeDash") and "field" in inner
                else _without_legend(inner)
                for name, inner in part.items()
            }
        case list():
            return [_without_legend(each) for each in part]
        case _:
            return part


def report(made: Report, *, titled: bool = True, said: str = "") -> None:
    """Show the page of a report, without its pictures.

    ``titled``: whether to show the report's title. ``said``: a verdict that the page already shows; it is not repeated.
    """
    page = made.page if made.page.verdict != said else replace(made.page, verdict="")
    if titled and page.title:
        heading(page.title)
    st.html(with_links("\n".join(as_elements(all_visible(page), trial_addresses()))))


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Show a small table of texts. The first column names the rows. Columns of numbers are right-justified."""
    body = [[shown(each) for each in row] for row in rows]
    places = range(len(headings))
    left = [place for place in places if not place or any(re.search("[^\\W\\d_]{2}", row[place]) for row in body)]
    sides = ["left" if place in left else "right" for place in places]
    head = "".join(
        f'<th scope="col" class="{side}">{shown(each)}</th>' for side, each in zip(sides, headings, strict=True)
    )
    lines = "".join(
        f'<tr><th scope="row">{first}</th>'
        + "".join(f'<td class="{side}">{each}</td>' for side, each in zip(sides[1:], others, strict=True))
        + "</tr>"
        for first, *others in body
    )
    above = f"<thead><tr>{head}</tr></thead>" if any(headings) else ""
    st.html(with_links(f'<div class="wide" tabindex="0"><table>{above}<tbody>{lines}</tbody></table></div>'))


def picture(svg: str) -> None:
    """Show a drawing in the colours of the theme and in its own size. It scrolls if the page is too narrow."""
    from skipstack.dashboards.network_drawing.canvas import DARK

    st.image(svg if DARK in svg else svg.replace(">", f">\n{DARK}", 1), width="content")


def drawing_of(config: "Subject", title: str) -> None:
    """Show the drawing of a config's network, with its description in words below."""
    from skipstack.dashboards.network_drawing.drawing import diagram_of, drawing
    from skipstack.dashboards.network_drawing.sentences import described

    diagram = diagram_of(config)
    picture(drawing(diagram, title))
    with st.expander("In words"):
        sentence(" ".join(described(diagram)))
