"""The report as one file of HTML: whole, readable without a program or a network, and closed to whatever names hold."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pandas as pd
import pytest

from skipstack.dashboards.charts.importance import importance
from skipstack.dashboards.formats.page import (
    Cell,
    Column,
    FoldedPart,
    Heading,
    Listing,
    Page,
    Picture,
    Report,
    Sentence,
    Table,
    TableRow,
)
from skipstack.dashboards.formats.rendering import render
from skipstack.dashboards.formats.svg import inlined
from tests.dashboards.charts.drawn import as_svg
from tests.oracles.browser import opened

HOSTILE = (
    *(
        "</script><script>fetch('//x')</script>",
        '"><img src=x onerror=alert(1)>',
        "</table></svg></style><h1>",
        "&lt;b&gt;",
    ),
    *("javascript:alert(1)", "<!--", "]]>", "' onmouseover='alert(1)", "{{constructor}}", "\\u003cscript\\u003e"),
)
VOID = {"meta", "link", "br"}
ALLOWED = {
    *(
        "html",
        "head",
        "meta",
        "link",
        "title",
        "style",
        "body",
        "main",
        "h1",
        "h2",
        "p",
        "ul",
        "li",
        "code",
        "div",
        "span",
    ),
    *("details", "summary", "section", "figure", "figcaption", "table", "caption", "thead", "tbody", "tr", "th", "td"),
    *("svg", "g", "path", "text", "tspan", "rect", "line", "defs", "clippath", "lineargradient", "stop"),
}


class Reader(HTMLParser):
    """The elements of a page, each with its attributes and its text, which have to close as they opened."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[int] = []
        self.names: list[str] = []
        self.attributes: list[dict[str, str | None]] = []
        self.texts: list[str] = []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        self.attributes.append(dict(attrs))
        self.texts.append("")
        if tag not in VOID:
            self.open.append(len(self.names) - 1)

    def handle_endtag(self, tag: str) -> None:
        assert self.names[self.open.pop()] == tag

    def handle_data(self, data: str) -> None:
        for place in self.open:
            self.texts[place] += data

    def every(self, name: str) -> list[tuple[str, dict[str, str | None]]]:
        """The text and the attributes of each element of a name."""
        return [
            (text, own)
            for own_name, text, own in zip(self.names, self.texts, self.attributes, strict=True)
            if own_name == name
        ]


def page_of(*texts: str) -> Report:
    """A page with each of the texts in every place where one can stand, and a picture."""
    rows = tuple(
        TableRow(
            names=(text,), label=text, section=text, cells=(Cell(text, "green"), Cell(text)), mark=Cell(text), code=True
        )
        for text in texts
    )
    columns = (Column(texts[0], texts[0]), Column(texts[-1], texts[-1], justify="left"))
    table = Table(names=("name",), columns=columns, rows=rows, heading=texts[0])
    blocks = (Heading(texts[0]), table, *(Sentence(text) for text in texts), Listing(texts, code=True))
    frame = pd.DataFrame({"axis": texts, "fanova": 0.5, "by_chance": 0.1, "stands_out": False})
    pictures = [Picture(texts[0], texts[0], as_svg(importance(frame))), Picture(texts[-1], texts[-1])]
    return Report(page=Page(texts[0], (blocks,)), content={}, pictures=lambda: pictures)


def test_what_names_hold_is_text_wherever_it_stands() -> None:
    read = Reader(render(page_of(*HOSTILE), "html"))
    assert set(read.names) <= ALLOWED
    assert not [
        name
        for own in read.attributes
        for name in own
        if name.startswith("on") or (name in ("href", "src", "xlink:href") and own.get("rel") != "icon")
    ]
    assert [text for text, _ in read.every("li")] == list(HOSTILE)
    left_out = f"Pictures that are left out: {HOSTILE[-1]} ({HOSTILE[-1]})."
    assert [text for text, _ in read.every("p")] == [*HOSTILE, left_out]
    assert [text for text, _ in read.every("td")][-2:] == [HOSTILE[-1]] * 2
    written = {text for text, _ in read.every("text")}
    assert {text for text in HOSTILE if len(text) < 30} <= written
    titles = [text for name in ("title", "h1", "h2", "caption") for text, _ in read.every(name)]
    assert titles == [HOSTILE[0]] * 4 + [f"{HOSTILE[0]}: {HOSTILE[0]}"]


def test_the_verdict_stands_first_and_details_are_folded_unless_all_is_asked_for() -> None:
    detail = FoldedPart("rungs", ((Sentence("of three rungs"),), (Listing(("one",)),)))
    drawing = as_svg(
        importance(pd.DataFrame({"axis": ["a"], "fanova": [1.0], "by_chance": [0.1], "stands_out": [True]}))
    )
    page = Page("a study", ((Sentence("first"),),), "It is <better>.", (detail,), whole="skipstack report DIR --full")
    pictures = [Picture("seen", "at once", drawing), Picture("of the search", "", drawing, folded=True)]
    report = Report(page=page, content={}, pictures=lambda: pictures)
    read = Reader(render(report, "html"))
    assert [text for text, _ in read.every("p")] == ["It is <better>.", "first", "of three rungs"]
    assert next(own.get("class") for _, own in read.every("p")) == "verdict"
    assert [text for text, _ in read.every("summary")] == ["rungs", "pictures of the search"]
    folded = [text for text, _ in read.every("details")]
    assert "of three rungs" in folded[0]
    assert "of the search" in folded[1]
    assert "seen" not in "".join(folded)
    assert set(read.names) <= ALLOWED
    whole = Reader(render(report, "html", full=True))
    assert not whole.every("details")
    assert [text for text, _ in whole.every("h2")] == ["rungs", "seen", "of the search"]
    for form in ("text", "markdown"):
        short, full = render(report, form), render(report, form, full=True)  # type: ignore[arg-type]
        assert "of three rungs" not in short
        assert "also prints: rungs." in short
        assert "of three rungs" in full
        assert "also prints" not in full


def test_those_who_do_not_see_it_are_told() -> None:
    read = Reader(render(page_of("one", "two"), "html"))
    assert read.every("html")[0][1]["lang"] == "en"
    assert [name for name in read.names if name in ("h1", "h2")] == ["h1", "h2", "h2"]
    assert len(read.every("h1")) == 1
    assert len(read.every("caption")) == len(read.every("table")) == 1
    assert {own.get("scope") for _, own in read.every("th")} == {"col", "row", "rowgroup", "colgroup"}
    (svg,) = [own for _, own in read.every("svg")]
    assert (svg["role"], svg["aria-label"]) == ("img", "one")
    assert next(own for _, own in read.every("div") if own.get("class") == "wide")["tabindex"] == "0"
    widths = [sum(int(own.get("colspan") or 1) for own in row) for row in _rows(read)]
    assert set(widths) == {3}


def _rows(read: Reader) -> list[list[dict[str, str | None]]]:
    rows: list[list[dict[str, str | None]]] = []
    for name, own in zip(read.names, read.attributes, strict=True):
        if name == "tr":
            rows.append([])
        elif name in ("th", "td"):
            rows[-1].append(own)
    return rows


def test_nothing_is_loaded_and_no_program_runs() -> None:
    page = render(page_of("one", "two"), "html")
    assert "<script" not in page
    assert set(re.findall(r"(?:https?:)?//[\w.]+", page)) <= {"http://www.w3.org"}
    assert "default-src 'none'" in page
    assert not re.search(r"@import|url\((?!#)", page)


def test_the_parts_of_two_pictures_do_not_meet() -> None:
    svg = as_svg(importance(pd.DataFrame({"axis": ["a"], "fanova": [1.0], "by_chance": [0.1], "stands_out": [True]})))
    first, second = (inlined(svg, name=name, about="") for name in ("one", "two"))
    named = [set(re.findall(r'id="([^"]+)"', each)) for each in (first, second)]
    assert not named[0] & named[1]
    for own, drawn in zip(named, (first, second), strict=True):
        assert set(re.findall(r"url\(#([^)]+)\)", drawn)) <= own


@pytest.mark.parametrize(
    "inner",
    [
        "<script>alert(1)</script>",
        "<image href='https://example.org/a.png'/>",
        "<a xlink:href='javascript:alert(1)' xmlns:xlink='http://www.w3.org/1999/xlink'/>",
        "<g onclick='alert(1)'/>",
        "<foreignObject/>",
        "<style>a{}</style>",
        "<rect fill='url(https://example.org)'/>",
        "<path href='#a'/>",
    ],
)
def test_a_drawing_with_more_than_shapes_and_words_is_refused(inner: str) -> None:
    with pytest.raises(ValueError, match="in a picture"):
        inlined(f'<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1">{inner}</svg>', name="a", about="")


@pytest.mark.slow
def test_a_browser_opens_it_and_has_nothing_to_say(tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    page.write_text(render(page_of(*HOSTILE), "html"))
    shown, console = opened(page)
    assert console == []
    read = Reader(shown)
    assert set(read.names) <= ALLOWED
    assert len(read.every("svg")) == 1
    page.write_text(render(page_of("one"), "html").replace("</main>", "<script>console.log('ran')</script></main>"))
    (said,) = opened(page)[1]
    assert "Content Security Policy" in said
