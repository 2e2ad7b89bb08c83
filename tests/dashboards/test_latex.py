"""LaTeX: what it prints is what the page says, whatever that holds; and it compiles."""

import re
import shutil
import subprocess
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skipstack.dashboards.formats.latex import MOST_LINES, as_latex
from skipstack.dashboards.formats.latex_text import COMMANDS
from skipstack.dashboards.formats.page import Cell, Column, Heading, Listing, Page, Report, Sentence, Table, TableRow
from skipstack.dashboards.formats.rendering import render
from skipstack.dashboards.reports.exploration.report import exploration_report
from skipstack.search.api.study import exploration_of
from skipstack.search.study.record.study_record import StudyRecord
from tests.dashboards.compiling import TEX, compiled
from tests.oracles.latex import Printed, printed
from tests.search.made_up import history, study

HOSTILE = (
    *("100% & #1 $x_1^2$ {a} ~b~ \\input{/etc/passwd} \\fi \\end{document}", "--trials a,,b ''c'' `d` \"e\" <f> |g|"),
    *("[h] * i", "* j", "é ß ñ Ł ﬁ", "λ = 0.5, Δ ≤ 3 ± 1 † › ≠ ◆ – — … ² × → ∞ µ", "中文 語言 Привет שלום 😀 𝔸"),
    *("a" * 120, "model.stack.shortcut.gate=" + "x_" * 40, "a  b\n\nc\td", "%", "-1", "-0.08 ± 0.04", " ", "?` !`"),
)


def table_of(*texts: str, code: bool = False) -> Page:
    rows = tuple(
        TableRow(
            names=(text,), label=text, cells=(Cell(text), Cell(text)), section=text, mark=Cell(text[:1]), code=code
        )
        for text in texts
    )
    columns = (Column(texts[0], "of one"), Column(texts[-1], "of another", justify="left"))
    return Page(texts[0], ((Table(names=("name",), columns=columns, rows=rows, heading=texts[-1]),),))


def as_printed(text: str) -> str:
    """What there is to be read of a text: blanks of any kind are one."""
    return " ".join(re.split(r"[ \t\n]+", unicodedata.normalize("NFC", text))).strip()


def read(page: Page) -> Printed:
    return printed(render(Report(page=page, content={}), "latex"))


@pytest.mark.parametrize("code", [False, True])
@given(
    text=st.text(st.characters(exclude_categories=["Cc", "Cs", "Cf", "Zl", "Zp", "Zs"]) | st.sampled_from(" -'`,%\\[*"))
)
def test_any_text_is_printed_as_it_is(text: str, code: bool) -> None:
    found = printed(as_latex(Page("", ((Sentence("before"), Listing((text,), code=code), Heading(text)),))))
    assert "".join(found.text.split()) == "".join(("before" + text * 2).split()) or (
        as_printed(found.text).split() == as_printed(f"before {text} {text}").split()
    )


@pytest.mark.parametrize("code", [False, True])
def test_each_cell_of_a_table_is_printed_below_its_heading(code: bool) -> None:
    found = read(table_of(*HOSTILE, code=code))
    (groups, headings, *rows) = [row for part in found.tables for row in part]
    texts = [as_printed(text) for text in HOSTILE]
    assert groups == ["", "", "of one", "of another"]
    assert headings == ["", texts[-1], texts[0], texts[-1]]
    assert [row for row in rows if len(row) == 1] == [[text] for text in texts]
    ours = [row for row in rows if len(row) == 4 and row not in (groups, headings)]
    signed = [re.sub(r"^-(?=\d)", "−", text) for text in texts]
    assert ours == [
        [text[:1].strip(), plain, number, number] for text, plain, number in zip(HOSTILE, texts, signed, strict=True)
    ]
    assert found.captions[0].startswith(texts[0])


def test_a_table_longer_than_a_page_goes_on_in_the_next_one() -> None:
    rows = tuple(TableRow(names=(str(place),), label=str(place), cells=(Cell(str(place)),)) for place in range(100))
    page = Page("many", ((Table(names=("n",), columns=(Column("n"),), rows=rows), Sentence("said once", "dim")),))
    found = read(page)
    assert [len(part) - 1 for part in found.tables] == [MOST_LINES, MOST_LINES, 20]
    assert [row[1] for part in found.tables for row in part[1:]] == [str(place) for place in range(100)]
    assert found.captions == ["many (1 of 3)", "many (2 of 3)", "many (3 of 3)"]
    assert as_latex(page).count("said once") == 1


def made_up() -> Report:
    return exploration_report(exploration_of(StudyRecord.of(history(study(), seed=0))))


def test_the_report_of_a_study_is_a_table_with_its_notes_and_the_text_around_it() -> None:
    report = made_up()
    written = render(report, "latex", full=True)
    whole, values, *_ = printed(written).tables
    assert len([row for rows in (whole, values) for row in rows if len(row) > 2]) == 2 + len(report.records)
    short = render(report, "latex")
    assert printed(short).tables == [whole]
    assert "also prints: values;" in short.split(r"\end{table}")[1]
    table = written.split(r"\begin{table}")[2].split(r"\end{table}")[0]
    assert r"\label{tab:made-up-values}" in table
    assert "trials: " not in table
    assert table.count("--") == 0
    assert r"\textdagger{}: not trained to its end." in table


@pytest.mark.slow
@pytest.mark.parametrize("engine", TEX)
def test_it_compiles_as_it_is(tmp_path: Path, engine: str) -> None:
    pages = [made_up().page, table_of(*HOSTILE), table_of(*HOSTILE, code=True)]
    for place, page in enumerate(pages):
        (folder := tmp_path / str(place)).mkdir()
        compiled(folder, render(Report(page=page, content={}), "latex"), engine)


@pytest.mark.slow
def test_every_sign_that_has_a_name_has_one_that_latex_knows(tmp_path: Path) -> None:
    compiled(tmp_path, as_latex(table_of("".join(COMMANDS), *COMMANDS)))


@pytest.mark.slow
def test_a_paper_takes_the_tables_alone(tmp_path: Path) -> None:
    (tmp_path / "made.tex").write_text(render(made_up(), "latex"))
    paper = [
        *(r"\documentclass[twocolumn]{article}", r"\usepackage[T1]{fontenc}", r"\usepackage{booktabs,graphicx}"),
        *(r"\begin{document}", r"See Table~\ref{tab:made-up}.", r"\input{made}", r"After it.", r"\end{document}"),
    ]
    log = compiled(tmp_path, "\n".join(paper))
    assert "(./made.tex" in log
    if (reader := shutil.which("pdftotext")) is not None:
        shown = subprocess.run(
            [reader, "report.pdf", "-"], cwd=tmp_path, capture_output=True, text=True, check=True
        ).stdout
        assert "See Table 1." in shown
        assert "After it." in shown
        assert "standard" in shown
        assert "of training and evaluation" not in shown
