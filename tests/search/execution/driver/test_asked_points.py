"""Points that somebody asks a study for: before it runs, while it runs, and by a command that is killed."""

import json
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

import pytest

import skipstack
from skipstack.data.basis.errors import UserError
from skipstack.data.basis.frozen import canonical_json
from skipstack.search.api.provenance import provenance
from skipstack.search.execution.driver.driver import Driver
from skipstack.search.execution.driver.engine import run_study
from skipstack.search.execution.engines.ray.engine import RayEngine
from skipstack.search.execution.engines.serial import SerialEngine
from skipstack.search.ledger.events import Decided, Ended, Event, Extended, Proposed, Reported
from skipstack.search.ledger.ledger import Ledger, events_of
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.record.reading import read_study
from skipstack.search.study.task import EpochResult, Measured, TrialTask
from tests.command_line import typed
from tests.search.changed import searched
from tests.search.toy import ToyWorker, open_toy, run_toy, toy_driver, toy_study

DEEP = {"model.stack.depth": 3, "training.optimiser.learning_rate": 0.5}
FLAT = {"model.stack.depth": 2, "training.optimiser.learning_rate": 0.25}


def points(folder: StudyFolder) -> list[dict[str, object]]:
    return [dict(event.point) for event in Ledger(folder.ledger).read() if isinstance(event, Proposed)]


def extensions(folder: StudyFolder) -> list[Extended]:
    return list(Ledger(folder.ledger).extensions())


def asking(folder: Path, *, at: int, on_test: bool = False) -> type[ToyWorker]:
    """A worker that asks for points as somebody else would, when trial ``at`` trains or is tested."""

    class Asking(ToyWorker):
        def run_epoch(self) -> EpochResult:
            if self.task.number == at and self.epoch == 0 and not on_test:
                skipstack.open(folder).enqueue({"depth": 3, "learning_rate": 0.5}, {"depth": 2, "learning_rate": 0.25})
            return super().run_epoch()

        @classmethod
        def test(cls, task: TrialTask) -> Measured:
            if on_test and len(read_study(folder).trials) == at + 1:
                skipstack.open(folder).enqueue({"depth": 3, "learning_rate": 0.5})
            return super().test(task)

    return Asking


def test_points_asked_of_a_running_study_are_its_next_trials_and_the_ledger_says_who_asked(tmp_path: Path) -> None:
    folder = open_toy(tmp_path / "study", toy_study(6))
    record = run_toy(folder, worker=asking(folder.path, at=2))
    assert points(folder)[3:5] == [DEEP, FLAT]
    assert len(record.trials) == 8
    assert record.finished
    (extended,) = extensions(folder)
    assert (extended.trials, [dict(each) for each in extended.points]) == (2, [DEEP, FLAT])
    assert extended.asked_by == provenance()["user"]
    assert not list(folder.asked.iterdir())


@pytest.mark.parametrize("proposer", ["tpe", "grid", "random", "evolution"])
def test_every_proposer_goes_on_beside_points_that_it_did_not_choose(proposer: str, tmp_path: Path) -> None:
    folder = open_toy(tmp_path / "study", toy_study(9, proposer))
    rate = 0.1 if proposer == "grid" else 0.5
    skipstack.open(folder.path).enqueue({"stack.depth": 3, "optimiser.learning_rate": rate})
    run_toy(folder)
    tried = points(folder)
    assert tried[1] == {"model.stack.depth": 3, "training.optimiser.learning_rate": rate}
    assert len({canonical_json(point) for point in tried}) == len(tried) == (9 if proposer == "grid" else 10)


def happened(folder: StudyFolder) -> list[object]:
    """What a study did, without times."""
    kinds = Proposed | Reported | Decided | Ended
    return [
        event.model_dump(mode="json", exclude={"time", "seconds"})
        for event in Ledger(folder.ledger).read()
        if isinstance(event, kinds)
    ]


@pytest.mark.slow
def test_wherever_the_driver_is_killed_the_next_one_tries_the_points_once(tmp_path: Path) -> None:
    whole = open_toy(tmp_path / "whole", toy_study(5))
    skipstack.open(whole.path).enqueue(DEEP, FLAT)
    (request,) = whole.asked.iterdir()
    waiting = request.name, request.read_bytes()
    run_toy(whole)
    appends: list[tuple[Event, ...]] = []
    with Ledger(whole.ledger) as ledger:
        appends = [tuple(each) for each in by_append(ledger)]
    for cut in range(2, len(appends)):
        folder = StudyFolder(tmp_path / str(cut))
        with Ledger(folder.ledger) as ledger:
            for events in appends[:cut]:
                ledger.append(*events)
        folder.asked.mkdir()
        (folder.asked / waiting[0]).write_bytes(waiting[1])  # as if it had not come to remove the request
        run_toy(folder)
        assert happened(folder) == happened(whole), f"killed after {cut} appends"
        assert not list(folder.asked.iterdir())


def by_append(ledger: Ledger) -> list[list[Event]]:
    return [list(events_of(line)) for line in ledger.lines()]


def test_a_request_that_comes_while_the_best_are_tested_is_trained_before_the_study_ends(tmp_path: Path) -> None:
    folder = open_toy(tmp_path / "study", toy_study(3))
    record = run_toy(folder, worker=asking(folder.path, at=2, on_test=True))
    assert points(folder)[3:] == [DEEP]
    assert record.finished
    assert record.trials[3].reason in ("completed", "stopped")


@pytest.mark.cluster
def test_so_it_is_on_ray(tmp_path: Path) -> None:
    folder = open_toy(tmp_path / "study", toy_study(3))
    asked: list[Event] = []

    def ask(event: Event) -> None:
        if event.kind == "tested" and not asked:
            asked.append(event)
            skipstack.open(folder.path).enqueue(DEEP)

    with (
        Ledger(folder.ledger) as ledger,
        closing(RayEngine(ToyWorker, address=None, gpus_per_trial=0)) as engine,
    ):
        driver = toy_driver(folder, ledger)
        driver.listen(ask)
        run_study(driver, engine)
    assert points(folder)[3:] == [DEEP]
    assert driver.record.finished
    assert driver.record.trials[3].reason in ("completed", "stopped")


def test_a_point_that_came_meanwhile_is_not_tried_twice(tmp_path: Path) -> None:
    folder = open_toy(tmp_path / "study", toy_study(3))
    for _ in range(2):
        skipstack.open(folder.path).enqueue(DEEP)
    record = run_toy(folder)
    assert points(folder).count(DEEP) == 1
    assert len(record.trials) == 4
    assert not list(folder.asked.iterdir())


def test_a_point_that_is_asked_for_once_the_hours_are_over_is_not_cut_off(tmp_path: Path) -> None:
    """Its trial does not share the wait for the last reports of those before, which may be over."""
    folder = open_toy(tmp_path / "study", searched(toy_study(3), hours=0.1, scheduler="none"))
    now = 1000.0
    with Ledger(folder.ledger) as ledger:
        driver = Driver(folder, ledger, device="cpu", clock=lambda: now)
        first = driver.next()
        assert first is not None
        now += 360
        assert driver.report(0, ToyWorker(first).run_epoch()).action == "stop"
        assert driver.next() is None
        skipstack.open(folder.path).enqueue(DEEP)
        now += 3600
        asked = driver.next()
        assert asked is not None
        assert driver.seconds_left(asked.number) is None


def test_a_study_that_would_have_enough_tries_what_it_is_asked_for(tmp_path: Path) -> None:
    study = searched(toy_study(60), enough={"minimum_trials": 8, "deviations": 6.0})
    plain, asked = (open_toy(tmp_path / name, study) for name in ("plain", "asked"))
    trials = {}
    for folder in (plain, asked):
        worker = asking(asked.path, at=len(trials.get(plain, ())) - 1) if folder is asked else ToyWorker
        ticks = count(100, 20)
        with Ledger(folder.ledger) as ledger:
            driver = Driver(folder, ledger, device="cpu", clock=lambda ticks=ticks: float(next(ticks)))
            run_study(driver, SerialEngine(worker))
        trials[folder] = points(folder)
    assert len(trials[plain]) < 60, "the rule ends the study"
    assert trials[asked] == [*trials[plain], DEEP, FLAT]


def test_a_request_that_nobody_can_have_written_is_refused_before_the_ledger_has_it(tmp_path: Path) -> None:
    folder = open_toy(tmp_path / "study", toy_study(3))
    skipstack.open(folder.path).enqueue(DEEP)
    (request,) = folder.asked.iterdir()
    request.write_text(json.dumps({"points": [{**DEEP, "model.stack.depth": 4}]}))
    with pytest.raises(UserError, match=r"the request \d+-\w+: model\.stack\.depth: got 4 \(allowed: 1, 2, 3\)"):
        run_toy(folder)
    request.write_text("[]")
    with pytest.raises(UserError, match=rf"^{request}: "):
        run_toy(folder)
    request.unlink()
    assert len(run_toy(folder).trials) == 3
    assert not extensions(folder)


@pytest.mark.parametrize(
    ("point", "message"),
    [
        ({"dept": 3}, r"unknown axis 'dept' \(nearest: 'depth'; allowed: depth, learning_rate\)"),
        ({"model.stack.dept": 3}, r"unknown axis 'model.stack.dept' \(nearest: 'depth'; "),
        ({"depth": 4}, r"model.stack.depth: got 4 \(allowed: 1, 2, 3\)"),
        ({"model.stack.depth": 1}, r"trial 0 has this point already \(allowed: points that the study has not tried\)"),
    ],
)
def test_what_cannot_be_tried_is_refused_when_it_is_asked_for(
    point: dict[str, int], message: str, tmp_path: Path
) -> None:
    folder = open_toy(tmp_path / "study", toy_study(2))
    run_toy(folder)
    with pytest.raises(UserError, match=message):
        skipstack.open(folder.path).enqueue(point)
    assert not folder.asked.exists()


def test_the_command_asks_a_study_that_runs(tmp_path: Path) -> None:
    folder = open_toy(tmp_path / "study", toy_study(3))
    file = tmp_path / "points.yaml"
    file.write_text("- {depth: 3, learning_rate: 0.5}\n- {depth: 2, learning_rate: 0.25}\n")
    with Ledger(folder.ledger):
        done = typed("extend", str(folder.path), "--point", "depth=2, learning_rate=0.125", "--point", str(file))
    assert done.code == 0, done.error
    assert done.error == "the process that runs the study tries these points next\n"
    run_toy(folder)
    assert [each["training.optimiser.learning_rate"] for each in points(folder)[1:4]] == [0.125, 0.5, 0.25]


@pytest.mark.parametrize("given", ["depth", "nowhere.yaml"])
def test_a_point_without_values_is_refused_in_a_line(given: str, tmp_path: Path) -> None:
    folder = open_toy(tmp_path / "study", toy_study(3))
    done = typed("extend", str(folder.path), "--point", given)
    assert done.code == 2
    assert f"--point {given}: there is no such file of text (allowed: AXIS=VALUE, ..." in done.error


def test_points_may_be_given_as_a_list_and_what_is_none_is_refused_in_a_line(tmp_path: Path) -> None:
    one, other = (open_toy(tmp_path / name, toy_study(3)) for name in ("one", "other"))
    skipstack.open(one.path).enqueue(DEEP, FLAT)
    skipstack.open(other.path).enqueue([DEEP, FLAT])
    ((asked,), (listed,)) = (list(each.asked.iterdir()) for each in (one, other))
    assert json.loads(asked.read_text())["points"] == json.loads(listed.read_text())["points"]
    with pytest.raises(UserError, match=r"points: got 3 \(allowed: points, each as \{\"model.stack.depth\": ..., "):
        skipstack.open(one.path).enqueue(3)  # type: ignore[arg-type]


def bowl(config: dict[str, float], report: skipstack.Report) -> None:
    report(score=-((config["x"] - 0.3) ** 2))


@pytest.mark.slow
def test_points_of_a_function_are_tried_beside_more_trials_and_by_resume(tmp_path: Path) -> None:
    space = {"axes": {"x": {"real": [0, 1]}, "kind": {"named": {"one": [1], "two": [2]}}}, "search": {"trials": 2}}
    options: dict[str, Any] = {"epochs": 1, "engine": "serial"}
    study = skipstack.search(space, bowl, seeds=1, out=tmp_path / "study", **options)
    del options["epochs"]
    study = skipstack.extend(
        study.folder, bowl, trials=1, points=[{"x": 1, "kind": "two"}, {"x": 0.25, "kind": "three"}],
        choices={"kind": [{"three": [3]}]}, **options,
    )  # fmt: skip
    study.enqueue({"x": 0})
    study = skipstack.resume(study.folder, bowl, **options)
    tried = [(trial.point["x"], trial.point["kind"]) for trial in study.record.trials.values()]
    assert tried[2:4] == [(1.0, [2]), (0.25, [3])]
    assert tried[5:] == [(0.0, [1])]
    assert study.finished
    assert [event.trials for event in extensions(StudyFolder(study.folder))] == [3, 1]
