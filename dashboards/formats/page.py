"""The common form of reports for all output formats: a page of sentences, lists and tables, and the numbers behind it.

Each format has one renderer (``text.py``, ``markdown.py``, ``latex.py``, ``html.py``, ``raw.py``), which renders any
page and depends on no particular report.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from skipstack.spaces.subject import Scalar

Numbers = Mapping[str, Scalar]
"""Maps names to the numbers of one row of a table, or of one line of CSV."""

TrialKey = tuple[int | None, int]
"""A trial: the number of its ablation (None for a trial of the search), and the trial's own number."""

TRIAL: Final = "trial"
"""The heading of a column with the number of the row's trial."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table. ``group``: the heading above several adjacent columns; empty if there is none. ``justify``:
    ``left`` for text, which may wrap, and ``right`` for numbers, which do not.
    """

    heading: str
    group: str = ""
    justify: Literal["left", "right"] = "right"

    @property
    def name(self) -> str:
        """The full name of the column: its heading, after its group if it has one."""
        return f"{self.group}: {self.heading}" if self.group else self.heading


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell of a table. ``text``: its content. ``style``: its Rich style; empty for the style of the row."""

    text: str
    style: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class TableRow:
    """A row of a table: its subject (the thing that the row is about) and its cells.

    ``names``: the subject in Markdown, with a text for each of ``Table.names``. ``cells``: a cell for each of
    ``Table.columns``. ``label``: the subject in formats other than Markdown. ``section``: a heading that is shown once
    above successive rows that have it, in formats other than Markdown. ``mark``: a sign before the subject. ``style``:
    the Rich style of the row. ``code``: whether the subject is shown as code. ``trial``: the trial that the row
    describes; None if it describes none.
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
    """A table of a page.

    The subjects of the rows take several columns in Markdown, and a single column in the other formats. ``names``: the
    headings of the columns of subjects in Markdown. ``heading``: the heading of the single column of subjects.
    ``columns``: the columns of the cells. ``optional``: the names of columns that a narrow page may drop, in the order
    of dropping. ``tight``: whether a narrow page narrows gaps and wraps labels before it drops a column. ``caption``:
    sentences for the caption, such as the meaning of bold cells; left out in formats without captions.
    """

    names: tuple[str, ...]
    columns: tuple[Column, ...]
    rows: tuple[TableRow, ...]
    heading: str = ""
    optional: tuple[str, ...] = ()
    tight: bool = False
    caption: str = ""


def plain_table(
    heading: str,
    columns: Iterable[Column],
    rows: Iterable[tuple[str, Iterable[str]]],
    *,
    code: bool = False,
    optional: tuple[str, ...] = (),
) -> Table:
    """A table without sections, marks and styles. ``heading``: the heading of the subjects, in all formats. ``rows``:
    the subject and the cells of each row. ``code``, ``optional``: as in ``TableRow`` and ``Table``.
    """
    found = (TableRow(names=(name,), label=name, cells=tuple(map(Cell, cells)), code=code) for name, cells in rows)
    return Table(names=(heading,), columns=tuple(columns), rows=tuple(found), heading=heading, optional=optional)


def captioned(table: Table, part: str) -> str:
    """The name of a table, with which its caption begins. ``part``: the heading above the table on the page."""
    return ": ".join(filter(None, (part, table.heading))) or "table"


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading that begins a new part of a page."""

    text: str


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence or paragraph. ``style``: its Rich style; ``dim`` marks a note on how to read the tables."""

    text: str
    style: str = ""

    @property
    def is_note(self) -> bool:
        """Whether the sentence is a note on how to read the tables. LaTeX prints such a note below the table."""
        return self.style == "dim"


@dataclass(frozen=True, slots=True)
class Listing:
    """A list of items. ``code``: whether the items are shown as code, in formats that can show code."""

    items: tuple[str, ...]
    code: bool = False


Block = Heading | Sentence | Listing | Table
"""An element of a page."""


Groups = tuple[tuple[Block, ...], ...]
"""Groups of blocks. A page has space between two groups."""


@dataclass(frozen=True, slots=True)
class FoldedPart:
    """A part of a page with details. HTML folds it under its heading; other formats may leave it out."""

    heading: str
    groups: Groups


@dataclass(frozen=True, slots=True)
class Page:
    """A report as a page. ``groups``: the blocks to read first. ``verdict``: the main result in a sentence, shown below
    the title. ``answers``: further results, a line each, shown below the verdict. ``details``: further parts of the
    page. ``whole``: the command that prints the page with its details. A page whose details are left out names this
    command.
    """

    title: str
    groups: Groups
    verdict: str = ""
    details: tuple[FoldedPart, ...] = ()
    whole: str = ""
    answers: tuple[str, ...] = ()


def about(page: Page, heading: str) -> str:
    """The subject of the tables below a heading: ``TITLE: HEADING``, or the heading if it begins with the title."""
    return heading if not page.title or heading.startswith(page.title) else f"{page.title}: {heading}"


def shortened(page: Page) -> Page:
    """Leave out the details of a page, and name them in a sentence at its end."""
    if not page.details:
        return page
    named = "; ".join(part.heading for part in page.details)
    left_out = Sentence(f"`{page.whole}` also prints: {named}." if page.whole else f"Left out: {named}.")
    *others, last = page.groups
    return replace(page, groups=(*others, (*last, left_out)), details=())


def unfolded(page: Page) -> Page:
    """Turn the details of a page into ordinary groups, below the others."""
    further = (group for part in page.details for group in ((Heading(part.heading),), *part.groups))
    return replace(page, groups=(*page.groups, *further), details=())


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture below a page, in formats that show pictures.

    ``about``: the description. ``svg``: the drawing. It is empty if the picture could not be drawn; ``about`` is then
    the reason, as a phrase. ``folded``: whether the picture belongs to the details.
    """

    heading: str
    about: str
    svg: str = ""
    folded: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Report:
    """A report in the form from which all output formats are rendered.

    ``page``: the page for readers. ``content``: the whole report, for JSON. ``records``: the numbers, for the lines of
    CSV and the rows of Parquet. ``names``: the names of the numbers in each record, in the order of the columns.
    ``pictures``: a function that draws the pictures, for HTML.
    """

    page: Page
    content: Mapping[str, Any]
    records: Sequence[Numbers] = ()
    names: Sequence[str] = ()
    pictures: Callable[[], Sequence[Picture]] = tuple
