"""Lays out a table at a given width: chooses the columns to show, and the width of each."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from textwrap import wrap

from rich.cells import cell_len

from skipstack.dashboards.formats.page import Column, Table

MARK = 2
"""Characters before a label: a mark and a space."""

NARROWEST_LABEL = 10
"""The fewest characters of a label before it wraps into a second line."""

NARROWEST_TEXT = 16
"""The fewest characters of a left-justified column before its text wraps."""

GAP, NARROW_GAP = 2, 1
"""Characters between columns."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The positions of the columns shown and the width of each, the width of the label, and the gap between columns."""

    shown: tuple[int, ...]
    widths: tuple[int, ...]
    label: int
    gap: int

    @property
    def total(self) -> int:
        """The width of the table."""
        return MARK + self.label + sum(self.gap + width for width in self.widths)


def fitted(table: Table, width: int) -> Layout:
    """The layout with the most columns that fits into ``width``; if none fits, the narrowest one with wrapped text."""
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
    return _broken(layout, table.columns, layout.total - width)


def left_out(table: Table, layout: Layout) -> list[str]:
    """The names of the hidden columns."""
    return [column.name for place, column in enumerate(table.columns) if place not in layout.shown]


def _layout(table: Table, shown: Sequence[int], gap: int) -> Layout:
    widths = (
        max(cell_len(text) for text in (table.columns[place].heading, *(row.cells[place].text for row in table.rows)))
        for place in shown
    )
    labels = max(cell_len(label) for label in (table.heading, *(row.label for row in table.rows)))
    return Layout(tuple(shown), tuple(widths), labels, gap)


def _in_two_lines(table: Table, room: int) -> bool:
    """Whether every label fits into two lines of this width without breaking a word."""
    return room >= NARROWEST_LABEL and all(
        len(wrap(row.label, room, break_long_words=False, break_on_hyphens=False)) <= 2
        and all(cell_len(word) <= room for word in row.label.split())
        for row in table.rows
    )


def _broken(layout: Layout, columns: Sequence[Column], excess: int) -> Layout:
    """Narrows a layout by up to ``excess`` characters, the widest text first."""
    widths = list(layout.widths)
    texts = [number for number, place in enumerate(layout.shown) if columns[place].justify == "left"]
    for number in sorted(texts, key=lambda number: -widths[number]):
        cut = min(excess, max(widths[number] - NARROWEST_TEXT, 0))
        widths[number] -= cut
        excess -= cut
    label = max(layout.label - excess, min(layout.label, NARROWEST_LABEL))
    return replace(layout, widths=tuple(widths), label=label)
