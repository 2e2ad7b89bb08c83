"""Opens a new study, opens a study in a temporary folder to describe it, and extends an existing study."""

import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from skipstack.data.basis.errors import AbsentCorpusError, MissingFileError, UserError
from skipstack.data.basis.explain import shown
from skipstack.data.basis.frozen import canonical_json
from skipstack.search.ledger.events import Event, StudyOpened
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.study.checks import check_study
from skipstack.search.study.code_version import code_version
from skipstack.search.study.config import StudyConfig
from skipstack.search.study.earlier_studies.warm_start import earlier_studies, warm_starts
from skipstack.search.study.preparation import prepared
from skipstack.search.study.record.extension import check_untried, extended, extension
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.spaces.domains import Json, json_of
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

    ``data_dir``: the folder of the named corpora. ``corpus_folder``: the folder to which the paths of the user's corpus
    files, vectors and earlier studies are relative. ``clock``: returns the time in Unix seconds. ``placed``: returns
    the events that record the run options. It is called once the ledger is open. Its events are written together with
    the first events, so that every study on disk has its run options. Raises UserError for a study that cannot run, for
    unreadable corpora and vectors, and for an earlier study without a usable trial.
    """
    check_study(study)
    earlier = earlier_studies(study, corpus_folder)
    opened = StudyOpened(time=clock(), study=study.model_dump(mode="json"), code_version=code_version())
    corpora = prepared(study, folder, data_dir=data_dir, corpus_folder=corpus_folder, clock=clock)
    with Ledger(folder.ledger) as ledger:
        ledger.append(opened, *corpora, *warm_starts(study, earlier, corpora, clock), *placed())


@contextmanager
def rehearsed(
    study: StudyConfig, *, data_dir: Path | None, corpus_folder: Path, preset: bool = False
) -> Iterator[tuple[StudyFolder, str | None]]:
    """Opens a study as the command ``search`` does, but in a temporary folder that is removed on exit. Commands that
    only describe a study use this, in order to refuse every study that ``search`` would refuse. Yields the folder, and
    a line about a missing corpus or corpus file, or None.

    Raises UserError as ``open_study`` does. A named corpus that this machine lacks is no error, since a study may be
    described before its corpus is fetched. Missing corpus files of a ``preset`` are no error either, since some presets
    leave their files to the user.
    """
    with tempfile.TemporaryDirectory(prefix="skipstack-") as scratch:
        folder, absent = StudyFolder(Path(scratch)), None
        try:
            open_study(study, folder, data_dir=data_dir, corpus_folder=corpus_folder, clock=time.time)
        except AbsentCorpusError as error:
            if isinstance(error, MissingFileError) and not preset:
                raise
            absent = str(error)
        yield folder, absent


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
    """Check an extension of a study, prepare the corpora that it adds, and return the events to append to the ledger.

    ``trials``: the number of trials to add. ``seeds``: the number of seeds to add to each further trial. ``choices``:
    the values to add, by axis. ``points``: points to try next (``given_point``). ``asked_by``: the user who asked for
    ``points``. ``data_dir``, ``corpus_folder`` and ``clock``: as in ``open_study``. Raises UserError if the extension
    changes nothing, or if no config is left to try. Raises it also for a point that is not allowed or was tried
    already, and as ``open_study`` does.
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
    if not points:
        check_untried(more, [trial.point for trial in record.trials.values()])
    else:
        by = by.model_copy(update={"points": new_points(record, Space(more.space), points), "asked_by": asked_by})
    corpora = prepared(more, folder, data_dir=data_dir, corpus_folder=corpus_folder, clock=clock, ready=record.corpora)
    return [by, *corpora]


def new_points(record: StudyRecord, space: Space, given: Sequence[Mapping[str, Json]]) -> tuple[Point, ...]:
    """Convert points that a user gives for a study into points of ``space``. Raises UserError for a repeated point, for
    a point that the study has already tried, and as ``given_point`` does.
    """
    given = [given] if isinstance(given, Mapping | str) else given
    owners = {canonical_json(trial.point): f"trial {number} has" for number, trial in record.trials.items()}
    points = []
    for number, each in enumerate(given, 1):
        if not isinstance(each, Mapping):
            axes = ", ".join(f'"{path}": ...' for path in space.domains)
            raise UserError(f"points: got {shown(each)} (allowed: points, each as {{{axes}}})")
        point = given_point(space, json_of(each))
        text = canonical_json(point)
        if text in owners:
            raise UserError(f"{text}: {owners[text]} this point already (allowed: points that the study has not tried)")
        owners[text] = f"point {number} is"
        points.append(point)
    return tuple(points)
