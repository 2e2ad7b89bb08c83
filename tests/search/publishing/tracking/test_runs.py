"""What the runs should say, against what was told, written out by hand."""

import math
from pathlib import Path
from typing import Final

import pytest

from skipstack.data.basis.frozen import canonical_json, identity
from skipstack.search.ledger.events import (
    SCORELESS,
    Ablated,
    Ended,
    Event,
    Interrupted,
    Noted,
    Placed,
    Reason,
    Renamed,
    Reported,
    Resumed,
    Retried,
    StudyOpened,
)
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.publishing.tracking.entry import CorpusOfRun, Entry
from skipstack.search.publishing.tracking.names import LONGEST
from skipstack.search.publishing.tracking.runs import ExpectedRuns, study_id
from skipstack.search.study.config import StudyConfig
from skipstack.search.study.record.folder import StudyFolder
from skipstack.spaces.trial import TrialConfig
from tests.search.analysis.ablation.toys import planted
from tests.search.made_up import measured
from tests.search.publishing.tracking import studies
from tests.search.publishing.tracking.studies import SPACE, ablated, history, opened, proposed, reported


def _of_one_epoch() -> StudyConfig:
    base = studies.STUDY.space.base
    short = base.model_copy(update={"training": base.training.model_copy(update={"epochs": 1})})
    return studies.STUDY.model_copy(update={"space": studies.STUDY.space.model_copy(update={"base": short})})


STUDY_OF_ONE_EPOCH = _of_one_epoch()


def runs_of(events: list[Event], ablation: int | None = None) -> dict[int | None, Entry]:
    """By trial, of the search or of an ablation; its own run under ``STUDY``."""
    runs = ExpectedRuns()
    for event in events:
        runs.apply(event)
    return {trial: entry for (of, trial), entry in runs.pending.items() if of == ablation}


STUDY: Final = None


def test_there_is_one_run_for_the_study_and_one_for_each_trial() -> None:
    assert list(runs_of(history())) == [STUDY, 0, 1, 2, 3, 4]


def test_an_ablation_is_a_run_with_trials_of_its_own_and_leaves_those_of_the_search_alone() -> None:
    events = history()
    both = [*events, *ablated(events, number=2)]
    search, ablation = runs_of(both), runs_of(both, 2)
    assert repr(search) == repr(runs_of(events))  # NaN equals itself as text alone
    assert list(ablation) == list(search)
    for trial, run in ablation.items():
        kind = "ablation" if trial is STUDY else "ablation_trial"
        role = "ablation" if trial is STUDY else "ablation step"
        expected = {"skipstack.ablation": "2", "skipstack.kind": kind, "skipstack.role": role}
        assert run.tags == search[trial].tags | expected
        assert repr((run.metrics, run.params)) == repr((search[trial].metrics, search[trial].params))
    depths = [f"base + depth {depth}" for depth in (1, 2, 3, 4, 5)]
    assert [run.name for run in ablation.values()] == ["depths", *depths]


def test_a_trial_says_its_config_its_tags_and_its_times() -> None:
    events = history()
    trial = runs_of(events)[0]
    config = SPACE.config({studies.DEPTH: 1})
    assert trial.name == "trial 0"
    assert (trial.start, trial.end, trial.status) == (1_002_000, 1_008_000, "FINISHED")
    flat = {path: str(value) for path, value in config.flatten().items()}
    assert trial.params == flat | {"axis.depth": "1"}
    assert TrialConfig.model_validate_json(trial.files["config.json"]) == config
    assert trial.corpus == CorpusOfRun("grammar", "f1f2", canonical_json(config.data.corpus.model_dump(mode="json")))
    assert isinstance(events[0], StudyOpened)
    assert trial.tags == {
        "skipstack.study": study_id(events[0]),
        "skipstack.kind": "trial",
        "skipstack.trial": "0",
        "skipstack.identity": config.identity,
        "skipstack.seeds": "0,1",
        "skipstack.data_fingerprint": "f1f2",
        "skipstack.code_version": "0.1.0+abc",
        "skipstack.role": "trial",
        "skipstack.corpus": "grammar",
        "skipstack.rung": "3",
        "skipstack.end_reason": "completed",
        "skipstack.selected": "true",
    }
    assert [each for each, run in runs_of(events).items() if "skipstack.selected" in run.tags] == [0, 4]


def test_metrics_are_means_and_lanes_by_epoch_and_the_test_split_at_the_best_epoch() -> None:
    trial = runs_of(history())[4]
    assert trial.metrics == {
        ("score", 1): (0.875, 1_011_000),
        ("seconds", 1): (0.5, 1_011_000),
        ("dev_accuracy", 1): (0.875, 1_011_000),
        ("dev_accuracy/seed_0", 1): (0.75, 1_011_000),
        ("dev_accuracy/seed_1", 1): (1.0, 1_011_000),
        ("train_loss", 1): (1.5, 1_011_000),
        ("train_loss/seed_0", 1): (1.0, 1_011_000),
        ("train_loss/seed_1", 1): (2.0, 1_011_000),
        ("best_score", 1): (0.875, 1_011_000),
        ("best_epoch", 1): (1.0, 1_011_000),
        ("score", 2): (0.5, 2_001_000),
        ("seconds", 2): (0.5, 2_001_000),
        ("dev_accuracy", 2): (0.5, 2_001_000),
        ("dev_accuracy/seed_0", 2): (0.5, 2_001_000),
        ("dev_accuracy/seed_1", 2): (0.5, 2_001_000),
        ("train_loss", 2): (0.75, 2_001_000),
        ("train_loss/seed_0", 2): (0.5, 2_001_000),
        ("train_loss/seed_1", 2): (1.0, 2_001_000),
        ("test_accuracy", 1): (0.625, 2_002_000),
        ("test_accuracy/seed_0", 1): (0.75, 2_002_000),
        ("test_accuracy/seed_1", 1): (0.5, 2_002_000),
    }


def test_further_seeds_of_a_race_have_curves_of_their_own_and_leave_the_means_to_the_first() -> None:
    first, further = (
        reported(0, 1, (0.5, 0.25), 1003.0 + second).model_copy(update={"seeds": seeds})
        for second, seeds in enumerate([(0, 1), (2, 3)])
    )
    runs = ExpectedRuns()
    for event in [*opened(STUDY_OF_ONE_EPOCH), *proposed(0, 1002.0), first]:
        runs.apply(event)
    assert runs.pending[None, 0].tags["skipstack.seeds"] == "0,1"
    before = dict(runs.pending[None, 0].metrics)
    runs.apply(further)
    assert runs.pending[None, 0].tags["skipstack.seeds"] == "0,1,2,3"
    metrics = runs.pending[None, 0].metrics
    added = {key: value for (key, step), (value, _) in metrics.items() if (key, step) not in before}
    assert added == {
        "best_score": 0.375,
        "best_epoch": 1.0,
        "dev_accuracy/seed_2": 0.5,
        "dev_accuracy/seed_3": 0.25,
        "train_loss/seed_2": 1.0,
        "train_loss/seed_3": 2.0,
    }
    assert before.items() <= runs.pending[None, 0].metrics.items()
    runs.apply(measured(0, 0.5, 0.5, 0.25, 0.25).model_copy(update={"time": 1005.0}))
    assert runs.pending[None, 0].metrics["test_accuracy/seed_3", 1] == (0.25, 1_005_000)


def test_the_study_says_what_was_asked_and_the_best_score_after_each_end() -> None:
    study = runs_of(history())[STUDY]
    assert (study.name, study.start, study.end, study.status) == ("depths", 1_000_000, 2_004_000, "FINISHED")
    assert study.params == {
        "study": "depths",
        "proposer": "grid",
        "trials": "5",
        "seeds": "2",
        "seed": "0",
        "scheduler.kind": "asha",
        "scheduler.grace": "1",
        "scheduler.reduction": "3",
        "scheduler.resource": "epochs",
        "scheduler.variant": "stopping",
        "scheduler.brackets": "1",
    }
    assert study.tags["skipstack.kind"] == study.tags["skipstack.role"] == "study"
    assert study.tags["skipstack.axis.depth"] == "model.stack.depth"
    assert study.tags["skipstack.code_version"] == "0.1.0+def"
    assert study.tags["mlflow.note.content"] == "How deep?"
    # in this order 1 was stopped, 2 diverged, 0 completed, 3 failed, 4 completed
    scores = {step: value for (key, step), (value, _) in study.metrics.items() if key == "best_score"}
    assert scores == {1: 0.1875, 2: 0.1875, 3: 0.625, 4: 0.625, 5: 0.875}


@pytest.mark.parametrize(
    ("trial", "status", "reason"),
    [(0, "FINISHED", "completed"), (1, "FINISHED", "stopped"), (2, "FAILED", "diverged"), (3, "FAILED", "failed")],
)
def test_the_end_of_a_trial_has_a_status_and_a_reason(trial: int, status: str, reason: str) -> None:
    run = runs_of(history())[trial]
    assert (run.status, run.tags["skipstack.end_reason"]) == (status, reason)


def test_a_trial_that_was_tried_again_says_how_often() -> None:
    events = [*opened(), *proposed(0, 1002.0)]
    events += [Retried(time=1003.0 + each, trial=0, cause="crashed", message="gone") for each in range(2)]
    assert runs_of(events)[0].tags["skipstack.retries"] == "2"


def test_the_best_score_is_that_of_the_best_epoch_and_goes_with_a_fault() -> None:
    scores = (0.25, 0.5, 0.375, math.nan, 0.5, 0.75)
    events = [*opened(), *proposed(0, 1002.0)]
    events += [reported(0, epoch, (score, score), 1002.0 + epoch) for epoch, score in enumerate(scores, start=1)]
    best = {epoch: (max(filter(math.isfinite, scores[:epoch])), float(epoch)) for epoch in (1, 2, 6)}
    for more, found in (
        ([], best),
        ([Ended(time=1010.0, trial=0, reason="completed")], best),
        ([Ended(time=1010.0, trial=0, reason="crashed")], {**best, 7: (math.nan, math.nan)}),
    ):
        metrics = runs_of([*events, *more])[0].metrics
        steps = [step for name, step in metrics if name == "best_score"]
        kept = {step: tuple(metrics[name, step][0] for name in ("best_score", "best_epoch")) for step in steps}
        assert repr(kept) == repr(found)


def test_runs_say_who_typed_what_and_which_commit_ran() -> None:
    placed = Placed(
        time=1001.5,
        place="p",
        engine="ray",
        address=None,
        gpus_per_trial="auto",
        device="auto",
        tracking_uri=None,
        command="skipstack search wu2017/gates",
        user="ann",
        commit="c0ffee",
    )
    tags = {
        "mlflow.source.name": "skipstack search wu2017/gates",
        "mlflow.source.type": "JOB",
        "mlflow.source.git.commit": "c0ffee",
        "mlflow.user": "ann",
    }
    for run in runs_of([*opened(), placed, *proposed(0, 1002.0)]).values():
        assert tags.items() <= run.tags.items()


@pytest.mark.parametrize("reason", SCORELESS)
def test_a_trial_that_a_fault_ended_has_failed_and_counts_for_no_best_score(reason: Reason) -> None:
    events = [*opened(), *proposed(0, 1002.0), reported(0, 1, (0.5, 0.5), 1003.0)]
    runs = runs_of([*events, Ended(time=1004.0, trial=0, reason=reason)])
    assert (runs[0].status, runs[0].tags["skipstack.end_reason"]) == ("FAILED", reason)
    assert not [name for name, _ in runs[STUDY].metrics if name == "best_score"]


def test_a_failed_trial_says_what_failed() -> None:
    assert runs_of(history())[3].tags["mlflow.note.content"] == "OSError: no space left"


def test_an_interrupted_study_and_its_running_trials_are_killed_and_run_again_when_resumed() -> None:
    events = [*opened(), *proposed(0, 1002.0), *proposed(1, 1002.0), Ended(time=1003.0, trial=0, reason="completed")]
    events.append(Interrupted(time=1004.0))
    runs = runs_of(events)
    assert {key: (run.status, run.end) for key, run in runs.items()} == {
        STUDY: ("KILLED", 1_004_000),
        0: ("FINISHED", 1_003_000),
        1: ("KILLED", 1_004_000),
    }
    runs = runs_of([*events, Resumed(time=1005.0, code_version="0.1.0+def")])
    assert {key: (run.status, run.end) for key, run in runs.items()} == {
        STUDY: ("RUNNING", None),
        0: ("FINISHED", 1_003_000),
        1: ("RUNNING", None),
    }
    assert [runs[key].tags["skipstack.code_version"] for key in (0, 1)] == ["0.1.0+abc", "0.1.0+def"]


@pytest.mark.parametrize(("lanes", "mean"), [((math.inf, -math.inf), math.nan), ((1.7e308, 1.7e308), math.inf)])
def test_lanes_without_an_ordinary_mean_do_not_end_the_tracking(lanes: tuple[float, float], mean: float) -> None:
    report = Reported(time=1003.0, trial=0, epoch=1, score=math.nan, metrics={"train_loss": lanes}, seconds=1.0)
    value, _ = runs_of([*opened(), *proposed(0, 1002.0), report])[0].metrics["train_loss", 1]
    assert value == mean or (math.isnan(value) and math.isnan(mean))


def test_a_study_has_one_id_for_ever_and_another_study_of_the_same_name_has_another() -> None:
    first, later = opened()[0], opened(time=1000.001)[0]
    assert isinstance(first, StudyOpened)
    assert isinstance(later, StudyOpened)
    assert study_id(first) == study_id(StudyOpened.model_validate_json(first.model_dump_json())) == identity(first)
    assert study_id(first) != study_id(later)


def test_values_longer_than_mlflow_takes_are_cut() -> None:
    study = StudyConfig.model_validate({**studies.STUDY.model_dump(), "about": "a" * 9000})
    assert runs_of(opened(study))[STUDY].tags["mlflow.note.content"] == "a" * LONGEST


def test_what_was_taken_out_does_not_come_back() -> None:
    runs = ExpectedRuns()
    for event in [*opened(), *proposed(0, 1002.0)]:
        runs.apply(event)
    runs.pending.clear()
    runs.apply(reported(0, 1, (0.5, 0.5), 1003.0))
    assert list(runs.pending) == [(None, 0)]
    assert (runs.pending[None, 0].start, runs.pending[None, 0].params, runs.pending[None, 0].tags) == (None, {}, {})


def test_the_second_part_of_a_trial_begins_is_killed_and_ends_with_it(tmp_path: Path) -> None:
    axes: dict[str, object] = {"model.stack.depth": {"choice": [1, 3]}, "model.stack.composition": {"choice": [0, 2]}}
    planted(tmp_path / "study", axes)
    events = Ledger(StudyFolder(tmp_path / "study").ledger).read()
    ends = [place for place, event in enumerate(events) if isinstance(event, Ablated) and is_end(event.event, 2)]
    before = events[: ends[0]]
    parts: dict[str, str] = {}
    for more, status in (
        ([], None),
        ([Interrupted(time=9.0)], "KILLED"),
        ([Interrupted(time=9.0), Resumed(time=10.0, code_version="later")], "RUNNING"),
        ([Ended(time=9.0, trial=2, reason="completed")], "FINISHED"),
        ([Ended(time=9.0, trial=2, reason="failed")], "FAILED"),
    ):
        runs = ExpectedRuns()
        for event in [*before, *(Ablated(time=each.time, ablation=1, event=each) for each in more)]:
            runs.apply(event)
        trial = runs.pending[1, 2]
        (part,) = (entry for key, entry in runs.pending.items() if len(key) > 2 and key[1] == 2)
        assert (trial.status, part.status) == (status, status)
        assert (trial.start, trial.end) == (part.start, part.end)
        assert (trial.params, trial.corpus) == (part.params, part.corpus)
        same = ("skipstack.trial", "skipstack.seeds", "skipstack.identity", "skipstack.role", "skipstack.corpus")
        assert {name: trial.tags[name] for name in same}.items() <= part.tags.items()
        parts |= {each.name: each.tags["skipstack.over"] for each in (trial, part)}
    assert parts == {"depth 1: winner without it": "winner without it", "composition 0: base with it": "base"}


def is_end(event: Event, trial: int) -> bool:
    return isinstance(event, Ended) and event.trial == trial


def test_notes_are_tags_and_the_last_title_is_the_run_s_name_in_place_of_those_before() -> None:
    events = list(history())
    notes = [
        Noted(time=9e9, text="to repeat"),
        Noted(time=9e9, trial=0, text="noisy"),
        Renamed(time=9e9, title="Warm-up"),
        Renamed(time=9e9, title="Second warm-up"),
    ]
    runs = ExpectedRuns()
    for event in events:
        runs.apply(event)
    first = runs.record.study.title
    runs.pending.clear()
    for event in notes:
        runs.apply(event)
    study, trial = runs.pending[None, None], runs.pending[None, 0]
    assert study.tags["skipstack.note"] == "to repeat"
    assert trial.tags["skipstack.note"] == "noisy"
    assert (study.name, study.formerly) == ("Second warm-up", (first, "Warm-up"))
