"""The report: all formats say the same, at any width, and machines can read what is meant for them."""

import csv
import io
import json
import re
import runpy
import xml.etree.ElementTree as ET
from dataclasses import replace
from functools import cache
from itertools import islice
from statistics import fmean, stdev
from typing import Any, get_args

import pandas as pd
import pytest
from rich.cells import cell_len

from skipstack.dashboards.charts.drawing import words
from skipstack.dashboards.formats.page import Heading, Listing, Sentence, unfolded
from skipstack.dashboards.formats.rendering import Format
from skipstack.dashboards.formats.rendering import render as render_report
from skipstack.dashboards.reports.exploration.report import exploration_report
from skipstack.dashboards.reports.exploration.table import COLUMNS, CUT, LEADS
from skipstack.dashboards.reports.pictures.search_pictures import BY_CHANCE, search_charts
from skipstack.dashboards.reports.printing import say
from skipstack.data.basis.printable import UNSEEN
from skipstack.data.tasks.measures import MEASURES
from skipstack.search.analysis.exploration.effects import Effect
from skipstack.search.analysis.exploration.exploration import Exploration
from skipstack.search.analysis.exploration.exploration_frame import exploration_frame
from skipstack.search.api.study import exploration_of
from skipstack.search.ledger.events import Event, Finished, Proposed, Retried
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.spaces.domains import Json
from skipstack.spaces.space import Point
from tests.oracles.latex import printed
from tests.pages import ROOT
from tests.search.made_up import (
    AXES,
    COMPOSITION,
    DEPTH,
    HIDDEN,
    ended,
    history,
    measured,
    proposed,
    record_of,
    reported,
    study,
)
from tests.search.statistics.named import NOISE

ESCAPE = "\x1b"
HEADINGS = [column.heading for column in COLUMNS]


def render(table: Exploration, form: Format, *, width: int = 120, terminal: bool = False, full: bool = True) -> str:
    return render_report(exploration_report(table), form, width=width, terminal=terminal, full=full)


@cache
def _made_up(seed: int = 0, **search: Any) -> Exploration:
    return exploration_of(StudyRecord.of(history(study(**search), seed=seed)))


def _two_depths(**search: Any) -> StudyRecord:
    """The base, of depth 3, and one of depth 5 that is better with each of its two seeds; depth 1 was not tried."""
    config = study({DEPTH: {"choice": [1, 3, 5]}}, **search)
    return record_of(
        config,
        proposed(config, 0, {DEPTH: 3}),
        proposed(config, 1, {DEPTH: 5}),
        reported(0, 1, 0.9512, 0.9536),
        reported(1, 1, 0.9612, 0.9676, seconds=2.25),
        ended(0),
        ended(1),
        measured(0, 0.95, 0.95),
        measured(1, 0.96, 0.9626),
        Finished(time=0.0),
    )


@pytest.mark.slow
def test_scores_that_are_f1_are_called_so_in_every_format() -> None:
    made = _made_up()
    spans = replace(made, measure=MEASURES["f1"])
    text, markdown, content = (render(spans, form) for form in ("text", "markdown", "json"))
    for written in (text, markdown):
        assert "dev F1" in written
        assert "test F1" in written
        assert "dev, test: F1 of the best of them" in written
        assert "The best dev F1 of 1," in written
        assert "dev %" not in written
        assert "accuracy" not in written
    assert json.loads(content)["measure"] == "f1"
    assert json.loads(render(made, "json"))["measure"] == "accuracy"
    assert render(spans, "csv") == render(made, "csv")
    assert "left out at this width: deviation, test F1, trial" in " ".join(render(spans, "text", width=32).split())


def _text_rows(text: str) -> list[dict[str, str]]:
    """The cells of each row of both tables, by heading, found by the columns' right edges; headings of axes are passed
    over. The first cell is a label, and with it the first number.
    """
    rows, edges, headings = list[dict[str, str]](), list[int](), list[str]()
    for line in text.splitlines():
        if "dev %" in line:
            found = {each[0]: each.end() for each in re.finditer(r"\w+ %|\w+", line)}
            headings, edges = list(found), list(found.values())
        elif line and line[:2] not in ("  ", f"{LEADS} ") and line not in AXES:
            edges = []
        elif edges and line and line not in AXES:
            padded, starts = line.ljust(edges[-1]), [0, *edges[:-1]]
            cells = [padded[start:edge].strip() for start, edge in zip(starts, edges, strict=True)]
            rows.append(dict(zip(headings, cells, strict=True)))
    return rows


def _markdown_rows(text: str) -> list[dict[str, str]]:
    """The cells of each row of both tables, by heading; the first two are called alike in both."""
    rows, headings = list[dict[str, str]](), list[str]()
    for line in text.splitlines():
        cells = [cell.strip().replace("\\", "") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if cells[:2] in (["config", "trial"], ["axis", "value"]):
            headings = ["axis", "value", *cells[2:]]
        elif headings and len(cells) == len(headings) and not cells[0].startswith("---"):
            rows.append(dict(zip(headings, cells, strict=True)))
        elif not line.startswith("|"):
            headings = []
    return rows


def _csv_rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def _json(text: str) -> Any:
    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is not JSON")

    return json.loads(text, parse_constant=refuse)


@pytest.mark.first(1)
@pytest.mark.parametrize("seed", range(4))
def test_all_formats_carry_the_same_numbers(seed: int) -> None:
    table = _made_up(seed)
    text, markdown = _text_rows(render(table, "text")), _markdown_rows(render(table, "markdown"))
    raw, content = _csv_rows(render(table, "csv")), _json(render(table, "json"))["rows"]
    assert len(text) == len(markdown) == len(raw) == len(content) == len(table.rows)
    for shown, named, numbers, everything, row in zip(text, markdown, raw, content, table.rows, strict=True):
        (first, label), *others = shown.items()
        axis, value = named.pop("axis"), named.pop("value")
        assert dict(others) == {heading: cell for heading, cell in named.items() if heading != first}
        assert label.removesuffix(named[first]).strip(f"{LEADS} ") in (
            value.strip(f"{LEADS} `"),
            f"{axis}, {value}",
            axis,
        )
        assert numbers == {
            name: "" if value is None else str(value) for name, value in everything.items() if name != "by_seed"
        }
        for split, values in (("dev", row.dev), ("test", row.test)):
            assert everything[f"{split}_mean"] == (fmean(values) if values else None)
            assert named[f"{split} %"].rstrip(CUT) == (f"{100 * fmean(values):.2f}" if values else "–")
        assert named["dev %"].endswith(CUT) == (not row.whole)
        deviation = everything["dev_deviation"]
        assert deviation == (stdev(row.dev) if len(row.dev) > 1 else None)
        assert named["deviation"] == ("–" if deviation is None else f"{100 * deviation:.2f}")
        if row.axis in AXES:
            effect = row.effect
            shown_effect = "open" if effect and effect.open else effect and f"{100 * effect.value + 0.0:+.2f}"
            assert named["effect"] == (shown_effect or "–")
            ends = (everything["effect"], everything["effect_low"], everything["effect_high"])
            assert ends == ((effect.value, effect.low, effect.high) if effect else (None, None, None))
            assert named["n"] in (f"{row.trials}", f"{row.scored}/{row.trials}")
            assert named["epochs"] == (str(row.epochs) if row.epochs else "")
        else:
            assert list(named) == ["dev %", "deviation", "test %"]
            assert everything["effect"] is None
        assert everything["seconds"] == row.seconds


def test_what_a_depth_changes_besides_itself_is_told_of_the_best_and_of_its_axis() -> None:
    for composition, best, note in (
        (0, False, False),
        (2, "and so with a shortcut into layer 5", "5 (with a shortcut into layer 5)"),
    ):
        config = study({DEPTH: {"choice": [3, 5]}})
        tree = config.model_dump(mode="json")
        tree["space"]["base"]["model"]["stack"]["composition"] = composition
        config = type(config).model_validate(tree)
        events: list[Event] = []
        for number, depth in enumerate((3, 5)):
            score = 0.9 + depth / 100
            events += [proposed(config, number, {DEPTH: depth}), reported(number, 1, score, score), ended(number)]
        said = " ".join(render(exploration_of(record_of(config, *events)), "text").split())
        assert ("with a shortcut" in said) == bool(best)
        assert all(each in said for each in (best, note) if each)


def test_the_text_is_what_a_reader_expects() -> None:
    table = exploration_of(_two_depths())
    assert table.best_config is not None
    assert (
        render(table, "text", width=80)
        == f"""made-up

Exploratory, not confirmed: trial 1, the best of 2 on dev, reaches 96.44 %,
+1.20 points over the base and +25.19 over the baseline; the best of many is
partly luck; fresh seeds measure how much.

                  dev %  deviation  test %
  baseline        71.25          –   70.41
  base, trial 0   95.24       0.17   95.00
  best, trial 1   96.44       0.45   96.13
%: accuracy. deviation: over 2 seeds. Baseline: most frequent tag of each word.

best: trial 1, config {table.best_config.identity}, differs from the base in:
  model.stack.depth=5

2 trials: 2 completed; 2 epochs, 3.75 s of training and evaluation

next, to test it with fresh seeds:
  skipstack ablate DIR

values

Exploration: what the search saw, described and not tested. The search chose on
the way how long to train its trials, so no number here has an interval. To
confirm, `skipstack ablate DIR` trains the best config and each of its changes
again.

     n   dev %  deviation  effect  test %  trial  epochs  seconds

model.stack.depth
  1  0       –          –       –       –      –
  3  1   95.24       0.17       –   95.00      0       1      1.5
› 5  1   96.44       0.45       –   96.13      1       1      2.2
n: trials. dev, test: accuracy of the best of them on dev, so a large n flatters
dev. deviation: of dev, standard deviation over 2 seeds. effect: –, since 2
whole trials cannot carry the 2 numbers of an additive model. ›: best of its
axis.

rungs

Rungs, and the rank correlation of scores there with those of the last epoch,
with its 95 % interval, among trials that were not stopped:
  epoch 1: 2 trials, 0 stopped; best at place 1

forecasts

The best dev accuracy of 1, 2 of these trials, drawn at random, which take 1, 2
epochs: 95.84, 96.44.
"""
    )


@pytest.mark.first(2)
@pytest.mark.parametrize("seed", range(4))
def test_a_report_without_its_details_fits_one_screen_and_all_of_it_begins_alike(seed: int) -> None:
    short, whole = (render(_made_up(seed), "text", width=80, full=full) for full in (False, True))
    assert len(short.splitlines()) <= 40
    assert max(map(cell_len, short.splitlines())) <= 80
    shared, _, named = short.partition("`skipstack report DIR --full` also prints: ")
    assert whole.startswith(shared)
    parts = " ".join(named.split()).rstrip(".").split("; ")
    assert parts[0] == "values"
    assert [f"\n\n{part}\n\n" in whole for part in parts] == [True] * len(parts)
    told = _json(render(_made_up(seed), "json"))["verdict"]
    assert told["kind"] == "explored"
    assert told["sentence"] in " ".join(short.split())
    assert told["sentence"] in render(_made_up(seed), "markdown", full=False).replace("\\", "")


@pytest.mark.first(6)
@pytest.mark.parametrize("width", [40, 50, 60, 70, 79, 80, 100, 120, 200])
@pytest.mark.parametrize("terminal", [False, True])
def test_no_line_is_wider_than_the_terminal_and_no_value_is_cut(width: int, terminal: bool) -> None:
    sources: Json = [0, 0, 1, 2, 3, 4, 5, 6, 7]
    config = study({DEPTH: {"choice": [1, 3, 9]}, COMPOSITION: {"choice": [2, sources]}, HIDDEN: {"choice": [16]}})
    point: Point = {DEPTH: 9, COMPOSITION: sources, HIDDEN: 16}
    record = record_of(config, proposed(config, 0, point), reported(0, 1, 0.9, 0.92, seconds=12_345.6))
    text = re.sub(rf"{ESCAPE}\[[0-9;]*m", "", render(exploration_of(record), "text", width=width, terminal=terminal))
    assert all(cell_len(line) <= width for line in text.splitlines())
    assert "…" not in text
    joined = re.sub(r"\s", "", text)
    assert "91.00" in joined
    assert "[0,0,1,2,3,4,5,6,7]" in joined
    left_out = {"trial", "epochs", "seconds", "deviation", "test %", "n"} - set(
        re.findall(r"test %|\w+", [line for line in text.split("\n") if "dev %" in line][-1])
    )
    told = re.search(r"left out at this width: (.*)", text, re.DOTALL)
    assert left_out == set(" ".join(told[1].split()).split(", ") if told else [])


@pytest.mark.slow
def test_of_a_perplexity_an_effect_that_lowers_it_is_a_gain_and_its_band_is_turned() -> None:
    made = _made_up()
    rows = [replace(row, effect=Effect(2.0, 1.0, 4.0, whole=3)) for row in made.rows]
    better = replace(made, measure=MEASURES["perplexity"], rows=tuple(rows))
    (axis, *_) = [row for row in exploration_frame(better).to_dict("records") if row["axis"] in AXES]
    assert (axis["effect"], axis["effect_low"], axis["effect_high"], axis["effect_whole"]) == (-2.0, -4.0, -1.0, 3)
    content = _json(render(better, "json"))["rows"]
    assert {row["effect"] for row in content if row["axis"] in AXES} == {2.0}
    assert render(better, "markdown").count("| -2.00 |") == sum(row.axis in AXES for row in rows)


def test_a_wide_terminal_leaves_nothing_out() -> None:
    assert "left out" in render(_made_up(), "text", width=60)
    assert "left out" not in render(_made_up(), "text", width=100)


def test_text_for_a_pipe_has_no_control_character_whatever_is_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    text = render(_made_up(), "text")
    assert not [character for character in text if ord(character) < 32 and character != "\n"]
    assert not [line for line in text.splitlines() if line != line.rstrip()]


def test_a_terminal_gets_the_same_text_in_colours_unless_it_asks_for_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    table = _made_up()
    coloured = render(table, "text", width=80, terminal=True)
    without = re.sub(rf"{ESCAPE}\[[0-9;]*m", "", coloured)
    assert f"{ESCAPE}[1;36m" in coloured  # the headings of axes
    assert [line.rstrip() for line in without.splitlines()] == render(table, "text", width=80).splitlines()
    monkeypatch.setenv("NO_COLOR", "1")
    assert f"{ESCAPE}[1;36m" not in render(table, "text", width=80, terminal=True)


@pytest.mark.first(2)
@pytest.mark.parametrize("form", get_args(Format))
def test_with_one_seed_no_format_says_nan(form: Format) -> None:
    table = _made_up(seeds=1)
    report = render(table, form)
    assert "nan" not in report.lower()
    if form in ("text", "markdown"):
        assert re.search(r"\d\d\.\d\d[ †|]+– ", report)
        assert "one seed has none (–)" in " ".join(report.split())
    if form == "json":
        rows = _json(report)["rows"]
        assert [row["dev_deviation"] for row in rows] == [None] * len(rows)


@pytest.mark.parametrize("form", get_args(Format))
def test_a_study_in_which_nothing_has_a_score_has_a_report(form: Format) -> None:
    config = study()
    report = render(exploration_of(record_of(config)), form)
    assert report.endswith("\n")
    assert "nan" not in report.lower()
    if form == "text":
        assert "no trial has a score" in report


def test_a_missing_base_has_no_row() -> None:
    config = study({DEPTH: {"choice": [1, 5]}})
    record = record_of(config, proposed(config, 0, {DEPTH: 5}), reported(0, 1, 0.9, 0.8))
    assert "base, trial" not in render(exploration_of(record), "text")
    assert "base, trial 0" in render(_made_up(), "text")


def test_trials_without_a_score_stand_beside_those_with_one() -> None:
    config = study({DEPTH: {"choice": [3, 5]}})
    record = record_of(
        config,
        proposed(config, 0, {DEPTH: 3}),
        proposed(config, 1, {DEPTH: 5}),
        reported(0, 1, 0.9, 0.8),
        ended(1, "failed", "RuntimeError: no luck"),
    )
    rows = _markdown_rows(render(exploration_of(record), "markdown"))
    assert [row["n"] for row in rows if "n" in row] == ["1", "0/1"]


def test_a_trial_that_was_not_trained_to_its_end_is_marked() -> None:
    config = study({DEPTH: {"choice": [3, 5]}})
    trials = [proposed(config, 0, {DEPTH: 3}), proposed(config, 1, {DEPTH: 5})]
    ends = [ended(0), ended(1, "stopped")]
    epochs = [reported(0, 1, 0.5, 0.6), reported(1, 1, 0.3, 0.4), reported(0, 2, 0.90, 0.80)]
    stopped = render(exploration_of(record_of(config, *trials, *epochs, *ends)), "text")
    assert re.search(r"5 +1 +35\.00† +7\.07 ", stopped)
    assert "†: not trained to its end." in " ".join(stopped.split())
    whole = render(
        exploration_of(record_of(config, *trials, *epochs, reported(1, 2, 0.3, 0.4), ended(0), ended(1))), "text"
    )
    assert re.search(r"5 +1 +35\.00 +7\.07 ", whole)
    assert "†" not in whole


@pytest.mark.slow
@pytest.mark.parametrize("form", get_args(Format))
def test_nothing_that_was_only_seen_has_an_error_or_a_mark_of_significance(form: Format) -> None:
    for seed in range(1 if form == "html" else 4):  # whose pictures take seconds to draw
        report = render(_made_up(seed), form)
        report = str(printed(report)) if form == "latex" else re.sub(r"(?s)<style>.*?</style>", "", report)
        assert "±" not in report
        assert r"\pm" not in report
        assert form in ("html", "latex") or "*" not in report.replace("**", "")  # a verdict is bold
        assert not re.search("significan|standard.error|exceeds", report)


def test_csv_keeps_every_digit_and_whole_numbers_whole() -> None:
    table = exploration_of(_two_depths())
    frame = pd.read_csv(io.StringIO(render(table, "csv")))
    assert list(frame["trials"]) == [row.trials for row in table.rows]
    assert frame["dev_mean"].dropna().tolist() == [fmean(row.dev) for row in table.rows if row.dev]
    assert _csv_rows(render(table, "csv"))[-1]["selected_trial"] == "1"


def test_json_holds_the_seeds_the_best_config_and_what_it_changes() -> None:
    table = exploration_of(_two_depths())
    content = _json(render(table, "json"))
    by_seed = content["rows"][-1]["by_seed"]
    assert by_seed["seeds"] == [0, 1]
    assert by_seed["dev"] == [0.9612, 0.9676]
    assert by_seed["test"] == [0.96, 0.9626]
    assert table.best_config is not None
    assert content["best"] == {
        "trial": 1,
        "identity": table.best_config.identity,
        "changes": {DEPTH: 5},
        "config": table.best_config.model_dump(mode="json"),
    }
    assert content["ends"] == {"completed": 2}
    assert (content["study"], content["epochs"], content["seconds"]) == ("made-up", 2, 3.75)


def test_values_are_text_and_no_markup() -> None:
    table = replace(
        _made_up(), study="[red]a|b[/red]", rows=tuple(replace(row, value="[bold]`|x") for row in _made_up().rows)
    )
    text, markdown = render(table, "text", width=120), render(table, "markdown")
    assert "[red]a|b[/red]" in text
    assert "[bold]`|x" in text
    assert all(row["value"].strip(f"{LEADS} ") == "[bold]`|x" for row in _markdown_rows(markdown))


@pytest.mark.first(1)
@pytest.mark.parametrize("form", get_args(Format))
def test_no_text_of_others_moves_the_cursor_or_turns_the_order_of_what_is_shown(
    form: Format, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    bad = "a\x1b[2J\x9b2J\u202eb\u200f\u2028c\x07"
    table = replace(_made_up(), study=bad, rows=tuple(replace(row, value=bad) for row in _made_up().rows))
    shown = re.sub(r"\x1b\[[0-9;]*m", "", render(table, form, width=120, terminal=form == "text"))
    assert not UNSEEN.search(shown.replace("\n", ""))
    if form == "json":
        assert json.loads(shown)["study"] == bad
    else:
        assert r"\x9b2J\u202eb" in (printed(shown).text if form == "latex" else shown)
    say(f"trial 1 failed: {bad}")
    assert capsys.readouterr().err == r"trial 1 failed: a\x1b[2J\x9b2J\u202eb\u200f\u2028c\x07" + "\n"


def test_the_best_config_that_is_the_base_changes_nothing() -> None:
    config = study({DEPTH: {"choice": [1, 3]}})
    record = record_of(config, proposed(config, 0, {DEPTH: 3}), reported(0, 1, 0.9, 0.8))
    assert "the base itself" in render(exploration_of(record), "text")


picture = runpy.run_path(str(ROOT / "docs" / "report.py"))["picture"]
"""Draws a report for the README."""


def test_the_same_study_gives_the_same_picture() -> None:
    assert picture(exploration_report(_made_up()).page) == picture(exploration_report(_made_up()).page)


def test_a_picture_shows_the_text_and_needs_nothing_else() -> None:
    svg = picture(exploration_report(_made_up()).page)
    root = ET.fromstring(svg)
    words = "".join(root.itertext()).replace("\xa0", " ")
    assert "Exploratory, not confirmed: trial" in words
    assert "model.stack.depth=5" in words
    assert re.findall(r"https?://[^\"]+", svg) == ["http://www.w3.org/2000/svg"]


@pytest.mark.parametrize(
    ("search", "chosen"),
    [
        ({"proposer": "tpe"}, "chose on the way which trials to run and how long to train them,"),
        ({"proposer": "random"}, "chose on the way how long to train its trials,"),
        ({"proposer": "tpe", "scheduler": "none"}, "chose on the way which trials to run,"),
        ({"proposer": "random", "scheduler": "none", "enough": True}, "chose on the way when to start no more,"),
        ({"proposer": "random", "scheduler": "none"}, "Nothing was chosen by scores on the way:"),
    ],
)
def test_only_what_a_search_chooses_by_scores_is_said_to_be_chosen_on_the_way(
    search: dict[str, Any], chosen: str
) -> None:
    said = " ".join(render(exploration_of(record_of(study(**search))), "text").split())
    assert chosen in said
    assert ("chose on the way" in said) == ("Nothing was chosen" not in chosen)


def test_trials_that_have_not_ended_are_called_unfinished_whether_or_not_a_process_trains_them() -> None:
    begun = StudyRecord.of(islice(history(study(trials=8), seed=1), 31))
    unfinished = sum(trial.reason is None and not trial.paused for trial in begun.trials.values())
    text = render(exploration_of(begun), "text")
    assert unfinished > 0
    assert f"{unfinished} unfinished; " in text
    assert "running" not in text


@pytest.mark.slow
def test_how_many_attempts_were_lost_with_their_machines_is_said_where_any_were() -> None:
    events = list(history(study()))
    lost = [Retried(time=0.0, trial=0, cause=cause, message="gone") for cause in ("lost", "crashed", "preempted")]
    place = next(number for number, event in enumerate(events) if isinstance(event, Proposed)) + 1
    said = "lost with their machines, and gone on with elsewhere: 2 attempts"
    assert said in render(exploration_of(StudyRecord.of([*events[:place], *lost, *events[place:]])), "text")
    assert "lost with their machines" not in render(exploration_of(StudyRecord.of(events)), "text")


@pytest.mark.slow
@pytest.mark.parametrize("trials", [16, 100])
@pytest.mark.parametrize("proposer", ["random", "tpe"])
def test_of_noise_no_sentence_names_an_axis(trials: int, proposer: str) -> None:
    """The report has the same sentences in every format, on the page and in MLflow; pictures have some of their own."""
    noise = exploration_of(NOISE.searched(proposer, trials, seed=0))
    page = unfolded(exploration_report(noise).page)
    blocks = [block for group in page.groups for block in group]
    said = [page.verdict, *(block.text for block in blocks if isinstance(block, Heading | Sentence))]
    said += [item for block in blocks if isinstance(block, Listing) and not block.code for item in block.items]
    said += [each.draw if isinstance(each.draw, str) else words(each.draw()) for each in search_charts(noise)]
    assert any("Nothing stands out" in each for each in said)
    assert any("No pair of values is further" in each for each in said)
    assert any("no axis is shown to matter" in each for each in said)
    names = re.compile(rf"\b({'|'.join(NOISE.axes)})\b")
    assert [each for each in said if names.search(each)] == []
    assert BY_CHANCE in said


@pytest.mark.first(1)
@pytest.mark.parametrize("form", ["text", "markdown", "latex", "html"])
def test_where_nothing_stands_out_every_format_says_so(form: Format) -> None:
    said = " ".join(render(exploration_of(NOISE.searched("random", 16, seed=0)), form).split())
    assert "Nothing stands out" in said
    assert "No pair of values is further" in said
    assert "is shown to matter" not in said.replace("no axis is shown to matter", "")
