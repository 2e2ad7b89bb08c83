"""The report for terminals and plain text files, laid out to a width."""

from collections.abc import Iterator
from dataclasses import dataclass
from io import StringIO

from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from skipstack.dashboards.report.ablation_report import COLUMNS, EXCEEDS, LEADS, Line, Sheet
from skipstack.search.ablation.ablation import BASELINE

LEFT_OUT_FIRST = ("trial", "seconds", "epochs", "test %", "n")
"""Columns in the order in which a narrow terminal goes without them."""

NARROWEST_VALUE = 10
"""Characters that a value keeps at least before it goes on in the next line."""

NARROWEST_PAGE = 80
"""Where no width is given, sentences are broken at this width or that of the table."""

MARK = 2
"""Characters before a value: the mark of the best one and a space."""

ALL = tuple(range(len(COLUMNS)))


@dataclass(frozen=True, slots=True)
class Layout:
    """Which columns are shown, how wide each is, and the spaces between them; the mark comes first."""

    shown: tuple[int, ...]
    widths: tuple[int, ...]
    value: int
    gap: int

    @property
    def total(self) -> int:
        """The width of the table."""
        return MARK + self.value + sum(self.gap + width for width in self.widths)


def plain(sheet: Sheet, width: int | None) -> str:
    """The report without a control character, no line longer than ``width`` where one is given."""
    return _printed(sheet, width, terminal=False)


def coloured(sheet: Sheet, width: int | None) -> str:
    """The report with the colours of the terminal that ``TERM`` names; ``NO_COLOR`` leaves them out."""
    return _printed(sheet, width, terminal=True)


def page_width(sheet: Sheet) -> int:
    """The width at which nothing but the sentences is broken."""
    table = _layout(sheet, ALL, 2).total
    return max(NARROWEST_PAGE, table, *(cell_len(change) + 2 for change in sheet.changes or ("",)))


def renderable(sheet: Sheet, width: int) -> RenderableType:
    """The report as Rich prints it on a console of ``width`` columns."""
    layout = _fitting(sheet, width)
    left_out = [column.headed(sheet.measure) for place, column in enumerate(COLUMNS) if place not in layout.shown]
    return Group(
        Text(sheet.study, style="bold"),
        "",
        *_sections(sheet, layout),
        "",
        Text(sheet.counts),
        Text(sheet.best_config),
        *(Padding(Text(change, overflow="fold"), (0, 0, 0, 2)) for change in sheet.changes),
        *([Text(sheet.front_heading)] if sheet.front else []),
        *(Padding(Text(each.told, overflow="fold"), (0, 0, 0, 2)) for each in sheet.front),
        "",
        Text(sheet.footnote, style="dim"),
        *([Text(f"left out at this width: {', '.join(left_out)}", style="dim")] if left_out else []),
    )


def _printed(sheet: Sheet, width: int | None, *, terminal: bool) -> str:
    width = page_width(sheet) if width is None else width
    return printed(renderable(sheet, width), width, terminal=terminal)


def printed(page: RenderableType, width: int, *, terminal: bool) -> str:
    """A page as text of ``width`` columns, each line without its blank end; in colours for a ``terminal``."""
    console = Console(
        file=StringIO(),
        width=width,
        force_terminal=terminal,
        color_system="auto" if terminal else None,
        highlight=False,
    )
    with console.capture() as capture:
        console.print(page)
    return "".join(f"{line.rstrip()}\n" for line in capture.get().splitlines())


def _layout(sheet: Sheet, shown: tuple[int, ...], gap: int) -> Layout:
    columns = [(COLUMNS[place].headed(sheet.measure), *(line.cells[place] for line in sheet.lines)) for place in shown]
    widths = tuple(max(map(cell_len, cells)) for cells in columns)
    return Layout(shown, widths, max((cell_len(_label(line)) for line in sheet.lines), default=0), gap)


def _fitting(sheet: Sheet, width: int) -> Layout:
    """The fullest layout within ``width``; where none is, the values of the narrowest one are broken."""
    layout = _layout(sheet, ALL, 2)
    shown = ALL
    for heading in ("", *LEFT_OUT_FIRST):
        shown = tuple(place for place in shown if COLUMNS[place].heading != heading)
        for gap in (2, 1) if heading else (2,):
            layout = _layout(sheet, shown, gap)
            if layout.total <= width:
                return layout
    room = width - (layout.total - layout.value)
    return Layout(layout.shown, layout.widths, max(room, NARROWEST_VALUE), layout.gap)


def _sections(sheet: Sheet, layout: Layout) -> Iterator[RenderableType]:
    """The head of the table, then a section an axis."""
    head = _grid(layout)
    headings = [Text(COLUMNS[place].headed(sheet.measure), style="bold") for place in layout.shown]
    head.add_row("", "", *headings)
    table = head
    yield head
    axis = ""
    for line in sheet.lines:
        if line.of_axis and line.axis != axis:
            axis = line.axis
            yield ""
            yield Text(axis, style="bold cyan", overflow="fold")
            table = _grid(layout)
            yield table
        table.add_row(*_cells(line, layout))


def _grid(layout: Layout) -> Table:
    grid = Table.grid()
    grid.add_column(width=MARK)
    grid.add_column(width=layout.value, overflow="fold")
    for width in layout.widths:
        grid.add_column(width=layout.gap + width, justify="right", no_wrap=True)
    return grid


def _cells(line: Line, layout: Layout) -> list[Text]:
    style = "bold" if line.leads else "" if line.numbers["dev_mean"] is not None else "dim"
    return [
        Text(LEADS if line.leads else "", style=style),
        Text(_label(line), style=style),
        *(Text(line.cells[place], style=_style(line, place) or style) for place in layout.shown),
    ]


def _label(line: Line) -> str:
    """What stands before the numbers; the footnote says what the baseline is."""
    if line.of_axis:
        return line.value
    return line.axis if line.axis == BASELINE else f"{line.axis}, {line.value}"


def _style(line: Line, place: int) -> str:
    """A difference larger than its error has the colour of its sign; one that is not stands back."""
    cell = line.cells[place]
    if COLUMNS[place].heading != "difference":
        return ""
    if not cell.endswith(EXCEEDS):
        return "dim"
    return "green" if cell.startswith("+") else "red"
