"""Ablations with all their parts: the searches of their arms, and the seeds of their rounds.

An ablation that tunes its rows again begins with one search for each row, called the arm of the row. An ablation that
trains until its rows are decided adds seeds in rounds. In the ledger, each arm and each round is a separate ablation. A
round continues the first one (``AblationPlanned.continues``) with new seeds for the rows that are still open.
"""

import copy
from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from skipstack.data.basis.frozen import canonical_json
from skipstack.search.ledger.sentences import SentenceCounts
from skipstack.search.study.record.reports import Reports
from skipstack.search.study.record.seed_races import joined
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.search.study.record.trial_record import TrialRecord


def whole_ablations(record: StudyRecord) -> dict[int, StudyRecord]:
    """Return the ablations of a study that compare rows, by number, each with its arms and the seeds of all its rounds.

    A round counts for a row if the row's trial in this round is trained to its end, and if this trial and the row's
    first one are both tested or both untested. A round after one that does not count for the row does not count either.
    """
    rounds = defaultdict[int, list[StudyRecord]](list)
    for own in record.ablations.values():
        if own.plan is not None and own.plan.continues is not None:
            rounds[own.plan.continues].append(own)
    compared = {number: own for number, own in record.ablations.items() if own.compares}
    return {number: _together(_with_arms(own, record), rounds[number]) for number, own in compared.items()}


def _with_arms(ablation: StudyRecord, record: StudyRecord) -> StudyRecord:
    """Return the record of an ablation, as a copy with the searches of its arms if it has some."""
    tuning = None if ablation.plan is None else ablation.plan.tuning
    if tuning is None:
        return ablation
    whole = copy.copy(ablation)
    whole.arms = [record.ablations[tuning.first + arm] for arm in range(len(tuning.arms))]
    return whole


def _together(first: StudyRecord, rounds: Sequence[StudyRecord]) -> StudyRecord:
    """Return the record of the ablation ``first``, with the seeds of the later ``rounds`` added to its trials."""
    if not rounds:
        return first
    later = [{canonical_json(trial.point): trial for trial in each.trials.values()} for each in rounds]
    whole = copy.copy(first)
    whole.trials, whole.rounds, whole.first_round = {}, rounds, first
    for number, trial in first.trials.items():
        parts, text = [trial], canonical_json(trial.point)
        for trials in later:
            if text not in trials or not trials[text].whole or bool(trials[text].test) != bool(trial.test):
                break
            parts.append(trials[text])
        whole.trials[number] = trial if len(parts) == 1 else _joined(parts)
    return whole


def _joined(parts: Sequence[TrialRecord]) -> TrialRecord:
    """Join trials of one config with different seeds into one trial. Its only report joins the best report of each."""
    first, reports = parts[0], Reports()
    best = joined(
        [report.model_copy(update={"seeds": each.seeds}) for each in parts if (report := each.best) is not None]
    )
    reports.append(best.model_copy(update={"seeds": (), "seconds": sum(each.seconds for each in parts)}))
    shared = [name for name in first.tested if all(name in each.tested for each in parts)]
    return TrialRecord(
        first.number,
        first.point,
        first.space,
        tuple(seed for each in parts for seed in each.seeds),
        first.measure,
        first.parameters,
        first.replicates,
        reports=reports,
        reason=first.reason,
        starts=sum(each.starts for each in parts),
        tested={name: tuple(value for each in parts for value in each.tested[name]) for name in shared},
        packed=_counts_of(parts),
        documents=first.documents,
        happened=first.happened,
        note=first.note,
    )


def _counts_of(parts: Sequence[TrialRecord]) -> SentenceCounts | None:
    """Return the counts by test sentence over all seeds. None if a trial has none, or if the numbers of sentences
    differ.
    """
    packed = [each.packed for each in parts if each.packed is not None]
    if len(packed) < len(parts) or len({each.sentences for each in packed}) > 1:
        return None
    names = list(packed[0].counts)
    return SentenceCounts.of(np.concatenate([each.array(names) for each in packed]), names)
