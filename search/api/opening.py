"""Opens a new study, or one for a look, and extends one that exists."""

import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from skipstack.data.basis.errors import AbsentCorpusError, UserError
from skipstack.data.basis.frozen import canonical_json
from skipstack.search.ledger.events import Event, StudyOpened
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.study.checks import check_study
from skipstack.search.study.code_version import code_version
from skipstack.search.study.config import StudyConfig
from skipstack.search.study.earlier_studies.warm_start import earlier_studies, warm_starts
from skipstack.search.study.preparation import prepared
from skipstack.search.study.record.extension import extended, extension
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.spaces.domains import Json
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
