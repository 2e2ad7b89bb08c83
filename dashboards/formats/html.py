"""Renders a page and its pictures as a single HTML file that needs no network and contains no script.

Pictures are inline SVG. Drawing them in the browser would need Vega's script, 0.8 MB in each file, and browsers without
scripts would show none. The file's ``Content-Security-Policy`` makes the browser run no script and load nothing,
whatever the names in a study contain.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from html import escape
from itertools import groupby
from typing import Final, assert_never

from skipstack.dashboards.formats.page import (
    TRIAL,
    Block,
    Cell,
    Column,
    Groups,
    Heading,
    Listing,
    Page,
    Picture,
    Sentence,
    Table,
    TableRow,
    TrialKey,
    about,
    captioned,
)
from skipstack.dashboards.formats.style import STYLE
from skipstack.dashboards.formats.svg import inlined

HEAD: Final = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>{title}</title>
<style>
{style}</style>
</head>
<body>
<main>
"""

END: Final = """</main>
</body>
</html>
"""


AddressOf = Callable[[TrialKey], str]
"""A function that returns the address of a trial's page."""


def as_html(page: Page, pictures: Sequence[Picture]) -> str:
    """Render a page, with its pictures below it, as an HTML file that ends in a line break."""
    title = page.title or "skipstack"
    lines = [f"<h1>{escape(title)}</h1>", *as_elements(page), *_pictures(pictures)]
    return HEAD.format(title=escape(title), style=STYLE) + "\n".join(lines) + "\n" + END


def as_elements(page: Page, address: AddressOf | None = None) -> Iterator[str]:
    """Yields the verdict and the blocks of a page as HTML elements for another page. Details are folded. The title and
    the pictures are left out.

    ``address``: returns the address of a trial's page. The trial's rows link to this page. None means no links.
    """
    if page.verdict:
        yield f'<p class="verdict">{escape(page.verdict)}</p>'
    yield from _block(Listing(page.answers), "", address)
    yield from _blocks(page.groups, page.title or "skipstack", address)
    for part in page.details:
        yield from _folded(part.heading, _blocks(part.groups, about(page, part.heading), address))


def _blocks(groups: Groups, caption: str, address: AddressOf | None) -> Iterator[str]:
    """Yields the HTML of blocks in their order. ``caption``: the heading above the first block."""
    for block in (block for group in groups for block in group):
        caption = block.text if isinstance(block, Heading) else caption
        yield from _block(block, caption, address)


def _folded(heading: str, elements: Iterable[str]) -> Iterator[str]:
    """Yields the HTML of elements that stay hidden until the reader clicks on their heading."""
    yield f"<details><summary>{escape(heading)}</summary>"
    yield from elements
    yield "</details>"


def _block(block: Block, caption: str, address: AddressOf | None) -> Iterator[str]:
    match block:
        case Heading():
            yield f"<h2>{escape(block.text)}</h2>"
        case Sentence():
            yield f"<p{_class(block.style)}>{with_code(block.text)}</p>"
        case Listing(items=()):
            pass
        case Listing():
            yield "<ul>"
            yield from (f"<li>{_code(item, code=True) if block.code else with_code(item)}</li>" for item in block.items)
            yield "</ul>"
        case Table():
            # A table wider than the page scrolls sideways, also by keyboard.
            name = escape(captioned(block, caption))
            yield f'<div class="wide" role="region" tabindex="0" aria-label="{name}">'
            yield "<table>"
            yield f"<caption>{name}</caption>"
            yield from _headings(block)
            yield from _sections(block, address)
            yield "</table>"
            yield "</div>"
            yield from ([f'<p class="dim">{escape(block.caption)}</p>'] if block.caption else [])
        case _:
            assert_never(block)


def _headings(table: Table) -> Iterator[str]:
    yield "<thead>"
    if any(column.group for column in table.columns):
        groups = ((name, len(list(group))) for name, group in groupby(table.columns, lambda column: column.group))
        cells = (f'<th scope="colgroup" colspan="{count}">{escape(name)}</th>' for name, count in groups)
        yield f"<tr><td></td>{''.join(cells)}</tr>"
    if table.heading or any(column.heading for column in table.columns):
        yield f"<tr>{_heading(Column(table.heading, justify='left'))}{''.join(map(_heading, table.columns))}</tr>"
    yield "</thead>"


def _heading(column: Column) -> str:
    return f'<th scope="col"{_class(column.justify)}>{escape(column.heading)}</th>' if column.heading else "<td></td>"


def _sections(table: Table, address: AddressOf | None) -> Iterator[str]:
    for section, rows in groupby(table.rows, lambda row: row.section):
        yield "<tbody>"
        of_section = list(rows)
        if section:
            name = _code(section, code=of_section[0].code)
            yield f'<tr class="section"><th scope="rowgroup" colspan="{1 + len(table.columns)}">{name}</th></tr>'
        yield from (_row(row, table, address) for row in of_section)
        yield "</tbody>"


def _row(row: TableRow, table: Table, address: AddressOf | None) -> str:
    """The HTML of a row. If ``address`` is given, a row of a trial has a link to the trial's page. The link is on the
    cell in the column ``TRIAL`` or, without such a column, on the label.
    """
    href = "" if address is None or row.trial is None else address(row.trial)
    numbered = any(column.heading == TRIAL for column in table.columns)
    mark = f"<span{_class(f'mark {row.mark.style}')}>{escape(row.mark.text)}</span>"
    label = _linked(_code(row.label, code=row.code), "" if numbered else href)
    cells = "".join(
        _cell(cell, column, href if column.heading == TRIAL else "")
        for cell, column in zip(row.cells, table.columns, strict=False)
    )
    return f'<tr{_class(row.style)}><th scope="row">{mark}{label}</th>{cells}</tr>'


def _cell(cell: Cell, column: Column, href: str) -> str:
    """The HTML of a cell. A nonempty ``href`` becomes a link. Trailing blanks are kept: they align numbers."""
    return f"<td{_class(f'{column.justify} {cell.style}')}>{_linked(escape(cell.text), href)}</td>"


def _linked(element: str, href: str) -> str:
    return f'<a href="{escape(href)}" target="_self">{element}</a>' if href else element


def _pictures(pictures: Sequence[Picture]) -> Iterator[str]:
    """Yields the HTML of the pictures; the pictures of details are folded. A last sentence names the pictures that
    could not be drawn, with the reasons.
    """
    drawn = [(f"picture-{place}", picture) for place, picture in enumerate(pictures) if picture.svg]
    missing: dict[str, list[str]] = {}
    for picture in pictures:
        if not picture.svg:
            missing.setdefault(picture.about, []).append(picture.heading)
    if shown := [each for each in drawn if not each[1].folded]:
        yield from _figures(shown)
    if folded := [each for each in drawn if each[1].folded]:
        yield from _folded("pictures of the search", _figures(folded))
    if missing:
        left_out = "; ".join(f"{', '.join(headings)} ({why})" for why, headings in missing.items())
        yield f'<p class="dim">Pictures that are left out: {escape(left_out)}.</p>'


def _figures(named: Iterable[tuple[str, Picture]]) -> Iterator[str]:
    yield '<div class="pictures">'
    for name, picture in named:
        yield f"<section><h2>{escape(picture.heading)}</h2>"
        yield f"<figure>{inlined(picture.svg, name=name, about=picture.about)}"
        yield f"<figcaption>{escape(picture.about)}</figcaption></figure></section>"
    yield "</div>"


def with_code(text: str) -> str:
    """The HTML of a text. Parts between backticks become code."""
    return re.sub("`([^`]+)`", r"<code>\1</code>", escape(text))


def _code(text: str, *, code: bool) -> str:
    return f"<code>{escape(text)}</code>" if code and text else escape(text)


def _class(names: str) -> str:
    """The HTML attribute ``class`` with the words of a Rich style; empty for an empty style."""
    return f' class="{" ".join(names.split())}"' if names.strip() else ""
