"""A ledger from elsewhere whose lines are whole and whose values are not: a report or one line, never a traceback.

Each field of each kind of event is replaced by values of every wrong kind.
"""

import random
from contextlib import suppress
from pathlib import Path

import pytest

from skipstack.data.basis.errors import UserError
from skipstack.search.ledger.events import (
    Ablated,
    AblationPlanned,
    Extended,
    HoursOver,
    Interrupted,
    ListedRow,
    Placed,
    Promoted,
    Resumed,
    Retried,
    Reused,
    Role,
    Shortened,
    Suggested,
    Suggestion,
    Untested,
    Usage,
    Used,
    WarmStarted,
)
from skipstack.search.study.record.reading import read_study
from tests.command_line import refusal, typed
from tests.dashboards.hostile_ledgers import HOSTILE, hostile, lines_of, places, replaced, written
from tests.search.made_up import DEPTH, history, opening, study

CONFIG = study(trials=3, scheduler={"kind": "none"})
"""Three trials of six epochs each."""

USAGE = Usage(
    machine="m", process=1, process_cpu=1.0, process_memory=1, machine_cpu=1.0, machine_memory=1, machine_memory_total=2
)
FURTHER = [
    WarmStarted(time=9.0, study="earlier", observed=(), left_out={"diverged": 1}),
    Suggested(
        time=9.0,
        suggestions=(Suggestion(study="earlier", trial=0, similarity=0.5, point={DEPTH: 3}),),
        similarities={"earlier": 0.5},
    ),
    Placed(
        time=9.0, place="x", engine="serial", address=None, gpus_per_trial="auto", device="cpu", tracking_uri="none"
    ),
    Used(time=9.0, trial=0, epoch=1, usage=USAGE),
    Retried(time=9.0, trial=1, cause="crashed", message="died"),
    Promoted(time=9.0, trial=1),
    Reused(time=9.0, trial=2, study="", source=1, config_identity="x", code_version="x"),
    Untested(time=9.0, trial=1, reason="crashed", message="died", then="measure"),
    Interrupted(time=9.0),
    Resumed(time=9.0, code_version="x"),
    Extended(time=9.0, trials=2, choices={DEPTH: (7,)}),
    Shortened(time=9.0, trials=3),
    Shortened(time=9.0, trials=3, over=HoursOver(hours=2.0, left_out=4)),
    Extended(time=9.0, hours=3.0),
]
"""Events that a plain study does not have."""


def ablation(looks: tuple[int, ...] = ()) -> list[Ablated]:
    """An ablation that has been planned, and is to begin."""
    rows = (ListedRow(roles=(Role(kind="base"), Role(kind="winner", winner=0)), point={}),)
    events = [*opening(CONFIG), AblationPlanned(time=9.0, rows=rows, looks=looks)]
    return [Ablated(time=9.0, ablation=1, event=event) for event in events]


EVENTS = lines_of([*history(CONFIG), *FURTHER, *ablation()])


def told(folder: Path, done: str) -> None:
    """A report or a refusal, which ``typed`` sees to."""
    assert typed("report", folder).code in (0, 2), done


def test_the_ledger_is_right_before_it_is_changed(tmp_path: Path) -> None:
    assert typed("report", written(tmp_path, EVENTS)).code == 0


def test_an_ablation_until_it_is_decided_that_has_trained_nothing_yet_is_reported(tmp_path: Path) -> None:
    begun = lines_of([*history(CONFIG), *ablation(looks=(2, 3))])
    assert typed("report", written(tmp_path, begun)).code == 0


@pytest.mark.first(2)
@pytest.mark.parametrize("seed", range(40))
def test_a_hostile_value_is_told_in_a_line_or_changes_no_more_than_a_report(seed: int, tmp_path: Path) -> None:
    done, events = hostile(EVENTS, random.Random(seed))
    told(written(tmp_path, events), done)


@pytest.mark.first(1)
@pytest.mark.parametrize("score", [1e308, -1e308, 1e160])
def test_scores_whose_squares_are_no_numbers_are_reported(score: float, tmp_path: Path) -> None:
    number = next(number for number, event in enumerate(EVENTS) if event["kind"] == "reported")
    changed = [*EVENTS]
    changed[number] = replaced(EVENTS[number], ("score",), score)
    told(written(tmp_path, changed), f"{score}")


@pytest.mark.slow
@pytest.mark.parametrize("kind", dict.fromkeys(event["kind"] for event in EVENTS))
def test_each_field_of_a_kind_of_event_with_each_hostile_value(kind: str, tmp_path: Path) -> None:
    number = max(number for number, event in enumerate(EVENTS) if event["kind"] == kind)
    for place in places(EVENTS[number]):
        if kind == "study_opened" and len(place) > 4:  # configs, which have tests of their own
            continue
        for value in HOSTILE:
            changed = [*EVENTS]
            changed[number] = replaced(EVENTS[number], place, value)
            folder = written(tmp_path, changed)
            with suppress(UserError):  # how the command line says it is seen above
                read_study(folder)
                told(folder, f"{kind} {place} {str(value)[:40]!r}")


@pytest.mark.first(3)
@pytest.mark.parametrize(
    ("kind", "place", "value"),
    [
        ("proposed", ("trial",), 10**18),
        ("proposed", ("parameters",), 10**30),
        ("reported", ("from_the_future",), 1),
        ("ended", ("trial",), 17),
        ("reported", ("epoch",), 10**9),
        ("proposed", ("point", DEPTH), 10**400),
        ("study_opened", ("study", "search", "trials"), 10**21),
        ("study_opened", ("study", "space", "axes", DEPTH), {"integer": [0, 10**30]}),
    ],
    ids=lambda value: str(value)[:30],
)
def test_every_command_tells_a_damaged_event_in_one_line(
    kind: str, place: tuple[str, ...], value: object, tmp_path: Path
) -> None:
    number = next(number for number, event in enumerate(EVENTS) if event["kind"] == kind)
    changed = [*EVENTS]
    changed[number] = {**EVENTS[number], place[0]: value} if len(place) == 1 else replaced(EVENTS[number], place, value)
    folder = written(tmp_path / "study", changed)
    for command, *options in (
        ("report",),
        ("simulate",),
        ("export", "--to", tmp_path / "out"),
        ("extend", "--trials", "1"),
    ):
        assert str(folder) in refusal(command, folder, *options)
    right = written(tmp_path / "right", EVENTS)
    assert str(folder) in refusal("compare", right, folder)
    assert typed("resume", folder, "--engine", "serial").code == 2
