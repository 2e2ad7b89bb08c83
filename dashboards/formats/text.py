"""Renders a page as text of a given width, for terminals and plain files."""

from collections.abc import Iterator
from io import StringIO
from textwrap import wrap
from typing import Final, assert_never

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from skipstack.dashboards.formats.fitting import MARK, Layout, fitted, left_out
from skipstack.dashboards.formats.page import Block, Column, Heading, Listing, Page, Sentence, Table, TableRow

PAGE: Final = 80
"""The width in characters of text that is not printed to a terminal, but read in mail, diffs and editors. Columns that
do not fit are dropped, and are named below the page.
"""

HARD: Final = "\u00a0"
"""A blank at which lines are not broken."""

INDENT = (0, 0, 0, 2)
"""Rich's padding of list items: above, right, below, left."""


def as_text(page: Page, width: int, *, terminal: bool) -> str:
    """Render a page as text with lines of at most ``width`` characters, without trailing blanks.

    ``terminal``: whether the text has colours, if the environment variables ``TERM`` and ``NO_COLOR`` allow them.
    """
    console = Console(
        file=StringIO(),
        width=width,
        force_terminal=terminal,
        color_system="auto" if terminal else None,
        highlight=False,
    )
    with console.capture() as capture:
        console.print(renderable(page, width))
    return "".join(f"{line.rstrip()}\n" for line in capture.get().splitlines())


def renderable(page: Page, width: int) -> RenderableType:
    """Convert a page into an object that Rich prints on a console of ``width`` columns."""
    parts: list[RenderableType] = [Text(page.title, style="bold")] if page.title else []
    if page.verdict:
        parts += ["", _wrapped(page.verdict, width)] if parts else [_wrapped(page.verdict, width)]
    parts += _block(Listing(page.answers), width)
    missing = []
    for group in page.groups:
        parts += [""] if parts else []
        for block in group:
            parts.extend(_block(block, width))
            missing += left_out(block, fitted(block, width)) if isinstance(block, Table) else []
    if missing:
        parts.append(Text(f"left out at this width: {', '.join(dict.fromkeys(missing))}", style="dim"))
    return Group(*parts)


def _wrapped(sentence: str, width: int) -> Text:
    """Break a sentence into lines, but not before ``%`` or next to ``±``."""
    together = sentence.replace(" %", f"{HARD}%").replace(" ± ", f"{HARD}±{HARD}")
    lines = wrap(together, width, break_on_hyphens=False)
    return Text("\n".join(lines).replace(HARD, " "), style="bold")


def _block(block: Block, width: int) -> Iterator[RenderableType]:
    match block:
        case Heading():
            yield Text(block.text, style="bold cyan")
        case Sentence():
            yield Text(block.text, style=block.style)
        case Listing():
            yield from (Padding(Text(item, overflow="fold"), INDENT) for item in block.items)
        case Table():
            yield from _sections(block, fitted(block, width))
        case _:
            assert_never(block)


def _sections(table: Table, layout: Layout) -> Iterator[RenderableType]:
    """Yields the parts of a table for Rich: its column headings, and then the heading and rows of each section."""
    grid = _grid(table, layout)
    columns = [table.columns[place] for place in layout.shown]
    groups = [column.group for column in columns]
    if any(groups):
        firsts = [each if each not in groups[:number] else "" for number, each in enumerate(groups)]
        grid.add_row("", "", *(Text(each, style="bold cyan") for each in firsts))
    if table.heading or any(column.heading for column in columns):
        headings = (_spaced(Text(column.heading, style="bold"), column, layout) for column in columns)
        grid.add_row("", Text(table.heading, style="bold" if table.heading else ""), *headings)
    yield grid
    section = ""
    for row in table.rows:
        if row.section != section:
            section = row.section
            yield ""
            yield Text(section, style="bold cyan", overflow="fold")
            grid = _grid(table, layout)
            yield grid
        grid.add_row(*_cells(row, table, layout))


def _grid(table: Table, layout: Layout) -> Grid:
    grid = Grid.grid()
    grid.add_column(width=MARK)
    grid.add_column(width=layout.label, overflow="fold")
    for place, width in zip(layout.shown, layout.widths, strict=True):
        text = table.columns[place].justify == "left"
        grid.add_column(
            width=layout.gap + width,
            justify="left" if text else "right",
            no_wrap=not text,
            overflow="fold" if text else "ellipsis",
        )
    return grid


def _cells(row: TableRow, table: Table, layout: Layout) -> Iterator[RenderableType]:
    yield Text(row.mark.text, style=row.mark.style or row.style)
    yield Text(row.label, style=row.style)
    for place in layout.shown:
        cell = Text(row.cells[place].text, style=row.cells[place].style or row.style)
        yield _spaced(cell, table.columns[place], layout)


def _spaced(cell: Text, column: Column, layout: Layout) -> RenderableType:
    """Put the gap between columns before the text of a left-justified cell. Right-justified cells need none."""
    return Padding(cell, (0, 0, 0, layout.gap)) if column.justify == "left" else cell
