"""Confirmed tables and studies side by side: all formats say the same, no number is without its meaning."""

import csv
import io
import json
import re
from dataclasses import replace
from html import unescape
from itertools import starmap
from typing import Any

import pytest
from rich.cells import cell_len

from skipstack.dashboards.formats.page import Report
from skipstack.dashboards.formats.rendering import render
from skipstack.dashboards.reports.confirmation.ablated_report import ablated_report
from skipstack.dashboards.reports.confirmation.confirmation_report import confirmation_report
from skipstack.dashboards.reports.confirmation.reports import confirmed_tables, in_order
from skipstack.dashboards.reports.confirmation.studies_report import NOTHING, studies_report
from skipstack.data.tasks.measures import MEASURES
from skipstack.search.analysis.confirmation.designs import by_design
from skipstack.search.analysis.confirmation.studies import compare_studies
from skipstack.search.ledger.events import Event
from skipstack.search.study.config import StudyConfig
from skipstack.search.study.record.study_record import StudyRecord
from tests.oracles.latex import printed
from tests.search.analysis.confirmation.test_confirmation import AXES, CONFIG, COUNTS, POINTS, SEEDS, on_test, trials
from tests.search.made_up import ended, proposed, record_of, reported, study


def confirmed(*, randomise: bool = False) -> Report:
    made = by_design(record_of(CONFIG, *trials()), randomise=randomise)
    assert made is not None
    return confirmation_report(made)


def test_a_table_that_can_mark_no_possible_gain_says_so() -> None:
    made = by_design(record_of(CONFIG, *trials()))
    assert made is not None
    assert made.reach is not None
    told = render(confirmation_report(replace(made, reach=replace(made.reach, smallest=1.24))), "text", full=True)
    assert "No possible gain or loss gets a mark in 80 of 100 such experiments" in " ".join(told.split())
    assert "e+02" not in told


def studies() -> Report:
    return studies_report(
        compare_studies({name: record_of(CONFIG, *trials(seeds=seeds)) for name, seeds in NAMED.items()})
    )


NAMED = {"runs/one": (0, 1, 2), "runs/other": (7, 8, 9)}


def test_the_text_is_what_a_reader_expects() -> None:
    assert (
        render(confirmed(), "text", width=80, full=True)
        == """\
made-up on grammar: confirmed on test

        test %           gain  over     p
  base   67.94

model.stack.depth
* 1      40.72  -27.22 ± 4.25  base  .001
  5      70.56  +2.61 ± 12.22  base  .635

model.stack.shortcut.gate
  none   69.11   +1.17 ± 5.88  base  .635

gain: what the change adds on test, in points, paired by seed; + helps, - harms.
±: half of its interval over 3 seeds and 60 sentences, corrected for 3 rows
(Holm). *: beyond chance (5 %): ± is smaller than the gain. Without *: no
conclusion. p: corrected likewise.

how far the table reaches

In 80 of 100 such experiments, a true gain or loss of 16 points gets a mark as
one of 3 rows, the others without effect; one of 7.8 points does in 41. 0.1
points would take more sentences, not only more seeds.

each row by itself

              test %       without           gain      g      p  trials
  base  67.94 ± 4.56             –              –      –      –       0

model.stack.depth
  1     40.72 ± 2.66  67.94 ± 4.56  -27.22 ± 2.39  -14.5  <.001    1, 0
  5     70.56 ± 4.72  67.94 ± 4.56   +2.61 ± 8.45   +1.1   .318    2, 0

model.stack.shortcut.gate
  none  69.11 ± 1.04  67.94 ± 4.56   +1.17 ± 4.08   +0.7   .343    3, 0
±: half of the 95 % interval of the number by itself, uncorrected, as p is.
without: the score of what the gain is over. g: the gain in standard deviations
of a network's score over seeds (Hedges). trials: their numbers, first the trial
with the change.
"""
    )


@pytest.mark.first(1)
@pytest.mark.parametrize("made", [confirmed, studies])
def test_all_formats_carry_the_same_numbers(made: Any) -> None:
    report = made()
    raw = list(csv.DictReader(io.StringIO(render(report, "csv"))))
    content = json.loads(render(report, "json"))
    shown = [line for line in render(report, "markdown").splitlines() if re.match(r"\| .*\| \d\d\.\d\d \| [ +-]", line)]
    assert len(raw) == len(content["rows"]) == len(shown)
    for numbers, everything, line in zip(raw, content["rows"], shown, strict=True):
        flat = {**everything, "seeds": len(everything["seeds"])}
        assert numbers == {name: "" if value is None else str(value) for name, value in flat.items()}
        assert f"| {100 * everything['test']:.2f} |" in line
        assert line.count("±") == (everything["gain"] is not None), "never two intervals"
        if everything["gain"] is not None:
            half = (everything["gain_high"] - everything["gain_low"]) / 2
            assert f"{100 * everything['gain']:+.2f} ± {100 * half:.2f}" in line.replace("-0.00", "+0.00")
            assert (abs(everything["gain"]) > half) == everything["marked"], "± decides the mark"
            assert everything["gain"] == pytest.approx(everything["test"] - everything["reference_test"])
        assert ("| * " in line) == everything["marked"]


@pytest.mark.first(1)
@pytest.mark.parametrize("width", [60, 80, 120])
@pytest.mark.parametrize("made", [confirmed, studies])
def test_no_line_is_wider_than_the_page(made: Any, width: int) -> None:
    text = render(made(), "text", width=width)
    assert all(cell_len(line) <= width for line in text.splitlines())
    assert "…" not in text
    assert width < 80 or "left out" not in text


def test_randomisation_has_its_column_where_it_was_asked_for() -> None:
    assert "p sent." not in render(confirmed(), "text")
    text = render(confirmed(randomise=True), "text", full=True)
    assert "p sent." in text
    assert "of these trained networks only" in " ".join(text.split())


def test_of_a_perplexity_what_helps_has_a_plus_too() -> None:
    made = by_design(record_of(CONFIG, *trials()))
    assert made is not None
    report = confirmation_report(replace(made, measure=MEASURES["perplexity"]))
    text = render(report, "text", full=True)
    gains = [0.01 * value for value in (-27.22, 2.61, 1.17)]
    signs = re.findall(r"([+-])\d+\.\d\d ± ", text)
    assert signs[:3] == [*"-++"], text
    assert re.findall(r" ([+-])\d+\.\d +[<.]", text) == [*"-++"], "g likewise"
    assert [record["gain"] for record in report.records[1:]] == pytest.approx(gains, abs=1e-4)
    assert "in perplexity, paired by seed; + helps (perplexity falls), - harms." in " ".join(text.split())


ABOUT = "How deep & how gated?"


def asked_of_files() -> Report:
    """The same rows, of a study of own files that has a question."""
    corpus = {"kind": "columns", "train": "atis/train.tsv", "dev": "atis/dev.tsv", "test": "atis/test.tsv"}
    whole = CONFIG.model_dump(mode="json") | {"about": ABOUT}
    whole["space"]["base"]["data"]["corpus"] = corpus
    config = StudyConfig.model_validate(whole)
    made = by_design(record_of(config, *trials(config)))
    assert made is not None
    return confirmation_report(made)


def bold_in_latex(report: Report) -> list[str]:
    return re.findall(r"\\textbf\{([^}]*)\}", render(report, "latex"))


@pytest.mark.slow
def test_bold_is_the_best_score_in_latex_and_html_and_the_caption_says_so() -> None:
    assert bold_in_latex(confirmed()) == ["70.56"]
    assert re.findall(r'<td class="[^"]*bold[^"]*">([^<]*)<', render(confirmed(), "html")) == ["70.56"]
    assert 'class="bold"' not in render(confirmed(), "html"), "no row is bold"
    for form in ("latex", "html"):
        assert "Bold: the best score" in render(confirmed(), form)
    assert "Bold" not in render(confirmed(), "text") + render(confirmed(), "markdown"), "which have none in a file"


def test_a_paper_that_takes_the_table_alone_takes_the_meaning_of_its_marks_too() -> None:
    written = render(confirmed(), "latex")
    table = written[written.index(r"\begin{table}") : written.index(r"\end{table}")]
    assert "half of its interval" in table
    assert "beyond chance" in table


def test_each_corpus_has_a_best_score_of_its_own() -> None:
    made = by_design(record_of(CONFIG, *trials()))
    assert made is not None
    corpora = [replace(row, corpus=corpus) for corpus in ("one", "other") for row in made.rows]
    assert bold_in_latex(confirmation_report(replace(made, rows=tuple(corpora)))) == ["70.56"] * 2


@pytest.mark.slow
def test_a_caption_says_what_the_study_asks_and_names_files_as_their_reader_does() -> None:
    (caption,) = printed(render(asked_of_files(), "latex")).captions
    assert caption == f"made-up on atis/train.tsv: confirmed on test. {ABOUT} Bold: the best score."
    html = render(asked_of_files(), "html")
    named, told = re.search("<caption>(.*?)</caption>", html), re.search('</div>\n<p class="dim">(.*?)</p>', html)
    assert named
    assert told
    assert unescape(f"{named[1]}. {told[1]}") == caption
    assert r"\label{tab:made-up-on-atis-train-tsv-confirmed-on-test}" in render(asked_of_files(), "latex")


def of_one_seed() -> StudyRecord:
    """A grid of two trials, each with one seed, and all of its epochs."""
    config = study(AXES, proposer="grid", scheduler="none", seeds=1)
    events: list[Event] = []
    for number, point in enumerate(POINTS[:2]):
        one = on_test(number, COUNTS[number][:1])
        events += [proposed(config, number, point), reported(number, 1, 0.7), ended(number), one]
    return record_of(config, *events)


@pytest.mark.slow
def test_one_seed_confirms_nothing_and_its_table_says_so() -> None:
    (report,) = starmap(ablated_report, confirmed_tables(of_one_seed()))
    title = "made-up on grammar: measured on test with one seed, not confirmed"
    for form in ("text", "html", "latex", "markdown"):
        assert title in render(report, form, width=120)
        assert "confirmed on" not in render(report, form, width=120)


def test_what_is_confirmed_stands_before_what_is_not() -> None:
    record, several = of_one_seed(), record_of(CONFIG, *trials())
    alone, confirmed_one = confirmed_tables(record)[0], confirmed_tables(several)[0]
    assert [table.confirmed for _, table in in_order([alone, confirmed_one])] == [True, False]


def test_studies_of_one_seed_have_nothing_confirmed_in_common() -> None:
    found = compare_studies({"a": of_one_seed(), "b": of_one_seed()})
    assert found.rows == ()


def test_studies_without_anything_confirmed_in_both_say_what_it_takes() -> None:
    searched = study(AXES, proposer="random", scheduler="none", seeds=SEEDS)
    record = record_of(searched, *trials(searched))
    text = render(studies_report(compare_studies({"a": record, "b": record})), "text", width=80)
    assert NOTHING in " ".join(text.split())
    assert "±" not in text


def test_a_study_of_one_config_has_its_score_with_an_interval_and_nothing_to_compare() -> None:
    config = study({}, proposer="grid", scheduler="none", seeds=SEEDS)
    (base,) = (event for event in trials() if event.kind == "tested" and event.trial == 0)
    events: list[Event] = [proposed(config, 0, {}), reported(0, 1, 0.7, 0.7, 0.71), ended(0), base]
    (report,) = starmap(ablated_report, confirmed_tables(record_of(config, *events)))
    text = " ".join(render(report, "text", full=True).split())
    assert "test % base 67.94 ± 4.56 ±: half of the 95 % interval over 3 seeds and 60 sentences" in text
    assert "gain" not in text
