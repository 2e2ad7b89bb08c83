r"""Renders a page as LaTeX that compiles on its own. A document that includes it with ``\input`` gets the tables."""

import re
from collections.abc import Iterator, Sequence
from itertools import chain, count, groupby, takewhile
from typing import Final, assert_never

from skipstack.dashboards.formats.latex_text import DEFINITIONS, LONGEST, latex_text, printed_width
from skipstack.dashboards.formats.page import (
    Cell,
    Column,
    Heading,
    Listing,
    Page,
    Sentence,
    Table,
    TableRow,
    about,
    captioned,
)

BEGINNING: Final = r"""% Compile this file as it is, or \input it in a document, which takes its tables alone.
% Such a document needs \usepackage{booktabs,graphicx}, and with pdfLaTeX \usepackage[T1]{fontenc}.
\makeatletter
\newif\ifskipstackwhole
\ifx\@nodocument\relax\skipstackwholefalse\else\skipstackwholetrue\fi
\makeatother
\ifskipstackwhole
\documentclass[a4paper]{article}
\usepackage[margin=2.5cm]{geometry}
\ifdefined\Umathcode\else\usepackage[T1]{fontenc}\fi
\IfFileExists{lmodern.sty}{\usepackage{lmodern}}{}
\usepackage{booktabs,graphicx}
\begin{document}
\raggedright
\fi
"""
r"""The beginning of the file, which detects whether another document includes the file. ``\@nodocument`` raises an
error until a document's ``\begin{document}`` makes it do nothing.
"""

END: Final = r"""\ifskipstackwhole\else\expandafter\endinput\fi
\end{document}
"""

MOST_LINES: Final = 40
"""The maximum number of lines of a table on one page; further rows form another table."""

WIDEST_TEXT: Final = 40
"""The maximum number of characters of a cell or label that does not wrap."""

SHRUNK: Final = r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{"
"""The beginning of a command that shrinks tables that are wider than the line."""


def as_latex(page: Page) -> str:
    """Render a page as a LaTeX file that ends in a line break. Notes are printed below the preceding table."""
    blocks = [block for group in page.groups for block in group]
    lines = _aside([rf"\section*{{{latex_text(page.title)}}}"] if page.title else [])
    lines += _aside([rf"\textbf{{{latex_text(page.verdict)}}}\par"] if page.verdict else [])
    lines += _aside(_text(Listing(page.answers)))
    labels: set[str] = set()
    caption = page.title
    for block, following in zip(blocks, (blocks[place:] for place in range(1, len(blocks) + 1)), strict=True):
        match block:
            case Table():
                rest = takewhile(lambda each: not isinstance(each, Table), following)
                notes = [each.text for each in rest if isinstance(each, Sentence) and each.is_note]
                lines += _tables(block, captioned(block, caption), notes, labels)
            case Sentence(is_note=True) if labels:
                pass
            case _:
                caption = about(page, block.text) if isinstance(block, Heading) else caption
                lines += _aside(_text(block))
    return BEGINNING + DEFINITIONS + "\n\n" + "\n".join(lines) + "\n" + END


def _aside(lines: Sequence[str]) -> list[str]:
    """Enclose lines in a condition. A document that includes the file skips these lines: it gets only the tables."""
    return [r"\ifskipstackwhole", *lines, r"\fi", ""] if lines else []


def _text(block: Heading | Sentence | Listing) -> list[str]:
    match block:
        case Heading():
            return [rf"\subsection*{{{latex_text(block.text)}}}"]
        case Sentence():
            return [rf"{latex_text(block.text)}\par"]
        case Listing(items=()):
            return []
        case Listing():
            items = (rf"\item {latex_text(item, code=block.code)}" for item in block.items)
            return [r"\begin{itemize}", *items, r"\end{itemize}"]
        case _:
            assert_never(block)


def _tables(table: Table, caption: str, notes: Sequence[str], labels: set[str]) -> Iterator[str]:
    """Yields the lines of a table. A table longer than a page is split into several. ``notes``: the sentences below the
    table. ``labels``: the labels used so far; the new labels are added.
    """
    parts = list(_parts(table.rows))
    columns = "".join(column.justify[0] for column in table.columns)
    for number, rows in enumerate(parts, start=1):
        yield r"\begin{table}[!htbp]"
        yield r"\centering\small"
        part = f" ({number} of {len(parts)})" if len(parts) > 1 else ""
        more = f". {table.caption}" if table.caption else ""
        yield rf"\caption{{{latex_text(f'{caption}{part}{more}')}}}"
        yield rf"\label{{tab:{_label(caption, labels)}}}"
        yield rf"{SHRUNK}\begin{{tabular}}{{@{{}}l@{{ }}l{columns}@{{}}}}"
        yield r"\toprule"
        yield from _headings(table)
        yield from _rows(rows, 2 + len(table.columns))
        yield r"\bottomrule"
        yield r"\end{tabular}}"
        if number == len(parts):
            yield from (rf"\par\smallskip\footnotesize\raggedright {latex_text(note)}" for note in notes)
        yield r"\end{table}"
        yield ""


def _label(caption: str, labels: set[str]) -> str:
    """Make a label from the letters and digits of a caption, unlike any in ``labels``, and add it to ``labels``."""
    name = re.sub(r"[^A-Za-z0-9]+", "-", caption).strip("-") or "skipstack"
    names = chain([name], (f"{name}-{number}" for number in count(2)))
    label = next(each for each in names if each not in labels)
    labels.add(label)
    return label


def _parts(rows: Sequence[TableRow]) -> Iterator[Sequence[TableRow]]:
    """Yields the rows of a table in parts, each of which fits on a page."""
    first, lines = 0, 0
    for place, row in enumerate(rows):
        longest = max(map(printed_width, (row.label, *(cell.text for cell in row.cells))))
        lines += 1 + longest // WIDEST_TEXT + (row.section != rows[place - 1].section if place else 0)
        if lines > MOST_LINES and place > first:
            yield rows[first:place]
            first, lines = place, 1
    yield rows[first:]


def _headings(table: Table) -> Iterator[str]:
    if any(column.group for column in table.columns):
        yield from _groups(table.columns)
    if table.heading or any(column.heading for column in table.columns):
        headings = (_broken(text) for text in (table.heading, *(column.heading for column in table.columns)))
        yield rf"& {' & '.join(headings)} \\"
        yield r"\midrule"


def _groups(columns: Sequence[Column]) -> Iterator[str]:
    """Yields two lines: the names of the groups of columns, each above its columns, and a rule below each name."""
    cells, rules, place = [], [], 3
    for name, group in groupby(columns, lambda column: column.group):
        width = len(list(group))
        cells.append(rf"\multicolumn{{{width}}}{{c}}{{{_broken(name)}}}")
        rules += [rf"\cmidrule(lr){{{place}-{place + width - 1}}}"] if name else []
        place += width
    yield rf"& & {' & '.join(cells)} \\"
    yield "".join(rules)


def _rows(rows: Sequence[TableRow], columns: int) -> Iterator[str]:
    section = ""
    for row in rows:
        if row.section != section:
            section = row.section
            yield r"\addlinespace"
            yield rf"\multicolumn{{{columns}}}{{@{{}}l@{{}}}}{{{_broken(section, code=row.code)}}} \\"
        yield rf"{' & '.join(_cells(row))} \\"


def _cells(row: TableRow) -> Iterator[str]:
    yield f"{{{latex_text(row.mark.text)}}}"
    written = [(row.style, _broken(row.label, code=row.code))]
    written += [(cell.style or row.style, _cell(cell)) for cell in row.cells]
    for style, text in written:
        yield rf"\textbf{{{text}}}" if "bold" in style and text else text


def _cell(cell: Cell) -> str:
    """The text of a cell in LaTeX. Blanks at its ends become as wide as digits, so that numbers align."""
    text = cell.text.strip(" ")
    before, after = (len(cell.text) - len(rest) for rest in (cell.text.lstrip(" "), cell.text.rstrip(" ")))
    blanks = [rf"\phantom{{{'0' * length}}}" if length and text else "" for length in (before, after)]
    signed = re.sub(r"^-(?=\d)", "−", text)
    return f"{blanks[0]}{_broken(signed)}{blanks[1]}"


def _broken(text: str, *, code: bool = False) -> str:
    written = latex_text(text, code=code)
    return written if printed_width(text) <= WIDEST_TEXT else rf"\parbox[t]{{{LONGEST}em}}{{\raggedright {written}}}"
