"""The comparison with a paper: all formats say the same, at any width."""

import csv
import io
import json
import re
from dataclasses import replace
from typing import Any, get_args

import pytest
from rich.cells import cell_len

from skipstack.dashboards.formats.rendering import Format
from skipstack.dashboards.formats.rendering import render as render_report
from skipstack.dashboards.reports.confirmation.comparison_report import COLUMNS, DISAGREES, comparison_report
from skipstack.data.tasks.measures import MEASURES
from skipstack.search.analysis.confirmation.against import PaperComparison, compare
from skipstack.search.analysis.confirmation.papers import find_table
from skipstack.search.study.record.study_record import StudyRecord
from tests.search.made_up import ended, measured, proposed, record_of, reported, study

TOPOLOGY = "model.stack.shortcut.topology"
ESCAPE = "\x1b"
BY_DESIGN: dict[str, Any] = {"proposer": "grid", "scheduler": "none"}


def render(comparison: PaperComparison, form: Format, *, width: int = 120, terminal: bool = False) -> str:
    return render_report(comparison_report(comparison), form, width=width, terminal=terminal)


def made_up(seeds: int = 2, table: str = "wu2017/table-2", ends: int = 3) -> PaperComparison:
    return compare(tried(seeds, ends), table, find_table(table))


def tried(seeds: int = 2, ends: int = 3) -> StudyRecord:
    """The block, and two others: one with another sign than the paper's, one that was not tested. Some ended."""
    config = study(
        {TOPOLOGY: {"choice": ["block", "hidden_gated", "both_gated", "block_no_output"]}},
        composition=2,
        seeds=seeds,
        **BY_DESIGN,
    )
    dev = [(0.95, 0.951), (0.9552, 0.9563), (0.9495, 0.9502)]
    points = ["block", "hidden_gated", "both_gated"]
    return record_of(
        config,
        *(proposed(config, number, {TOPOLOGY: value}) for number, value in enumerate(points)),
        *(reported(number, 1, *values[:seeds]) for number, values in enumerate(dev)),
        *(ended(number) for number in range(ends)),
        measured(0, *(0.94, 0.95)[:seeds]),
        measured(1, *(0.94, 0.955)[:seeds]),
    )


@pytest.mark.slow
def test_scores_that_are_f1_are_called_so_in_every_format() -> None:
    spans = replace(made_up(), measure=MEASURES["f1"])
    for form in get_args(Format):
        text = render(spans, form)
        assert "dev %" not in text
        assert ("dev F1" in text) == (form not in ("csv", "json"))
    assert json.loads(render(spans, "json"))["measure"] == "f1"


def test_the_text_is_what_a_reader_expects() -> None:
    assert (
        render(made_up(), "text", width=88)
        == """\
made-up on grammar, against wu2017/table-2: Comparison of shortcut topologies

                                       paper                  ours
                                       dev %  test %   gain  dev %           gain
≠ h updated, gated (Wu et al., 2016b)  94.51   94.67  -0.23  95.58  +0.53 ± 0.13*
  c and h, no gate (original)          93.84   93.84  -0.90      –              –
  c and h, no gate (updated)           93.84   93.84  -0.90      –              –
  c and h, gated (original)            94.72   95.08  -0.02  94.99   -0.06 ± 0.19
  c and h, gated (updated)             94.72   95.08  -0.02      –              –
  c and h, highway gate (original)     94.49   94.62  -0.25      –              –
  c and h, highway gate (updated)      94.49   94.62  -0.25      –              –
  c and h, two gates (original)        94.72   94.98  -0.02      –              –
  c and h, two gates (updated)         94.72   94.98  -0.02      –              –
  shortcut block                       94.74   94.95   base  95.05           base
  block, no gate in h                  94.15   94.29  -0.59      –              –
  block, no gate in m                  94.77   94.97  +0.03      –              –
  block, shared gate                   94.68   94.83  -0.06      –              –
  block, no shortcut in m              93.83   94.01  -0.91      –              –
  block, no shortcut in h              93.58   93.82  -1.16      –              –

Spearman's rank correlation of paper and ours on dev, over 3 rows that both have: -0.50
≠ 1 of 2 gains: beyond chance, with the other sign than the paper's
note: the block itself is not in the table; its figures are those of the same network in
Table 1. The caption leaves open which cell state the output reads, that before the
shortcut has entered it (original) or that after (updated), so that a figure stands
beside both; our loss averages over the tokens of a sentence, where the paper's sums
(eq. 3), and our word vectors start from random values, where the paper's start from
GloVe
Ours: the base with what the row has and nothing else. gain: what the row adds to
shortcut block on dev, in points, paired by seed; + helps, - harms. ±: half of its
interval over 2 seeds alone, since no counts by sentence are known, corrected for 2 rows
(Holm). *: beyond chance (5 %): ± is smaller than the gain. Without *: no conclusion. –:
not in the paper, or not tried.
Left out: each row by itself.
left out at this width: ours: test %, ours: trial
"""
    )


def test_where_the_gain_would_stand_a_trial_that_is_not_whole_says_so() -> None:
    text, markdown = (render(made_up(ends=2), form) for form in ("text", "markdown"))
    assert re.search(r"c and h, gated \(original\) +94.72 +95.08 +\+0.13 +94.99 +running", text)
    assert "| running |" in markdown
    for told in (text, markdown):
        assert "over 2 rows that both have" in told
        assert "running: not trained to its end, so without a gain and not ranked" in told
    assert "no gains of ours: the paper's base, shortcut block, is not trained" in render(made_up(ends=0), "text")


def test_all_formats_carry_the_same_numbers() -> None:
    made = made_up()
    text = render(made, "text").splitlines()
    markdown = [re.split(r"(?<!\\)\|", line)[1:-1] for line in render(made, "markdown").splitlines() if "|" in line]
    raw = list(csv.DictReader(io.StringIO(render(made, "csv"))))
    content: Any = json.loads(render(made, "json"))
    assert len(markdown) - 2 == len(raw) == len(content["rows"]) == len(made.rows)
    for cells, numbers, everything, row in zip(markdown[2:], raw, content["rows"], made.rows, strict=True):
        shown = [cell.strip().replace("\\", "") for cell in cells]
        label = f"{DISAGREES} {row.ours.label}" if row.disagrees else f"  {row.ours.label}"
        (line,) = (line for line in text if line.startswith(f"{label}  "))
        assert " ".join([label.strip(), *shown[1:]]).split() == line.split()
        assert shown[0] == label.strip()
        ours = row.ours
        assert numbers == {
            name: "" if value is None else str(value)
            for name, value in {**everything, "seeds": len(everything["seeds"])}.items()
        }
        assert (everything["paper_dev"], everything["paper_test"]) == (row.paper_dev, row.paper_test)
        assert everything["disagrees"] == row.disagrees
        assert (everything["dev"], everything["dev_half"]) == (
            (None, None) if ours.dev is None else (ours.dev.value, ours.dev.half)
        )
        assert (everything["gain_low"], everything["gain_high"]) == (ours.corrected or (None, None))
        assert (everything["p_holm"], everything["marked"]) == (ours.p, ours.marked)
        assert shown[1] == f"{100 * (row.paper_dev or 0):.2f}"
        assert everything["seeds"] == list(ours.seeds)
    assert (content["rank_correlation"], content["shared_rows"]) == (made.correlation, 3)


@pytest.mark.first(4)
@pytest.mark.parametrize("width", [50, 60, 70, 80, 100, 120, 200])
@pytest.mark.parametrize("terminal", [False, True])
def test_no_line_is_wider_than_the_terminal_and_no_value_is_cut(width: int, terminal: bool) -> None:
    text = re.sub(rf"{ESCAPE}\[[0-9;]*m", "", render(made_up(), "text", width=width, terminal=terminal))
    assert all(cell_len(line) <= width for line in text.splitlines())
    assert "…" not in text
    assert "+0.53±0.13*" in text.replace(" ", "")
    told = re.search(r"left out at this width: (.*)", text, re.DOTALL)
    left_out = re.split(r",\s+", " ".join(told[1].split())) if told else []
    assert {column.name for column in COLUMNS if column.heading in ("test %", "trial")} >= set(left_out)
    assert (width >= 100) == (not left_out)


def test_a_wide_page_leaves_nothing_out() -> None:
    assert "left out" not in render(made_up(), "text")


def test_what_is_compared_on_test_keeps_its_columns() -> None:
    text = render(made_up(table="wu2017/table-6"), "text", width=64)
    assert "97.48" in text
    assert "paper: dev %" in text
    assert "on test, over 0 rows that both have: not defined" in " ".join(text.split())
    assert "no gains of ours: the paper's base, 7-stacked mixed, non-linear gate, was not tried" in " ".join(
        text.split()
    )


@pytest.mark.parametrize("form", get_args(Format))
def test_with_one_seed_no_format_says_nan(form: Format) -> None:
    report = render(made_up(seeds=1), form)
    assert "nan" not in report.lower()
    assert DISAGREES not in report or f"{DISAGREES} 0 of 2" in report


def test_text_for_a_pipe_has_no_control_character() -> None:
    text = render(made_up(), "text")
    assert not [character for character in text if ord(character) < 32 and character != "\n"]
    assert not [line for line in text.splitlines() if line != line.rstrip()]


def test_bold_is_the_best_score_of_each_column() -> None:
    """Of the paper, on dev and on test, and of ours, on dev and on test."""
    made = made_up()
    bold = re.findall(r"\\textbf\{([^}]*)\}", render(made, "latex"))
    columns = [[score for score in scores if score is not None] for scores in zip(*_papers(made), strict=True)]
    papers = [[f"{100 * max(scores):.2f}"] * scores.count(max(scores)) for scores in columns if scores]
    ours = ["95.58", "94.75"]
    assert sorted(each.partition(" ")[0] for each in bold) == sorted(sum(papers, ours))
    assert "Bold: the best score of a column." in render(made, "latex")


def _papers(made: PaperComparison) -> list[tuple[float | None, float | None]]:
    return [(row.paper_dev, row.paper_test) for row in made.rows]


def test_precision_and_recall_have_columns_where_the_paper_prints_them_and_own_test_sets_are_told() -> None:
    made = made_up()
    assert "precision" not in render(made, "markdown")
    row = replace(made.rows[0], paper_precision=0.9, paper_recall=0.8, precision=0.85, recall=0.75)
    printed = replace(made, rows=(row, *made.rows[1:]))
    headings, _, cells, *_ = (line.split("|") for line in render(printed, "markdown").splitlines() if "|" in line)
    shown = dict(zip(map(str.strip, headings), map(str.strip, cells), strict=True))
    assert (shown["paper: precision"], shown["paper: recall"]) == ("90.00", "80.00")
    assert (shown["ours: precision"], shown["ours: recall"]) == ("85.00", "75.00")
    own = " ".join(render(replace(made, same_test_set=True), "text").split())
    assert "over 2 seeds alone, since the test set is the paper's own, corrected" in own
