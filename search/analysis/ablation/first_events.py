"""Prepares the corpora of an ablation and creates its first events."""

from collections.abc import Callable
from pathlib import Path

from skipstack.data.basis.frozen import identity
from skipstack.search.analysis.ablation.experiment import Experiment
from skipstack.search.ledger.events import Event, StudyOpened
from skipstack.search.study.code_version import code_version
from skipstack.search.study.preparation import needs, prepared
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.record.study_record import StudyRecord


def first_events(
    made: Experiment,
    record: StudyRecord,
    folder: StudyFolder,
    *,
    data_dir: Path | None,
    corpus_folder: Path,
    clock: Callable[[], float],
) -> list[Event]:
    """Prepare the corpora that the study ``record`` lacks, and return the first events of the ablation ``made``.

    The events are the opening of the ablation, its prepared corpora and its plan. ``folder``: the study's folder.
    ``data_dir``, ``corpus_folder``: as in ``prepared``. ``clock``: returns the time in Unix seconds. Raises UserError
    as ``prepared`` does.
    """
    opened = StudyOpened(time=clock(), study=made.study.model_dump(mode="json"), code_version=code_version())
    wanted = [identity(needed.corpus) for needed in needs(made.study.space)]
    own = {name: record.corpora[name] for name in wanted if name in record.corpora}
    further = prepared(
        made.study, folder, data_dir=data_dir, corpus_folder=corpus_folder, clock=clock, ready=record.corpora
    )
    by_name = own | {each.corpus: each for each in further}
    return [opened, *(by_name[name] for name in wanted), made.plan]
