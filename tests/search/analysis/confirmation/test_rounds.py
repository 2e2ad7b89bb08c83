"""Ablations that add seeds to their rows until these are decided."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from statsmodels.stats.multitest import multipletests

from skipstack.dashboards.formats.rendering import render
from skipstack.dashboards.reports.confirmation.ablated_report import ablated_report
from skipstack.data.basis.counted import counted
from skipstack.data.basis.errors import UserError
from skipstack.data.basis.frozen import canonical_json
from skipstack.data.basis.seeding import generator
from skipstack.search.analysis.ablation.experiment import Experiment
from skipstack.search.analysis.ablation.trained import walked
from skipstack.search.analysis.confirmation.ablated import ablated, compared_rows
from skipstack.search.analysis.confirmation.rounds import decisions, next_part
from skipstack.search.statistics.sequential import looks
from skipstack.search.study.record.reading import last_ablation, read_study
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.search.study.record.whole_ablations import whole_ablations
from skipstack.search.study.task import EpochResult
from tests.search.analysis.ablation.toys import PlantedWorker, beginning, grid_search, made, run_ablation

AXES: dict[str, object] = {
    "model.stack.depth": {"choice": [1, 3]},
    "training.optimiser.learning_rate": {"choice": [0.001, 0.01]},
}
DEPTH, RATE = AXES


def rounds(path: Path, planned: Experiment) -> Iterator[Experiment]:
    """Run an ablation round by round, each planned from what the ledger alone has, and yield the rounds."""
    following: Experiment | None = planned
    while following is not None:
        run_ablation(path, following.number, beginning(path, following), worker=PlantedWorker)
        yield following
        following = next_part(read_study(path), time=4.0)


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Experiment]]:
    """A study in which a depth of three harms and learning rates change nothing, ablated until that is decided."""
    path = grid_search(tmp_path_factory.mktemp("rounds") / "study", AXES)
    return path, list(rounds(path, made(path, seeds=3, until_decided=True, at_most=20, path=True)))


def whole(study: tuple[Path, list[Experiment]]) -> StudyRecord:
    return whole_ablations(read_study(study[0]))[1]


def after(study: tuple[Path, list[Experiment]], count: int) -> StudyRecord:
    """The ablation after its first ``count`` rounds."""
    record = read_study(study[0])
    record.ablations = {number: own for number, own in record.ablations.items() if number <= count}
    return whole_ablations(record)[1]


def test_planted_effects_are_marked_at_the_first_look_and_others_train_on_until_there_is_no_hope(
    study: tuple[Path, list[Experiment]],
) -> None:
    standing = [(row.axis, decision.standing) for row, _, decision in decisions(after(study, 1))]
    assert [each for axis, each in standing if axis == DEPTH] == ["marked", "marked"]
    assert "open" in [each for axis, each in standing if axis == RATE]
    ended = [(row.axis, decision.standing) for row, _, decision in decisions(whole(study))]
    assert [each for axis, each in ended if axis == DEPTH] == ["marked", "marked"]
    assert {each for axis, each in ended if axis == RATE} <= {"hopeless", "all seeds"}


def test_the_report_says_with_how_many_seeds_the_rows_were_trained(study: tuple[Path, list[Experiment]]) -> None:
    first, last = after(study, 1), whole(study)
    assert {len(trial.seeds) for trial in first.trials.values()} == {3}
    fewest, *_, most = sorted(len(trial.seeds) for trial in last.trials.values())
    for record, seeds in ((first, "3 seeds"), (last, f"{fewest} to {most} seeds")):
        told = " ".join(render(ablated_report(record, ablated(record)), "text").split())
        assert f"{len(record.trials)} configs with {seeds}: " in told


@pytest.mark.slow
def test_the_report_says_how_many_rows_are_still_open(study: tuple[Path, list[Experiment]]) -> None:
    def told(record: StudyRecord) -> str:
        return " ".join(render(ablated_report(record, ablated(record)), "text").split())

    undecided = [decision for _, _, decision in decisions(after(study, 1)) if decision.standing == "open"]
    assert undecided
    assert f"({counted(len(undecided), 'row')} still open: `skipstack resume` adds seeds)" in told(after(study, 1))
    assert "still open" not in told(whole(study))


def test_each_round_trains_the_open_rows_and_their_references_with_new_seeds(
    study: tuple[Path, list[Experiment]],
) -> None:
    record, planned = read_study(study[0]), study[1]
    assert len(planned) > 1
    at = looks(3, 20)
    assert [len(record.ablations[each.number].study.search.lane_seeds) for each in planned] == [
        now - before for before, now in zip((0, *at), at[: len(planned)], strict=False)
    ]
    seeds = [seed for each in planned for seed in record.ablations[each.number].study.search.lane_seeds]
    assert len(set(seeds)) == len(seeds)
    for each in planned[1:]:
        assert each.plan.continues == 1
        points = {canonical_json(row.point) for row in each.plan.rows}
        assert points <= {canonical_json(row.point) for row in planned[0].plan.rows}
        trials = record.ablations[each.number].trials.values()
        assert [canonical_json(trial.point) for trial in trials] == [
            canonical_json(row.point) for row in each.plan.rows
        ]


def test_a_row_has_the_scores_of_all_its_seeds(study: tuple[Path, list[Experiment]]) -> None:
    """What the worker measures for all these seeds at once is what the rounds add up to."""
    record, ablation = read_study(study[0]), whole(study)
    assert list(whole_ablations(record)) == [1]
    for trial in ablation.trials.values():
        flat = trial.point[DEPTH] == 1
        drawn = [generator(seed, trial.config.identity).integers(-1, 2, size=40) for seed in trial.seeds]
        right_RS = (23 if flat else 15) + np.array(drawn)  # as the worker plants it
        assert list(trial.test.values()) == pytest.approx(right_RS.sum(axis=1) / 1000)
        assert trial.sentences is not None
        assert np.array_equal(trial.sentences[..., 0], right_RS)
        parts = [
            own
            for number in record.ablations
            for own in record.ablations[number].trials.values()
            if own.point == trial.point
        ]
        assert trial.dev == {seed: score for own in parts for seed, score in own.dev.items()}
        assert trial.seconds == pytest.approx(sum(own.seconds for own in parts))


def test_the_path_is_that_of_the_first_round(study: tuple[Path, list[Experiment]]) -> None:
    steps = list(walked(after(study, 1)))
    assert sorted(step.axis for step in steps) == [DEPTH, RATE]
    assert list(walked(whole(study))) == steps


def test_marks_and_intervals_spend_at_each_look_its_share_of_the_level(study: tuple[Path, list[Experiment]]) -> None:
    """What plain tables say after each round is put together by hand, with the correction of statsmodels."""
    at, found = looks(3, 20), dict[tuple[str, str], list[float]]()
    spent = study[1][0].plan.spending
    assert sum(spent) > 1
    for count in range(1, len(study[1]) + 1):
        for row in ablated(after(study, count)).rows:
            if row.gain is not None and row.gain.seeds == at[count - 1]:
                assert row.gain.p is not None
                named, share = (row.section, row.label), spent[count - 1]
                found.setdefault(named, []).append(row.gain.p / share)
    by_hand = multipletests([min(1.0, *values) for values in found.values()], method="holm")[1]
    table = [row for row in ablated(whole(study)).rows if row.gain is not None]
    assert len(table) == len(found) == 5
    for row, p in zip(table, by_hand, strict=True):
        assert row.p == pytest.approx(p)
        assert row.marked == (p < 0.05)
        assert row.corrected is not None
        assert row.marked == (not row.corrected[0] <= 0 <= row.corrected[1])


def test_a_plan_that_recorded_no_shares_keeps_to_those_that_add_up_to_one(study: tuple[Path, list[Experiment]]) -> None:
    record = whole(study)
    assert record.plan is not None
    at = record.plan.looks
    record.plan = record.plan.model_copy(update={"spending": ()})
    shares = [(now - before) / at[-1] for before, now in zip((0, *at), at, strict=False)]
    assert {row.spending for row in compared_rows(record)} == {tuple(shares)}


def test_an_unfinished_round_is_finished_before_another_is_planned(tmp_path: Path) -> None:
    path = grid_search(tmp_path / "study", AXES)
    planned = made(path, seeds=2, until_decided=True, at_most=4)
    before = read_study(path)
    assert last_ablation(path) is None
    assert next_part(before, time=4.0) is None
    for number, _ in enumerate(rounds(path, planned), 1):
        last = last_ablation(path)
        assert last is not None
        assert last.may_go_on
        plan = last.plan
        assert plan is not None
        assert bool(plan.looks) == (number == 1)
        assert plan.continues == (None if number == 1 else 1)
        assert number <= len(looks(2, 4))
    record = read_study(path)
    record.ablations[max(record.ablations)].finished = False
    assert next_part(record, time=4.0) is None


def test_a_round_in_which_all_trials_fail_is_the_last(tmp_path: Path) -> None:
    class Failing(PlantedWorker):
        def run_epoch(self) -> EpochResult:
            raise RuntimeError("the data are gone")

    path = grid_search(tmp_path / "study", AXES)
    planned = made(path, seeds=3, until_decided=True, at_most=20)
    run_ablation(path, planned.number, beginning(path, planned), worker=PlantedWorker)
    following = next_part(read_study(path), time=4.0)
    assert following is not None
    run_ablation(path, following.number, beginning(path, following), worker=Failing)
    record = read_study(path)
    assert next_part(record, time=5.0) is None
    assert "open" not in [decision.standing for _, _, decision in decisions(whole_ablations(record)[1])]


def test_an_ablation_with_a_fixed_number_of_seeds_gets_no_round(tmp_path: Path) -> None:
    path = grid_search(tmp_path / "study", AXES)
    assert len(list(rounds(path, made(path, seeds=2)))) == 1
    assert next_part(read_study(path), time=4.0) is None
    assert whole_ablations(read_study(path))[1].trials == read_study(path).ablations[1].trials


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"seeds": 5, "at_most": 0}, "--at-most: got 0 (allowed: above --seeds, 5, up to 1,000,000)"),
        ({"seeds": 5, "at_most": 5}, "--at-most: got 5 (allowed: above --seeds, 5, up to 1,000,000)"),
        ({"seeds": 1, "at_most": 5}, "--seeds: got 1 with --until-decided"),
        ({"seeds": 2, "at_most": 5, "corpus": ("atis", "grammar")}, "--until-decided: got 2 corpora (allowed: one)"),
    ],
)
def test_what_cannot_be_decided_by_seeds_is_refused(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    path = grid_search(tmp_path / "study", AXES)
    with pytest.raises(UserError) as refused:
        made(path, until_decided=True, **options)
    assert message in str(refused.value)
