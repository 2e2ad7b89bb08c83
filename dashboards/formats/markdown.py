"""Renders a page as GitHub's Markdown."""

from collections.abc import Iterator, Sequence
from typing import assert_never

from skipstack.dashboards.formats.page import Block, Heading, Listing, Page, Sentence, Table, TableRow

SPECIAL = "\\`*_[]<>|#~"
"""The characters with a meaning in Markdown; they are escaped."""

RULES = {"left": "---|", "right": "---:|"}
"""The line of dashes below a column's heading, by the justification of the column."""


def as_markdown(page: Page) -> str:
    """Render a page as Markdown that ends in a line break."""
    blocks = [lines for group in page.groups for block in group if (lines := list(_block(block)))]
    title = [f"## {_escaped(page.title)}"] if page.title else []
    verdict = [f"**{_escaped(page.verdict)}**"] if page.verdict else []
    answers = list(_block(Listing(page.answers)))
    return "\n\n".join(["\n".join(lines) for lines in [title, verdict, answers, *blocks] if lines]) + "\n"


def _block(block: Block) -> Iterator[str]:
    match block:
        case Heading():
            yield f"### {_escaped(block.text)}"
        case Sentence():
            yield _escaped(block.text)
        case Listing():
            yield from (f"- {_code(item) if block.code else _escaped(item)}" for item in block.items)
        case Table():
            yield _row([*block.names, *(column.name for column in block.columns)])
            yield f"|{'---|' * len(block.names)}{''.join(RULES[column.justify] for column in block.columns)}"
            yield from (_row(list(_cells(row))) for row in block.rows)
        case _:
            assert_never(block)


def _cells(row: TableRow) -> Iterator[str]:
    *firsts, last = [_code(name) if row.code else _escaped(name) for name in row.names]
    yield from firsts
    yield f"{row.mark.text} {last}" if row.mark.text else last
    yield from (_escaped(cell.text.strip()) for cell in row.cells)


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _code(text: str) -> str:
    """Format text as code. Bars are escaped, since a bar ends a table's cell even within code. A text with a backtick
    becomes plain text.
    """
    return _escaped(text) if "`" in text else f"`{text.replace('|', chr(92) + '|')}`"


def _escaped(text: str) -> str:
    return "".join(f"\\{character}" if character in SPECIAL else character for character in text)
