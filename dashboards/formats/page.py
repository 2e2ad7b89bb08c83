"""Reports in one form for all output formats: a page of sentences, lists and tables, and the numbers behind it.

Each format has one renderer (``text.py``, ``markdown.py``, ``latex.py``, ``html.py``, ``raw.py``), which knows pages
and no particular report.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from skipstack.spaces.subject import Scalar

Numbers = Mapping[str, Scalar]
"""The numbers of a row by their full names."""

TrialKey = tuple[int | None, int]
"""The number of a trial's ablation, None for the search, and the number of the trial."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table. Columns of one ``group`` are adjacent. Left-justified text may wrap, numbers do not."""

    heading: str
    group: str = ""
    justify: Literal["left", "right"] = "right"

    @property
    def name(self) -> str:
        """The heading, after its group if it has one."""
        return f"{self.group}: {self.heading}" if self.group else self.heading


@dataclass(frozen=True, slots=True)
class Cell:
    """The text of a cell, and its Rich style if it differs from the row's."""

    text: str
    style: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class TableRow:
    """A row of a table: its subject and its cells.

    The subject is ``names`` in Markdown, in the columns ``Table.names``, as code if ``code``; in text it is ``label``,
    below the heading ``section``. ``mark`` precedes it in both. ``trial``: the trial that the row describes.
    """

    names: tuple[str, ...]
    cells: tuple[Cell, ...]
    label: str
    section: str = ""
    mark: Cell = Cell("")
    style: str = ""
    code: bool = False
    trial: TrialKey | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Table:
    """Rows under columns.

    ``names``: the headings of the leading columns in Markdown; ``heading``: that of the label column in text.
    ``optional``: the names of the columns that a narrow page drops, the first one first; ``tight``: before a column is
    dropped, gaps are narrowed and labels wrap into a second line. ``caption``: sentences that its caption adds to the
    heading of its part of the page, and the meaning of bold cells; formats without captions leave it out.
    """

    names: tuple[str, ...]
    columns: tuple[Column, ...]
    rows: tuple[TableRow, ...]
    heading: str = ""
    optional: tuple[str, ...] = ()
    tight: bool = False
    caption: str = ""


def captioned(table: Table, part: str) -> str:
    """The name of a table in this part of a page, with which its caption begins."""
    return ": ".join(filter(None, (part, table.heading))) or "table"


@dataclass(frozen=True, slots=True)
class Heading:
    """The heading of a part of the page."""

    text: str


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence or paragraph in a Rich style; a ``dim`` one is a note on how to read the tables."""

    text: str
    style: str = ""

    @property
    def is_note(self) -> bool:
        """Whether it is a note, and so stays with the tables in LaTeX."""
        return self.style == "dim"


@dataclass(frozen=True, slots=True)
class Listing:
    """A list of items; ``code``: shown as code in formats that have it."""

    items: tuple[str, ...]
    code: bool = False


Block = Heading | Sentence | Listing | Table


Groups = tuple[tuple[Block, ...], ...]
"""Blocks, with space between the groups."""


@dataclass(frozen=True, slots=True)
class FoldedPart:
    """A part of a page that is folded at first, under its heading."""

    heading: str
    groups: Groups


@dataclass(frozen=True, slots=True)
class Page:
    """A title, the verdict in a sentence, the groups of blocks that are read first, and the details, part by part.

    ``whole``: the command that prints the details, too, where a format leaves them out.
    """

    title: str
    groups: Groups
    verdict: str = ""
    details: tuple[FoldedPart, ...] = ()
    whole: str = ""


def about(page: Page, heading: str) -> str:
    """The subject of the tables below a heading, for captions and labels, which also name the page."""
    return heading if not page.title or heading.startswith(page.title) else f"{page.title}: {heading}"


def shortened(page: Page) -> Page:
    """The page without its details, which its last line names."""
    if not page.details:
        return page
    named = "; ".join(part.heading for part in page.details)
    left_out = Sentence(f"`{page.whole}` also prints: {named}." if page.whole else f"Left out: {named}.")
    *others, last = page.groups
    return replace(page, groups=(*others, (*last, left_out)), details=())


def unfolded(page: Page) -> Page:
    """The page with its details as further groups."""
    further = (group for part in page.details for group in ((Heading(part.heading),), *part.groups))
    return replace(page, groups=(*page.groups, *further), details=())


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture below the page, in formats that show pictures: its heading, its description and the drawing.

    ``svg`` is empty if there is no drawing; then ``about`` says why, as a part of a sentence. ``folded``: it belongs to
    the details of the page.
    """

    heading: str
    about: str
    svg: str = ""
    folded: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Report:
    """A page for people, and the same for machines: ``content`` for JSON, ``records`` for the lines of CSV.

    ``names``: the names of the numbers in each record. ``pictures`` draws the pictures for HTML.
    """

    page: Page
    content: Mapping[str, Any]
    records: Sequence[Numbers] = ()
    names: Sequence[str] = ()
    pictures: Callable[[], Sequence[Picture]] = tuple
