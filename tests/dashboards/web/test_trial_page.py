"""The page of a trial shows what the ledger says of it, and rows, sentences and points lead to it."""

import re
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode

import pandas as pd
import pytest

from skipstack.dashboards.web.page_names import BELIEVE, GOING, STUDIES, TRIAL, WORKS
from skipstack.dashboards.web.trial_log import SHOWN, trial_log
from skipstack.dashboards.web.trial_page import EVERY, trial_page
from skipstack.dashboards.web.view import View
from skipstack.search.analysis.study_frames import StudyFrames, study_frames
from skipstack.search.ledger.events import (
    FAULTS,
    Begun,
    Decided,
    Ended,
    Event,
    Interrupted,
    Measuring,
    Proposed,
    Retried,
    Reused,
    Started,
    Untested,
)
from skipstack.search.ledger.ledger import Ledger
from tests.dashboards.web.shown import Opened, write
from tests.search.analysis.confirmation.test_ablated import ablation_of
from tests.search.made_up import DEPTH, RATE, history, opening, raced, reported, study
from tests.search.study.record.test_phases import placed

STUDY = study(trials=30)
EVENTS = list(history(STUDY, seed=1))
PROPOSED = [event for event in EVENTS if isinstance(event, Proposed)]
MESSAGE = "RuntimeError: mat1 and mat2"


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    write(folder / "a-search", EVENTS)
    ablation_of(folder / "ablated", [3, 1])
    return folder


@pytest.fixture(scope="module")
def frames(runs: Path) -> StudyFrames:
    return study_frames(runs / "a-search")


def opened(folder: Path, name: str, trial: int, **chosen: Any) -> Opened:
    return Opened(folder, TRIAL, study=name, trial=trial, **chosen)


def test_a_page_has_the_scores_rank_curves_and_differences_of_its_trial(runs: Path, frames: StudyFrames) -> None:
    trials = frames.trials
    number = int(trials.index[trials["state"] == "stopped"][0])
    best, base = int(trials["score"].idxmax()), frames.base
    page = opened(runs, "a-search", number)
    row = trials.loc[number]
    assert page.metrics["accuracy on dev (%)"] == f"{100 * row['dev']:.2f}"
    assert page.metrics["against the best (points)"] == f"{100 * (row['dev'] - trials.loc[best, 'dev']):+.2f}"
    assert page.metrics["against the base (points)"] == f"{100 * (row['dev'] - trials.loc[base, 'dev']):+.2f}"
    rank = int((trials["score"] > row["score"]).sum()) + 1
    assert page.metrics["rank"] == f"{rank} of {trials['score'].notna().sum()}"
    (chart,) = page.charts.values()
    own = frames.curves[frames.curves["trial"] == number]
    rows = [each for layer in chart.rows for each in layer]
    lines = {(each["seed"], each["epoch"]): each["value"] for each in rows if each.get("kind") == "each seed"}
    assert lines == {
        (seed, epoch): pytest.approx(100 * dev)
        for seed, epoch, dev in own[["seed", "epoch", "dev"]].itertuples(index=False)
    }
    kinds = {each["kind"]: each["trial"] for each in rows if "kind" in each}
    assert (kinds["the base, mean"], kinds["the best, mean"]) == (base, best)
    assert "the compared trial, mean" not in kinds
    assert_differences(page, trials, {number, best, base})


def assert_differences(page: Opened, trials: pd.DataFrame, compared: set[int]) -> None:
    """The table has the axes in which these trials differ, and only these."""
    differs = page.text.split("What differs")[1].split("Curves")[0]
    for path, short in ((DEPTH, "depth"), (RATE, "learning_rate")):
        values = {str(trials.loc[each, path]) for each in compared}
        assert (short in differs) is (len(values) > 1)


def test_a_trial_is_compared_with_another_one_too(runs: Path, frames: StudyFrames) -> None:
    trials = frames.trials
    best, base = int(trials["score"].idxmax()), frames.base
    assert base is not None
    number, other = (int(each) for each in trials.index[trials["state"] == "stopped"][:2])
    page = opened(runs, "a-search", number, beside=other)
    apart = 100 * (trials.loc[number, "dev"] - trials.loc[other, "dev"])
    assert f"against trial {other} (points) {apart:+.2f}" in page.text
    assert f"this trial base best, trial {best} trial {other} " in page.text
    assert_differences(page, trials, {number, best, base, other})
    (chart,) = page.charts.values()
    kinds = {each["kind"]: each["trial"] for layer in chart.rows for each in layer if "kind" in each}
    own = {name: kinds[name] for name in ("the base, mean", "the best, mean", "the compared trial, mean")}
    assert list(own.values()) == [base, best, other]
    itself = opened(runs, "a-search", number, beside=number)
    assert f"against trial {number} (points) it is it" in itself.text
    assert "the compared trial, mean" not in str(itself.charts[f"Trial {number}, seed by seed"].rows)
    for same in (base, best):
        assert f"this trial base best, trial {best} learning_rate" in opened(runs, "a-search", number, beside=same).text


STATES: list[tuple[str, list[Event], str]] = [
    ("waiting", [], "It waits for a worker, with 0 of 6 epochs trained."),
    ("running", [Begun(time=2.0, trial=1), reported(1, 1, 0.9, 0.9)], "It is being trained: 1 of 6 epochs are done."),
    (
        "interrupted",
        [Begun(time=2.0, trial=1), Interrupted(time=3.0)],
        "Its study was interrupted when it had trained 0 of 6 epochs; once resumed, it goes on from there.",
    ),
    (
        "paused",
        [reported(1, 1, 0.9, 0.9), Decided(time=9.0, trial=1, epoch=1, decision="pause", rung=1)],
        "It is paused after 1 of 6 epochs, at the rung of 1 epoch; it goes on once it is among the best there.",
    ),
    (
        "stopped",
        [
            reported(1, 1, 0.9, 0.9),
            Decided(time=9.0, trial=1, epoch=1, decision="stop", rung=1),
            Ended(time=9.0, trial=1, reason="stopped"),
        ],
        "It was stopped after 1 of 6 epochs, at the rung of 1 epoch: others had better scores there.",
    ),
    (
        "stopped after its best epoch",
        [
            reported(1, 1, 0.7, 0.8),
            reported(1, 2, 0.7, 0.7),
            Decided(time=9.0, trial=1, epoch=2, decision="stop", rung=2),
            Ended(time=9.0, trial=1, reason="stopped"),
        ],
        "It was stopped after 2 of 6 epochs, at the rung of 2 epochs: others had better scores there; it had "
        "70.00 there, and its best epoch, 1, counts, with 75.00.",
    ),
    (
        "beaten",
        [
            reported(1, 1, 0.9, 0.9),
            Decided(time=9.0, trial=1, epoch=1, decision="pause", rung=1),
            Ended(time=9.0, trial=1, reason="stopped"),
        ],
        "It was ended after 1 of 6 epochs, at the rung of 1 epoch, where it was paused: nothing promoted it.",
    ),
    (
        "hours",
        [Ended(time=9.0, trial=1, reason="stopped", message="the study's hours were over")],
        "It was stopped after 0 of 6 epochs: the study's hours were over.",
    ),
    (
        "diverged",
        [Ended(time=9.0, trial=1, reason="diverged")],
        "It diverged: after 0 of 6 epochs its score was no finite ",
    ),
    (
        "measuring",
        [Ended(time=9.0, trial=1, reason="completed"), Measuring(time=9.0, trial=1)],
        "It is being measured on the test split.",
    ),
    (
        "unmeasured",
        [
            Ended(time=9.0, trial=1, reason="completed"),
            Untested(time=9.0, trial=1, reason="failed", message=MESSAGE, then="give_up"),
        ],
        f"It could not be measured on the test split: {MESSAGE}.",
    ),
]


@pytest.mark.first(2)
@pytest.mark.parametrize(("happened", "said"), [each[1:] for each in STATES], ids=[each[0] for each in STATES])
def test_a_page_says_how_its_trial_stands(happened: list[Event], said: str, tmp_path: Path) -> None:
    page = opened(write(tmp_path / "study", begun(happened)).parent, "study", 1)
    assert said in page.text


@pytest.mark.first(2)
@pytest.mark.parametrize("reason", FAULTS)
def test_a_page_of_a_trial_that_a_fault_ended_has_the_fault_and_those_before_it(reason: Any, tmp_path: Path) -> None:
    retried = Retried(time=3.0, trial=1, cause="lost", message="its machine is gone")
    ended = Ended(time=9.0, trial=1, reason=reason, message=MESSAGE)
    folder = write(tmp_path / "study", begun([Begun(time=2.0, trial=1), retried, Started(time=4.0, trial=1), ended]))
    text = opened(folder.parent, "study", 1).text
    words = reason.replace("_", " ")
    assert f" after 0 of 6 epochs: {MESSAGE}." in text
    faults = " ".join(text.split("Faults")[1].split("Log")[0].split())
    assert faults == f"fault then message lost retried its machine is gone {words} ended {MESSAGE}"
    assert "No bundle: the trial has no score." in text


def begun(happened: list[Event]) -> list[Event]:
    """A study on Ray of two trials, the second of which waits for a worker, and what then happened to it."""
    base, second = PROPOSED[:2]
    started = [placed("ray"), base, second, Started(time=1.0, trial=0), Started(time=1.0, trial=1)]
    return [*opening(STUDY), *started, *happened]


def test_where_seeds_race_a_page_counts_the_epochs_of_each_seed(tmp_path: Path) -> None:
    text = " ".join(opened(write(tmp_path / "study", raced()).parent, "study", 0).text.split())
    assert "12 of 6" not in text
    assert "6 epochs of each of 3 seeds training 18 s" in text


def test_a_reused_trial_names_its_source(tmp_path: Path) -> None:
    events = [event for event in EVENTS if getattr(event, "trial", None) in (None, 0)][:4]
    reused = Reused(time=0.0, trial=1, study="runs/other", source=4, config_identity="x", code_version="y")
    ends = [reported(1, 1, 0.9, 0.9), Ended(time=0.0, trial=1, reason="completed")]
    folder = write(tmp_path / "study", [*events, PROPOSED[1], reused, *ends])
    text = opened(folder.parent, "study", 1).text
    assert "its config and seeds are those of trial 4 of runs/other, whose results it has." in text
    assert "It took none: it was not trained." in text


@pytest.mark.slow
def test_trials_of_an_ablation_have_pages_of_their_own(runs: Path) -> None:
    page = opened(runs, "ablated", 3, ablation=1, beside=0)
    assert "Trial 3 of ablation 1" in page.text
    assert page.metrics["rank"].endswith(" of 4")
    assert "an ablation keeps its weights only until they are measured on test" in page.text
    search = opened(runs, "ablated", 3)
    assert {each["trial"] for each in links(page) if each.get("ablation") == "1"} >= {"0"}
    assert "Trial 3 of" not in search.text
    assert search.metrics["rank"].endswith(" of 6")


def test_a_number_that_no_trial_has_is_told_and_so_is_a_study_without_trials(runs: Path, tmp_path: Path) -> None:
    told = "No trial has the number 99 (allowed: 0 to 29)."
    assert told in opened(runs, "a-search", 99).text
    assert told in opened(runs, "a-search", 1, beside=99).text
    word = opened(runs, "a-search", 1, beside="worst")
    assert (word.status, "beside: got 'worst' (allowed: a number from 0)" in word.text) == (404, True)
    other = opened(runs, "a-search", 1, ablation=4)
    assert (other.status, "unknown ablation '4'" in other.text) == (404, True)
    empty = write(tmp_path / "study", opening(STUDY)).parent
    assert "No trial yet Each trial that has started has its page here" in Opened(empty, TRIAL, study="study").text


@pytest.mark.slow
def test_rows_sentences_and_points_lead_to_the_page_of_their_trial(runs: Path, frames: StudyFrames) -> None:
    number, study = int(frames.trials["dev"].idxmax()), str(runs / "a-search")
    page = Opened(runs, WORKS, study="a-search")
    assert {"study": study, "trial": f"{number}"} in links(page)
    going = Opened(runs, GOING, study="a-search").charts[f"Trial {number} is the best so far"]
    *_, points = going.specs[0]["layer"]
    calculated = f"'{TRIAL}?{urlencode({'study': study})}&trial=' + datum.trial"
    assert points["transform"][-1] == {"calculate": calculated, "as": "address"}
    assert points["encoding"]["href"]["field"] == "address"
    assert "href" not in going.specs[0]["layer"][0]["encoding"], "the line of the best so far is of no single trial"
    confirmed = links(Opened(runs, BELIEVE, study="ablated"))
    assert {each["trial"] for each in confirmed if each.get("ablation") == "1"} == {"0", "1", "2", "3"}
    assert {each["study"] for each in confirmed} == {str(runs / "ablated")}


@pytest.mark.slow
def test_names_of_trials_are_no_links_where_several_studies_are_shown(tmp_path: Path) -> None:
    names = [str(write(tmp_path / f"seed-{seed}", history(STUDY, seed=seed))) for seed in (1, 2)]
    query = urlencode({"section": "compared", "compare": names}, doseq=True)
    compared = Opened(tmp_path).fetched(f"{STUDIES}?{query}")
    assert "trials alike" in compared
    assert "<a " not in compared


def links(page: Opened) -> list[dict[str, str]]:
    """The parameters of the addresses of links to trials."""
    addresses = (each.partition("?") for each in page.links)
    queries = [parse_qs(query) for path, _, query in addresses if path == TRIAL]
    return [{name: value for name, (value,) in query.items()} for query in queries if "trial" in query]


def test_a_page_is_live_until_the_search_is_over_and_its_form_is_not(tmp_path: Path) -> None:
    folder = write(tmp_path / "study", islice(EVENTS, 61))
    view = View(TRIAL, {"study": folder}, {"trial": ("4",)})
    sections = trial_page(view)
    live = dict.fromkeys(("trial", "time", "log", "files"), EVERY)
    assert {each.key: each.every() for each in sections} == {"which": None, "network": None, **live}
    shown = {each.key: "".join(map(str, each.show())) for each in sections}
    assert [key for key, html in shown.items() if "<form" in html] == ["which"]
    assert "It is being trained: 1 of 6 epochs are done." in shown["trial"]
    with Ledger(folder / "ledger") as ledger:
        ledger.read()
        for event in EVENTS[61:]:
            ledger.append(event)
    assert {each.every() for each in sections} == {None}, "the same sections, once the search is over"
    _, after, *_ = sections[1].show()
    assert "It was" in str(after)


def test_the_end_of_a_log_is_shown_literally(tmp_path: Path) -> None:
    assert "Trial 3 has printed nothing." in trial_log(tmp_path, 3)
    log = tmp_path / "trials" / "000003" / "log.txt"
    log.parent.mkdir(parents=True)
    log.write_text("".join(f"<b>line {number}</b>\n" for number in range(SHOWN + 50)))
    shown = trial_log(tmp_path, 3)
    lines = re.findall(r"&lt;b&gt;line (\d+)&lt;/b&gt;", shown)
    assert lines == [str(number) for number in range(50, SHOWN + 50)]
    assert f"The last {SHOWN} of {SHOWN + 50} lines; its log: <code>skipstack log " in shown
    log.unlink()
    log.mkdir()
    assert str(log) in trial_log(tmp_path, 3), "a log that cannot be read is told in its place"
