"""Prepares an ablation of a finished study: plans its rows, prepares the corpora and creates the first events."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from skipstack.data.basis.errors import UserError
from skipstack.search.analysis.ablation.experiment import Experiment, experiment
from skipstack.search.analysis.ablation.first_events import first_events
from skipstack.search.analysis.ablation.other_searches import searches_beside
from skipstack.search.api.recorded_options import load_code, load_constraints
from skipstack.search.ledger.events import Event
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.record.reading import read_finished
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.spaces.function import is_imported


@dataclass(frozen=True, slots=True)
class PreparedAblation:
    """An ablation that is ready to begin. ``path``: the study's folder. ``record``: the record of the study's search.
    ``experiment``: the plan of the ablation. ``first``: its first events.
    """

    path: Path
    record: StudyRecord
    experiment: Experiment
    first: Sequence[Event]


def prepare_ablation(
    path: Path,
    *,
    code: Sequence[Path] = (),
    seeds: int,
    top: int,
    corpora: Sequence[str] = (),
    greedy_path: bool = False,
    beside: Sequence[Path] = (),
    without: Sequence[str] = (),
    parts: bool = True,
    data_dir: Path | None,
) -> PreparedAblation | None:
    """Prepare the next ablation of the finished study in the folder ``path``. Returns None if no config differs from
    the base, so that there is nothing to compare.

    ``code``: the files of the study's own code, needed only if they were moved. ``seeds``: the number of seeds of each
    row. ``top``: the number of best configs to compare. ``beside``: the folders of other searches with the same base.
    ``data_dir``: the folder of the named corpora. ``corpora``, ``without`` and ``parts`` are arguments of
    ``experiment``, and ``greedy_path`` is its argument ``path``. Raises UserError for a study that was read from
    another tool, and as ``read_finished``, ``experiment``, ``load_constraints``, ``load_code`` and ``first_events`` do.
    """
    record = read_finished(path)
    if is_imported(record.study.space.base):
        raise UserError(
            f"{path}: its trials were run by another tool, which has no base to compare with (allowed: a search of "
            f"skipstack's, which may learn from it: --warm-start {path})"
        )
    load_constraints(path, record.study.space, code)
    made = experiment(
        record,
        seeds=seeds,
        top=top,
        corpora=corpora,
        path=greedy_path,
        beside=searches_beside(beside),
        without=without,
        parts=parts,
        time=time.time(),
    )
    if not made.compares:
        return None
    load_code(path, record.study.space.code, code)
    first = first_events(made, record, StudyFolder(path), data_dir=data_dir, corpus_folder=Path.cwd(), clock=time.time)
    return PreparedAblation(path, record, made, first)
