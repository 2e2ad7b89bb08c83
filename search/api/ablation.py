"""Prepares an ablation of a finished study: plans its rows, prepares the corpora and creates the first events. Also the
ablation's view of the ledger.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from skipstack.data.basis.errors import UserError
from skipstack.data.basis.frozen import identity
from skipstack.search.analysis.ablation.experiment import Experiment, arm_of, experiment
from skipstack.search.analysis.ablation.families import place_in_family
from skipstack.search.analysis.ablation.options import AblationOptions
from skipstack.search.analysis.ablation.other_searches import searches_beside
from skipstack.search.analysis.confirmation.rounds import next_part
from skipstack.search.api.recorded_options import load_code, load_constraints
from skipstack.search.ledger.events import Ablated, Event, Extended, Placed, StudyOpened
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.study.code_version import code_version
from skipstack.search.study.preparation import needs, prepared
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.record.reading import last_ablation, read_finished, read_study
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.spaces.function import is_imported


@dataclass(frozen=True, slots=True)
class PreparedAblation:
    """An ablation, or a later part of one, that is ready to begin.

    ``path``: the study's folder. ``record``: the study's record. ``planned``: the plan of the whole ablation; for a
    later part, the same as ``experiment``. ``experiment``: the plan of the part that begins now. If rows are tuned
    again, each row has a search of its own (its arm, see ``Tuning``), and the first part is the search of the first
    row. Otherwise the first part is the whole ablation. ``first``: the first events of ``experiment``.
    """

    path: Path
    record: StudyRecord
    planned: Experiment
    experiment: Experiment
    first: Sequence[Event]


def prepare_ablation(
    path: Path,
    options: AblationOptions,
    *,
    beside: Sequence[Path] = (),
    code: Sequence[Path] = (),
    data_dir: Path | None,
) -> PreparedAblation | None:
    """Prepare the next ablation of the finished study in the folder ``path``. Returns None if no config differs from
    the base, so that there is nothing to compare.

    ``beside``: the folders of other searches with the same base. ``code``: the files of the study's own code, needed
    only if they were moved. ``data_dir``: the folder of the named corpora. Raises UserError for a study that was read
    from another tool, and as ``read_finished``, ``experiment``, ``load_constraints``, ``load_code`` and
    ``prepared`` do.
    """
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
        options,
        beside=searches_beside(beside),
        place=place_in_family(options.family, path, [*beside, *learnt]) if options.family else 1,
        time=time.time(),
    )
    if not made.compares:
        return None
    load_code(path, record.study.space.code, code)
    begun = made if made.plan.tuning is None else arm_of(record, made.plan, 0, time=time.time())
    return replace(_prepared(path, record, begun, data_dir), planned=made)


def prepare_next_part(path: Path, *, code: Sequence[Path] = ()) -> PreparedAblation | None:
    """Prepare the part that follows the last part so far of the study's last ablation: the search of another arm
    (``Tuning``), the comparison of the arms, or a round with further seeds. Returns None if the study has no ablation,
    if that last part is not finished, or if no part follows it.

    ``path``: the study's folder. ``code``: as in ``prepare_ablation``. Raises UserError as ``read_study``,
    ``load_constraints``, ``load_code`` and ``prepared`` do.
    """
    if (last := last_ablation(path)) is None or not last.may_go_on:
        return None
    record = read_study(path)
    load_constraints(path, record.study.space, code)
    load_code(path, record.study.space.code, code)
    made = next_part(record, time=time.time())
    return None if made is None else _prepared(path, record, made, None)


def _prepared(path: Path, record: StudyRecord, made: Experiment, data_dir: Path | None) -> PreparedAblation:
    """Prepare the corpora that the study has not prepared yet, and create the first events: the opening of the part
    ``made``, its corpora and its plan.
    """
    opened = StudyOpened(time=time.time(), study=made.study.model_dump(mode="json"), code_version=code_version())
    ready = {name: each for own in (*record.ablations.values(), record) for name, each in own.corpora.items()}
    further = prepared(made.study, StudyFolder(path), data_dir=data_dir, corpus_folder=Path.cwd(), ready=ready)
    corpora = ready | {each.corpus: each for each in further}
    wanted = [corpora[identity(needed.corpus)] for needed in needs(made.study.space)]
    return PreparedAblation(path, record, made, made, [opened, *wanted, made.plan])


class AblationHistory:
    """Reads and appends the events of ablation ``number`` in its study's ledger, as if the ablation had a ledger of its
    own. Run options (``Placed``) are an exception: they are appended as events of the study, for later commands to
    reuse.
    """

    def __init__(self, ledger: Ledger, number: int) -> None:
        self.folder = ledger.folder
        self._ledger = ledger
        self._number = number

    def replay(self) -> Iterator[Event]:
        """Yield the ablation's events in order, unwrapped from their ``Ablated`` events; none if it has not begun."""
        for event in self._ledger.only("ablated"):
            if isinstance(event, Ablated) and event.ablation == self._number:
                yield event.event

    def extensions(self) -> Iterator[Extended]:
        """Yield nothing: an ablation cannot be extended, since its rows are fixed when it starts."""
        yield from ()

    def append(self, *events: Event) -> None:
        """Append events of the ablation to the study's ledger in one write."""
        self._ledger.append(*map(self._written, events))

    def _written(self, event: Event) -> Event:
        """Return an event as the ledger stores it: wrapped in ``Ablated``, unless it is ``Placed`` or ``Ablated``."""
        if isinstance(event, Placed | Ablated):
            return event
        return Ablated(time=event.time, ablation=self._number, event=event)
