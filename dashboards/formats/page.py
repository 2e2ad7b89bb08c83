"""The one form of everything that is printed: a page of sentences, lists and tables, and the numbers behind it.

Each report makes a page; each format has one renderer (``text.py``, ``markdown.py``, ``latex.py``, ``html.py``,
``raw.py``), which knows pages and no report.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from skipstack.spaces.subject import Scalar

if TYPE_CHECKING:
    from skipstack.search.analysis.frames.trace import Traced

Numbers = Mapping[str, Scalar]
"""The numbers of a row by their full names."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table. Columns of one ``group`` stand side by side; text on the left may be broken, numbers not."""

    heading: str
    group: str = ""
    justify: Literal["left", "right"] = "right"

    @property
    def name(self) -> str:
        """The heading, after its group if it has one."""
        return f"{self.group}: {self.heading}" if self.group else self.heading


@dataclass(frozen=True, slots=True)
class Cell:
    """The text of a cell, and its Rich style where it is not that of the row."""

    text: str
    style: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """A row of a table: what it is about, and its cells.

    ``names``: what it is about, as Markdown has it under ``Table.names``, as code if ``code``; ``label``: the same in
    text, below the heading ``section``. ``mark``: before it, in both.
    """

    names: tuple[str, ...]
    cells: tuple[Cell, ...]
    label: str
    section: str = ""
    mark: Cell = Cell("")
    style: str = ""
    code: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Table:
    """Rows under columns.

    ``names``: the headings of the columns before these in Markdown; ``heading``: that of the one label in text.
    ``optional``: the columns that a narrow page goes without, by name, the first one first; ``tight``: before one goes,
    the gaps between columns become narrower, and labels go on in a second line.
    """

    names: tuple[str, ...]
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    heading: str = ""
    optional: tuple[str, ...] = ()
    tight: bool = False


def captioned(table: Table, part: str) -> str:
    """What a table is called in a part of a page."""
    return ": ".join(filter(None, (part, table.heading))) or "table"


@dataclass(frozen=True, slots=True)
class Heading:
    """The heading of a part of the page."""

    text: str


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence, or a paragraph of them, in a Rich style; one that is ``dim`` is a note on how to read the tables."""

    text: str
    style: str = ""

    @property
    def is_note(self) -> bool:
        """Whether it stays with the tables wherever they go."""
        return self.style == "dim"


@dataclass(frozen=True, slots=True)
class Listing:
    """Items one below the other; ``code``: they are shown as code where a format has a way to."""

    items: tuple[str, ...]
    code: bool = False


Block = Heading | Sentence | Listing | Table


@dataclass(frozen=True, slots=True)
class Page:
    """A title, and groups of blocks with space between them."""

    title: str
    groups: tuple[tuple[Block, ...], ...]


@dataclass(frozen=True, slots=True)
class Picture:
    """What formats with pictures show below the page: a heading, what there is to be seen in words, and the drawing.

    ``svg``: the drawing; empty where there is none, and ``about`` says why, as a part of a sentence.
    """

    heading: str
    about: str
    svg: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Report:
    """A page for people, and the same for machines: ``content`` as JSON has it, ``records`` as lines of CSV.

    ``names``: those of the numbers of each record. ``pictures``: draws those of HTML. ``traced``: finds the events of
    the ledger that each number is computed from.
    """

    page: Page
    content: Mapping[str, Any]
    records: Sequence[Numbers] = ()
    names: Sequence[str] = ()
    pictures: Callable[[], Sequence[Picture]] = tuple
    traced: "Callable[[], Iterable[Traced]]" = tuple
