"""Random loops of a user's own, which leave, are killed and go on, with requests at any moment and full disks.

What a loop was told is in the ledger, what it restores is what it saved, and a loop that goes on after each of its ends
does what one without an end does. The steps of several loops are interleaved in one thread, by a seed.
"""

import json
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

import pytest

import skipstack
from skipstack.search.api import run
from skipstack.search.execution.driver.faults import StudyInterruptedError
from skipstack.search.ledger.events import Noted, Proposed, Renamed, Reported
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.study.record.call_models import models_of
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.record.requests import Request, Requests
from skipstack.search.study.record.study_record import StudyRecord
from tests.search.killing import Disk, Killed, decided

SCHEDULERS: Final[tuple[dict[str, Any], ...]] = (
    {"kind": "none"},
    {"kind": "median"},
    *({"kind": "asha", "grace": 1, "reduction": 2, "variant": variant} for variant in ("stopping", "promotion")),
    {"kind": "hyperband", "grace": 1, "reduction": 2},
)

LIVES: Final = 25
"""After so many, a loop meets no failures."""


class GoneError(Exception):
    """An error of the user's. It ends one of several loops, whose trial stays open."""


@dataclass
class User:
    """A user with one loop, or several. What a trial meets depends on ``seed`` and the trial's number alone; ``draw``
    draws what makes no difference to a study. ``errors``: how often an error of the user's ends a loop.
    """

    seed: int
    draw: random.Random
    folder: Path
    epochs: int
    errors: float = 0.0
    reported: set[tuple[int, int]] = field(default_factory=set)
    """Trials and epochs that the loop was told to be over."""
    over: dict[int, str] = field(default_factory=dict)
    """Trials that it ended, and how."""
    saved: dict[tuple[int, int], set[int]] = field(default_factory=dict)
    """Epochs of the checkpoints of a trial's seed."""

    def loop(self, study: "skipstack.OwnLoop") -> Iterator[None]:
        """Train trials, step by step."""
        while (trial := study.ask()) is not None:
            yield
            yield from self._train(trial)
            assert not trial.goes_on

    def _chance(self, share: float, *where: object) -> bool:
        return random.Random(f"{self.seed} {where}").random() < share

    def _train(self, trial: "skipstack.AskedTrial") -> Iterator[None]:
        restores = self._chance(0.5, trial.number, "restores")
        anew = self.draw.random() < 0.5
        reached = dict.fromkeys(trial.seeds, 0 if restores or anew else trial.epoch)
        if restores:
            for seed in trial.seeds:
                reached[seed] = self._restored(trial, seed)
                yield
        if trial.epoch and self.draw.random() < 5 * self.errors:
            trial.end()
            self.over[trial.number] = "completed"
            return
        for epoch in range(min(reached.values()) + 1, self.epochs + 1):
            for end, how in ((partial(trial.fail, "broken"), "failed"), (trial.end, "completed")):
                if (
                    epoch > trial.epoch
                    and self._chance(0.05, trial.number, epoch, how)
                    and (trial.epoch or how == "failed")
                ):
                    end()
                    self.over[trial.number] = how
                    return
            for seed in self.draw.sample(trial.seeds, len(trial.seeds)):
                if epoch > reached[seed]:
                    yield from self._epoch(trial, seed, epoch, epoch if restores or anew else None, restores)
                    if not trial.goes_on:
                        return

    def _epoch(
        self, trial: "skipstack.AskedTrial", seed: int, epoch: int, told: int | None, saves: bool
    ) -> Iterator[None]:
        before = self.draw.random() < 0.5
        trial.log(loss=1.0 * epoch, seed=seed)
        trial.log(loss=2.0 * epoch, seed=seed)
        if saves and before:
            self._save(trial, seed, epoch)
            yield
        model = self.folder.parent / "model"
        model.write_text(f"{trial.number} {seed} {epoch}")
        goes_on = trial.report(score=score(trial.configs[seed], epoch), seed=seed, epoch=told, model=model)
        assert goes_on == trial.goes_on
        if trial.epoch >= epoch:
            self.reported.add((trial.number, epoch))
        if goes_on:
            yield
            if saves and not before:
                self._save(trial, seed, epoch)
                yield
            if self.draw.random() < self.errors:
                raise GoneError

    def _save(self, trial: "skipstack.AskedTrial", seed: int, epoch: int) -> None:
        trial.checkpoint(json.dumps([trial.number, seed, epoch]).encode(), seed=seed, epoch=epoch)
        if trial.goes_on:
            self.saved.setdefault((trial.number, seed), set()).add(epoch)

    def _restored(self, trial: "skipstack.AskedTrial", seed: int) -> int:
        path = trial.restore(seed)
        saved = self.saved.get((trial.number, seed), set())
        counted = self.saved[trial.number, seed] = {epoch for epoch in saved if epoch <= trial.epoch}
        if path is None:
            assert not counted
            return 0
        number, of, epoch = json.loads(path.read_bytes())
        assert (number, of) == (trial.number, seed)
        assert max(counted, default=0) <= epoch <= trial.epoch, "a checkpoint whose call was killed may be whole"
        return int(epoch)


def score(config: Any, epoch: int) -> float:
    """The second epoch is the best."""
    fit = -((config["x"] - 0.3) ** 2) * (1 + 1 / epoch) - 0.5 * abs(epoch - 2)
    return float(fit + 0.01 * config["seed"] + (config["kind"] == "b"))


class Somebody:
    """Asks a study for what people ask for, at any moment. ``ends``: whether it asks to start no further trial."""

    def __init__(self, folder: Path, draw: random.Random) -> None:
        self._folder, self._draw = StudyFolder(folder), draw
        self.ends = draw.random() < 0.3
        self.wrote: list[str] = []
        self.points: list[float] = []

    def ask(self) -> None:
        trials = len(StudyRecord.of(Ledger(self._folder.ledger).read()).trials)
        number, words, x = self._draw.randrange(max(trials, 1)), f"text {len(self.wrote)}", self._draw.random()
        ask: list[dict[str, Any]] = [{"points": ({"x": x, "kind": "a"},)}]
        if trials:
            ask += [
                {"written": Noted(time=0.0, trial=number, text=words)},
                {"written": Renamed(time=0.0, title=words)},
                {"stop": (number,)},
                *([{"enough": True}] if self.ends else []),
            ]
        chosen = self._draw.choice(ask)
        Requests(self._folder.asked).ask(Request(asked_by="somebody", **chosen))
        self.wrote += [words] * ("written" in chosen)
        self.points += [x] * ("points" in chosen)


def options(draw: random.Random) -> dict[str, Any]:
    """The arguments of ``skipstack.begin``."""
    search = {
        "scheduler": draw.choice(SCHEDULERS),
        "proposer": draw.choice(["tpe", "random", "gp"]),
        "keep_checkpoints": 99,
    }
    axes = {"x": {"real": [0.0, 1.0]}, "kind": {"choice": ["a", "b"]}}
    size = {"trials": draw.choice([2, 5]), "epochs": draw.choice([1, 3, 4]), "seeds": draw.choice([1, 2, 3])}
    return {"study": {"axes": axes, "search": search}, **size}


def live(study: "skipstack.OwnLoop", user: User, *, loops: int = 1, steps: float = float("inf")) -> Iterator[None]:
    """Take so many steps of the user's loops, which then leave."""
    with study:
        running = [user.loop(study) for _ in range(loops)]
        while running and steps > 0:
            steps -= 1
            current = user.draw.choice(running)
            try:
                next(current)
            except (StopIteration, GoneError):
                running.remove(current)
            yield


def searched(user: User, given: dict[str, Any], disk: Disk, somebody: Somebody | None = None) -> None:
    """Run a study from its begin to its end, in many lives. ``somebody``: asks for something in between; then there are
    several loops, too.
    """
    draw, folder = user.draw, user.folder
    for life in range(LIVES + 5):
        what = draw.choice(["leaves", "is killed", "full disk", "whole"]) if life < LIVES else "whole"
        user.errors = 0.02 if somebody is not None and life < LIVES else 0.0
        steps = draw.randrange(1, 60) if what == "leaves" else float("inf")
        if what in ("is killed", "full disk"):
            disk.fail(draw.randrange(1, draw.choice([20, 300])), kills=what == "is killed", draw=draw)
        try:
            begun = skipstack.begin(folder) if folder.exists() else skipstack.begin(**given, out=folder)
            for _ in live(begun, user, loops=1 if somebody is None else draw.choice([1, 2, 3]), steps=steps):
                if somebody is not None and draw.random() < 0.08:
                    with disk.of_another_process():
                        somebody.ask()
        except (Killed, OSError, StudyInterruptedError):
            pass
        except skipstack.UserError as error:
            if "is at its end" not in str(error):
                raise
            break
        finally:
            disk.mend()


def check(user: User, somebody: Somebody | None = None) -> None:
    """What was told to the loops, and what was asked for, is in the ledger, once."""
    events, folder = Ledger(user.folder / "ledger").read(), StudyFolder(user.folder)
    record = StudyRecord.of(events)
    assert record.finished
    assert set(Counter((event.trial, event.epoch) for event in events if isinstance(event, Reported)).values()) <= {1}
    for trial in record.trials.values():
        assert [report.epoch for report in trial.reports] == list(range(1, len(trial.reports) + 1))
        seeds = record.study.search.lane_seeds
        for report in trial.reports:
            user.reported.discard((trial.number, report.epoch))
            told = tuple(score({**trial.point, "seed": seed}, report.epoch) for seed in seeds)
            assert report.metrics["dev_score"] == told
            assert report.metrics["loss"] == (1.5 * report.epoch,) * len(seeds)
        assert trial.reason == user.over.get(trial.number, trial.reason)
        best = 0 if trial.score is None else min(len(trial.reports), 2)
        models = models_of(trial, folder.trial(trial.number))
        assert {seed: model.path.read_text() for seed, model in models.items()} == (
            {seed: f"{trial.number} {seed} {best}" for seed in seeds} if best else {}
        )
    assert not user.reported
    assert not user.over.keys() - record.trials.keys()
    if somebody is not None:
        texts = {event.text for event in events if isinstance(event, Noted)}
        assert {*somebody.wrote} <= texts | {event.title for event in events if isinstance(event, Renamed)}
        tried = Counter(event.point["x"] for event in events if isinstance(event, Proposed))
        assert all(tried[x] in ((0, 1) if somebody.ends else (1,)) for x in somebody.points)
    assert not list(folder.asked.glob("*")), "all requests are carried out"
    assert not list(user.folder.rglob("checkpoints")), "they go with the ends of trials"


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    monkeypatch.setattr(run, "is_installed", lambda name: False)  # MLflow takes seconds to start
    return Disk(monkeypatch)


@pytest.mark.first(3)
@pytest.mark.parametrize("seed", range(60))
def test_what_loops_are_told_is_in_the_ledger(seed: int, tmp_path: Path, disk: Disk) -> None:
    draw = random.Random(seed)
    given = options(draw)
    user, somebody = User(seed, draw, tmp_path / "study", given["epochs"]), Somebody(tmp_path / "study", draw)
    searched(user, given, disk, somebody)
    check(user, somebody)


@pytest.mark.first(3)
@pytest.mark.parametrize("seed", range(60))
def test_a_loop_that_ends_at_any_moment_does_what_one_without_an_end_does(
    seed: int, tmp_path: Path, disk: Disk
) -> None:
    draw = random.Random(seed)
    given = options(draw)
    whole, ending = (User(seed, draw, tmp_path / name, given["epochs"]) for name in ("whole", "ending"))
    for _ in live(skipstack.begin(**given, out=whole.folder), whole):
        pass
    searched(ending, given, disk)
    check(ending)
    assert decided(ending.folder) == decided(whole.folder)
