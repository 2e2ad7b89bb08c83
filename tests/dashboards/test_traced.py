"""``report --trace``: each number of the report of a search is found again in the events that it leads to alone."""

import json
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from itertools import combinations, pairwise
from pathlib import Path
from statistics import fmean, stdev, variance
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from scipy.stats import norm, spearmanr

from skipstack.dashboards.reports.exploration.report import exploration_report
from skipstack.dashboards.reports.exploration.traced import model_events
from skipstack.search.analysis.exploration.budgets import HELD
from skipstack.search.analysis.exploration.table import BASELINE
from skipstack.search.analysis.study_frames import StudyFrames, study_frames
from skipstack.search.api.study import exploration_of
from skipstack.search.ledger.events import Event
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.study.record.study_record import StudyRecord
from tests.command_line import typed
from tests.formats.before_files import BEFORE
from tests.search.made_up import DEPTH, history, study

Told = Sequence[Mapping[str, Any]]
"""Events as the ledger has them."""

ROUNDING = 1e-12

MODELLED = (
    *("effect", "effect_low", "effect_high", "effect_whole_trials", "effects: deviation", "effects: columns"),
    *("interaction", "fanova", "by_chance"),
)
"""What rests on the model of all trials."""


@cache
def made_up() -> tuple[Event, ...]:
    """Trials of two objectives that end in three ways, stopped at three rungs; at the second some are worse."""

    def told(event: Event) -> Event:
        if event.kind == "proposed":
            return event.model_copy(update={"parameters": 100 * event.point[DEPTH]})
        if event.kind == "reported" and event.epoch == 2 and event.trial % 2:
            return event.model_copy(update={"score": event.score - 0.05})
        return event

    return tuple(map(told, history(study(trials=12, objectives=("score", "parameters")), seed=7)))


@pytest.fixture(scope="module", params=["asha", "trees", "text", "extended", "made up"])
def frames(request: pytest.FixtureRequest) -> Iterator[StudyFrames]:
    with TemporaryDirectory() as folder:
        if request.param == "made up":
            with Ledger(Path(folder) / "ledger") as ledger:
                ledger.append(*made_up())
        yield study_frames(Path(folder) if request.param == "made up" else BEFORE / request.param)


def numbers(content: Mapping[str, Any]) -> Iterator[tuple[str, str, float]]:
    """What each number of a report is about, its name and its value, in the order of what is traced."""
    for row in content["rows"]:
        own = {name: value for name, value in row.items() if row["axis"] != BASELINE or name.endswith("_mean")}
        yield from named(f"{row['axis']} {row['value']}", own)
    search = {name: content[name] for name in ("reused", "epochs", "seconds")}
    front = {"on_front": len(content["front"]) or None, "best_trial": content["best"]["trial"]}
    yield from named("search", {"trials": sum(content["ends"].values()), **content["ends"], **search, **front})
    for trial in content["front"]:
        yield from named(f"Pareto front, trial {trial['trial']}", {**trial, "trial": None})
    yield from named("effects", content["effects"])
    for each in content["importances"]:
        yield from named(f"importance of {each['axis']}", each)
    for each in content["pairs"]:
        both = f"{each['axis_one']}={each['value_one']} with {each['axis_two']}={each['value_two']}"
        yield from named(both, {name: each[name] for name in ("n", "whole", "interaction")})
    for each in content["rungs"]:
        yield from named(f"rung at epoch {each['rung']}", {**each, "rung": None})
    for each in content["expected_best"]:
        trials = f"{each['trials']} trial{'s' if each['trials'] > 1 else ''}"
        yield from named(f"best to expect of {trials}", {**each, "trials": None})
    yield from named("half as many trials again", content["continued"] or {})


def named(about: str, values: Mapping[str, Any]) -> Iterator[tuple[str, str, float]]:
    for name, value in values.items():
        if isinstance(value, int | float) and not isinstance(value, bool):
            yield about, name, value


@pytest.mark.first(4)
def test_every_number_of_a_report_is_made_of_the_events_that_it_leads_to(frames: StudyFrames) -> None:
    seen = frames.exploration()
    told = {
        int(number): json.loads(text)
        for number, text in zip(frames.events["event"], frames.events["json"], strict=True)
    }
    found, wanted = list(exploration_report(seen).traced()), list(numbers(exploration_report(seen).content))
    assert [each.name for each in found] == [f"{about}: {name}" for about, name, _ in wanted]
    assert len(found) > 40
    for each, (about, name, value) in zip(found, wanted, strict=True):
        events = [told[number] for number in each.events]
        assert events or value == 0, each
        if each.name.endswith(MODELLED):
            assert each.events == model_events(seen)
        elif events:
            made = again(about, name, events, frames.measure.name)
            sign = frames.measure.score(1.0) if name in ("dev_mean", "test_mean") and about[:8] != BASELINE else 1
            assert math.isclose(value, sign * made, rel_tol=1e-12), (each, value, made)


def again(about: str, name: str, events: Told, measure: str) -> float:
    """A number from the events alone."""
    kinds = {kind: [event for event in events if event["kind"] == kind] for kind in {each["kind"] for each in events}}
    reports, scores = kinds.get("reported", []), final_scores(events)
    ends = [event["reason"] for event in kinds.get("ended", [])]
    dev = reports[0]["metrics"][f"dev_{measure}"] if reports else ()
    test = kinds["tested"][0]["metrics"][f"test_{measure}"] if "tested" in kinds else ()
    if about.startswith(BASELINE):
        (prepared,) = events
        return float(prepared[f"baseline_{name.removesuffix('_mean')}"])
    if about.startswith("rung"):
        return at_rung(int(about.split()[-1]), name, events)
    if about.startswith("best to expect"):
        return expected(int(about.split()[-2]), name, len(reports), sorted(scores.values()))
    if about == "half as many trials again":
        return continued(name, events, measure, sorted(scores.values()))
    if about.startswith("importance"):
        return sum(about.split()[-1] in event["point"] for event in kinds["proposed"])
    if name in ("whole", "whole_trials", "stopped_trials") or (about == "search" and name in ends):
        return ends.count(
            {"whole": "completed", "whole_trials": "completed", "stopped_trials": "stopped"}.get(name, name)
        )
    match name:
        case "trials" | "n":
            return len(kinds["proposed"])
        case "scored_trials":
            return len(scores)
        case "selected_trial" | "best_trial":
            return max(scores, key=lambda trial: (scores[trial], -trial))
        case "selected_epoch":
            return float(reports[0]["epoch"])
        case "seeds":
            return len(dev)
        case "epochs":
            return len(reports)
        case "seconds":
            return sum(event["seconds"] for event in reports)
        case "dev_mean" | "test_mean":
            return fmean(dev or test)
        case "dev_deviation" | "test_deviation":
            return stdev(dev or test)
        case "score":
            return float(reports[0]["score"])
        case "parameters" | "selected_parameters":
            return float(kinds["proposed"][0]["parameters"])
        case "on_front":
            points = [
                (scores[each["trial"]], -each["parameters"]) for each in kinds["proposed"] if each["trial"] in scores
            ]
            return sum(not any(dominates(other, point) for other in points) for point in points)
    raise AssertionError(f"no other way to {about}: {name}")


def continued(name: str, events: Told, measure: str, ordered: Sequence[float]) -> float:
    """All ways to leave half of the trials out; the variance of each trial's seeds."""
    more, reports = len(ordered) // 2, [event for event in events if event["kind"] == "reported"]
    match name:
        case "trials":
            return more
        case "epochs":
            return len(reports) * more / len(ordered)
        case "last":
            finals = final_scores(events)
            first = sorted(finals)[: len(ordered) - more]
            return ordered[-1] - max(finals[trial] for trial in first)
        case "held":
            (opened,) = events
            return HELD[opened["study"]["search"]["proposer"]["kind"]]
        case "most":
            return ordered[-1] - fmean(max(kept) for kept in combinations(ordered, len(ordered) - more))
        case _:
            dev: dict[int, list[float]] = {}
            for event in reports:
                dev.setdefault(event["trial"], []).extend(event["metrics"][f"dev_{measure}"])
            return fmean(variance(values) for values in dev.values() if len(values) > 1) ** 0.5


def final_scores(events: Told) -> dict[int, float]:
    """The best score of each trial that has one."""
    without = {event["trial"] for event in events if event.get("reason") in ("failed", "diverged")}
    scores: dict[int, float] = {}
    for event in events:
        if event["kind"] == "reported" and event["trial"] not in without and math.isfinite(float(event["score"])):
            scores[event["trial"]] = max(scores.get(event["trial"], -math.inf), event["score"])
    return scores


def dominates(one: tuple[float, float], other: tuple[float, float]) -> bool:
    return one != other and all(ours >= theirs for ours, theirs in zip(one, other, strict=True))


def at_rung(rung: int, name: str, events: Told) -> float:
    """Of trials that came to a rung; those of which the end is told completed."""
    reports = [event for event in events if event["kind"] == "reported" and math.isfinite(float(event["score"]))]
    trials = {event["trial"] for event in reports}
    if name in ("n", "stopped"):
        return len(trials)
    whole = [event["trial"] for event in events if event["kind"] == "ended"]
    finals = final_scores(events)
    there = {
        trial: max(event["score"] for event in reports if event["trial"] == trial and event["epoch"] <= rung)
        for trial in trials
    }
    if name == "whole":
        return len(whole)
    if name in ("correlation", "low", "high"):
        at = {(event["trial"], event["epoch"]): event["score"] for event in reports}
        last = {trial: max(epoch for number, epoch in at if number == trial) for trial in whole}
        value = float(
            spearmanr([at[trial, rung] for trial in whole], [at[trial, last[trial]] for trial in whole]).statistic
        )
        half = norm.ppf(0.975) * math.sqrt((1 + value**2 / 2) / (len(whole) - 3))
        return math.tanh(math.atanh(value) + {"correlation": 0, "low": -half, "high": half}[name])
    best = max(whole, key=lambda trial: finals[trial])
    return 1 + sum(score > there[best] for score in there.values())


def expected(k: int, name: str, epochs: int, scores: Sequence[float]) -> float:
    """E[max] = v_1 + sum_i (v_(i+1) - v_i) P(one of k is above v_i), with k of N scores, none twice."""
    count = len(scores)
    if name == "epochs":
        return epochs * k / count
    steps = pairwise(scores)
    return scores[0] + sum(
        (above - below) * (1 - math.comb(place, k) / math.comb(count, k))
        for place, (below, above) in enumerate(steps, 1)
    )


@pytest.mark.slow
def test_what_rests_on_the_model_changes_with_its_events_and_with_no_others() -> None:
    """Altered: all scores that the model was not made of; then the first of a trial that was stopped."""
    events, record = made_up(), StudyRecord.of(made_up())
    model = set(model_events(exploration_of(record)))
    others = set(range(len(events))) - model
    assert {events[place].kind for place in others} >= {"reported", "tested"}
    found = modelled(set())
    assert modelled(others) == found
    stopped = next(event.trial for event in events if event.kind == "ended" and event.reason == "stopped")
    reports = [place for place, event in enumerate(events) if event.kind == "reported" and event.trial == stopped]
    changed = modelled(reports[:1])
    exact = {name for name in found if abs(found[name]) < ROUNDING}  # what the model fits whatever it is made of
    exact.add("effects: columns")
    assert {name for name in found if changed[name] == found[name]} <= exact
    assert len(exact) < len(found) / 4


def modelled(altered: Collection[int]) -> dict[str, float]:
    """What rests on the model, by name, where these events say more."""

    def told(event: Event) -> Event:
        if event.kind == "reported":
            return event.model_copy(update={"score": event.score + 0.1})
        return event.model_copy(update={"metrics": {"test_accuracy": (0.5, 0.5)}} if event.kind == "tested" else {})

    events = [told(event) if place in altered else event for place, event in enumerate(made_up())]
    content = exploration_report(exploration_of(StudyRecord.of(events))).content
    by_name = {f"{about}: {name}": value for about, name, value in numbers(content)}
    return {name: value for name, value in by_name.items() if name.endswith(MODELLED)}


def test_a_user_reads_them(tmp_path: Path) -> None:
    answer = typed("report", str(BEFORE / "asha"), "--trace", "--by", "model.stack.depth")
    assert answer.code == 0, answer
    lines = answer.out.splitlines()
    assert any(line.startswith("best trial ") and ": dev_mean: 0." in line for line in lines)
    assert "  tested  000002.jsonl:" in answer.out
    assert all(len(line) <= 80 for line in lines if line.startswith(" "))
    refused = typed("report", str(BEFORE / "asha"), "--trace", "--format", "json")
    assert (refused.code, "--trace excludes" in refused.error) == (2, True)
    refused = typed("report", str(BEFORE / "asha"), "--trace", "--confirmed")
    assert (refused.code, "--confirmed: asha stops trials" in refused.error) == (2, True)
