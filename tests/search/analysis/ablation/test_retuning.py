"""Ablations whose rows are tuned again: equal budgets, a search of its own for each row, and then fresh seeds."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from skipstack.dashboards.formats.rendering import render
from skipstack.dashboards.reports.confirmation.ablated_report import ablated_report
from skipstack.data.basis.errors import UserError
from skipstack.search.analysis.ablation.experiment import Experiment, arm_of
from skipstack.search.analysis.ablation.retuning import arms as arms_of
from skipstack.search.analysis.ablation.rows import Rows
from skipstack.search.analysis.confirmation.ablated import ablated
from skipstack.search.analysis.confirmation.rounds import next_part
from skipstack.search.ledger.events import ListedRow, Noted, Renamed, Role, RoleKind
from skipstack.search.study.config import SEEDS_OF_A_SEARCH, StudyConfig
from skipstack.search.study.record.reading import read_finished, read_study
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.search.study.record.whole_ablations import whole_ablations
from skipstack.search.study.task import EpochResult
from skipstack.spaces.config import Axis
from skipstack.spaces.space import Point
from tests.search.analysis.ablation.toys import beginning, grid_search, made, run_ablation
from tests.search.statistics.simulated_retuning import PLANTED, marked
from tests.search.toy import FailingWorker, ToyWorker, open_toy, run_toy, toy_study

DEPTH, HIDDEN, DROPOUT = "model.stack.depth", "model.stack.hidden", "model.stack.dropout"
BATCH, RATE = "training.batch_size", "training.optimiser.learning_rate"
TRIALS = 5


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Experiment]:
    """A study of depths and rates under ASHA, with an ablation whose rows are tuned again; each part is planned from
    what the ledger alone has, and no other ablation can begin before the last part has.
    """
    path = tmp_path_factory.mktemp("retuned") / "study"
    tree = toy_study(12).model_dump(mode="json")
    tree["space"]["base"]["model"]["stack"] |= {"depth": 3}
    run_toy(open_toy(path, StudyConfig.model_validate(tree)))
    planned = made(path, seeds=3, retune=TRIALS)
    following: Experiment | None = arm_of(read_study(path), planned.plan, 0, time=2.0)
    while following is not None:
        run_ablation(path, following.number, beginning(path, following))
        if following.plan.arm is not None:
            with pytest.raises(UserError, match="was interrupted"):
                read_finished(path)
        following = next_part(read_study(path), time=2.0)
    assert read_finished(path).finished
    return path, planned


def arms(record: StudyRecord) -> list[StudyRecord]:
    return [own for own in record.ablations.values() if own.plan is not None and own.plan.arm is not None]


def test_each_row_is_searched_with_the_same_budget_over_the_tuned_axes_alone(study: tuple[Path, Experiment]) -> None:
    record, planned = read_study(study[0]), study[1]
    assert [own.plan and own.plan.arm for own in arms(record)] == list(range(len(planned.plan.rows)))
    assert len(planned.plan.rows) == 2
    for own, row in zip(arms(record), planned.plan.rows, strict=True):
        assert len(own.trials) == TRIALS
        assert own.study.search.scheduler == record.study.search.scheduler
        assert own.study.search.proposer == record.study.search.proposer
        assert {path for trial in own.trials.values() for path in trial.point} == {RATE}
        depths = {trial.config.model_dump()["model"]["stack"]["depth"] for trial in own.trials.values()}
        assert depths == {row.point[DEPTH]}
        assert own.trials[0].point[RATE] == row.point[RATE]
        assert any(trial.reason == "stopped" for trial in own.trials.values())


def test_the_best_config_of_each_arm_is_compared_on_seeds_that_nothing_was_chosen_by(
    study: tuple[Path, Experiment],
) -> None:
    record = read_study(study[0])
    (number, compared), *others = whole_ablations(record).items()
    assert not others
    assert number == max(record.ablations)
    assert compared.arms == arms(record)
    best = [own.ranked()[0].config.identity for own in arms(record)]
    assert [trial.config.identity for trial in compared.trials.values()] == best
    assert {trial.reason for trial in compared.trials.values()} == {"completed"}
    assert {len(trial.seeds) for trial in compared.trials.values()} == {3}
    used = {seed for own in (record, *arms(record)) for trial in own.trials.values() for seed in trial.seeds}
    assert not used & {seed for trial in compared.trials.values() for seed in trial.seeds}
    assert compared.plan is not None
    assert {role.kind for row in compared.plan.rows for role in row.roles} >= {"base", "winner"}


@pytest.mark.first(1)
@pytest.mark.parametrize("rates", [{"named": {"low": 0.001, "high": 0.01}}, {"choice": [0.001, 0.01]}])
def test_an_arm_begins_at_its_own_config_also_where_the_space_lacks_it(rates: dict[str, Any], tmp_path: Path) -> None:
    path = grid_search(tmp_path / "study", {DEPTH: {"choice": [1, 3]}, RATE: rates})
    planned = made(path, retune=3)
    assert planned.plan.rows[0].point[RATE] == 0.02
    arm = arm_of(read_study(path), planned.plan, 0, time=2.0)
    record = run_ablation(path, arm.number, beginning(path, arm))
    assert [trial.point[RATE] for trial in record.trials.values()] == [0.02, 0.001, 0.01]


@pytest.mark.parametrize(
    ("rates", "widened"),
    [
        ({"uniform": [0.001, 0.01]}, {"uniform": [0.001, 0.02]}),
        ({"loguniform": [0.03, 0.1]}, {"loguniform": [0.02, 0.1]}),
        ({"uniform": [0.01, 0.04], "step": 0.015}, {"ordinal": [0.01, 0.02, 0.025, 0.04]}),
        ({"ordinal": [0.04, 0.01]}, {"ordinal": [0.01, 0.02, 0.04]}),
    ],
)
def test_an_arm_begins_at_its_own_number_also_where_a_range_lacks_it(
    rates: dict[str, Any], widened: dict[str, Any], tmp_path: Path
) -> None:
    path = tmp_path / "study"
    tree = toy_study(8, "random").model_dump(mode="json")
    tree["space"]["base"]["model"]["stack"] |= {"depth": 3}
    tree["space"]["axes"][RATE] = rates
    run_toy(open_toy(path, StudyConfig.model_validate(tree)))
    planned = made(path, retune=3)
    assert planned.plan.rows[0].point[RATE] == 0.02
    arm = arm_of(read_study(path), planned.plan, 0, time=2.0)
    assert arm.study.space.axes[RATE] == Axis.model_validate(widened)
    record = run_ablation(path, arm.number, beginning(path, arm))
    assert len(record.trials) == 3
    assert record.trials[0].point[RATE] == 0.02


def test_if_only_one_arm_has_a_score_all_rows_are_compared_at_their_own_values(tmp_path: Path) -> None:
    path = grid_search(tmp_path / "study", {DEPTH: {"choice": [1, 3]}, RATE: {"choice": [0.001, 0.01]}})
    planned = made(path, seeds=2, retune=2)
    following: Experiment | None = arm_of(read_study(path), planned.plan, 0, time=2.0)
    while following is not None:  # a depth of three fails, so that the arm of the base has no score
        run_ablation(path, following.number, beginning(path, following), worker=FailingWorker)
        following = next_part(read_study(path), time=2.0)
    record = read_finished(path)
    (whole,) = whole_ablations(record).values()
    assert [bool(own.ranked()) for own in whole.arms] == [False, True]
    assert [trial.point for trial in whole.trials.values()] == [row.point for row in planned.plan.rows]
    told = " ".join(render(ablated_report(whole, ablated(whole)), "text").split())
    assert "It gave 1 of 2 rows a score, so all are compared at their values before it." in told


def test_if_the_search_of_the_base_has_no_score_the_rows_that_are_compared_with_it_say_so(tmp_path: Path) -> None:
    axes = {DEPTH: {"choice": [1, 3]}, HIDDEN: {"choice": [8, 16]}, RATE: {"choice": [0.001, 0.01]}}
    path = grid_search(tmp_path / "study", axes)
    planned = made(path, seeds=2, retune=1)
    following: Experiment | None = arm_of(read_study(path), planned.plan, 0, time=2.0)
    while following is not None:  # a depth of three fails, as of the base
        run_ablation(path, following.number, beginning(path, following), worker=FailingWorker)
        following = next_part(read_study(path), time=2.0)
    (whole,) = whole_ablations(read_finished(path)).values()
    winner, *others = ablated(whole).rows
    assert (winner.section, winner.is_reference, winner.why) == ("", False, "its reference was not trained")
    assert others
    told = " ".join(render(ablated_report(whole, ablated(whole)), "text").split())
    assert "Nothing is confirmed of the winner: its reference was not trained" in told


def test_an_arm_of_a_renamed_study_has_a_title_of_its_own(study: tuple[Path, Experiment]) -> None:
    record = read_study(study[0])
    record.apply(Renamed(time=3.0, title="mine"))
    record.apply(Noted(time=3.0, trial=None, text="of the study"))
    arm = arm_of(record, study[1].plan, 1, time=3.0).study
    assert (arm.title, arm.note) == ("toy, ablation 2, arm 2 of 2", "")


@pytest.mark.slow
def test_rows_have_the_axes_that_are_active_with_the_kinds_that_their_arms_found(tmp_path: Path) -> None:
    class Worker(ToyWorker):
        def run_epoch(self) -> EpochResult:
            result, config = super().run_epoch(), self.task.config
            in_arm = self.task.seeds[0] >= SEEDS_OF_A_SEARCH  # the search prefers sgd, and the arms adam
            preferred = (config.training.optimiser.kind == "adam") == in_arm
            return replace(result, score=config.model.stack.depth + preferred / 2)

    path, kind, momentum = tmp_path / "study", "training.optimiser.kind", "training.optimiser.momentum"
    tree = toy_study(12, "grid", epochs=1).model_dump(mode="json")
    axes = {kind: ["sgd", "adam"], momentum: [0.0, 0.9], DEPTH: [1, 2]}
    tree["space"]["axes"] = {axis: {"choice": values} for axis, values in axes.items()}
    run_toy(open_toy(path, StudyConfig.model_validate(tree)), worker=Worker)
    planned = made(path, seeds=1, retune=2, retune_axes=[kind])
    assert all(momentum in row.point for row in planned.plan.rows)
    following: Experiment | None = arm_of(read_study(path), planned.plan, 0, time=2.0)
    while following is not None:
        record = run_ablation(path, following.number, beginning(path, following), worker=Worker)
        following = next_part(read_study(path), time=2.0)
    assert [trial.point for trial in record.trials.values()] == [{kind: "adam", DEPTH: depth} for depth in (1, 2)]
    found = [own.ranked()[0].config.identity for own in arms(read_finished(path))]
    assert [trial.config.identity for trial in record.trials.values()] == found


@pytest.mark.parametrize("others", [{}, {BATCH: {"choice": [1, 2]}}])
def test_a_change_on_an_axis_that_the_tuned_winner_does_not_have_is_left_out(
    others: dict[str, Any], tmp_path: Path
) -> None:
    class Worker(ToyWorker):
        def run_epoch(self) -> EpochResult:
            result, config = super().run_epoch(), self.task.config
            in_arm = self.task.seeds[0] >= SEEDS_OF_A_SEARCH  # the search prefers a width of 16, and the arms 8
            preferred = (config.model.stack.hidden == 8) == in_arm
            return replace(result, score=10 * preferred + config.model.stack.depth + config.training.batch_size)

    path = tmp_path / "study"
    tree = toy_study(12, "grid", epochs=1).model_dump(mode="json")
    tree["space"]["axes"] = {HIDDEN: {"choice": [8, 16]}, DEPTH: {"choice": [1, 2], "when": {HIDDEN: [16]}}, **others}
    tree["space"]["base"]["training"]["batch_size"] = 1
    run_toy(open_toy(path, StudyConfig.model_validate(tree)), worker=Worker)
    planned = made(path, seeds=2, retune=2, retune_axes=[HIDDEN])
    assert {DEPTH, *others} == {role.axis for row in planned.plan.rows for role in row.roles} - {None}
    following: Experiment | None = arm_of(read_study(path), planned.plan, 0, time=2.0)
    while following is not None:
        run_ablation(path, following.number, beginning(path, following), worker=Worker)
        following = next_part(read_study(path), time=2.0)
    (whole,) = whole_ablations(read_finished(path)).values()
    tuned: list[Point] = [{HIDDEN: 8, BATCH: 1}, {HIDDEN: 8, BATCH: 2}] if others else [{HIDDEN: 8}]
    assert [trial.point for trial in whole.trials.values()] == tuned
    told = " ".join(render(ablated_report(whole, ablated(whole)), "text").split())
    assert "depth: not tested, since model.stack.depth varies only where model.stack.hidden is 16" in told
    assert ("Nothing is confirmed of the winner: it is the base." in told) == (not others)


@pytest.mark.slow
def test_if_the_search_of_the_winner_has_no_score_all_rows_are_compared_at_their_own_values(tmp_path: Path) -> None:
    class Worker(ToyWorker):
        def run_epoch(self) -> EpochResult:
            result, stack = super().run_epoch(), self.task.config.model.stack
            if stack.depth == 2 and stack.hidden == 16 and self.task.seeds[0] >= SEEDS_OF_A_SEARCH:
                raise RuntimeError("out of memory")
            return replace(result, score=stack.depth + stack.hidden / 16)

    path = tmp_path / "study"
    tree = toy_study(8, "grid", epochs=1).model_dump(mode="json")
    tree["space"]["axes"] = {
        axis: {"choice": values} for axis, values in ((BATCH, [1, 2]), (DEPTH, [1, 2]), (HIDDEN, [8, 16]))
    }
    run_toy(open_toy(path, StudyConfig.model_validate(tree)), worker=Worker)
    planned = made(path, seeds=2, retune=1)
    following: Experiment | None = arm_of(read_study(path), planned.plan, 0, time=2.0)
    while following is not None:
        run_ablation(path, following.number, beginning(path, following), worker=Worker)
        following = next_part(read_study(path), time=2.0)
    (whole,) = whole_ablations(read_finished(path)).values()
    assert [trial.point for trial in whole.trials.values()] == [row.point for row in planned.plan.rows]
    told = " ".join(render(ablated_report(whole, ablated(whole)), "text").split())
    assert "It gave 3 of 4 rows a score, but not each winner, so all are compared at their values before it." in told


def test_several_changes_are_measured_unless_all_of_them_are_tuned() -> None:
    base: Point = {DEPTH: 1, HIDDEN: 8, DROPOUT: 0.0, BATCH: 1}
    winner: Point = {DEPTH: 2, HIDDEN: 16, DROPOUT: 0.5, BATCH: 2}
    points: dict[tuple[RoleKind, str | None], Point] = {
        ("base", None): base,
        ("winner", None): winner,
        ("without_several", "model.stack"): {**base, BATCH: 2},
        ("without_several", f"{DROPOUT},{BATCH}"): {**winner, DROPOUT: 0.0, BATCH: 1},
        ("without", BATCH): {**winner, BATCH: 1},
    }
    roles = [Role(kind=kind, winner=None if kind == "base" else 3, axis=axis) for kind, axis in points]
    rows = tuple(ListedRow(roles=(role,), point=point) for role, point in zip(roles, points.values(), strict=True))
    by_rate = arms_of(Rows(rows, ()), (RATE,))
    assert [row.roles for row in by_rate] == [row.roles for row in rows]
    by_size = arms_of(Rows(rows, ()), (DROPOUT, BATCH))
    assert [row.roles for row in by_size] == [(roles[0], roles[2]), (roles[1],)]
    by_both = arms_of(Rows(rows, ()), (HIDDEN, DROPOUT))
    assert [row.roles for row in by_both] == [(roles[0],), (roles[1],), (roles[2],), (roles[3], roles[4])]


def test_an_arm_keeps_no_constraint_that_the_base_breaks(tmp_path: Path) -> None:
    path = tmp_path / "study"
    tree = toy_study(8).model_dump(mode="json")
    tree["space"]["base"]["model"]["stack"] |= {"depth": 3}
    tree["space"]["constraints"] = [f"{DEPTH} < 3", f"{RATE} < 0.5"]
    run_toy(open_toy(path, StudyConfig.model_validate(tree)))
    planned = made(path, seeds=2, retune=2)
    for arm in range(len(planned.plan.rows)):
        following = arm_of(read_study(path), planned.plan, arm, time=2.0)
        assert following.study.space.constraints == (f"{RATE} < 0.5",)
        assert len(run_ablation(path, following.number, beginning(path, following)).trials) == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"retune_axes": ["training.optimizer"]}, "--retune-axes: unknown axis 'training.optimizer'"),
        ({"retune_axes": [DEPTH, "training"]}, "--retune: the best config differs from the base on tuned axes alone"),
        ({"path": True}, "--retune: got it with --path (allowed: without)"),
        ({"corpus": ("atis",)}, "--retune: got it with --corpus (allowed: without)"),
    ],
)
def test_what_cannot_be_tuned_is_refused(study: tuple[Path, Experiment], options: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError) as refused:
        made(study[0], retune=3, **options)
    assert message in str(refused.value)


@pytest.mark.slow
def test_a_change_that_needs_another_rate_earns_its_place_by_chance_alone_once_both_are_tuned() -> None:
    found = marked(PLANTED[0], 40)
    assert found.studies >= 10
    assert found.plain > 0.3
    assert found.tuned < found.plain / 2
