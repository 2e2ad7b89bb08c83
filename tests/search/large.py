"""Creates ledgers of any length: random points and curves, with the decisions of the study's own scheduler."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from skipstack.search.ledger.events import Decided, Ended, Event, Proposed, Reason, Reported, Started
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.strategy.schedulers.config import AshaConfig
from skipstack.search.study.config import StudyConfig
from skipstack.spaces.space import Space
from tests.search import made_up
from tests.search.changed import scheduler_of

EPOCHS = 9
WORKERS = 16
METRICS = ("train_loss", "dev_loss", "dev_accuracy", "learning_rate")


def large_study(trials: int, *, epochs: int = EPOCHS, **search: Any) -> StudyConfig:
    """Return a study whose trials have 3 to 9 epochs under ASHA, unless ``search`` says otherwise."""
    asha = AshaConfig(grace=3, reduction=2).model_dump()
    tree = made_up.study(**{"trials": trials, "seeds": 2, "scheduler": asha, **search}).model_dump(mode="json")
    tree["space"]["base"]["training"]["epochs"] = epochs
    return StudyConfig.model_validate(tree)


def appends(config: StudyConfig, trials: int, seed: int = 0) -> Iterator[tuple[Event, ...]]:
    """Yields the appends of a driver with ``WORKERS`` workers that stops once ``trials`` trials have ended."""
    space, source, draw = Space(config.space), np.random.default_rng(seed), random.Random(seed)
    judge = scheduler_of(config.search, config.space.base.training.epochs, frozenset({0}))
    yield tuple(made_up.opening(config))
    running: dict[int, tuple[int, float]] = {}
    born, time = 0, 0.0
    while born < trials or running:
        if born < trials and len(running) < WORKERS:
            point = space.sample(source) if born else space.point(config.space.base)
            name = space.config(point).identity
            seeds = tuple(range(config.search.seeds))
            yield (Proposed(time=time, trial=born, point=point, config_identity=name, seeds=seeds),)
            yield (Started(time=time, trial=born),)
            running[born] = (0, draw.random())
            born += 1
            continue
        number, time = draw.choice(list(running)), time + 0.5
        epoch, quality = running[number][0] + 1, running[number][1]
        running[number] = (epoch, quality)
        lanes = tuple(quality * (1 - 0.5**epoch) + 0.01 * draw.random() for _ in range(config.search.seeds))
        score, metrics = sum(lanes) / len(lanes), dict.fromkeys(METRICS, lanes)
        events: list[Event] = [
            Reported(
                time=time, trial=number, epoch=epoch, score=score, metrics=metrics, seconds=1 + 0.1 * draw.random()
            )
        ]
        decision = judge.report(number, epoch, score)
        events.append(Decided(time=time, trial=number, epoch=epoch, decision=decision.action, rung=decision.rung))
        if decision.action != "continue":
            reason: Reason = "completed" if decision.action == "complete" else "stopped"
            events.append(Ended(time=time, trial=number, reason=reason))
            del running[number]
        yield tuple(events)


def write_large(folder: Path, config: StudyConfig, trials: int) -> int:
    """Write such a ledger, and return the number of its events."""
    count = 0
    with Ledger(folder) as ledger:
        for events in appends(config, trials):
            ledger.append(*events)
            count += len(events)
    return count
