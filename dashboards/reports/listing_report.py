"""The report of a list: names, with a few lines about each."""

from collections.abc import Mapping, Sequence

from skipstack.dashboards.formats.page import Cell, Column, Page, Report, Table, TableRow


def listing_report(title: str, lines: Mapping[str, Sequence[str]]) -> Report:
    """The report of a list. ``lines``: the names in the list, each with the lines about it."""
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
