"""Prepares an ablation of a finished study: plans its rows, prepares the corpora and creates the first events."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from skipstack.data.basis.errors import UserError
from skipstack.search.analysis.ablation.experiment import Experiment, arm_of, experiment
from skipstack.search.analysis.ablation.families import place_in_family
from skipstack.search.analysis.ablation.first_events import first_events
from skipstack.search.analysis.ablation.other_searches import searches_beside
from skipstack.search.analysis.confirmation.rounds import next_part
from skipstack.search.api.recorded_options import load_code, load_constraints
from skipstack.search.ledger.events import Event
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.record.reading import last_ablation, read_finished, read_study
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.spaces.function import is_imported

MOST_SEEDS: Final = 40
"""The most seeds of a row that trains until it is decided, unless the user says otherwise."""


@dataclass(frozen=True, slots=True)
class PreparedAblation:
    """An ablation that is ready to begin.

    ``path``: the study's folder. ``record``: the record of the study's search. ``planned``: the plan of the ablation.
    ``experiment``: the plan of its first part, which is the search of an arm if rows are tuned again, and otherwise the
    ablation itself. ``first``: the first events of this part.
    """

    path: Path
    record: StudyRecord
    planned: Experiment
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
    until_decided: bool = False,
    at_most: int | None = None,
    retune: int | None = None,
    retune_axes: Sequence[str] = (),
    family: str = "",
    data_dir: Path | None,
) -> PreparedAblation | None:
    """Prepare the next ablation of the finished study in the folder ``path``. Returns None if no config differs from
    the base, so that there is nothing to compare.

    ``code``: the files of the study's own code, needed only if they were moved. ``seeds``: the number of seeds of each
    row. ``top``: the number of best configs to compare. ``beside``: the folders of other searches with the same base.
    ``until_decided``: whether rows get further seeds until they are decided, up to ``at_most`` (None: ``MOST_SEEDS``).
    ``family``: the name of a family of ablations that share one error budget (``families.py``); empty for one of its
    own. ``data_dir``: the folder of the named corpora. ``corpora``, ``without``, ``parts``, ``retune`` and
    ``retune_axes`` are arguments of ``experiment``, and ``greedy_path`` is its argument ``path``. Raises UserError for
    a study that was read from another tool, for ``at_most`` without ``until_decided``, for ``retune_axes`` without
    ``retune``, and as ``read_finished``, ``experiment``, ``load_constraints``, ``load_code`` and ``first_events`` do.
    """
    if at_most is not None and not until_decided:
        raise UserError(f"--at-most: got {at_most} without --until-decided (allowed: with it)")
    if retune_axes and retune is None:
        raise UserError(f"--retune-axes: got {', '.join(retune_axes)} without --retune (allowed: with it)")
    record = read_finished(path)
    if is_imported(record.study.space.base):
        raise UserError(
            f"{path}: its trials were run by another tool, which has no base to compare with (allowed: a search of "
            f"skipstack's, which may learn from it: --warm-start {path})"
        )
    load_constraints(path, record.study.space, code)
    learnt = [source for each in record.warm_starts if (source := Path(each.study)).is_dir()]
    made = experiment(
        record,
        seeds=seeds,
        top=top,
        corpora=corpora,
        path=greedy_path,
        beside=searches_beside(beside),
        without=without,
        parts=parts,
        at_most=(at_most or MOST_SEEDS) if until_decided else None,
        retune=retune,
        retune_axes=retune_axes,
        family=family,
        place=place_in_family(family, path, [*beside, *learnt]) if family else 1,
        time=time.time(),
    )
    if not made.compares:
        return None
    load_code(path, record.study.space.code, code)
    begun = made if made.plan.tuning is None else arm_of(record, made.plan, 0, time=time.time())
    return replace(_prepared(path, record, begun, data_dir), planned=made)


def prepare_next_part(path: Path, *, code: Sequence[Path] = ()) -> PreparedAblation | None:
    """Prepare what follows the last ablation of the study in the folder ``path``: another arm, the comparison of the
    arms, or further seeds. Returns None if nothing follows it, or if it is not finished.

    ``code``: as in ``prepare_ablation``. Raises UserError as ``read_study``, ``load_constraints``, ``load_code``,
    ``first_events`` and ``next_part`` do.
    """
    if (last := last_ablation(path)) is None or not last.may_go_on:
        return None
    record = read_study(path)
    load_constraints(path, record.study.space, code)
    load_code(path, record.study.space.code, code)
    made = next_part(record, time=time.time())
    return None if made is None else _prepared(path, record, made, None)


def _prepared(path: Path, record: StudyRecord, made: Experiment, data_dir: Path | None) -> PreparedAblation:
    ready = {name: each for own in (*record.ablations.values(), record) for name, each in own.corpora.items()}
    folder, here = StudyFolder(path), Path.cwd()
    first = first_events(made, ready, folder, data_dir=data_dir, corpus_folder=here, clock=time.time)
    return PreparedAblation(path, record, made, made, first)
