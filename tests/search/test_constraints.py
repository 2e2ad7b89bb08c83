"""Every trial of a study with constraints satisfies them, from the first proposal to the ablation."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import skipstack
from skipstack.data.basis.errors import UserError
from skipstack.search.api.simulation.recordings import recordings
from skipstack.search.api.simulation.simulation import simulate
from skipstack.search.strategy.proposers.build import proposer
from skipstack.search.strategy.proposers.config import (
    EvolutionConfig,
    ModelBasedConfig,
    PlainProposerConfig,
    ProposerConfig,
)
from skipstack.search.study.record.reading import read_study
from skipstack.search.study.study_files.study_file import load_study
from skipstack.spaces import constraint_functions
from skipstack.spaces.function import FunctionSource
from skipstack.spaces.space import Space
from tests.command_line import refusal, typed
from tests.search.functions import Killed, KilledDriver, open_function, run_function

AXES: dict[str, Any] = {
    "a": {"integer": [1, 9]},
    "b": {"integer": [1, 9]},
    "kind": {"choice": ["flat", "steep"]},
    "slope": {"choice": [1, 2, 3], "when": {"kind": ["steep"]}},
}
RULES = ["a * b <= 12", "slope < a"]

PROPOSERS: Mapping[str, ProposerConfig] = {
    "grid": PlainProposerConfig(kind="grid"),
    "one_at_a_time": PlainProposerConfig(kind="one_at_a_time"),
    "random": PlainProposerConfig(kind="random"),
    "tpe": ModelBasedConfig(kind="tpe"),
    "prior": ModelBasedConfig(kind="prior"),
    "gp": ModelBasedConfig(kind="gp"),
    "evolution": EvolutionConfig(population=4, sample=2),
}


def kept(point: Mapping[str, Any]) -> bool:
    return point["a"] * point["b"] <= 12 and ("slope" not in point or point["slope"] < point["a"])


def product(config: Mapping[str, Any], report: Any) -> None:
    """Report a score whose best allowed product is 12; a steep config is slightly better."""
    assert config["a"] * config["b"] <= 12
    for epoch in range(1, 4):
        report(score=config["a"] * config["b"] + 0.1 * config["slope"] * (config["kind"] == "steep") + epoch)


def pair(a: int, b: int) -> bool:
    """The first of the constraints."""
    return a * b <= 12


@pytest.mark.parametrize("name", PROPOSERS)
def test_every_proposer_proposes_what_keeps_the_constraints_and_nothing_else(name: str) -> None:
    source = FunctionSource(name="product", file="mine.py", source="0" * 16)
    space = Space(load_study({"axes": AXES, "constraints": RULES, "base": {"a": 3, "b": 3}}, function=source)[0].space)
    asked = proposer(PROPOSERS[name], space, seed=1, objectives=1, trials=30)
    points = []
    for number in range(14):
        if (point := asked.ask(number)) is None:
            break
        assert point == asked.ask(number)
        assert kept(point)
        assert point not in points
        points.append(point)
        asked.proposed(number, point)
        asked.ended(number, "completed", [(1, float(np.sin(number)))])
    assert len(points) == 14 or name == "one_at_a_time"


def test_a_killed_study_goes_on_as_it_would_have(tmp_path: Path) -> None:
    study = {"axes": AXES, "constraints": RULES, "search": {"proposer": "tpe", "trials": 12, "seeds": 1}}
    whole = run_function(open_function(tmp_path / "whole", product, study, epochs=3), product)
    folder = open_function(tmp_path / "killed", product, study, epochs=3)
    with pytest.raises(Killed):
        run_function(folder, product, KilledDriver)
    after = run_function(folder, product)
    assert [trial.point for trial in after.trials.values()] == [trial.point for trial in whole.trials.values()]
    assert all(kept(trial.point) for trial in whole.trials.values())
    assert whole.study.space.constraints == tuple(RULES)


def test_a_simulation_replays_a_study_with_constraints(tmp_path: Path) -> None:
    study = {"axes": AXES, "constraints": RULES, "search": {"proposer": "random", "trials": 10, "scheduler": "none"}}
    record = run_function(open_function(tmp_path / "study", product, study, epochs=3), product)
    search = record.study.search.model_copy(update={"proposer": ModelBasedConfig(kind="prior"), "trials": 6})
    assert simulate(record, recordings(record), search, workers=1).trials == 6


@pytest.mark.slow
def test_an_ablation_leaves_out_and_names_the_rows_that_the_constraints_forbid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The base is a = 3, b = 3; the best trial is 6 by 2. The constraint forbids 6 by 3, that is the base with the best
    a, or the best trial with the base's b.
    """
    folder = tmp_path / "study"
    axes = {"a": {"choice": [2, 3, 6]}, "b": {"choice": [2, 3]}}
    base = {"a": 3, "b": 3, "kind": "flat", "slope": 1}
    study = {"axes": axes, "base": base, "search": {"proposer": "grid", "trials": 9, "scheduler": "none"}}
    skipstack.search(study, product, constraints=[pair, "a != b or a == 3"], out=folder, engine="serial", seeds=1)
    pairs = {(trial.point["a"], trial.point["b"]) for trial in read_study(folder).trials.values()}
    assert pairs == {(2, 3), (3, 2), (3, 3), (6, 2)}
    monkeypatch.setattr(constraint_functions, "_given", {})
    assert typed("report", folder, "--full").code == 0
    with pytest.raises(UserError, match=r"constraint pair is a function of test_constraints.py.*constraints=\[pair\]"):
        skipstack.ablate(folder, product, seeds=2, engine="serial")
    ablation = skipstack.ablate(folder, product, constraints=[pair], seeds=2, engine="serial")
    plan = read_study(ablation.folder).ablations[1].plan
    assert plan is not None
    assert [(each.role.kind, each.role.axis, each.why) for each in plan.left_out] == [
        ("without", "b", "constraint pair"),
        ("alone", "a", "constraint pair"),
    ]
    monkeypatch.setattr(constraint_functions, "_given", {})
    with pytest.raises(UserError, match="constraint pair is a function"):
        skipstack.extend(folder, product, trials=1, engine="serial")


RULES_FILE = """
from skipstack.own import constraint

MOST = 300


@constraint
def small(stack__hidden: int, depth: int) -> bool:
    return stack__hidden * depth <= MOST
"""

NETWORKS = """
about: Is a constraint of one's own kept?
extends: quickstart
code: [rules.py]
axes:
  model.stack.depth: {choice: [1, 2, 3]}
  model.stack.hidden: {choice: [50, 100, 200, 400]}
  model.stack.composition: null
  training.optimiser.learning_rate: null
constraints: [small, "hidden != 50 or depth == 1"]
search: {proposer: grid}
"""


def test_spaces_and_plan_count_what_a_function_in_a_code_file_and_an_expression_leave(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rules.py").write_text(RULES_FILE)
    Path("mine.yaml").write_text(NETWORKS)
    space = Space(load_study("mine.yaml")[0].space)
    assert space.count() == 5  # 50 by 1; 100 by 1, 2 and 3; 200 by 1; none with 400
    printed = " ".join(typed("spaces", "mine.yaml").out.split())
    assert "5 configurations: 12 combinations of 2 axes, 7 of them refused by configs or constraints" in printed
    assert "small: a function of rules.py, of model.stack.hidden, model.stack.depth" in printed
    assert "model.stack.hidden != 50 or model.stack.depth == 1" in printed


def test_a_function_that_names_no_axis_is_refused_with_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rules.py").write_text(RULES_FILE.replace("depth: int", "dpth: int").replace("* depth", "* dpth"))
    Path("mine.yaml").write_text(NETWORKS)
    assert "mine.yaml:10: constraint small of rules.py: unknown axis 'dpth' (nearest: 'depth'" in refusal(
        "spaces", "mine.yaml"
    )
