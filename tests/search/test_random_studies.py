"""Random studies with random faults, requests and kills: what is read event by event is what is read from the start.

Progress, metrics, MLflow's runs, phases and listeners follow a study while it runs, in every session anew. Whatever
the order of its events, each must end where a reader of the finished ledger begins.
"""

import math
import random
import shutil
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest

from skipstack.data.basis.errors import UserError
from skipstack.search.analysis.study_frames import study_frames
from skipstack.search.execution.driver.driver import Driver
from skipstack.search.execution.driver.engine import run_study
from skipstack.search.execution.driver.faults import WeightsLostError
from skipstack.search.execution.driver.retention import Retention
from skipstack.search.execution.engines.serial import SerialEngine
from skipstack.search.ledger import events as happened
from skipstack.search.ledger.events import Ended, Event, Extended, Noted, Renamed, Reported, Started
from skipstack.search.study.config import StudyConfig
from skipstack.search.study.record.extension import extension
from skipstack.search.study.record.folder import BEST, StudyFolder
from skipstack.search.study.record.requests import Request, Requests
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.search.study.task import EpochResult, Measured, TrialTask
from skipstack.spaces.trial import as_network
from tests.search.changed import searched, warm
from tests.search.followed import Followed
from tests.search.killing import DyingLedger, Killed
from tests.search.toy import KeepingWorker, ToyWorker, open_toy, toy_study

SCHEDULERS: Final[tuple[dict[str, Any], ...]] = (
    {"kind": "none"},
    {"kind": "median"},
    {"kind": "keep_best", "keep": 2},
    *({"kind": "asha", "grace": 1, "reduction": 2, "variant": variant} for variant in ("stopping", "promotion")),
    {"kind": "asha", "grace": 1, "reduction": 2, "variant": "promotion", "brackets": 2},
    {"kind": "asha", "grace": 1, "reduction": 2, "resource": "seeds"},
    {"kind": "asha", "grace": 1, "reduction": 2, "resource": "seconds", "maximum": 2, "variant": "promotion"},
    {"kind": "hyperband", "grace": 1, "reduction": 2},
    {"kind": "hyperband", "grace": 1, "reduction": 2, "resource": "seeds"},
)

FAULTS: Final = ("raises", "out of memory", "diverges", "has no test", "lost its weights")


def drawn(draw: random.Random) -> StudyConfig:
    """A study with any proposer, scheduler, objectives and limits that go together."""
    scheduler, proposer = draw.choice(SCHEDULERS), draw.choice(["tpe", "random", "grid", "evolution", "one_at_a_time"])
    listed = proposer in ("grid", "one_at_a_time")
    study = toy_study(draw.choice([3, 6, 9]), "grid" if listed else proposer, epochs=draw.choice([1, 3, 4]))
    fields: dict[str, Any] = {"seeds": draw.choice([1, 2, 3]), "retries": draw.choice([0, 1])}
    if scheduler["kind"] in ("asha", "none"):
        fields["objectives"] = draw.choice([("score",), ("score",), ("score", "parameters", "latency")])
    limits = {"keep_checkpoints": 1, "disk_budget": 200, "time_limit": 0.8, "hours": 30 / 3600}
    fields |= {name: limit for name, limit in limits.items() if draw.random() < 0.2}
    return searched(study, proposer=proposer, scheduler=scheduler, **fields)


def faulty(seed: int, rates: dict[str, float]) -> type[ToyWorker]:
    """Workers with faults, each of which depends on the trial, its attempt and its epoch alone."""

    def happens(fault: str, *where: object) -> bool:
        return random.Random(f"{seed} {fault} {where}").random() < rates[fault]

    class Faulty(ToyWorker):
        def run_epoch(self) -> EpochResult:
            result, task = super().run_epoch(), self.task
            where = (task.number, task.attempt, result.epoch)
            if happens("raises", *where):
                raise RuntimeError("out of luck")
            if happens("out of memory", *where):
                raise MemoryError("out of memory")
            task.folder.mkdir(parents=True, exist_ok=True)
            (task.folder / BEST).write_text(f"{task.config.identity} {result.epoch}")
            diverged = happens("diverges", task.number, result.epoch, task.seeds)
            seconds = 0.3 + 0.6 * random.Random(f"{seed} {where}").random()
            return replace(result, score=math.nan if diverged else result.score, seconds=seconds, latency=seconds)

        @classmethod
        def test(cls, task: TrialTask) -> Measured:
            if happens("has no test", task.number):
                raise RuntimeError("no test")
            if happens("lost its weights", task.number, task.attempt):
                raise WeightsLostError("lost")
            return super().test(task)

    return Faulty


class User:
    """Asks a running study for what people ask for, at any moment."""

    def __init__(self, folder: StudyFolder, driver: Driver, draw: random.Random) -> None:
        self.requests, self.driver, self.draw = Requests(folder.asked), driver, draw

    def __call__(self, event: Event) -> None:
        draw, trials = self.draw, len(self.driver.record.trials)
        if not isinstance(event, (Started, Reported, Ended, happened.Tested)) or not trials or draw.random() > 0.05:
            return
        number = draw.randrange(trials)
        depth, rate = draw.choice([1, 2, 3]), draw.choice([0.02, 0.1])
        ask: list[dict[str, Any]] = [
            {"points": ({"model.stack.depth": depth, "training.optimiser.learning_rate": rate},)},
            {"stop": (number,)},
            {"enough": True},
            {"written": Noted(time=0.0, trial=number, text="odd")},
            {"written": Renamed(time=0.0, title="renamed")},
        ]
        self.requests.ask(Request(asked_by="somebody", **draw.choice(ask)))


def seconds_from(start: float) -> Iterator[float]:
    while True:
        yield (start := start + 0.5)


def session(
    folder: StudyFolder,
    worker: type[ToyWorker],
    clock: Callable[[], float],
    draw: random.Random,
    *,
    appends: int = 10**9,
    first: tuple[Extended, ...] = (),
    resumes: bool = True,
) -> StudyRecord | None:
    """Run a study to its end and compare its readers; None if its driver is killed at the append of this number."""
    with DyingLedger(folder.ledger, appends, after=True) as ledger:
        before = StudyRecord()
        try:
            driver = Driver(
                folder,
                ledger,
                device="cpu",
                clock=clock,
                first=first,
                replay_to=[before.apply],
                parameters=lambda config: as_network(config).model.stack.depth,
            )
            followed = Followed(folder, before)
            driver.listen(followed, Retention(folder, lambda: driver.record), User(folder, driver, draw))
            if resumes:
                driver.resumed("here")
            followed.measure(lambda: driver.record)  # the engine begins
            run_study(driver, SerialEngine(worker, trials=draw.choice([1, 3])))
        except Killed:
            return None
    followed.compare()
    frames = study_frames(folder.path)
    for name in ("trials", "seeds", "curves", "events", "usage", "reached"):
        getattr(frames, name)
    frames.exploration()
    return driver.record


def more(record: StudyRecord, draw: random.Random, time: float) -> tuple[Extended, ...]:
    """What a finished study may be extended by; nothing where that is refused."""
    by: dict[str, Any] = draw.choice(
        [{"trials": 2, "seeds": 0}, {"trials": 2, "seeds": 1}, {"trials": 2, "choices": {"model.stack.depth": [4]}}]
    )
    try:
        return (extension(record.study, len(record.trials), time=time, **{"seeds": 0, "choices": {}, **by}),)
    except UserError:
        return ()


def begun(path: Path, study: StudyConfig, draw: random.Random) -> StudyFolder:
    """The study, which one time in three knows the trials of an earlier one."""
    if draw.random() < 1 / 3:
        earlier = open_toy(path / "earlier", study)
        session(earlier, KeepingWorker, seconds_from(500.0).__next__, draw, resumes=False)
        with suppress(UserError):  # none of its trials can be used
            return open_toy(path / "opened", warm(study, earlier.path))
    return open_toy(path / "opened", study)


@pytest.mark.first(3)
@pytest.mark.parametrize("seed", range(60))
def test_readers_of_a_study_as_it_runs_end_where_those_of_its_ledger_begin(seed: int, tmp_path: Path) -> None:
    draw = random.Random(seed)
    study = drawn(draw)
    worker = faulty(seed, {fault: draw.choice([0.0, 0.0, 0.08]) for fault in FAULTS})
    opened = begun(tmp_path, study, draw)

    whole = StudyFolder(shutil.copytree(opened.path, tmp_path / "whole"))
    clock = seconds_from(1000.0).__next__
    record = session(whole, worker, clock, draw, resumes=False)
    assert record is not None
    if first := more(record, draw, clock()):
        session(whole, worker, clock, draw, first=first)

    killed = StudyFolder(shutil.copytree(opened.path, tmp_path / "killed"))
    clock, appends = seconds_from(1000.0).__next__, draw.randrange(1, 40)
    resumes = False
    while session(killed, worker, clock, draw, appends=appends, resumes=resumes) is None:
        appends, resumes = 2 * appends, True
