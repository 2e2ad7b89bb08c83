"""The elements of pages: headings, sentences, tables, charts and drawings, with user text shown literally."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

import streamlit as st

from skipstack.dashboards.charts.drawing import unchecked, words
from skipstack.dashboards.formats.html import as_elements
from skipstack.dashboards.formats.page import Report
from skipstack.dashboards.formats.rendering import all_visible
from skipstack.dashboards.formats.style import LIGHT, TABLES
from skipstack.dashboards.reports.pictures.picture import Drawn
from skipstack.dashboards.web.addresses import trial_addresses, with_linked_marks, with_links
from skipstack.data.basis.printable import visible

if TYPE_CHECKING:
    from skipstack.spaces.subject import Subject

STYLE: Final = f"""<style>
.stHtml {{ {LIGHT} color: var(--ink); overflow-wrap: anywhere; }}
.stHtml {{ {TABLES} th, td {{ border: 0; }} table {{ margin: 0.3rem 0; }} }}
.stHtml h2 {{ font-size: 1.2rem; padding: 0.8rem 0 0; margin: 0; }}
.stHtml h3 {{ font-size: 1.05rem; padding: 0.4rem 0 0; margin: 0; }}
.stHtml p {{ margin: 0.2rem 0; max-width: 60rem; }} .stHtml .pale {{ color: var(--pale); font-size: 0.9rem; }}
.stHtml svg {{ max-width: 100%; height: auto; }}
.stMainBlockContainer {{ padding: 2.5rem 1.5rem 3rem; max-width: 86rem; }}
[data-stale="true"] {{ opacity: 1 !important; transition: none !important; }}
.stVegaLiteChart canvas, .stVegaLiteChart svg {{ max-width: 100% !important; height: auto !important; }}
@media (max-width: 640px) {{ .stMainBlockContainer {{ padding: 2.5rem 0.8rem 2rem; }} }}
</style>"""
"""The CSS of all pages: tables as in reports; pictures fit their place and do not fade while they are redrawn."""


ICON: Final = "data:image/svg+xml," + quote(
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 8 8"><path fill="#0072b2" '
    'd="M2 0h6v1.6H2z M0 2.1h6v1.6H0z M2 4.2h6v1.6H2z M0 6.3h6v1.6H0z"/></svg>'
)
"""The icon of the browser tab, stacked layers; it is inline, since Streamlit's icons come from the network."""


def heading(text: str, *, level: int = 2) -> None:
    """A heading."""
    st.html(f"<h{level}>{_shown(text)}</h{level}>")


def sentence(text: str, *, pale: bool = False) -> None:
    """A sentence, in which `this` is code; ``pale``: a note on how to read the element beside it."""
    words = re.sub("`([^`]+)`", r"<code>\1</code>", _shown(text))
    st.html(with_links(f"<p{' class=pale' if pale else ''}>{words}</p>"))


def verdict(said: str) -> None:
    """The verdict on a study, which each of its pages begins with."""
    st.html(with_links(f'<p class="verdict">{_shown(said)}</p>'))


def chart(drawn: Drawn, key: str) -> None:
    """A chart below its heading, or the reason why there is none."""
    heading(drawn.heading, level=3)
    if isinstance(drawn.draw, str):
        sentence(f"Not drawn: {drawn.draw}.", pale=True)
        return
    with unchecked():
        made: Any = with_linked_marks(drawn.draw()).properties(
            autosize="pad"
        )  # Streamlit's default would cut the chart off
        st.altair_chart(made, theme=None, width="content", alt=words(made), key=key)


def charts(drawn: Iterable[Drawn], key: str) -> None:
    """Charts in two columns, or one on a narrow page, then a line that names those that are not drawn."""
    every = list(drawn)
    there = [each for each in every if not isinstance(each.draw, str)]
    for start in range(0, len(there), 2):
        for column, each in zip(st.columns(2, gap="medium"), there[start : start + 2], strict=False):
            with column:
                chart(each, f"{key}: {each.heading}")
    missing = [f"{each.heading} ({each.draw})" for each in every if isinstance(each.draw, str)]
    if missing:
        sentence(f"Not drawn: {', '.join(missing)}.", pale=True)


def report(shown: Report, *, titled: bool = True, said: str = "") -> None:
    """The page of a report, without its pictures; ``said``: the verdict that already stands above."""
    page = shown.page if shown.page.verdict != said else replace(shown.page, verdict="")
    if titled and page.title:
        heading(page.title)
    st.html(with_links("\n".join(as_elements(all_visible(page), trial_addresses()))))


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """A small table of texts. The first column has the subject of each row; numbers are right-justified."""
    body = [[_shown(each) for each in row] for row in rows]
    places = range(len(headings))
    left = [place for place in places if not place or any(re.search("[^\\W\\d_]{2}", row[place]) for row in body)]
    sides = ["left" if place in left else "right" for place in places]
    head = "".join(
        f'<th scope="col" class="{side}">{_shown(each)}</th>' for side, each in zip(sides, headings, strict=True)
    )
    lines = "".join(
        f'<tr><th scope="row">{first}</th>'
        + "".join(f'<td class="{side}">{each}</td>' for side, each in zip(sides[1:], others, strict=True))
        + "</tr>"
        for first, *others in body
    )
    above = f"<thead><tr>{head}</tr></thead>" if any(headings) else ""
    st.html(with_links(f'<div class="wide" tabindex="0"><table>{above}<tbody>{lines}</tbody></table></div>'))


def _shown(text: str) -> str:
    return escape(visible(text))


def picture(svg: str) -> None:
    """A drawing, scaled down to its place."""
    st.image(svg)


def drawing_of(config: "Subject", title: str) -> None:
    """The drawing of a config's network, with its description below."""
    from skipstack.dashboards.network_drawing.drawing import diagram_of, drawing
    from skipstack.dashboards.network_drawing.sentences import described

    shown = diagram_of(config)
    picture(drawing(shown, title, alone=False))
    with st.expander("In words"):
        sentence(" ".join(described(shown)))
