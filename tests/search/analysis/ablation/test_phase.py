"""Ablations run to their ends: fresh seeds, killed anywhere, beside a search that goes on."""

import re
import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from skipstack.data.basis.errors import UserError
from skipstack.data.basis.frozen import canonical_json
from skipstack.search.analysis.ablation.experiment import Experiment
from skipstack.search.analysis.ablation.trained import trained_rows, walked
from skipstack.search.analysis.confirmation.ablated import ablated
from skipstack.search.api.ablation import AblationHistory
from skipstack.search.ledger.events import Ablated, Event, Finished
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.strategy.proposers.config import PathConfig
from skipstack.search.study.checks import check_study
from skipstack.search.study.config import SEEDS_OF_A_SEARCH, StudyConfig
from skipstack.search.study.record.extension import extension
from skipstack.search.study.record.folder import BEST, StudyFolder
from skipstack.search.study.record.reading import read_finished, read_searched, read_study, unfinished_ablation
from skipstack.search.study.record.selection import selected
from tests.search.analysis.ablation.toys import beginning, made, run_ablation
from tests.search.chaos import essence
from tests.search.toy import FailingWorker, KeepingWorker, ToyWorker, open_toy, run_toy, toy_study

DEPTH, RATE, HIDDEN = "model.stack.depth", "training.optimiser.learning_rate", "model.stack.hidden"


def searched(path: Path, *, trials: int = 6, epochs: int = 2, seeds: int = 2) -> StudyFolder:
    """A finished search whose best config differs from its base on all three axes."""
    tree = toy_study(trials, epochs=epochs).model_dump(mode="json")
    tree["space"]["base"]["model"]["stack"] |= {"depth": 3, "hidden": 16}
    tree["space"]["axes"][HIDDEN] = {"choice": [8, 16]}
    tree["search"] |= {"proposer": {"kind": "random"}, "seeds": seeds}
    folder = open_toy(path, StudyConfig.model_validate(tree))
    run_toy(folder)
    return folder


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Made once; who writes into it takes a copy."""
    return searched(tmp_path_factory.mktemp("searched") / "study").path


def own(events: Sequence[Event], number: int = 1) -> list[Event]:
    return [event.event for event in events if isinstance(event, Ablated) and event.ablation == number]


def ablate(folder: Path, **options: object) -> Experiment:
    planned = made(folder, **options)
    run_ablation(folder, planned.number, beginning(folder, planned))
    return planned


def test_every_row_is_trained_to_its_end_and_tested_once_and_the_search_is_as_it_was(
    study: Path, tmp_path: Path
) -> None:
    path = shutil.copytree(study, tmp_path / "study")
    before = Ledger(path / "ledger").read()
    planned = ablate(path, seeds=3)
    events, record = Ledger(path / "ledger").read(), read_study(path)
    assert events[: len(before)] == before
    assert all(isinstance(event, Ablated) for event in events[len(before) :])
    ablation, search = record.ablations[1], read_study(study)
    assert (record.study, record.trials.keys()) == (search.study, search.trials.keys())
    assert [trial.curve for trial in record.trials.values()] == [trial.curve for trial in search.trials.values()]
    assert {trial.number for trial in ablation.trials.values() if trial.tested} == set(selected(ablation))
    tested = [event.trial for event in own(events) if event.kind == "tested"]
    assert tested == list(ablation.trials) == list(range(len(planned.plan.rows)))
    for trial in ablation.trials.values():
        numbers = [*trial.happened.values(), *trial.reports.events]
        happened = [event.event for event in (events[number] for number in numbers) if isinstance(event, Ablated)]
        assert [event.kind for event in happened] == [*trial.happened, *["reported"] * len(trial.reports)]
        assert {getattr(event, "trial", None) for event in happened} == {trial.number}
    assert {trial.reason for trial in ablation.trials.values()} == {"completed"}
    assert {len(trial.reports) for trial in ablation.trials.values()} == {2}
    rows = trained_rows(ablation)
    assert [row.trial and row.trial.point for row in rows] == [row.point for row in planned.plan.rows]
    assert rows[0].trial is ablation.base
    best = search.ranked()[0]
    assert rows[1].trial is not None
    assert rows[1].trial.config == best.config
    assert rows[1].row.roles[0].winner == best.number


def test_a_replay_of_an_ablation_is_what_was_lived(study: Path, tmp_path: Path) -> None:
    path = shutil.copytree(study, tmp_path / "study")
    planned = made(path, path=True)
    lived = run_ablation(path, 1, beginning(path, planned))
    with Ledger(path / "ledger") as ledger:
        replayed = list(AblationHistory(ledger, 1).replay())
    assert replayed == own(Ledger(path / "ledger").read())
    read = read_study(path).ablations[1]
    assert [(trial.point, trial.seeds, trial.curve, trial.tested) for trial in read.trials.values()] == [
        (trial.point, trial.seeds, trial.curve, trial.tested) for trial in lived.trials.values()
    ]
    assert read.plan == lived.plan == planned.plan


@pytest.mark.slow
def test_killed_after_any_append_it_goes_on_to_the_same_end(study: Path, tmp_path: Path) -> None:
    whole = shutil.copytree(study, tmp_path / "whole")
    planned = made(whole, path=True, seeds=2)
    first = beginning(whole, planned)
    run_ablation(whole, 1, first)
    expected = essence(own(Ledger(whole / "ledger").read()))
    *_, segment = sorted((whole / "ledger").glob("*.jsonl"))
    lines = segment.read_bytes().splitlines(keepends=True)
    assert len(lines) > 30
    for kept in range(len(lines)):
        path = shutil.copytree(study, tmp_path / f"after-{kept}")
        torn = lines[kept][: len(lines[kept]) // 2]
        (path / "ledger" / segment.name).write_bytes(b"".join(lines[:kept]) + torn)
        assert unfinished_ablation(path) == (1 if kept else None)
        again = [] if kept else first  # the user types the command again where nothing came of it
        run_ablation(path, 1, again)
        assert essence(own(Ledger(path / "ledger").read())) == expected
        assert unfinished_ablation(path) is None
        shutil.rmtree(path)


def test_nothing_else_begins_before_an_interrupted_ablation_is_finished(study: Path, tmp_path: Path) -> None:
    path = shutil.copytree(study, tmp_path / "study")
    with Ledger(path / "ledger") as ledger:
        AblationHistory(ledger, 1).append(*beginning(path, made(path)))
    assert not read_study(path).ablations[1].finished
    resume = f"interrupted (allowed: `skipstack resume {shlex.quote(str(path))}` first"
    for reading in (read_finished, read_searched):
        with pytest.raises(UserError, match=re.escape(resume)):
            reading(path)
    run_ablation(path, 1)
    assert read_finished(path).ablations[1].finished


def test_a_search_that_is_not_finished_says_what_to_type(study: Path, tmp_path: Path) -> None:
    path = shutil.copytree(study, tmp_path / "study")
    for segment in (path / "ledger").glob("*.jsonl"):
        kept = [line for line in segment.read_bytes().splitlines(keepends=True) if b'"kind":"finished"' not in line]
        segment.write_bytes(b"".join(kept))
    resume = f"not finished (allowed: `skipstack resume {shlex.quote(str(path))}` first; with --enough"
    with pytest.raises(UserError, match=re.escape(resume)):
        read_finished(path)
    without_score = open_toy(tmp_path / "other", toy_study()).path
    with pytest.raises(UserError, match=re.escape(f"`skipstack resume {without_score}` first)")):
        read_finished(without_score)


@pytest.mark.slow
@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("extend"), st.integers(1, 5)),
            st.tuples(st.just("ablate"), st.integers(1, 4)),
        ),
        min_size=1,
        max_size=5,
    )
)
def test_no_seed_of_an_ablation_is_one_of_the_search_or_of_another_ablation(
    study: Path, tmp_path_factory: pytest.TempPathFactory, doings: list[tuple[str, int]]
) -> None:
    path = shutil.copytree(study, tmp_path_factory.mktemp("seeds") / "study")
    for doing, seeds in doings:
        if doing == "ablate":
            ablate(path, seeds=seeds)
            continue
        record = read_searched(path)
        by = extension(record.study, len(record.trials), trials=1, seeds=seeds, choices={}, time=4.0)
        run_toy(StudyFolder(path), first=[by])
    record = read_study(path)
    used = [{seed for trial in record.trials.values() for seed in trial.seeds} | {record.study.search.seed}]
    for ablation in record.ablations.values():
        seeds_of_ablation = {seed for trial in ablation.trials.values() for seed in trial.seeds}
        assert len(seeds_of_ablation) == ablation.study.search.seeds
        used.append(seeds_of_ablation | {ablation.study.search.seed})
    assert len(set.union(*used)) == sum(map(len, used))
    assert len(record.ablations) == sum(doing == "ablate" for doing, _ in doings)


def test_a_search_has_no_seed_that_is_kept_for_ablations() -> None:
    tree = toy_study().model_dump(mode="json")
    tree["search"] |= {"first_seed": SEEDS_OF_A_SEARCH - 2, "seeds": 2}
    check_study(StudyConfig.model_validate(tree))
    tree["search"]["seeds"] = 3
    with pytest.raises(UserError, match=r"search.first_seed: got 999998 with 3 seeds .*skipstack ablate"):
        check_study(StudyConfig.model_validate(tree))


def test_the_path_takes_the_best_change_at_each_step_by_what_was_seen(study: Path, tmp_path: Path) -> None:
    path = shutil.copytree(study, tmp_path / "study")
    planned = ablate(path, path=True)
    record = read_study(path).ablations[1]
    config = planned.study.search.proposer
    assert isinstance(config, PathConfig)
    axes = (DEPTH, RATE, HIDDEN)
    scores = {tuple(trial.point[axis] for axis in axes): trial.score for trial in record.trials.values()}
    here, left = dict(config.starts[0]), dict(config.changes)
    assert len(left) == 3
    for step in walked(record):
        there = {axis: scores[tuple((here | {axis: value})[each] for each in axes)] for axis, value in left.items()}
        assert step.axis == max(there, key=lambda axis: there[axis] or 0.0)
        assert {step.axis: step.score, **step.instead} == there
        here[step.axis] = left.pop(step.axis)
    assert left == {}
    assert here == planned.plan.rows[1].point


@pytest.mark.cluster
def test_on_ray_it_trains_the_same_rows_and_the_same_steps_of_the_path(study: Path, tmp_path: Path) -> None:
    """Several trials run at once there, so that a step waits for those of the one before."""
    from skipstack.search.execution.engines.ray.engine import RayEngine

    records = []
    engine = RayEngine(ToyWorker, address=None, gpus_per_trial=0.0)
    try:
        for name, used in (("serial", None), ("ray", engine)):
            path = shutil.copytree(study, tmp_path / name)
            records.append(run_ablation(path, 1, beginning(path, made(path, path=True)), engine=used))
    finally:
        engine.close()
    serial, ray = records
    assert ray.finished
    found = [
        {canonical_json(trial.point): (trial.curve, trial.tested) for trial in each.trials.values()} for each in records
    ]
    assert found[0] == found[1]
    assert list(walked(ray)) == list(walked(serial))


def test_rows_stand_on_each_corpus_and_the_path_is_led_by_the_mean_over_them(study: Path) -> None:
    planned = made(study, corpus=["own", "atis"], path=True)
    corpora = planned.study.space.axes["data.corpus"].named
    assert corpora is not None
    assert list(corpora) == ["own", "atis"]
    config = planned.study.search.proposer
    assert isinstance(config, PathConfig)
    rows = len(planned.plan.rows)
    assert [point["data.corpus"] for point in config.points] == [corpora["own"]] * rows + [corpora["atis"]] * rows
    assert config.starts == (config.points[0], config.points[rows])
    assert [{**point, "data.corpus": corpora["own"]} for point in config.points[rows:]] == list(config.points[:rows])


def test_a_row_that_is_two_rows_answers_both_questions_and_rows_of_one_kind_stand_together(tmp_path: Path) -> None:
    """With two changes, the winner without one of them is the base with the other alone."""
    tree = toy_study(6, epochs=1).model_dump(mode="json")
    tree["space"]["base"]["model"]["stack"]["depth"] = 3
    folder = open_toy(tmp_path / "study", StudyConfig.model_validate(tree))
    run_toy(folder)
    planned = ablate(folder.path)
    assert [[role.kind for role in row.roles] for row in planned.plan.rows] == [
        ["base"],
        ["winner"],
        ["without", "alone"],
        ["without", "alone"],
    ]
    rows = ablated(read_study(folder.path).ablations[1]).rows
    assert [(row.trial, row.reference) for row in rows] == [(0, None), (1, 0), (1, 2), (1, 3), (3, 0), (2, 0)]
    assert [row.own for row in rows] == [0, 1, 2, 3, 3, 2]


def test_what_cannot_be_asked_for_is_said_in_one_line(study: Path) -> None:
    for options, message in (
        ({"seeds": 0}, r"--seeds: got 0 \(allowed: 1 or more\)"),
        ({"top": 0}, r"--top: got 0 \(allowed: 1 or more\)"),
        ({"corpus": ["grammer"]}, "unknown corpus 'grammer' .*nearest: 'grammar'"),
        ({"corpus": ["grammar", "grammar"]}, r"--corpus: got grammar and grammar, which are the same \(allowed: each"),
        ({"corpus": ["own", "grammar"]}, r"--corpus: got own and grammar, which are the same \(allowed: each"),
    ):
        with pytest.raises(UserError, match=message):
            made(study, **options)


def test_a_winner_that_is_the_base_leaves_nothing_to_compare(tmp_path: Path) -> None:
    folder = open_toy(tmp_path / "study", toy_study(1))
    run_toy(folder)
    assert not made(folder.path).compares


def test_the_weights_of_trials_lie_apart_from_those_of_the_search(study: Path, tmp_path: Path) -> None:
    path = shutil.copytree(study, tmp_path / "study")
    run_ablation(path, 1, beginning(path, made(path)), worker=KeepingWorker)
    assert not list(StudyFolder(path).trials.rglob(BEST))
    assert list(StudyFolder(path, 1).trials.rglob(BEST))


def test_a_row_that_fails_is_a_row_without_scores(study: Path, tmp_path: Path) -> None:
    path = shutil.copytree(study, tmp_path / "study")
    planned = made(path, path=True)
    record = run_ablation(path, 1, beginning(path, planned), worker=FailingWorker)  # depth 3 fails, as of the base
    assert isinstance(Ledger(path / "ledger").read()[-1], Ablated)
    assert record.finished
    deep = [row.trial for row in trained_rows(record) if row.trial is not None and row.trial.point[DEPTH] == 3]
    assert {trial.state for trial in deep} == {"failed"}
    assert not any(trial.tested for trial in deep)
    assert [step.axis for step in walked(record)][:1] == [DEPTH]


def test_lines_of_an_ablation_are_compacted_like_others(study: Path, tmp_path: Path) -> None:
    path = shutil.copytree(study, tmp_path / "study")
    ablate(path)
    before = Ledger(path / "ledger").read()
    with Ledger(path / "ledger", worth_compacting=1) as ledger:
        assert list(ledger.replay()) == before
        assert [event.kind for event in ledger.only("finished")] == ["finished"]  # that of the search alone
    assert list((path / "ledger").glob("*.gz"))
    assert Ledger(path / "ledger").read() == before
    assert read_finished(path).ablations[1].finished
    assert isinstance(own(before)[-1], Finished)
