"""Lays out a text table at a given width: chooses the columns to show and their widths."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from textwrap import wrap

from rich.cells import cell_len

from skipstack.dashboards.formats.page import Column, Table

MARK = 2
"""The number of characters before a label: a mark and a space."""

NARROWEST_LABEL = 10
"""The minimum width of the labels in characters; longer labels wrap."""

NARROWEST_TEXT = 16
"""The minimum width to which a left-justified column is narrowed, in characters; longer texts wrap."""

GAP, NARROW_GAP = 2, 1
"""The number of characters between columns: normally, and in a ``tight`` table that would not fit otherwise."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The layout of a table. ``shown``: the positions of the columns to show. ``widths``: the widths of these columns.
    ``label``: the width of the labels. ``gap``: the number of characters between columns.
    """

    shown: tuple[int, ...]
    widths: tuple[int, ...]
    label: int
    gap: int

    @property
    def total(self) -> int:
        """The width of the whole table in characters."""
        return MARK + self.label + sum(self.gap + width for width in self.widths)


def fitted(table: Table, width: int) -> Layout:
    """Lay out a table with as many columns as fit into ``width``. Optional columns are left out first. If the table is
    still too wide, texts and labels are narrowed and wrap; if that is not enough, the last columns are left out.
    """
    layout = _layout(table, range(len(table.columns)), GAP)
    for name in (None, *table.optional):
        shown = [place for place in layout.shown if table.columns[place].name != name]
        for gap in (GAP, NARROW_GAP) if table.tight else (GAP,):
            layout = _layout(table, shown, gap)
            if layout.total <= width:
                return layout
        room = layout.label - (layout.total - width)
        if table.tight and _in_two_lines(table, room):
            return replace(layout, label=room)
    while (broken := _broken(layout, table.columns, layout.total - width)).total > width and len(layout.shown) > 1:
        layout = _layout(table, layout.shown[:-1], layout.gap)
    return broken


def left_out(table: Table, layout: Layout) -> list[str]:
    """The names of the columns that the layout does not show."""
    return [column.name for place, column in enumerate(table.columns) if place not in layout.shown]


def _layout(table: Table, shown: Sequence[int], gap: int) -> Layout:
    widths = (
        max(cell_len(text) for text in (table.columns[place].heading, *(row.cells[place].text for row in table.rows)))
        for place in shown
    )
    labels = max(cell_len(label) for label in (table.heading, *(row.label for row in table.rows)))
    return Layout(tuple(shown), tuple(widths), labels, gap)


def _in_two_lines(table: Table, room: int) -> bool:
    """Whether each label fits into two lines of ``room`` characters with whole words. False if ``room`` is below
    ``NARROWEST_LABEL``.
    """
    return room >= NARROWEST_LABEL and all(
        len(wrap(row.label, room, break_long_words=False, break_on_hyphens=False)) <= 2
        and all(cell_len(word) <= room for word in row.label.split())
        for row in table.rows
    )


def _broken(layout: Layout, columns: Sequence[Column], excess: int) -> Layout:
    """Narrow a layout by up to ``excess`` characters: first left-justified columns (from the widest), then labels."""
    widths = list(layout.widths)
    texts = [number for number, place in enumerate(layout.shown) if columns[place].justify == "left"]
    for number in sorted(texts, key=lambda number: -widths[number]):
        cut = min(excess, max(widths[number] - NARROWEST_TEXT, 0))
        widths[number] -= cut
        excess -= cut
    label = max(layout.label - excess, min(layout.label, NARROWEST_LABEL))
    return replace(layout, widths=tuple(widths), label=label)
