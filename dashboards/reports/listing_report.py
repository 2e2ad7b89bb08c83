"""The report of a list of names, with a few lines about each name."""

from collections.abc import Mapping, Sequence

from skipstack.dashboards.formats.page import Cell, Column, Page, Report, Table, TableRow


def listing_report(title: str, lines: Mapping[str, Sequence[str]]) -> Report:
    """The report of a list. ``lines``: the lines about each name, by the name."""
    rows = (
        TableRow(names=(name if number == 0 else "",), label=name if number == 0 else "", cells=(Cell(line),))
        for name, own in lines.items()
        for number, line in enumerate(own)
    )
    table = Table(names=("name",), columns=(Column("", justify="left"),), rows=tuple(rows))
    return Report(
        page=Page(title, ((table,),)),
        content={title: {name: " ".join(own) for name, own in lines.items()}},
        records=[{"name": name, "about": " ".join(own)} for name, own in lines.items()],
        names=("name", "about"),
    )
