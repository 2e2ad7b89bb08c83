"""A small study told as events, by hand: every way for a trial to end, numbers that are none, a resume."""

from collections.abc import Sequence

from skipstack.data.basis.frozen import identity
from skipstack.search.ledger.events import (
    Ablated,
    CorpusPrepared,
    Decided,
    Ended,
    Event,
    Finished,
    Interrupted,
    Proposed,
    Reported,
    Resumed,
    Started,
    StudyOpened,
    Tested,
)
from skipstack.search.study.config import SearchConfig, StudyConfig
from skipstack.spaces.config import SpaceConfig
from skipstack.spaces.space import Point, Space

DEPTH = "model.stack.depth"
STUDY = StudyConfig(
    name="depths",
    about="How deep?",
    space=SpaceConfig.model_validate({"axes": {DEPTH: {"choice": [1, 2, 3, 4, 5]}}}),
    search=SearchConfig(proposer="grid", trials=5, seeds=2),
)
SPACE = Space(STUDY.space)
SEEDS = (0, 1)
NAN, INFINITY = float("nan"), float("inf")


def opened(study: StudyConfig = STUDY, time: float = 1000.0) -> list[Event]:
    """The study and its corpus."""
    corpus = identity(study.space.base.data.corpus)
    return [
        StudyOpened(time=time, study=study.model_dump(mode="json"), code_version="0.1.0+abc"),
        CorpusPrepared(
            time=time + 1, corpus=corpus, fingerprint="f1f2", store=corpus, baseline_dev=0.5, baseline_test=0.5
        ),
    ]


def proposed(trial: int, time: float) -> list[Event]:
    """Trial ``trial`` has the depth ``trial + 1``."""
    point: Point = {DEPTH: trial + 1}
    name = SPACE.config(point).identity
    return [
        Proposed(time=time, trial=trial, point=dict(point), config_identity=name, seeds=SEEDS),
        Started(time=time + 0.25, trial=trial),
    ]


def reported(trial: int, epoch: int, lanes: tuple[float, float], time: float) -> Reported:
    """The score is the mean of two lanes that are finite."""
    return Reported(
        time=time,
        trial=trial,
        epoch=epoch,
        score=(lanes[0] + lanes[1]) / 2,
        metrics={"dev_accuracy": lanes, "train_loss": (1.0 / epoch, 2.0 / epoch)},
        seconds=0.5,
    )


def ablated(events: Sequence[Event], number: int = 1) -> list[Event]:
    """An ablation in which the same happened."""
    own = [event for event in events if not isinstance(event, Ablated)]
    return [Ablated(time=event.time, ablation=number, event=event) for event in own]


def history() -> list[Event]:
    """Trials 0 completed, 1 stopped, 2 diverged, 3 failed, 4 interrupted, resumed and completed; two were tested."""
    events = opened() + proposed(0, 1002.0) + proposed(1, 1002.5)
    events += [reported(0, 1, (0.25, 0.5), 1003.0), Decided(time=1003.0, trial=0, epoch=1, decision="continue", rung=1)]
    events += [reported(1, 1, (0.125, 0.25), 1004.0), Decided(time=1004.0, trial=1, epoch=1, decision="stop", rung=1)]
    events += [Ended(time=1004.0, trial=1, reason="stopped"), *proposed(2, 1005.0), *proposed(3, 1005.5)]
    events += [reported(0, 2, (0.5, 0.75), 1006.0), reported(2, 1, (NAN, 0.25), 1007.0)]
    events += [Ended(time=1007.0, trial=2, reason="diverged"), reported(0, 3, (0.625, 0.625), 1008.0)]
    events += [Decided(time=1008.0, trial=0, epoch=3, decision="complete", rung=3)]
    events += [Ended(time=1008.0, trial=0, reason="completed")]
    events += [Ended(time=1009.0, trial=3, reason="failed", message="OSError: no space left"), *proposed(4, 1010.0)]
    events += [reported(4, 1, (0.75, 1.0), 1011.0), Interrupted(time=1012.0)]
    events += [Resumed(time=2000.0, code_version="0.1.0+def"), Started(time=2000.5, trial=4)]
    events += [reported(4, 2, (0.5, 0.5), 2001.0), Ended(time=2001.0, trial=4, reason="completed")]
    events += [
        Tested(time=2002.0, trial=4, metrics={"test_accuracy": (0.75, 0.5)}),
        Tested(time=2003.0, trial=0, metrics={"test_accuracy": (0.5, 0.5)}),
    ]
    return [*events, Finished(time=2004.0)]
