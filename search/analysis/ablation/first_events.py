"""Prepares the corpora of an ablation and creates its first events."""

from collections.abc import Callable, Mapping
from pathlib import Path

from skipstack.data.basis.frozen import identity
from skipstack.search.analysis.ablation.experiment import Experiment
from skipstack.search.ledger.events import CorpusPrepared, Event, StudyOpened
from skipstack.search.study.code_version import code_version
from skipstack.search.study.preparation import needs, prepared
from skipstack.search.study.record.folder import StudyFolder


def first_events(
    made: Experiment,
    ready: Mapping[str, CorpusPrepared],
    folder: StudyFolder,
    *,
    data_dir: Path | None,
    corpus_folder: Path,
    clock: Callable[[], float],
) -> list[Event]:
    """Prepare the corpora that are not ``ready``, and return the first events of the ablation ``made``.

    The events are its opening, its prepared corpora and its plan. ``ready``: the events of the corpora that the study
    has prepared already, by the identity of the corpus's config. ``folder``: the study's folder.
    ``data_dir``, ``corpus_folder``: as in the function ``prepared`` of ``preparation.py``. ``clock``: returns the time
    in Unix seconds. Raises UserError as ``prepared`` does.
    """
    opened = StudyOpened(time=clock(), study=made.study.model_dump(mode="json"), code_version=code_version())
    wanted = [identity(needed.corpus) for needed in needs(made.study.space)]
    own = {name: ready[name] for name in wanted if name in ready}
    further = prepared(made.study, folder, data_dir=data_dir, corpus_folder=corpus_folder, clock=clock, ready=ready)
    by_name = own | {each.corpus: each for each in further}
    return [opened, *(by_name[name] for name in wanted), made.plan]
