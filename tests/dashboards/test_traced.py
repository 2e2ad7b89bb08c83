"""``report --trace``: each number of the table is found again in the events that it names, and in no others."""

import json
import math
from collections.abc import Mapping
from statistics import fmean, stdev
from typing import Any

import pytest

from skipstack.dashboards.explored.exploration_table import numbers_of
from skipstack.dashboards.explored.traced import traced
from skipstack.search.exploration.table import BASELINE
from skipstack.search.frames.study_frames import study_frames
from tests.command_line import typed
from tests.formats.before_files import BEFORE


def made(name: str, events: list[dict[str, Any]], measure: str) -> float | None:
    """A number of the table from the events alone; None where it is no function of them alone."""
    by_kind: dict[str, list[dict[str, Any]]] = {}
    for event in events:
        by_kind.setdefault(event["kind"], []).append(event)
    reports = by_kind.get("reported", [])
    split = name.partition("_")[0]
    values = {
        "dev": lambda: reports[0]["metrics"][f"dev_{measure}"],
        "test": lambda: by_kind["tested"][0]["metrics"][f"test_{measure}"],
    }
    match name:
        case "trials":
            return len(by_kind["proposed"])
        case "scored_trials":
            return len({event["trial"] for event in reports})
        case "selected_trial":
            return float(max(reports, key=lambda event: (event["score"], -event["trial"]))["trial"])
        case "selected_epoch":
            return float(reports[0]["epoch"])
        case "seeds":
            return float(len(reports[0]["metrics"][f"dev_{measure}"]))
        case "epochs":
            return float(len(reports))
        case "seconds":
            return sum(event["seconds"] for event in reports)
        case "dev_mean" | "test_mean":
            return fmean(values[split]())
        case "dev_deviation" | "test_deviation":
            return stdev(values[split]()) if len(values[split]()) > 1 else None
        case _:
            return None


@pytest.mark.parametrize("name", ["asha", "trees", "text", "extended"])
def test_every_number_of_a_report_is_made_of_the_events_that_it_leads_to(name: str) -> None:
    frames = study_frames(BEFORE / name)
    seen = frames.explored()
    told: Mapping[int, dict[str, Any]] = {
        int(number): json.loads(text)
        for number, text in zip(frames.events["event"], frames.events["json"], strict=True)
    }
    sign, found = frames.measure.score(1.0), list(traced(frames, seen))
    cells = [
        (row, key, value)
        for row in seen.rows
        for key, value in numbers_of(row).items()
        if isinstance(value, int | float) and not isinstance(value, bool)
        if row.axis != BASELINE or key.endswith("_mean")
    ]
    assert len(found) == len(cells) > 20
    checked = 0
    for each, (row, key, value) in zip(found, cells, strict=True):
        assert each.name == f"{row.axis} {row.value}: {key}"
        events = [told[number] for number in each.events]
        if row.axis == BASELINE:
            assert {event["kind"] for event in events} == {"corpus_prepared"}
            assert value in (events[0]["baseline_dev"], events[0]["baseline_test"])
            continue
        assert events or value == 0
        wanted = made(key, events, frames.measure.name) if events else 0.0
        if wanted is not None:
            mean = key in ("dev_mean", "test_mean")
            assert math.isclose(value, sign * wanted if mean else wanted, rel_tol=1e-12), (each, value, wanted)
            checked += 1
    assert checked > 20


def test_a_user_reads_them() -> None:
    answer = typed("report", str(BEFORE / "asha"), "--trace", "--by", "model.stack.depth")
    assert answer.code == 0, answer
    lines = answer.out.splitlines()
    assert any(line.startswith("best trial ") and ": dev_mean: 0." in line for line in lines)
    assert "  tested  000002.jsonl:" in answer.out
    assert all(len(line) <= 80 for line in lines if line.startswith(" "))
    refused = typed("report", str(BEFORE / "asha"), "--trace", "--confirmed")
    assert (refused.code, "--trace excludes" in refused.error) == (2, True)
