"""Creates made-up studies as events: no network is trained, and accuracies come from a formula."""

import random
from collections.abc import Iterator
from typing import Any

import numpy as np

from skipstack.data.basis.frozen import identity
from skipstack.search.ledger.events import (
    CorpusPrepared,
    Decided,
    Ended,
    Event,
    Finished,
    Proposed,
    Reason,
    Reported,
    Started,
    StudyOpened,
    Tested,
)
from skipstack.search.study.config import StudyConfig
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.spaces.space import Point, Space
from tests.search.changed import scheduler_of

DEPTH, HIDDEN, COMPOSITION = "model.stack.depth", "model.stack.hidden", "model.stack.composition"
GATE, RATE = "model.stack.shortcut.gate", "training.optimiser.learning_rate"

AXES: dict[str, Any] = {
    DEPTH: {"choice": [1, 3, 5]},
    GATE: {"choice": ["none", "sigmoid_below"], "when": {DEPTH: [3, 5]}},
    RATE: {"log": [0.003, 0.03]},
}
"""The axes, whose values include those of the base: depth 3 with a gate."""


def study(axes: dict[str, Any] = AXES, *, composition: int = 0, **search: Any) -> StudyConfig:
    """Return a study of 16 trials, 2 seeds, 6 epochs and plain stacks, unless the arguments say otherwise."""
    optimiser = {"kind": "adam", "learning_rate": 0.01}
    model = {"stack": {"kind": "recurrent", "depth": 3, "hidden": 16, "composition": composition}}
    base = {"model": model, "training": {"epochs": 6, "optimiser": optimiser}}
    asha = {"kind": "asha", "grace": 1, "reduction": 2}
    return StudyConfig.model_validate(
        {
            "name": "made-up",
            "space": {"base": base, "axes": axes},
            "search": {"proposer": "random", "trials": 16, "seeds": 2, "scheduler": asha, **search},
        }
    )


def opening(config: StudyConfig) -> list[Event]:
    """Return the events that open the study and prepare its corpus."""
    corpus = identity(config.space.base.data.corpus)
    baselines = {"baseline_dev": 0.7125, "baseline_test": 0.7041}
    return [
        StudyOpened(time=0.0, study=config.model_dump(mode="json"), code_version="test"),
        CorpusPrepared(time=0.0, corpus=corpus, fingerprint="0" * 16, store=corpus, **baselines),
    ]


def proposed(config: StudyConfig, number: int, point: Point, *, seeds: tuple[int, ...] | None = None) -> Proposed:
    """Return the event of a trial at a point of the study's space; its seeds are the study's by default."""
    own = tuple(range(config.search.seeds)) if seeds is None else seeds
    name = Space(config.space).config(point).identity
    return Proposed(time=0.0, trial=number, point=point, config_identity=name, seeds=own)


def reported(number: int, epoch: int, *accuracies: float, seconds: float = 1.5) -> Reported:
    """Return the event of an epoch of a trial, with the dev accuracy of each lane."""
    score = sum(accuracies) / len(accuracies)
    metrics = {"dev_accuracy": accuracies}
    return Reported(time=0.0, trial=number, epoch=epoch, score=score, metrics=metrics, seconds=seconds)


def ended(number: int, reason: Reason = "completed", message: str = "") -> Ended:
    """Return the event of the end of a trial."""
    return Ended(time=0.0, trial=number, reason=reason, message=message)


def measured(number: int, *accuracies: float) -> Tested:
    """Return the event of the test accuracy of each lane."""
    return Tested(time=0.0, trial=number, metrics={"test_accuracy": accuracies})


def record_of(config: StudyConfig, *events: Event) -> StudyRecord:
    """Return the record of a study after these events."""
    return StudyRecord.of([*opening(config), *events])


def raced() -> list[Event]:
    """Return the events of a finished study whose seeds race. Its base has three seeds and 87 %; two trials that were
    stopped with their first seed have more, 90 and 89 %.
    """
    racing = {"kind": "asha", "grace": 1, "reduction": 3, "resource": "seeds"}
    config = study({DEPTH: {"choice": [1, 3, 5]}}, seeds=3, trials=3, scheduler=racing)

    def trained(number: int, seeds: tuple[int, ...], height: float) -> list[Event]:
        reports = (reported(number, epoch, *[height - 0.01 * (6 - epoch)] * len(seeds)) for epoch in range(1, 7))
        return [each.model_copy(update={"seeds": seeds}) for each in reports]

    return [
        *opening(config),
        *(proposed(config, 0, {DEPTH: 3}, seeds=(0,)), *trained(0, (0,), 0.93)),
        *(proposed(config, 1, {DEPTH: 1}, seeds=(0,)), *trained(1, (0,), 0.90), ended(1, "stopped")),
        *(*trained(0, (1, 2), 0.84), ended(0)),
        *(proposed(config, 2, {DEPTH: 5}, seeds=(0,)), *trained(2, (0,), 0.89), ended(2, "stopped")),
        Finished(time=9.0),
    ]


def raced_record() -> StudyRecord:
    """Return the record of ``raced``."""
    return StudyRecord.of(raced())


def history(config: StudyConfig, *, seed: int = 0) -> Iterator[Event]:
    """Yields the events of a whole study: trials of the base and of random points, two at a time, of which a few
    diverge or fail. An epoch lasts 1.5 seconds.
    """
    draw = random.Random(seed)
    space = Space(config.space)
    judge = scheduler_of(config.search, config.space.base.training.epochs, frozenset({0}))
    points = [space.base_point()]
    generator = np.random.default_rng(seed)
    points += [space.sample(generator) for _ in range(config.search.trials - 1)]
    yield from opening(config)
    running: dict[int, int] = {}
    whole: list[int] = []
    born, time = 0, 0.0
    while running or born < len(points):
        if len(running) < 2 and born < len(points):
            yield proposed(config, born, points[born]).model_copy(update={"time": time})
            yield Started(time=time, trial=born)
            running[born] = 0
            born += 1
            continue
        number, time = draw.choice(list(running)), time + 1.5
        epoch = running[number] = running[number] + 1
        lanes = tuple(_accuracy(points[number], epoch, draw) for _ in range(config.search.seeds))
        luck = draw.random() if number else 1.0
        if luck < 0.03:
            del running[number]
            yield Ended(time=time, trial=number, reason="failed", message="RuntimeError: no luck")
            continue
        score = float("nan") if luck < 0.06 else sum(lanes) / len(lanes)
        yield reported(number, epoch, *lanes).model_copy(update={"time": time, "score": score})
        decision = judge.report(number, epoch, score)
        yield Decided(time=time, trial=number, epoch=epoch, decision=decision.action, rung=decision.rung)
        if decision.action != "continue":
            del running[number]
            reason: Reason = "completed" if decision.action == "complete" else "stopped"
            whole += [] if decision.diverged else [number]
            yield Ended(time=time, trial=number, reason="diverged" if decision.diverged else reason)
    for number in sorted(whole):
        lanes = tuple(_accuracy(points[number], 6, draw) for _ in range(config.search.seeds))
        yield measured(number, *lanes).model_copy(update={"time": time})
    yield Finished(time=time)


def _accuracy(point: Point, epoch: int, draw: random.Random) -> float:
    depth = point.get(DEPTH, 3)
    assert isinstance(depth, int)
    gate = 0.01 if point.get(GATE) == "sigmoid_below" else 0.0
    return min(0.88 + 0.012 * depth + gate + 0.004 * epoch + draw.gauss(0, 0.002), 1.0)
