"""Opens a new study, or opens a study in a temporary folder to describe it."""

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from skipstack.data.basis.errors import AbsentCorpusError, MissingFileError
from skipstack.search.ledger.events import Event, StudyOpened
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.study.checks import check_study
from skipstack.search.study.code_version import code_version
from skipstack.search.study.config import StudyConfig
from skipstack.search.study.earlier_studies.warm_start import earlier_studies, warm_starts
from skipstack.search.study.preparation import prepared
from skipstack.search.study.record.folder import StudyFolder


def open_study(
    study: StudyConfig,
    folder: StudyFolder,
    *,
    data_dir: Path | None,
    corpus_folder: Path,
    placed: Callable[[], Sequence[Event]] = tuple,
) -> None:
    """Check a study, prepare its corpora and start its ledger in ``folder``.

    ``data_dir``: the folder of the named corpora. ``corpus_folder``: the folder to which the paths of the user's corpus
    files, vectors and earlier studies are relative. ``placed``: returns the events that record the run options. It is
    called once the ledger is open. Its events are written together with the first events, so that every study on disk
    has its run options. Raises UserError for a study that cannot run, for unreadable corpora and vectors, and for an
    earlier study without a usable trial.
    """
    check_study(study)
    earlier = earlier_studies(study, corpus_folder)
    opened = StudyOpened(time=time.time(), study=study.model_dump(mode="json"), code_version=code_version())
    corpora = prepared(study, folder, data_dir=data_dir, corpus_folder=corpus_folder)
    with Ledger(folder.ledger) as ledger:
        ledger.append(opened, *corpora, *warm_starts(study, earlier, corpora, time.time()), *placed())


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
            open_study(study, folder, data_dir=data_dir, corpus_folder=corpus_folder)
        except AbsentCorpusError as error:
            if isinstance(error, MissingFileError) and not preset:
                raise
            absent = str(error)
        yield folder, absent
