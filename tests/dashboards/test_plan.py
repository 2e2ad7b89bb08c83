"""``skipstack plan``: what it prints, that text and JSON say the same, and what it leaves behind."""

import json
import os
import re
import tempfile
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from skipstack.dashboards.cli import app
from skipstack.dashboards.formats.rendering import render
from skipstack.dashboards.reports.plan_report import plan_report
from skipstack.dashboards.reports.wording import duration
from skipstack.data.basis.errors import UserError
from skipstack.data.basis.system import usable_cpus
from skipstack.search.api.planning.plan import Plan, Room, plan
from skipstack.search.study.study_files.document import presets
from skipstack.search.study.study_files.study_file import load_study
from skipstack.spaces.counting import SpaceCount
from tests.search.api.planning.test_plan import KnownMeter, planned
from tests.search.changed import searched
from tests.search.made_up import AXES, study

STUDY = """
extends: quickstart
base: {data: {corpus: {kind: grammar, train: 60, dev: 20, test: 5}}}
axes:
  model.embedder.word_size: {choice: [8, 16]}
  model.stack.dropout:
    named: {none at all: 0.0, some: 0.25}
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with a study file, and a temporary folder to look into afterwards."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "scratch").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "scratch"))
    (tmp_path / "study.yaml").write_text(STUDY)
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["plan", *arguments])


def test_a_plan_tells_space_networks_and_hours_and_leaves_nothing(here: Path) -> None:
    shown = run("study.yaml", "--trials", "7", "--epochs", "4", "--seeds", "2")
    assert shown.exit_code == 0, shown.output
    assert max(map(len, shown.stdout.splitlines())) <= 80
    for text in (
        "infinitely many configurations: 28 combinations of 5 axes, each with any value of training.optimiser",
        "model.stack.dropout: none at all, some",
        "7 trials by tpe, seeds 2, epochs 4",
        "stopping: asha (grace 2, reduction 2), rungs at epoch 2",
        "none stopped",
        "Kernels: ",
        "The hours assume a machine as free as now at ",
        "an epoch, the mean of the drawn networks,",
        "programs ran or waited in the minute before",
    ):
        assert text in " ".join(shown.stdout.split()), text
    assert re.search(r"largest +[\d,]+ +[\d.]+ +[\d.]+ +[\d.]+ +[\d.]+ +[\d.]+", shown.stdout)
    assert "timing network 1 of " in shown.stderr
    assert sorted(path.name for path in here.rglob("*")) == ["scratch", "study.yaml"]


@pytest.mark.slow
def test_json_holds_everything_by_full_names_and_all_but_times_is_the_same_each_time(here: Path) -> None:
    told, again = (json.loads(run("study.yaml", "--format", "json").stdout) for _ in range(2))
    assert told["space"]["combinations"] == told["space"]["configurations"] == 28
    assert told["search"]["rungs"] == [2, 4]
    for network in told["networks"]:
        parts = ("weight", "gradient", "optimiser", "activation")
        assert network["memory_bytes"] == sum(network[f"{part}_bytes"] for part in parts)
        assert network["parameters"] * 4 * network["lanes"] == network["weight_bytes"]
    best, typical, worst = told["forecasts"]
    assert 0 < best["hours"] < typical["hours"] < worst["hours"]
    assert worst["epochs"] == 16 * 6
    assert told["machine"]["cpus"] == usable_cpus()
    assert told["machine"]["load_average"] >= 0
    for each in (told, again):
        del each["machine"]["load_average"]
        for network in each["networks"]:
            del network["step_seconds"], network["epoch_seconds"]
        each["forecasts"] = [forecast["epochs"] for forecast in each["forecasts"]]
    assert told == again


@pytest.mark.slow
def test_the_forecast_is_for_as_many_trials_as_search_would_run_at_a_time(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)))

    def side_by_side(*options: str) -> int:
        shown = run("study.yaml", "--format", "json", "--trials", "24", *options)
        assert shown.exit_code == 0, shown.output
        told = json.loads(shown.stdout)
        for each in told["forecasts"]:
            assert each["elapsed_hours"] >= each["hours"] / told["machine"]["slots"]
        return int(told["machine"]["slots"])

    assert side_by_side("--concurrent", "3") == 3
    assert side_by_side("--concurrent", "5", "--trials-per-program", "2") == 3
    assert side_by_side("--cpus-per-trial", "4") == 2
    refused = run("study.yaml", "--concurrent", "0")
    assert isinstance(refused.exception, UserError)
    assert "--concurrent: got '0' (allowed: 1 or more, or auto)" in str(refused.exception)


@pytest.mark.parametrize("name", ["wu2017/depth", "gui2019/ner"])
def test_without_its_corpus_a_study_is_counted_and_the_rest_says_why(name: str, here: Path) -> None:
    shown = run(name)
    assert shown.exit_code == 0, shown.output
    assert "configurations" in shown.stdout
    assert "epochs" in shown.stdout
    assert re.search(r"no networks and no hours: .*--data-dir", " ".join(shown.stdout.split()))
    assert "networks\n" not in shown.stdout
    told = json.loads(run(name, "--format", "json").stdout)
    assert told["networks"] == []
    assert {each["hours"] for each in told["forecasts"]} == {None}
    assert sorted(path.name for path in here.rglob("*")) == ["scratch", "study.yaml"]


def numbers(text: str) -> float:
    return float(text.replace(",", ""))


def seconds(cell: str) -> float:
    number, unit = cell.split()
    return numbers(number) * {"s": 1, "min": 60, "h": 3600}[unit]


@pytest.mark.slow
def test_a_plan_says_how_many_trials_share_a_program_and_how_many_end_in_an_hour(here: Path) -> None:
    shown = run("study.yaml", "--trials-per-program", "3")
    assert shown.exit_code == 0, shown.output
    assert "trials/h" in shown.stdout
    told = " ".join(shown.stdout.split())
    assert re.search(r"Of up to 3 trials a program has [123]\.\d on the average", told)
    assert "program side by side" in told or "programs side by side" in told
    with_numbers = json.loads(run("study.yaml", "--trials-per-program", "3", "--format", "json").stdout)
    assert 1 < with_numbers["trials_together"] <= 3
    for each in with_numbers["forecasts"]:
        trials = with_numbers["search"]["trials"]
        assert each["trials_an_hour"] == pytest.approx(trials / each["elapsed_hours"])
    refused = run("study.yaml", "--trials-per-program", "0")
    assert isinstance(refused.exception, UserError)
    assert str(refused.exception) == "--trials-per-program: got 0 (allowed: 1 or more)"


def test_text_has_the_numbers_of_the_json() -> None:
    made = planned(study(AXES), Room(slots=3, gpus_per_trial=0.5))
    told, text = json.loads(as_json(made)), as_text(made)
    rows = [re.split(r" {2,}", line.strip()) for line in text.splitlines()]
    found = [row for row in rows if row[0] in {", ".join(network["roles"]) for network in told["networks"]}]
    assert len(found) == len(told["networks"])
    for network, (_, *cells) in zip(told["networks"], found, strict=True):
        state = sum(network[f"{part}_bytes"] for part in ("weight", "gradient", "optimiser"))
        expected = [network["parameters"], state / 1e6, network["activation_bytes"] / 1e6]
        expected += [network["memory_bytes"] / 1e6, 1000 * network["step_seconds"], network["epoch_seconds"]]
        assert list(map(numbers, cells)) == pytest.approx(expected, rel=0.006)
    for forecast, title in zip(told["forecasts"], ("all stopped", "trials in random", "none stopped"), strict=True):
        (cells,) = (row[1:] for row in rows if row[0].startswith(title))
        assert numbers(cells[0]) == forecast["epochs"]
        hours = [forecast[name] for name in ("hours", "hours_standard_error", "elapsed_hours")]
        assert [seconds(cell) / 3600 for cell in (cells[1], cells[2], cells[4])] == pytest.approx(hours, rel=0.006)
        assert numbers(cells[3]) == pytest.approx(forecast["gpu_hours"], rel=0.006)


@pytest.mark.parametrize(("hours", "said"), [(0.5, True), (1.5, False), (None, False)])
def test_hours_that_are_over_before_the_trials_are_told(hours: float | None, said: bool) -> None:
    """They would take an hour."""
    made = planned(searched(study(AXES), hours=hours))
    in_an_hour = [replace(each, elapsed=1.0) for each in made.forecasts]
    text = " ".join(as_text(replace(made, forecasts=tuple(in_an_hour))).split())
    told = "The study ends after 30 min (search.hours), before its trials do: in random order they take 60 min."
    assert (told in text) is said
    assert json.loads(as_json(made))["search"]["hours"] == hours


def test_a_network_that_does_not_run_is_told(here: Path) -> None:
    made = planned(study(AXES), meter=KnownMeter(broken=[5]))
    assert "RuntimeError: out of memory" in as_text(made)
    assert any(network["failed"] for network in json.loads(as_json(made))["networks"])


def as_text(made: Plan) -> str:
    return render(plan_report(made), "text", width=80)


def as_json(made: Plan) -> str:
    return render(plan_report(made), "json")


def unmeasured(name: str) -> tuple[Plan, dict[str, Any]]:
    config, _ = load_study(name)
    made = plan(config, Room())
    return made, json.loads(as_json(made))


@pytest.mark.first(6)
@pytest.mark.parametrize("name", list(presets()))
def test_every_preset_is_counted_within_eighty_columns(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("skipstack.spaces.counting.count.__kwdefaults__", {"listed": 100, "drawn": 30})
    made, told = unmeasured(name)
    assert max(map(len, as_text(made).splitlines())) <= 80
    assert told["space"]["combinations"] >= told["space"]["configurations"] > 0


def test_a_space_beyond_any_float_is_told_too() -> None:
    config = study({"data.vocabulary.minimum_count": {"integer": [1, 10**15]}})
    counted = SpaceCount(combinations=10**400, allowed=None, drawn=400, drawn_allowed=100)
    made = replace(plan(config, Room()), space=counted)
    assert "about 2.50e+399 configurations: of 1.00e+400 combinations" in as_text(made)
    assert json.loads(as_json(made))["space"]["configurations"] == 25 * 10**398
    few = replace(made, space=replace(counted, combinations=98765432))
    assert "about 24,700,000 configurations" in as_text(few)


def test_the_load_and_the_pace_that_the_hours_assume_are_named() -> None:
    meter = KnownMeter()
    free = planned(study(trials=8), meter=meter)
    drawn = [
        network.measured.epoch_seconds for network in free.networks if network.measured and "drawn" in network.roles
    ]
    busy = replace(free, room=Room(slots=2, cpus=2, load_average=1.94))
    text = " ".join(as_text(busy).split())
    assert f"as free as now at {duration(fmean(drawn))} an epoch" in text
    assert "2 trials side by side as fast as the one: 2 CPUs here, for which 1.9 programs ran" in text
    unknown = " ".join(as_text(replace(free, room=Room(slots=1, cpus=4, load_average=None))).split())
    assert "4 CPUs here, for which an unknown number of programs ran" in unknown


@pytest.mark.slow
def test_the_flagship_is_counted_by_its_structure_and_a_sample() -> None:
    made, told = unmeasured("flagship")
    space = told["space"]
    assert space["combinations"] > 10**10
    assert not space["exact"]
    assert space["drawn"] == 2000
    assert 0 < space["allowed_share_standard_error"] < 0.02
    assert space["configurations"] == pytest.approx(space["allowed_share"] * space["combinations"])
    assert "model.stack.dropout" in space["continuous_axes"]
    assert f"of {space['combinations']:,} combinations" in " ".join(as_text(made).split())


@pytest.mark.slow
def test_of_a_few_configs_a_plan_says_what_it_costs_to_train_all(here: Path) -> None:
    two = STUDY.replace("[8, 16]}\n", "[8, 16]}\n  training.optimiser.learning_rate: null\n  model.stack.depth: null\n")
    two = two.replace("  model.stack.dropout:\n    named: {none at all: 0.0, some: 0.25}\n", "")
    (here / "few.yaml").write_text(two + "  model.stack.composition: null\n  model.stack.shortcut.gate: null\n")
    shown = " ".join(run("few.yaml", "--epochs", "4").stdout.split())
    assert "hint: the space has only 2 configs; `scheduler: none`" in shown
    assert "for 8 epochs in all instead of about " in shown
    assert "hint" not in run("study.yaml").stdout
