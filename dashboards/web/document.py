"""Renders a page of the dashboard as an HTML document, and each of its sections on its own."""

from collections.abc import Iterator, Sequence
from html import escape
from typing import Final

from skipstack.dashboards.reports.pictures.picture import Drawn
from skipstack.dashboards.web.elements import form, heading, kept, link, select, sentence, shown
from skipstack.dashboards.web.linked_trials import linked
from skipstack.dashboards.web.page_names import NAMES, STUDIES
from skipstack.dashboards.web.section import Section
from skipstack.dashboards.web.view import View

DOCUMENT: Final = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="/icon.svg?{version}">
<link rel="stylesheet" href="/style.css?{version}">
<title>{title}</title>
<script defer src="/script.js?{version}"></script>
</head>
<body data-charts="/charts.js?{charts}" data-events="{events}">
<a class="skip" href="#main">To the page</a>
<div class="rail"><nav aria-label="Pages"><ul>{pages}</ul></nav>{choice}</div>
<main id="main" tabindex="-1">
{main}
</main>
</body>
</html>
"""


def document(view: View, sections: Sequence[Section], *, version: str, charts: str) -> str:
    """The HTML of a whole page. ``version``, ``charts``: the versions of our files and of the script that draws charts,
    so that a browser keeps each until it changes.
    """
    follows = any(section.every() is not None for section in sections)
    study = view.one("study") if view.page != STUDIES else ""
    title = " - ".join(filter(None, (NAMES[view.page], study, "skipstack")))
    return DOCUMENT.format(
        version=version,
        charts=charts,
        title=escape(title),
        events=shown(view.address(follow="1")) if follows else "",
        pages="".join(f"<li>{link(view.to(page), NAMES[page], current=page == view.page)}</li>" for page in NAMES),
        choice=_choice(view),
        main="\n".join(_framed(view, section) for section in sections),
    )


def section_html(view: View, section: Section) -> str:
    """The HTML of a section's elements. A chart becomes a figure with the chart's heading and address, from which the
    page's script fetches the chart to draw it.
    """
    html = "".join(_elements(view, section))
    return html if view.page == STUDIES else linked(html, view.trial, section.ablation)


def chart_of(section: Section, number: int) -> Drawn | None:
    """The chart number ``number`` (counted from 0) of a section; None if it has no such chart."""
    drawn = (element for element in section.show() if isinstance(element, Drawn))
    return next((each for place, each in enumerate(drawn) if place == number), None)


def refused(view: View, message: str, *, version: str) -> str:
    """The page that shows a mistake in an address, or the reason why a study cannot be read."""
    said = Section("refused", lambda: [heading(NAMES[view.page], level=1), sentence(message)])
    return document(view, [said], version=version, charts="")


def _elements(view: View, section: Section) -> Iterator[str]:
    number = 0
    for element in section.show():
        if isinstance(element, str):
            yield element
            continue
        address = view.address(section=section.key, chart=str(number))
        broad = " broad" if element.wide else ""
        yield f'<figure class="chart{broad}" data-chart="{shown(address)}"><h3>{shown(element.heading)}</h3></figure>'
        number += 1


def _framed(view: View, section: Section) -> str:
    """A section in its frame. If the section is not rendered ``now``, the frame is empty, and the page's script fetches
    the content.
    """
    frame = f'<section id="{section.key}"'
    address = shown(view.address(section=section.key))
    match section.when:
        case "now":
            return f"{frame}>{section_html(view, section)}</section>"
        case "soon":
            return f'{frame} class="fetching" data-soon="{address}"></section>'
        case _:
            title = shown(section.title)
            return f'<details data-opened="{address}"><summary>{title}</summary>{frame}></section></details>'


def _choice(view: View) -> str:
    """The menu to choose a study, on a page about one study. It keeps the tab chosen on the page "What works?"."""
    if not view.studies or view.page == STUDIES:
        return ""
    names = {name: name for name in view.studies}
    chosen = next(iter(names)) if len(names) == 1 else view.one("study")
    field = select("study", "Study", names, chosen, placeholder="Choose a study")
    return form(kept({"question": view.every("question")}), field, name="study", action=view.page)
