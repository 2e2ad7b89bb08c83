"""What a recorded study would have been under another scheduler, proposer or number of workers.

The driver, the schedulers and the proposers are those of real studies; only the engine, which replays the recorded
curves, the history, which is not written down, and the space, which has the recorded points alone, are not.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path

from skipstack.data.basis.errors import UserError, unknown
from skipstack.data.basis.frozen import Frozen, identity
from skipstack.search.config import SearchConfig
from skipstack.search.driver.driver import Driver
from skipstack.search.ledger.events import CorpusPrepared, Event, Extended, Reported, StudyOpened, Suggested
from skipstack.search.record.folder import StudyFolder
from skipstack.search.record.study_record import StudyRecord
from skipstack.search.schedulers.build import described
from skipstack.search.schedulers.config import (
    AshaConfig,
    HyperbandConfig,
    KeepBestConfig,
    MedianConfig,
    NeverStopConfig,
    RungConfig,
    SchedulerConfig,
)
from skipstack.search.simulation.recordings import RecordedSpace, Recordings
from skipstack.search.simulation.simulated import SimulatedEngine
from skipstack.search.simulation.trajectory import Trajectory, TrajectoryRecorder, share
from skipstack.spaces.trial import as_network

SCHEDULERS = ("asha", "asha-promotion", "hyperband", "median", "keep_best", "none")

NOWHERE = Path("simulation")


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """What came of one setting.

    ``best``: the best dev score that was seen, None where none was a number; ``rank``: 1 + how many recorded trials are
    better than that, stopped ones included. ``seconds``: by the simulated clock until the last trial ended, and
    ``best_after`` until the best score was seen. ``epochs``: those of all seeds, of which epochs of a race are a part.
    ``trials``: those ``stopped``, ``completed`` and ``diverged``. ``course``: what would have been returned, at each
    moment.
    """

    scheduler: str
    trials: int
    best: float | None
    rank: int | None
    seconds: float
    best_after: float | None
    epochs: int
    stopped: int
    completed: int
    diverged: int
    course: Trajectory = field(repr=False)


def with_scheduler(
    search: SearchConfig,
    name: str,
    *,
    grace: int | None = None,
    reduction: int | None = None,
    keep: int | None = None,
) -> SearchConfig:
    """The search under another scheduler. What is None is as the search has it, or by default.

    Raises UserError for a name that is none of ``SCHEDULERS``.
    """
    given: dict[str, int | None] = {"grace": grace, "reduction": reduction, "keep": keep}
    own, rungs = search.scheduler, {}
    if isinstance(own, RungConfig):
        rungs = {name: getattr(own, name) for name in RungConfig.model_fields}
    match name:
        case "asha" | "asha-promotion":
            asha = own if isinstance(own, AshaConfig) else AshaConfig(**rungs)
            chosen: SchedulerConfig = asha.model_copy(update={"variant": "stopping" if name == "asha" else "promotion"})
        case "hyperband":
            chosen = HyperbandConfig(**rungs)
        case "median":
            chosen = own if isinstance(own, MedianConfig) else MedianConfig()
        case "keep_best":
            chosen = own if isinstance(own, KeepBestConfig) else KeepBestConfig()
        case "none":
            chosen = NeverStopConfig()
        case _:
            raise UserError(unknown("scheduler", name, SCHEDULERS))
    return search.model_copy(update={"scheduler": _changed(chosen, given)})


def _changed(config: Frozen, given: Mapping[str, int | None]) -> Frozen:
    """The config with what is given, as far as it has it."""
    fields = type(config).model_fields
    return config.model_copy(
        update={name: value for name, value in given.items() if value is not None and name in fields}
    )


class _Unwritten:
    """A history that begins a study and is not continued."""

    def __init__(self, *opening: Event) -> None:
        self.folder = NOWHERE
        self._opening = opening

    def replay(self) -> list[Event]:
        return list(self._opening)

    def extensions(self) -> list[Extended]:
        return []

    def append(self, *events: Event) -> None:
        """Nobody asks again."""


def simulate(
    record: StudyRecord,
    recorded: Recordings,
    search: SearchConfig,
    *,
    workers: int,
    suggested: Suggested | None = None,
) -> Outcome:
    """Run the study again as ``search`` says, on ``workers``. The same arguments, the same outcome.

    There are as many trials as were recorded, at most. ``suggested``: recorded points that are tried first. Raises
    UserError where the proposer cannot work on the space.
    """
    study = record.study.model_copy(
        update={"search": search.model_copy(update={"trials": min(search.trials, len(recorded.points))})}
    )
    assert record.opened is not None
    opened = StudyOpened(time=0.0, study=study.model_dump(mode="json"), code_version=record.opened.code_version)
    space = RecordedSpace(study.space, recorded.points)
    engine = SimulatedEngine(recorded.curves, workers=workers)
    driver = Driver(
        StudyFolder(NOWHERE),
        _Unwritten(opened, *_corpora(record), *([] if suggested is None else [suggested])),
        device="none",
        clock=lambda: engine.now,
        readers=[space.take],
        space=space,
        parameters=lambda config: recorded.parameters.get(config.identity),
    )
    watch = TrajectoryRecorder(driver.record, recorded.curves)
    driver.listen(watch.take)
    engine.run(driver)
    driver.end_paused()
    return _outcome(driver.record, recorded, engine.now, watch.course)


def _corpora(record: StudyRecord) -> Iterable[CorpusPrepared]:
    """Those of the trials. An older version may have called a corpus by another identity: any one stands for it."""
    corpora = dict(record.corpora)
    for trial in record.trials.values() if corpora else ():
        name = identity(as_network(trial.config).data.corpus)
        corpora.setdefault(name, next(iter(corpora.values())).model_copy(update={"corpus": name}))
    return corpora.values()


def _outcome(record: StudyRecord, recorded: Recordings, seconds: float, course: Trajectory) -> Outcome:
    ends = Counter(trial.reason for trial in record.trials.values())
    best = next(iter(record.ranked()), None)
    report = None if best is None else best.best
    return Outcome(
        scheduler=described(record.study.search.scheduler),
        trials=len(record.trials),
        best=None if report is None else report.score,
        rank=None if report is None else 1 + bisect_left(recorded.scores, -report.score, key=lambda score: -score),
        seconds=seconds,
        best_after=None if report is None else report.time,
        epochs=ceil(sum(share(report, record.study.search) for report in _reports(record))),
        stopped=ends["stopped"],
        completed=ends["completed"],
        diverged=ends["diverged"],
        course=course,
    )


def _reports(record: StudyRecord) -> Iterator[Reported]:
    return (report for trial in record.trials.values() for report in trial.reports)
