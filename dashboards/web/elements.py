"""Makes the HTML of the elements of pages: headings, sentences, tables, choices, drawings. Text from users is shown
literally.
"""

import re
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING

from skipstack.dashboards.formats.html import AddressOf, as_elements, with_code
from skipstack.dashboards.formats.page import Report
from skipstack.dashboards.formats.rendering import all_visible
from skipstack.dashboards.reports.pictures.picture import Drawn
from skipstack.dashboards.web.page_names import ACT
from skipstack.dashboards.web.section import Element
from skipstack.data.basis.printable import visible

if TYPE_CHECKING:
    from skipstack.spaces.subject import Subject


def shown(text: str) -> str:
    """The HTML that shows a text literally."""
    return escape(visible(text))


def heading(text: str, *, level: int = 2) -> str:
    """A heading."""
    return f"<h{level}>{shown(text)}</h{level}>"


def sentence(text: str, *, pale: bool = False) -> str:
    """A sentence, with text between backticks as code. ``pale``: whether it is a note on a nearby element."""
    return f"<p{' class=pale' if pale else ''}>{with_code(visible(text))}</p>"


def verdict(said: str, answers: Sequence[str] = ()) -> str:
    """The verdict on a study, which is the main heading of a page about the study. ``answers``: the lines below it."""
    lines = "".join(f"<li>{shown(each)}</li>" for each in answers)
    whole = shown(said).replace(" %", "&nbsp;%").replace(" ± ", "&nbsp;±&nbsp;")  # a line breaks in no number
    return f'<h1 class="verdict">{whole}</h1>{f"<ul>{lines}</ul>" if lines else ""}'


def empty(text: str) -> str:
    """A placeholder for a missing element. The text says what belongs there, and why it is missing."""
    return f'<p class="empty">{with_code(visible(text))}</p>'


def metrics(numbers: Mapping[str, str]) -> str:
    """The main numbers of a page, each below its label."""
    pairs = (f"<div><dt>{shown(label)}</dt><dd>{shown(text)}</dd></div>" for label, text in numbers.items())
    return f'<dl class="metrics">{"".join(pairs)}</dl>'


def beside(*columns: Iterable[Element]) -> Iterator[Element]:
    """Yields columns side by side; on a narrow page, they are below each other."""
    yield '<div class="columns">'
    for column in columns:
        yield "<div>"
        yield from column
        yield "</div>"
    yield "</div>"


def charts(drawn: Iterable[Drawn]) -> Iterator[Element]:
    """Yields charts in two columns, and a line that names the charts that cannot be drawn. A wide chart takes the whole
    width.
    """
    missing = list[str]()
    yield '<div class="charts">'
    any_drawn = False
    for each in drawn:
        if isinstance(each.draw, str):
            missing.append(f"{each.heading} ({each.draw})")
        else:
            any_drawn = True
            yield each
    yield "</div>"
    if missing:
        told = f"{', '.join(missing)}."
        yield sentence(f"Not drawn: {told}", pale=True) if any_drawn else empty(f"Nothing to draw: {told}")


def chart(drawn: Drawn) -> Element:
    """A chart, or the reason why there is none."""
    if isinstance(drawn.draw, str):
        return empty(f"{drawn.heading}: nothing to draw, since {drawn.draw}.")
    return drawn


def report(made: Report, address: AddressOf | None = None, *, titled: bool = True, said: str = "") -> str:
    """The page of a report, without its pictures.

    ``address``: returns the address of a trial's page; None means no links. ``titled``: whether to show the report's
    title. ``said``: the verdict already shown on the page, which is not repeated, nor are its answers.
    """
    page = made.page if made.page.verdict != said else replace(made.page, verdict="", answers=())
    title = heading(page.title) if titled and page.title else ""
    return title + "\n".join(as_elements(all_visible(page), address))


def table(headings: Sequence[str], rows: Iterable[Sequence[str]], *, name: str = "table") -> str:
    """A small table of texts. The first column names the rows; columns of numbers are right-justified. ``name``: its
    name for screen readers.
    """
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
    return scrolling(f"<table>{above}<tbody>{lines}</tbody></table>", name)


def sorted_heading(name: str, sort: str, address: Callable[[str], str], *, text: bool = False) -> str:
    """The heading of a column, with a link that sorts by it: the largest first, or a column of ``text`` from A.
    Followed again, the link reverses the order. ``sort``: the present order, which is ``NAME``, or ``-NAME`` for the
    largest first. ``address``: returns the address of the table in a given order.
    """
    order = {name: "ascending", f"-{name}": "descending"}.get(sort)
    sorted_by = f' aria-sort="{order}"' if order else ""
    first, then = (name, f"-{name}") if text else (f"-{name}", name)
    side = ' class="start"' if text else ""
    return f'<th scope="col"{side}{sorted_by}>{link(address(then if sort == first else first), name)}</th>'


def scrolling(inner: str, name: str) -> str:
    """An element that scrolls sideways if the page is too narrow, also by keyboard. ``name``: its name for screen
    readers.
    """
    return f'<div class="wide" role="region" tabindex="0" aria-label="{shown(name)}">{inner}</div>'


def folded(title: str, inner: str, *, opened: bool = False) -> str:
    """An element that the reader opens by a click on its title."""
    return f"<details{' open' if opened else ''}><summary>{shown(title)}</summary>{inner}</details>"


def code(text: str) -> str:
    """Lines in a typewriter face, which scroll if there are many."""
    lines = "\n".join(map(shown, text.splitlines()))
    return f'<pre tabindex="0"><code>{lines}</code></pre>'


def form(*fields: str, name: str, action: str = "") -> str:
    """A form of choices, which become parameters of the page's address as soon as they are made.

    ``name``: its name for screen readers. ``action``: the page that gets the choices, or the place on this page to
    which it returns, such as ``#log``; by default this page.
    """
    to = f' action="{shown(action)}"' if action else ""
    button = '<noscript><button type="submit">Show</button></noscript>'
    return f'<form class="choices" method="get"{to} aria-label="{shown(name)}">{"".join(fields)}{button}</form>'


def request_form(*fields: str, name: str, action: str = ACT) -> str:
    """A form that sends a request when the reader presses its button. ``name``: its name for screen readers.
    ``action``: the address that gets the request; by default the address for requests to a study.
    """
    inner = "".join(fields)
    return f'<form class="request" method="post" action="{action}" aria-label="{shown(name)}">{inner}</form>'


def button(value: str, text: str) -> str:
    """The button of a request. ``value``: the kind of the request."""
    return f'<button type="submit" name="do" value="{shown(value)}">{shown(text)}</button>'


def kept(values: Mapping[str, Iterable[str]]) -> str:
    """Parameters of the address that a form keeps as they are."""
    return "".join(
        f'<input type="hidden" name="{shown(name)}" value="{shown(value)}">'
        for name, several in values.items()
        for value in several
    )


def select(name: str, label: str, options: Mapping[str, str], chosen: str, *, placeholder: str = "") -> str:
    """A choice of one of several ``options``, each with its text. ``placeholder``: the text of the option to choose
    nothing; empty if there is no such option.
    """
    none = f'<option value="">{shown(placeholder)}</option>' if placeholder else ""
    listed = "".join(
        f'<option value="{shown(value)}"{" selected" if value == chosen else ""}>{shown(text)}</option>'
        for value, text in options.items()
    )
    return f'<label>{shown(label)}<select name="{shown(name)}">{none}{listed}</select></label>'


def several(name: str, label: str, options: Mapping[str, str], chosen: Sequence[str]) -> str:
    """A choice of any number of ``options``, each with its text."""
    boxes = "".join(
        f'<label><input type="checkbox" name="{shown(name)}" value="{shown(value)}"'
        f"{' checked' if value in chosen else ''}> {shown(text)}</label>"
        for value, text in options.items()
    )
    return f"<fieldset><legend>{shown(label)}</legend>{boxes}</fieldset>"


def number_field(name: str, label: str, value: int, *, most: int | None = None) -> str:
    """A field for a whole number from 0 to ``most``; None means no maximum."""
    most_html = "" if most is None else f' max="{most}"'
    field = f'<input type="number" name="{shown(name)}" min="0"{most_html} step="1" value="{value}">'
    return f"<label>{shown(label)}{field}</label>"


def text_field(name: str, label: str, value: str, *, placeholder: str = "") -> str:
    """A field for a line of text."""
    return (
        f'<label>{shown(label)}<input type="text" name="{shown(name)}" value="{shown(value)}" '
        f'placeholder="{shown(placeholder)}"></label>'
    )


def link(address: str, text: str, *, current: bool = False, download: bool = False) -> str:
    """A link. ``current``: whether it leads to the present page or part. ``download``: whether it fetches a file."""
    more = (' aria-current="page"' if current else "") + (" download" if download else "")
    return f'<a href="{shown(address)}"{more}>{shown(text)}</a>'


def picture(svg: str, about: str) -> str:
    """A drawing in the colours of the theme and in its own size, as an image, which cannot run or load anything. It
    scrolls if the page is too narrow. ``about``: the drawing in words.
    """
    from skipstack.dashboards.network_drawing.canvas import DARK

    text = svg if DARK in svg else svg.replace(">", f">\n{DARK}", 1)
    data = b64encode(text.encode()).decode()
    return scrolling(f'<img src="data:image/svg+xml;base64,{data}" alt="{shown(about)}">', "drawing")


def drawing_of(config: "Subject", title: str) -> str:
    """The drawing of a config's network, with its description in words below."""
    from skipstack.dashboards.network_drawing.drawing import diagram_of, drawing
    from skipstack.dashboards.network_drawing.sentences import described

    diagram = diagram_of(config)
    words = " ".join(described(diagram))
    return picture(drawing(diagram, title), words) + folded("In words", sentence(words))
