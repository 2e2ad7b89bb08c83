"""Events and their JSON text: exact inverses, strict about what they read."""

import json
import math
from collections.abc import Sequence
from pprint import pformat
from typing import get_args

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import ValidationError

from skipstack.search.ledger import events as happened
from skipstack.search.ledger.events import (
    CorpusPrepared,
    Decided,
    Ended,
    Event,
    Extended,
    Finished,
    Gain,
    HoursOver,
    Interrupted,
    LeftOut,
    ListedRow,
    Promoted,
    Proposed,
    Reported,
    Resumed,
    Retried,
    Role,
    Started,
    StudyOpened,
    Usage,
    from_json,
    to_json,
)
from skipstack.search.ledger.sentences import SentenceCounts

FINITE = st.floats(allow_nan=False, allow_infinity=False).map(lambda number: number + 0.0)  # no -0.0
NUMBERS = st.floats().map(lambda number: number + 0.0)
HOURS = st.floats(0, exclude_min=True, allow_nan=False, allow_infinity=False)
COUNTS = st.integers(0, 10**6)
EPOCHS = st.integers(1, 10**4)
SEEDS = st.integers(0, 2**63 - 1)
TIMES = st.floats(-1e11, 1e11).map(lambda number: number + 0.0)
METRICS = st.dictionaries(st.text(), st.lists(NUMBERS).map(tuple), max_size=3)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | FINITE | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
DECISIONS = st.sampled_from(["continue", "pause", "stop", "complete"])
OBJECTS = st.dictionaries(st.text(), JSON, max_size=4)

REPORTS = st.builds(
    Reported,
    time=TIMES,
    trial=COUNTS,
    epoch=EPOCHS,
    score=NUMBERS,
    metrics=METRICS,
    seconds=FINITE,
    latency=st.none() | FINITE,
    seeds=st.lists(SEEDS, max_size=4).map(tuple),
)
SHARES = st.floats(0, 1, exclude_min=True)
PACKED = st.lists(st.integers(0, 300), min_size=6, max_size=6).map(
    lambda counts: SentenceCounts.of(np.reshape(counts, (1, 3, 2)), ("correct", "tags"))
)
SENTENCES = st.none() | PACKED
OBSERVED = st.builds(
    happened.Observed,
    trial=COUNTS,
    point=OBJECTS,
    config_identity=st.text(),
    reason=st.just("completed"),
    curve=st.lists(st.tuples(EPOCHS, NUMBERS), max_size=3).map(tuple),
    recording=st.none()
    | st.builds(
        happened.Recording,
        config_identity=st.text(),
        seeds=st.lists(SEEDS, max_size=2).map(tuple),
        order_seed=COUNTS,
        reports=st.lists(REPORTS, max_size=1).map(tuple),
        tested=METRICS,
        sentences=SENTENCES,
        code_version=st.text(),
    ),
)

ROLES = st.builds(
    Role,
    kind=st.sampled_from(["base", "winner", "without", "alone"]),
    winner=st.none() | COUNTS,
    axis=st.none() | st.text(),
)

BY_KIND: dict[type, st.SearchStrategy[Event]] = {
    StudyOpened: st.builds(StudyOpened, time=TIMES, study=OBJECTS, code_version=st.text()),
    CorpusPrepared: st.builds(
        CorpusPrepared,
        time=TIMES,
        corpus=st.text(),
        fingerprint=st.text(),
        store=st.text(),
        baseline_dev=FINITE,
        baseline_test=FINITE,
        measure=st.sampled_from(["accuracy", "f1"]),
    ),
    Proposed: st.builds(
        Proposed,
        time=TIMES,
        trial=COUNTS,
        point=OBJECTS,
        config_identity=st.text(),
        seeds=st.lists(SEEDS, max_size=4).map(tuple),
        parameters=st.none() | COUNTS,
    ),
    Started: st.builds(Started, time=TIMES, trial=COUNTS),
    happened.Begun: st.builds(happened.Begun, time=TIMES, trial=COUNTS),
    Reported: REPORTS,
    happened.WarmStarted: st.builds(
        happened.WarmStarted, time=TIMES, study=st.text(), observed=st.lists(OBSERVED, max_size=2).map(tuple)
    ),
    happened.Suggested: st.builds(
        happened.Suggested,
        time=TIMES,
        suggestions=st.lists(
            st.builds(happened.Suggestion, study=st.text(), trial=COUNTS, similarity=SHARES, point=OBJECTS), max_size=3
        ).map(tuple),
        similarities=st.dictionaries(st.text(), SHARES, max_size=2),
    ),
    happened.Reused: st.builds(
        happened.Reused,
        time=TIMES,
        trial=COUNTS,
        study=st.text(),
        source=COUNTS,
        config_identity=st.text(),
        code_version=st.text(),
    ),
    happened.Used: st.builds(
        happened.Used,
        time=TIMES,
        trial=COUNTS,
        epoch=EPOCHS,
        seeds=st.lists(SEEDS, max_size=2).map(tuple),
        usage=st.builds(Usage, machine=st.text(), process_cpu=FINITE, machine_cpu=FINITE, gpu=st.none() | FINITE),
    ),
    Decided: st.builds(Decided, time=TIMES, trial=COUNTS, epoch=EPOCHS, rung=st.none() | EPOCHS, decision=DECISIONS),
    Promoted: st.builds(Promoted, time=TIMES, trial=COUNTS),
    Retried: st.builds(Retried, time=TIMES, trial=COUNTS, message=st.text()),
    Ended: st.builds(Ended, time=TIMES, trial=COUNTS, message=st.text()),
    Interrupted: st.builds(Interrupted, time=TIMES),
    Resumed: st.builds(Resumed, time=TIMES, code_version=st.text()),
    happened.Placed: st.builds(
        happened.Placed,
        time=TIMES,
        place=st.text(),
        engine=st.text(),
        address=st.none() | st.text(),
        gpus_per_trial=FINITE | st.just("auto"),
        cpus_per_trial=EPOCHS,
        trials_per_program=EPOCHS,
        concurrent=EPOCHS | st.just("auto"),
        device=st.text(),
        tracking_uri=st.none() | st.text(),
    ),
    happened.Noted: st.builds(happened.Noted, time=TIMES, trial=st.none() | COUNTS, text=st.text(), asked_by=st.text()),
    happened.Renamed: st.builds(happened.Renamed, time=TIMES, title=st.text(min_size=1), asked_by=st.text()),
    happened.Measuring: st.builds(happened.Measuring, time=TIMES, trial=COUNTS),
    happened.Tested: st.builds(happened.Tested, time=TIMES, trial=COUNTS, metrics=METRICS, sentences=SENTENCES),
    happened.Untested: st.builds(happened.Untested, time=TIMES, trial=COUNTS, message=st.text()),
    Extended: st.builds(
        Extended,
        time=TIMES,
        trials=COUNTS,
        seeds=COUNTS,
        choices=st.dictionaries(st.text(), st.lists(JSON, max_size=2).map(tuple), max_size=2),
        hours=st.none() | HOURS,
    ),
    happened.Shortened: st.builds(
        happened.Shortened,
        time=TIMES,
        trials=EPOCHS,
        gain=st.none() | st.builds(Gain, trials=EPOCHS, hours=FINITE, most=FINITE, seed_deviation=FINITE),
        over=st.none() | st.builds(HoursOver, hours=HOURS, left_out=COUNTS),
    ),
    Finished: st.builds(Finished, time=TIMES),
    happened.AblationPlanned: st.builds(
        happened.AblationPlanned,
        time=TIMES,
        rows=st.lists(
            st.builds(ListedRow, roles=st.lists(ROLES, max_size=2).map(tuple), point=OBJECTS), max_size=2
        ).map(tuple),
        left_out=st.lists(st.builds(LeftOut, role=ROLES, why=st.text()), max_size=2).map(tuple),
        winners=st.lists(COUNTS, max_size=2).map(tuple),
        corpora=st.lists(st.text(), max_size=2).map(tuple),
        path=st.booleans(),
    ),
}
OWN = st.one_of(*BY_KIND.values())
EVENTS = OWN | st.builds(happened.Ablated, time=TIMES, ablation=EPOCHS, event=OWN)


def shown(events: Sequence[Event]) -> str:
    """Events as a text that tells 1 from 1.0 and nan from 'nan', with every digit; the order of keys aside."""
    return pformat([event.model_dump() for event in events])


def test_every_kind_of_event_is_generated_here() -> None:
    own, ablated = get_args(get_args(Event)[0])
    assert ablated is happened.Ablated
    assert set(BY_KIND) == set(get_args(get_args(own)[0]))


@given(st.lists(EVENTS, max_size=4))
def test_events_survive_the_round_trip_number_for_number(events: list[Event]) -> None:
    assert shown(from_json(to_json(events))) == shown(events)


@given(st.lists(EVENTS, max_size=3))
def test_the_text_is_one_line_of_strict_ascii_json(events: list[Event]) -> None:
    text = to_json(events)
    assert text.isascii()
    assert "\n" not in text

    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    assert len(json.loads(text, parse_constant=refuse)) == len(events)


@pytest.mark.parametrize(
    ("score", "text"), [(math.nan, "nan"), (math.inf, "inf"), (-math.inf, "-inf")], ids=["nan", "inf", "-inf"]
)
def test_a_score_that_is_no_finite_number_is_written_as_text(score: float, text: str) -> None:
    event = Reported(time=0.0, trial=0, epoch=1, score=score, metrics={"train_loss": (score, 1.0)}, seconds=0.0)
    (plain,) = json.loads(to_json([event]))
    assert plain["score"] == text
    assert plain["metrics"] == {"train_loss": [text, 1.0]}


@given(text=st.text(st.characters() | st.characters(categories=["Cs"]) | st.sampled_from("\\ud\U0001f600"), max_size=8))
@example(text="half an emoji: \ud83d")
@example(text=r"C:\udata")
def test_half_a_surrogate_pair_is_written_as_a_replacement_character(text: str) -> None:
    event = Ended(time=0.0, trial=0, reason="failed", message=text)
    whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    assert from_json(to_json([event])) == (event.model_copy(update={"message": whole}),)


@pytest.mark.parametrize(
    "text",
    [
        '[{"kind":"started","time":0.0,"trial":0,"colour":"red"}]',
        '[{"kind":"bored","time":0.0,"trial":0}]',
        '[{"time":0.0,"trial":0}]',
        '[{"kind":"started","time":0.0,"trial":-1}]',
        '[{"kind":"started","time":"nan","trial":0}]',
        '[{"kind":"ended","time":0.0,"trial":0,"reason":"bored"}]',
        '[{"kind":"finished","time":0.0}',
        '{"kind":"finished","time":0.0}',
    ],
    ids=["unknown key", "unknown kind", "no kind", "negative trial", "time is nan", "unknown reason", "cut", "no list"],
)
def test_what_is_no_list_of_events_is_refused(text: str) -> None:
    with pytest.raises(ValidationError):
        from_json(text)


def test_an_event_cannot_change() -> None:
    event = Started(time=0.0, trial=0)
    with pytest.raises(ValidationError, match="frozen"):
        event.trial = 1  # type: ignore[misc]
