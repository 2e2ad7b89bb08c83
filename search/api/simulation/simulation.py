"""Simulates a recorded study with another scheduler, proposer or number of workers.

The driver, schedulers and proposers are those of real studies. Three components are replaced: the engine replays the
recorded curves, the history is not written to disk, and the space has only the recorded points.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import ceil
from pathlib import Path

from pydantic import ValidationError

from skipstack.data.basis.errors import UserError, unknown
from skipstack.data.basis.explain import explain
from skipstack.data.basis.frozen import Frozen, identity
from skipstack.data.basis.user_code.configs import OwnConfig
from skipstack.search.api.simulation.recordings import RecordedSpace, Recordings
from skipstack.search.api.simulation.simulated import SimulatedEngine
from skipstack.search.api.simulation.trajectory import Trajectory, TrajectoryRecorder, share
from skipstack.search.execution.driver.driver import Driver
from skipstack.search.ledger.events import CorpusPrepared, Event, Extended, StudyOpened, Suggested
from skipstack.search.strategy.schedulers.build import described
from skipstack.search.strategy.schedulers.config import (
    AshaConfig,
    HyperbandConfig,
    KeepBestConfig,
    MedianConfig,
    NeverStopConfig,
    OurSchedulerConfig,
    RungConfig,
)
from skipstack.search.study.config import SearchConfig
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.spaces.trial import as_network

SCHEDULERS = ("asha", "asha-promotion", "hyperband", "median", "keep_best", "none")
"""The names of schedulers that ``with_scheduler`` accepts for any study."""

NOWHERE = Path("simulation")
"""The path of a simulated study's folder, to which nothing is written."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """The outcome of one simulated study.

    ``scheduler``: described in a few words. ``trials``: the number of trials. ``best``: the best dev score; None if no
    trial has a finite one. ``rank``: 1 + the number of recorded trials, including stopped ones, with a better score;
    None if ``best`` is None. ``seconds``: the simulated time until the last trial ended. ``best_after``: the simulated
    time until the best score was reported; None if ``best`` is None. ``epochs``: the epochs of all trials, rounded up.
    An epoch of all seeds counts as one; an epoch of some racing seeds counts as a fraction. ``stopped``, ``completed``,
    ``diverged``: the numbers of trials that ended in these ways. ``course``: the score of the incumbent (the best trial
    so far) over time.
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
    """Replace the scheduler of a search by the one called ``name``.

    ``grace``, ``reduction`` and ``keep``: options of the new scheduler. Options that it does not have are ignored. An
    option of None keeps its value in ``search`` if both schedulers are of the same kind, or both are ASHA or Hyperband.
    Otherwise it has its default. Raises UserError for a name that is neither in ``SCHEDULERS`` nor the kind of
    the study's own scheduler, and for a scheduler that cannot rank trials by several objectives.
    """
    given: dict[str, int | None] = {"grace": grace, "reduction": reduction, "keep": keep}
    own, rungs = search.scheduler, {}
    if isinstance(own, RungConfig):
        rungs = {name: getattr(own, name) for name in RungConfig.model_fields}
    match name:
        case "asha" | "asha-promotion":
            asha = own if isinstance(own, AshaConfig) else AshaConfig(**rungs)
            chosen: OurSchedulerConfig = asha.model_copy(
                update={"variant": "stopping" if name == "asha" else "promotion"}
            )
        case "hyperband":
            chosen = HyperbandConfig(**rungs)
        case "median":
            chosen = own if isinstance(own, MedianConfig) else MedianConfig()
        case "keep_best":
            chosen = own if isinstance(own, KeepBestConfig) else KeepBestConfig()
        case "none":
            chosen = NeverStopConfig()
        case _ if isinstance(own, OwnConfig) and name == own.kind:
            return search
        case _:
            raise UserError(unknown("scheduler", name, SCHEDULERS))
    try:
        return SearchConfig.model_validate({**dict(search), "scheduler": _changed(chosen, given)})
    except ValidationError as error:
        raise UserError(explain(error, SearchConfig, file=f"--scheduler {name}")) from None


def _changed(config: Frozen, given: Mapping[str, int | None]) -> Frozen:
    """Set the ``given`` options that ``config`` has and that are not None."""
    fields = type(config).model_fields
    return config.model_copy(
        update={name: value for name, value in given.items() if value is not None and name in fields}
    )


class _Unwritten:
    """The history of a simulated study. It returns the study's first events, and drops all appended events."""

    def __init__(self, *opening: Event) -> None:
        self.folder = NOWHERE
        self._opening = opening

    def replay(self) -> list[Event]:
        return list(self._opening)

    def extensions(self) -> list[Extended]:
        return []

    def append(self, *events: Event) -> None:
        """Drop events instead of writing them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Simulated:
    """A simulated study at its end. ``record``: the record of its trials. ``seconds``: the simulated time. ``course``:
    the score of the incumbent (the best trial so far) over time.
    """

    record: StudyRecord
    seconds: float
    course: Trajectory


def simulate(
    record: StudyRecord,
    recorded: Recordings,
    search: SearchConfig,
    *,
    workers: int,
    suggested: Suggested | None = None,
) -> Outcome:
    """Simulate a study as ``simulated`` does, and return a summary of the outcome."""
    return _outcome(simulated(record, recorded, search, workers=workers, suggested=suggested), recorded)


def simulated(
    record: StudyRecord,
    recorded: Recordings,
    search: SearchConfig,
    *,
    workers: int,
    suggested: Suggested | None = None,
) -> Simulated:
    """Simulate a recorded study with other search options. The result is deterministic. Raises UserError if the
    proposer does not support the space.

    ``recorded``: the study's curves. ``search``: the search options. There are at most as many trials as recorded
    curves, and ``search.hours`` and ``search.enough`` are ignored. ``workers``: the number of parallel trials.
    ``suggested``: recorded points to try first.
    """
    trials = min(search.trials, len(recorded.points))
    # The options ``hours`` and ``enough`` count time on the machines of the recorded study, not simulated time.
    unlimited = search.model_copy(update={"trials": trials, "hours": None, "enough": None})
    study = record.study.model_copy(update={"search": unlimited})
    opened = StudyOpened(time=0.0, study=study.model_dump(mode="json"), code_version=record.first_event.code_version)
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
    return Simulated(record=driver.record, seconds=engine.now, course=watch.course)


def _corpora(record: StudyRecord) -> Iterable[CorpusPrepared]:
    """The prepared corpora of the trials. A trial of an older version may name its corpus by a hash that the record
    lacks. Any recorded corpus is then used.
    """
    corpora = dict(record.corpora)
    for trial in record.trials.values() if corpora else ():
        name = identity(as_network(trial.config).data.corpus)
        corpora.setdefault(name, next(iter(corpora.values())).model_copy(update={"corpus": name}))
    return corpora.values()


def _outcome(run: Simulated, recorded: Recordings) -> Outcome:
    record, search = run.record, run.record.study.search
    ends = Counter(trial.reason for trial in record.trials.values())
    best = next(iter(record.ranked()), None)
    report = None if best is None else best.best
    return Outcome(
        scheduler=described(search.scheduler),
        trials=len(record.trials),
        best=None if report is None else report.score,
        rank=None if report is None else 1 + bisect_left(recorded.scores, -report.score, key=lambda score: -score),
        seconds=run.seconds,
        best_after=None if report is None else report.time,
        epochs=ceil(sum(share(each, search) for trial in record.trials.values() for each in trial.reports)),
        stopped=ends["stopped"],
        completed=ends["completed"],
        diverged=ends["diverged"],
        course=run.course,
    )
