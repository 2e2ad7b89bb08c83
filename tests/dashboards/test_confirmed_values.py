"""Beside what a search saw of a value stands what its ablation confirmed of it: the same numbers in all formats."""

import csv
import io
import json
from collections.abc import Iterator, Mapping
from html import unescape
from pathlib import Path
from typing import Any, get_args

import pytest

from skipstack.dashboards.formats.page import Report
from skipstack.dashboards.formats.rendering import Format, render
from skipstack.dashboards.reports.confirmation.reports import confirmed_tables
from skipstack.dashboards.reports.study_report import whole_report
from skipstack.search.api.study import exploration_of
from skipstack.search.study.config import StudyConfig
from skipstack.search.study.record.reading import read_study
from tests.search.analysis.ablation.toys import PlantedWorker, beginning, grid_search, made, run_ablation
from tests.search.made_up import DEPTH, RATE
from tests.search.toy import open_toy, run_toy, toy_study

AXES: dict[str, object] = {DEPTH: {"choice": [1, 3]}, RATE: {"log": [0.001, 0.1]}}
"""The base has three layers, which cost 32 points on test, and a rate that does nothing."""

CONFIRMED = ("confirmed", "confirmed_low", "confirmed_high", "confirmed_marked")


def _report(path: Path) -> Report:
    record = read_study(path)
    return whole_report(exploration_of(record), list(confirmed_tables(record)))


@pytest.fixture(scope="module")
def ablated(tmp_path_factory: pytest.TempPathFactory) -> Report:
    path = tmp_path_factory.mktemp("confirmed") / "study"
    tree = toy_study(12, "random", epochs=2).model_dump(mode="json")
    tree["space"] |= {"axes": AXES}
    tree["space"]["base"]["model"]["stack"] |= {"depth": 3}
    run_toy(open_toy(path, StudyConfig.model_validate(tree)))
    planned = made(path)
    run_ablation(path, planned.number, beginning(path, planned), worker=PlantedWorker)
    return _report(path)


def _without(content: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The rows of the ablation that take one change back, by its axis."""
    (table,) = content["confirmed"]
    return ((row["axis"], row) for row in table["rows"] if row["section"] == "each change in the winner")


def test_what_is_confirmed_of_a_value_is_the_gain_that_the_ablation_shows(ablated: Report) -> None:
    content = json.loads(render(ablated, "json"))
    changed = content["best"]["changes"]
    of_axis = dict(_without(content))
    assert set(of_axis) == set(changed)
    told = {row["axis"]: row for row in content["rows"] if row["confirmed"] is not None}
    assert set(told) == set(changed)
    for axis, row in told.items():
        own = of_axis[axis]
        assert row["confirmed"] == own["gain"]
        assert (row["confirmed_low"], row["confirmed_high"]) == (own["gain_low"], own["gain_high"])
        assert row["confirmed_marked"] == own["marked"]
    assert told[DEPTH]["value"] == "1"
    assert told[DEPTH]["confirmed"] > 0.25
    assert told[DEPTH]["confirmed_marked"]
    low, high = map(float, told[RATE]["value"].split(" – "))
    assert low <= changed[RATE] <= high


@pytest.mark.first(1)
@pytest.mark.parametrize("form", get_args(Format))
def test_every_format_has_it(form: Format, ablated: Report) -> None:
    rows = [row for row in json.loads(render(ablated, "json"))["rows"] if row["confirmed"] is not None]
    said = unescape(render(ablated, form, width=120, full=True))
    assert "confirmed: what the value adds" in " ".join(said.split()) or form in ("csv", "json")
    if form == "csv":
        read = {(row["axis"], row["value"]): row for row in csv.DictReader(io.StringIO(said))}
        for row in rows:
            assert [read[row["axis"], row["value"]][name] for name in CONFIRMED] == [
                str(row[name]) for name in CONFIRMED
            ]
        return
    for row in rows:
        half = 100 * (row["confirmed_high"] - row["confirmed_low"]) / 2
        printed = f"{100 * row['confirmed']:+.2f} ± {half:.2f}"
        assert form == "json" or printed in said.replace("$\\pm$", "±").replace("$-$", "-").replace("−", "-")


def test_without_an_ablation_there_is_no_such_column(tmp_path: Path) -> None:
    report = _report(grid_search(tmp_path / "study", {DEPTH: {"choice": [1, 3]}}))
    assert {row["confirmed"] for row in json.loads(render(report, "json"))["rows"]} == {None}
    assert "confirmed: what" not in render(report, "text", full=True)
