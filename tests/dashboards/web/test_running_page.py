"""The page "Is it going well?" says what the ledger says, while a study runs and once it is over."""

import gc
import re
import shutil
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from weakref import ref

import numpy as np
import pandas as pd
import pytest

from skipstack.dashboards.web.document import section_html
from skipstack.dashboards.web.following import Followed
from skipstack.dashboards.web.page_names import GOING
from skipstack.dashboards.web.running_page import (
    curves_chart,
    history_chart,
    running_page,
    time_chart,
)
from skipstack.dashboards.web.running_trials import training_chart
from skipstack.dashboards.web.section import Section
from skipstack.dashboards.web.snapshot import MOST, snapshot
from skipstack.dashboards.web.trial_page import _seen
from skipstack.dashboards.web.view import View
from skipstack.data.basis.errors import UserError
from skipstack.search.analysis.study_frames import study_frames
from skipstack.search.ledger.events import Ended, Event, Interrupted, Placed, Reason, Reported, Started, Usage, Used
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.study.record.folder import StudyFolder
from skipstack.spaces.space import Space
from tests.dashboards.web.shown import Opened, write
from tests.search.made_up import ended, history, opening, proposed, reported, study

CONFIG = study(trials=30)
EVENTS = list(history(CONFIG, seed=1))
BEGUN = EVENTS[:61]
KEYS = [
    "verdict",
    "written",
    "numbers",
    "training",
    "act",
    "asked",
    "curves",
    "timeline",
    "told",
    "chosen",
    "log",
    "place",
    "write",
]


def page(path: Path, **query: str) -> dict[str, Section]:
    """The sections of the page of the study in a folder."""
    return {each.key: each for each in running_page(view(path, **query))}


def view(path: Path, **query: str) -> View:
    return View(GOING, {path.name: path}, {"study": (path.name,), **{name: (each,) for name, each in query.items()}})


def said(path: Path, *keys: str, **query: str) -> str:
    """What these sections, or all, say in words."""
    sections = page(path, **query)
    html = " ".join(section_html(view(path, **query), sections[key]) for key in keys or sections)
    return " ".join(re.sub("<[^>]+>", " ", re.sub("</?a[^>]*>", "", html)).split())


def events_of(number: int, *happened: Event) -> list[Event]:
    """A trial that starts, then what else happened to it."""
    point = Space(CONFIG.space).base_point()
    return [proposed(CONFIG, number, point), Started(time=0.0, trial=number), *happened]


def all_failed(reasons: Sequence[Reason] = ("failed", "failed", "out_of_memory")) -> list[Event]:
    """The events of a study of which each trial failed after two epochs, which took no time."""
    events = opening(CONFIG)
    for number, reason in enumerate(reasons):
        epochs = reported(number, 1, 0.5, 0.5), reported(number, 2, 0.4, 0.4)
        events += events_of(number, *epochs, ended(number, reason, f"RuntimeError: bad luck {number}"))
    return events


@pytest.mark.first(1)
def test_how_it_goes_is_what_the_ledger_says(tmp_path: Path) -> None:
    path = write(tmp_path / "begun", BEGUN)
    shown = Opened(tmp_path, GOING)
    seen = study_frames(path).trials
    running = (seen["state"] == "running").sum()
    assert shown.metrics["trials ended"] == f"{len(seen) - running} of 30"
    assert shown.metrics["trials training"] == str(running)
    assert shown.metrics["best accuracy on dev (%)"] == f"{100 * seen['dev'].max():.2f}"
    assert len(shown.metrics) == 4
    assert f"{seen['epochs'].sum()} epochs and " in shown.text
    points = shown.charts[f"Trial {seen['dev'].idxmax()} is the best so far"].rows[1]
    assert {row["trial"]: row["value"] for row in points} == {
        number: pytest.approx(100 * dev) for number, dev in seen["dev"].dropna().items()
    }


def test_where_workers_measure_what_they_take_it_stands_beside_what_they_train(tmp_path: Path) -> None:
    usage = Usage(
        machine="node-7",
        process=12,
        process_cpu=97.6,
        process_memory=1_234_000_000,
        machine_cpu=50.0,
        machine_memory=2,
        machine_memory_total=3,
    )
    over = {event.trial for event in BEGUN if isinstance(event, Ended)}
    last = [event for event in BEGUN if isinstance(event, Reported) and event.trial not in over][-1]
    used = Used(time=last.time, trial=last.trial, epoch=last.epoch, usage=usage)
    workers = said(write(tmp_path / "begun", [*BEGUN, used]), "told").split("Workers")[1]
    assert "epochs machine processor % memory GPU % differs" in workers
    assert f"trial {last.trial} {last.epoch} node-7 98 1.23 GB –" in workers


def test_a_study_that_runs_is_updated_section_by_section_and_no_form_is(tmp_path: Path) -> None:
    path = write(tmp_path / "begun", BEGUN)
    sections = page(path)
    assert list(sections) == KEYS
    assert {key for key, each in sections.items() if each.every() is None} == {"written", "act", "chosen", "write"}
    assert {each.when for each in sections.values()} == {"now"}  # the ledger is short
    assert said(path).startswith("Not finished, no verdict yet: ")
    forms = {key for key, each in sections.items() if "<input" in section_html(view(path), each)}
    assert forms == {"chosen"}


def test_an_interrupted_study_names_the_command_that_resumes_it_and_no_time_is_left(tmp_path: Path) -> None:
    path = write(tmp_path / "begun", [*BEGUN, Interrupted(time=BEGUN[-1].time)])
    text = said(path)
    assert "The study was interrupted: skipstack resume begun resumes it." in re.sub("</?code>", "", said_html(path))
    assert "Interrupted. The last event was recorded" in text
    assert not {"Training now", "The next hour"} & set(re.findall("<h2>(.*?)</h2>", said_html(path)))
    assert "time left" not in text


def test_sections_of_a_study_that_is_over_stay_as_they_are(tmp_path: Path) -> None:
    path = write(tmp_path / "over", EVENTS)
    sections = page(path)
    assert list(sections) == KEYS  # so that a page that is open at the end finds each again
    assert {each.every() for each in sections.values()} == {None}
    text = said(path)
    assert text.startswith("Exploratory, not confirmed: trial ")
    assert "Finished. The last event was recorded" in text
    assert not {"Workers", "Training now", "The next hour"} & set(re.findall("<h2>(.*?)</h2>", said_html(path)))


def said_html(path: Path) -> str:
    return "".join(section_html(view(path), each) for each in page(path).values())


@pytest.mark.slow
def test_a_long_ledger_is_read_after_the_page_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, over = write(tmp_path / "begun", BEGUN), write(tmp_path / "over", EVENTS)
    for module in ("skipstack.dashboards.web.snapshot", "skipstack.search.analysis.study_frames"):
        monkeypatch.setattr(f"{module}.LONG", 0)
    study_frames(over)  # keeps the tables
    with monkeypatch.context() as unread:
        unread.setattr(Followed, "_look", None)
        assert {each.when for each in page(begun).values()} == {"soon"}
        assert page(begun)["numbers"].every() is not None
        sections = page(over)
        assert [key for key, each in sections.items() if each.when == "now"] == ["verdict", "curves"]
        assert {each.every() for each in sections.values()} == {None}
        assert "Exploratory" in said(over, "verdict", "curves")
    assert "Finished." in said(over, "numbers")


@pytest.mark.slow
def test_of_studies_with_long_ledgers_the_snapshots_that_were_shown_last_stay_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("skipstack.dashboards.web.snapshot.LONG", 0)
    one = write(tmp_path / "0", [*opening(CONFIG), *events_of(0, reported(0, 1, 0.5, 0.6), ended(0))])
    others = [Path(shutil.copytree(one, tmp_path / str(number))) for number in range(1, MOST + 1)]
    first, last = ref(snapshot(one)), [ref(snapshot(each)) for each in others][-1]
    gc.collect()
    assert first() is None
    assert last() is snapshot(others[-1])


def test_of_a_study_that_grows_what_was_read_last_stays_in_memory(tmp_path: Path) -> None:
    read = list[ref[object]]()
    with Ledger(tmp_path / "study" / "ledger") as ledger:
        ledger.append(*BEGUN)
        for event in EVENTS[len(BEGUN) : len(BEGUN) + 5]:
            ledger.append(event)
            now = snapshot(tmp_path / "study")
            read.append(ref(now))
            read.append(ref(_seen(now, 0, None, None).record))
    del now
    gc.collect()
    assert [each() is None for each in read] == [True] * 8 + [False] * 2


def test_the_place_of_those_that_train_stays_when_none_does(tmp_path: Path) -> None:
    one = [*opening(CONFIG), *events_of(0, reported(0, 1, 0.5, 0.6), reported(0, 2, 0.6, 0.7))]
    busy, idle = write(tmp_path / "busy", one), write(tmp_path / "idle", [*one, ended(0)])
    starts = [
        section_html(view(path), page(path)["training"]).partition(">Training now</h2>")[2] for path in (busy, idle)
    ]
    place = re.compile('<div style="min-height: [0-9]+rem">')
    assert [bool(place.match(each)) for each in starts] == [True, True]
    assert "needs now" in starts[0]
    assert "No trial is being trained." in starts[1]
    assert "<table" not in starts[1]
    assert "The next hour" in starts[1]


@pytest.mark.parametrize("over", [False, True])
def test_of_a_study_whose_trials_all_failed_it_says_so_and_names_the_faults(tmp_path: Path, *, over: bool) -> None:
    end = [event for event in EVENTS if event.kind == "finished"] if over else []
    path = write(tmp_path / "bad", [*all_failed(), *end])
    text = said(path)
    assert "All 3 trials that ended went wrong: 2 failed and 1 out of memory." in text
    assert "The last fault, of trial 2: out of memory: RuntimeError: bad luck 2" in text
    assert "trial 0 failed: RuntimeError: bad luck 0" in text
    assert "or running" not in text
    assert "<figure" not in said_html(path)  # charts without anything in them
    scoreless = "no trial has a score"
    for chart, why in {
        "History": scoreless,
        "Learning curves": scoreless,
        "Timeline": "no trial has taken any time",
    }.items():
        assert f"{chart}: nothing to draw, since {why}." in text
    assert "went wrong" not in said(write(tmp_path / "good", BEGUN))
    one = said(write(tmp_path / "one", all_failed(["failed"])), "numbers")
    assert "The only trial that ended went wrong: 1 failed." in one


def test_a_study_without_a_trial_yet_has_a_page(tmp_path: Path) -> None:
    study = write(tmp_path / "study", opening(CONFIG))
    assert said(study, "curves").count("no trial has a score") == 2
    assert "0 of 30" in said(study)
    assert "No trial has started." in said(study, "told")


def test_a_chart_without_data_is_a_reason(tmp_path: Path) -> None:
    failing = [*opening(CONFIG), *events_of(0, reported(0, 1, np.nan, np.nan))]
    followed = Followed(write(tmp_path, failing))
    seen = followed.progressed()
    scores = pd.DataFrame({"state": ["failed"], "score": [0.5], "dev": [np.nan]})
    charts = (
        history_chart(scores, followed.look().measure),
        curves_chart(seen.search),
        training_chart(seen),
        time_chart(followed.spans()),
        time_chart(followed.spans().iloc[:0]),
    )
    assert [each.draw for each in charts] == [
        "no trial has a score",
        "no trial has a score",
        "none of them has trained an epoch yet",
        "no trial has taken any time",
        "no trial has started",
    ]


def test_the_log_is_of_the_trial_that_is_chosen_or_the_one_that_failed_last(tmp_path: Path) -> None:
    path = write(tmp_path / "bad", all_failed())
    for number in (0, 2):
        log = StudyFolder(path).log(number)
        log.parent.mkdir(parents=True)
        log.write_text(f"step <{number}>\n")
    assert said(path, "log") == "The log of trial 2: step &lt;2&gt;"
    assert 'name="trial" value=""' in section_html(view(path), page(path)["chosen"])
    assert said(path, "log", trial="0") == "The log of trial 0: step &lt;0&gt;"
    assert 'name="trial" value="0"' in section_html(view(path, trial="0"), page(path, trial="0")["chosen"])
    assert said(path, "log", trial="3") == "There is no trial 3 yet (allowed: 0 to 2)."
    with pytest.raises(UserError, match=r"trial: got 'x' \(allowed: a number from 0\)"):
        said(path, "log", trial="x")
    assert said(write(tmp_path / "new", opening(CONFIG)), "log") == "No trial has started yet."


def test_where_it_runs_is_told_as_text(tmp_path: Path) -> None:
    placed = Placed(
        time=0.0,
        place="",
        engine="ray",
        address="ray://<b>head</b>",
        gpus_per_trial=0.5,
        device="cuda",
        tracking_uri=None,
    )
    path = write(tmp_path / "begun", [*BEGUN, placed])
    assert "engine ray, device cuda, 0.5 of a GPU for each trial" in said(path, "place")
    assert "ray://&lt;b&gt;head&lt;/b&gt;" in said(path, "place")
    assert said(write(tmp_path / "unplaced", islice(EVENTS, 10)), "place") == ""


def test_a_study_that_is_gone_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "begun", BEGUN)
    shutil.rmtree(path)
    with pytest.raises(UserError, match="begun"):
        running_page(view(path))
