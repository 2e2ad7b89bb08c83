"""Opens, extends, checks and runs a study."""

import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from skipstack.data.basis.errors import AbsentCorpusError, UserError
from skipstack.data.basis.frozen import canonical_json
from skipstack.search.execution.driver.driver import Driver
from skipstack.search.execution.driver.engine import Engine
from skipstack.search.execution.driver.faults import StudyGoneError, StudyInterruptedError, lost_disk_interrupts
from skipstack.search.ledger.events import Event, StudyOpened
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.strategy.proposers.build import proposer
from skipstack.search.strategy.schedulers.build import scheduler
from skipstack.search.strategy.schedulers.config import RungConfig
from skipstack.search.study.code_version import code_version
from skipstack.search.study.config import SEEDS_OF_A_SEARCH, SearchConfig, StudyConfig
from skipstack.search.study.earlier_studies.warm_start import earlier_studies, warm_starts
from skipstack.search.study.preparation import prepared
from skipstack.search.study.record.extension import extended, extension
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.record.selection import FIXED_DESIGNS
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.spaces.domains import Json
from skipstack.spaces.function import FunctionConfig
from skipstack.spaces.given_points import given_point
from skipstack.spaces.settled import typed_choices
from skipstack.spaces.space import Point, Space

Clock = Callable[[], float]


def open_study(
    study: StudyConfig,
    folder: StudyFolder,
    *,
    data_dir: Path | None,
    corpus_folder: Path,
    clock: Clock,
    placed: Callable[[], Sequence[Event]] = tuple,
) -> None:
    """Check a study, prepare its corpora and start its ledger in ``folder``.

    ``data_dir`` holds the named corpora; the paths of own files, of vectors and of earlier studies start at
    ``corpus_folder``. ``placed`` returns the events that record its run options, called once the ledger has its folder:
    a study that exists has them. Raises UserError for a study that cannot run, for corpora and vectors that cannot be
    read, and for earlier studies of which no trial can be used.
    """
    check_study(study)
    earlier = earlier_studies(study, corpus_folder)
    opened = StudyOpened(time=clock(), study=study.model_dump(mode="json"), code_version=code_version())
    corpora = prepared(study, folder, data_dir=data_dir, corpus_folder=corpus_folder, clock=clock)
    with Ledger(folder.ledger) as ledger:
        ledger.append(opened, *corpora, *warm_starts(study, earlier, corpora, clock), *placed())


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """A study that was opened in a temporary folder. ``absent``: the named corpus that this machine lacks, in one line;
    None: the study is prepared.
    """

    folder: StudyFolder
    absent: str | None


@contextmanager
def rehearsed(study: StudyConfig, *, data_dir: Path | None, corpus_folder: Path) -> Iterator[Rehearsal]:
    """Opens a study as ``search`` does, in a temporary folder that is removed afterwards.

    So commands that only describe a study refuse what ``search`` refuses. Raises UserError as ``open_study`` does,
    except for a named corpus that is not on this machine: a study may be described before its corpus is fetched.
    """
    with tempfile.TemporaryDirectory(prefix="skipstack-") as scratch:
        folder, absent = StudyFolder(Path(scratch)), None
        try:
            open_study(study, folder, data_dir=data_dir, corpus_folder=corpus_folder, clock=time.time)
        except AbsentCorpusError as error:
            absent = str(error)
        yield Rehearsal(folder, absent)


def extend_study(
    record: StudyRecord,
    folder: StudyFolder,
    *,
    trials: int,
    seeds: int,
    choices: Mapping[str, Sequence[Json]],
    points: Sequence[Mapping[str, Json]] = (),
    asked_by: str = "",
    data_dir: Path | None,
    corpus_folder: Path,
    clock: Clock,
) -> list[Event]:
    """Check an extension and prepare the corpora that it adds; returns the events to append to the ledger.

    ``points``: those that are tried next, beside ``trials``, as ``given_point`` reads them. Raises UserError if the
    extension would change nothing, for a point that the study has or cannot have, and as ``open_study`` does.
    """
    choices = typed_choices(record.space, choices)
    by = extension(
        record.study,
        len(record.trials),
        trials=trials,
        seeds=seeds,
        choices=choices,
        points=len(points),
        time=clock(),
    )
    more = extended(record.study, by)
    check_study(more)
    if points:
        by = by.model_copy(update={"points": new_points(record, Space(more.space), points), "asked_by": asked_by})
    corpora = prepared(more, folder, data_dir=data_dir, corpus_folder=corpus_folder, clock=clock, ready=record.corpora)
    return [by, *corpora]


def new_points(record: StudyRecord, space: Space, given: Sequence[Mapping[str, Json]]) -> tuple[Point, ...]:
    """The given points as points of a space, for a study that is to try them.

    Raises UserError as ``given_point`` does, and for a point that the study has already or that is given twice.
    """
    owners = {canonical_json(trial.point): f"trial {number} has" for number, trial in record.trials.items()}
    points = []
    for number, each in enumerate(given, 1):
        point = given_point(space, each)
        text = canonical_json(point)
        if text in owners:
            raise UserError(f"{text}: {owners[text]} this point already (allowed: points that the study has not tried)")
        owners[text] = f"point {number} is"
        points.append(point)
    return tuple(points)


def check_study(study: StudyConfig) -> None:
    """Raises UserError for a study that cannot run with any corpora."""
    if isinstance(study.space.base, FunctionConfig):
        check_function(study.search, study.space.base)
    elif study.search.reported:
        raise UserError(
            f"search.objectives: got {', '.join(study.search.reported)} with directions for a study that trains "
            "networks (allowed: a list of score, parameters, latency; directions with a function)"
        )
    elif study.search.replicates:
        raise UserError(
            f"search.replicates: got {study.search.repeated.name} for a study that trains networks (allowed: with a "
            "function)"
        )
    elif "training.epochs" in study.space.axes:
        raise UserError("axis 'training.epochs': epochs are the budget of every trial (allowed: set them in the base)")
    search = study.search
    stated = next((path for path, axis in study.space.axes.items() if axis.prior is not None), None)
    if stated is not None and search.proposer.kind != "prior":
        raise UserError(f"axis {stated}: prior: proposer {search.proposer.kind} reads none (allowed: proposer: prior)")
    if search.enough is not None:
        check_enough(search)
    if search.first_seed + search.seeds > SEEDS_OF_A_SEARCH:
        raise UserError(
            f"search.first_seed: got {search.first_seed} with {search.seeds} seeds (allowed: seeds below "
            f"{SEEDS_OF_A_SEARCH:,}; those above are kept for `skipstack ablate`)"
        )
    proposer(
        search.proposer,
        Space(study.space),
        seed=search.seed,
        objectives=len(search.objectives),
        trials=search.trials,
    )
    scheduler(search.scheduler, study.space.base.epochs, seeds=search.lanes_of_a_trial)


def check_enough(search: SearchConfig) -> None:
    """Raises UserError for a search for which the gain of a further hour cannot be estimated."""
    if search.replicates:
        raise UserError(
            f"search.enough: got it with replicates (allowed: with seeds alone, since the gain of more trials is "
            f"compared with the deviation between seeds, and scores differ from {search.repeated.name} to "
            f"{search.repeated.name} for other reasons)"
        )
    if search.seeds < 2:
        raise UserError(
            "search.enough: got 1 seed (allowed: search.seeds: 2 or more, since the gain of more trials is compared "
            "with the deviation between seeds)"
        )
    if isinstance(search.scheduler, RungConfig) and search.scheduler.resource == "seeds":
        raise UserError("search.enough: got seeds that race (allowed: search.scheduler.resource: epochs or seconds)")
    if len(search.objectives) > 1:
        raise UserError(
            f"search.enough: got the objectives {', '.join(search.objectives)} (allowed: score, the only one whose "
            "best value is predicted)"
        )
    if search.proposer.kind in FIXED_DESIGNS:
        raise UserError(
            f"search.enough: got proposer {search.proposer.kind}, whose points are fixed in advance (allowed: tpe, "
            "prior, gp, evolution, random)"
        )


def check_function(search: SearchConfig, base: FunctionConfig) -> None:
    """Raises UserError for search options that a function does not support, of which only its reported score is known,
    and for replicates whose name something else has.
    """
    if len(search.objectives) > 1 and not search.reported:
        got = ", ".join(search.objectives)
        raise UserError(
            f"search.objectives: got {got} (allowed for a function: what it reports, each with its direction, such as "
            "{accuracy: maximize, seconds: minimize})"
        )
    if isinstance(search.scheduler, RungConfig) and search.scheduler.resource == "seeds" and base.epochs > 1:
        raise UserError(
            "search.scheduler.resource: got seeds (allowed: epochs or seconds, as a function may return at any epoch; "
            "or seeds where epochs=1, and each call reports once)"
        )
    name = search.repeated.name
    if name in base.values:
        raise UserError(
            f"search.replicates: got {name}, which an axis or a value of the base is called (allowed: another name)"
        )


def run_study(driver: Driver, engine: Engine) -> None:
    """Run what is left of a study to its end.

    KeyboardInterrupt and StudyInterruptedError leave a study that can be resumed. Raises StudyGoneError if its folder
    was moved or deleted.
    """
    try:
        with lost_disk_interrupts(str(driver.folder.path)):
            more = True
            while more:
                engine.run(driver)
                driver.end_paused()
                more = driver.take_asked()
    except KeyboardInterrupt:
        driver.interrupted()
        raise
    except Exception as cause:
        # In a folder that is gone, any trouble of a worker comes from that.
        if isinstance(cause, StudyInterruptedError) or not driver.folder.path.exists():
            try:
                driver.interrupted()
            except StudyGoneError as gone:
                raise gone from cause
            except StudyInterruptedError:
                pass  # the ledger itself may be lost
        raise
    driver.finished()
