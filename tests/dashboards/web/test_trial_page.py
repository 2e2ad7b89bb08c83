"""The page of a trial shows what the ledger says of it, and rows, sentences and points lead to it."""

import re
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest
from streamlit.testing.v1 import AppTest

from skipstack.dashboards.web.addresses import trial_address
from skipstack.dashboards.web.app import PAGES
from skipstack.dashboards.web.page_names import TRIAL
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
from tests.dashboards.web.shown import Opened, write
from tests.search.analysis.confirmation.test_ablated import ablation_of
from tests.search.made_up import DEPTH, RATE, history, opening, reported, study
from tests.search.study.record.test_phases import placed

GOING, WORKS, TRUST, *_ = PAGES
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
    differs = page.text.split("What differs")[1].split("Curves")[0]
    for path, short in ((DEPTH, "depth"), (RATE, "learning_rate")):
        values = {str(trials.loc[each, path]) for each in (number, best, base)}
        assert (short in differs) is (len(values) > 1)


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
    page = opened(runs, "ablated", 3, of="ablation 1")
    assert "Trial 3 of ablation 1" in page.text
    assert page.metrics["rank"].endswith(" of 4")
    assert "an ablation keeps its weights only until they are measured on test" in page.text
    search = opened(runs, "ablated", 3)
    assert "ablation" not in search.text
    assert search.metrics["rank"].endswith(" of 6")


def test_a_number_that_no_trial_has_is_told_and_so_is_a_study_without_trials(runs: Path, tmp_path: Path) -> None:
    assert "No trial has the number 99 (allowed: 0 to 29)." in opened(runs, "a-search", 99).text
    empty = write(tmp_path / "study", opening(STUDY)).parent
    assert "No trial has started yet: each has its page here" in Opened(empty, TRIAL, study="study").text


@pytest.mark.slow
def test_rows_sentences_and_points_lead_to_the_page_of_their_trial(runs: Path, frames: StudyFrames) -> None:
    number = int(frames.trials["dev"].idxmax())
    page = Opened(runs, WORKS, study="a-search", report=True)
    linked = links(page.app)
    assert {tuple(sorted(each.items())) for each in linked} >= {
        (("page", TRIAL), ("study", "a-search"), ("trial", f"{number}"))
    }
    going = Opened(runs, GOING, study="a-search").charts[f"Trial {number} is the best so far"]
    *_, points = going.specs[0]["layer"]
    start = trial_address("a-search", (None, 0)).removesuffix("0")
    assert points["transform"][-1] == {"calculate": f"'{start}' + datum.trial", "as": "address"}
    assert points["encoding"]["href"]["field"] == "address"
    assert "href" not in going.specs[0]["layer"][0]["encoding"], "the line of the best so far is of no single trial"
    confirmed = links(Opened(runs, TRUST, study="ablated").app)
    assert {each["trial"] for each in confirmed if each.get("of") == "ablation 1"} == {"0", "1", "2", "3"}
    assert {each["study"] for each in confirmed} == {"ablated"}


def test_names_of_trials_are_no_links_where_several_studies_are_shown(runs: Path) -> None:
    assert links(Opened(runs, compared=["a-search", "ablated"]).app) == []


def links(app: AppTest) -> list[dict[str, str]]:
    """The parameters of the addresses of links."""
    bodies = " ".join(element.proto.body for element in app.get("html"))
    return [
        {name: value for name, (value,) in parse_qs(address.replace("&amp;", "&")).items()}
        for address in re.findall(r'<a href="\?([^"]*)"', bodies)
    ]
