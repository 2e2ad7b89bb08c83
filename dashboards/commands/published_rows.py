"""Finds, for each confirmed row, its MLflow run and the metrics to write there, so that every number is in a run."""

from skipstack.data.tasks.measure import Measure
from skipstack.search.analysis.ablation.comparisons import RowComparison, compared
from skipstack.search.analysis.confirmation.confirmation import ConfirmedRow
from skipstack.search.analysis.confirmation.designs import Confirmation
from skipstack.search.publishing.tracking.entry import RunKey, part_of
from skipstack.search.statistics.estimates import Estimate
from skipstack.search.study.record.study_record import StudyRecord


def by_run(record: StudyRecord, table: Confirmation, ablation: int | None) -> dict[RunKey, ConfirmedRow]:
    """The rows of a confirmed table, by the keys of their MLflow runs.

    A row is a trial's comparison with a reference. The first comparison of a trial belongs to the trial's own run. A
    further comparison has its own run, and so has a mean over corpora, which has no trial. A mean without a difference
    is left out. ``ablation``: the number of the table's ablation; None if the rows are trials of the search.
    """
    if ablation is None:
        return {(None, row.trial): row for row in table.rows if row.trial is not None}
    comparisons = {each.numbers: each for each in compared(record)}
    found: dict[RunKey, ConfirmedRow] = {}
    parts: dict[tuple[str, str, str], str] = {}
    for row in table.rows:
        named = (row.section, row.axis, row.label)
        if row.trial is None:
            if row.difference is not None:  # a mean over corpora: the table lists it after the rows of all corpora
                found[ablation, None, parts[named]] = row
            continue
        own = comparisons[(row.trial, row.reference),]
        parts[named] = part_of(own.row, own.reference)
        first = next(each for each in comparisons.values() if each.trials == own.trials)
        found.setdefault(_key(ablation, row.trial, own, first), row)
    return found


def metrics_of(key: RunKey, row: ConfirmedRow, measure: Measure) -> dict[str, float]:
    """The metrics of a row, by name: its difference with the 95 % interval, p (corrected), the effect size, and the
    ends of the intervals of its scores. The effect size is in standard deviations over seeds.

    A ``key`` with three elements is that of a run that trained nothing; its metrics also include the scores themselves.
    A positive difference means that the row is better than its reference. Larger values of ``best_score`` (on dev) are
    always better. Test scores are in the measure's own unit: smaller perplexities are better.
    """
    found: dict[str, float | None] = {"p": row.p, "effect_size": row.effect_size}
    if row.difference is not None:
        found |= {"difference": row.difference.value, "low": row.difference.low, "high": row.difference.high}
    if row.test is not None:
        found |= _ends(f"test_{measure.name}", row.test, measure.score(1.0))
    if row.dev is not None:
        found |= _ends("best_score", row.dev, 1.0)
    if len(key) > 2:
        found |= {} if row.test is None else {f"test_{measure.name}": measure.score(row.test.value)}
        found |= {} if row.dev is None else {"best_score": row.dev.value}
    return {name: value for name, value in found.items() if value is not None}


def _key(ablation: int, trial: int, own: RowComparison, first: RowComparison) -> RunKey:
    """The key of the MLflow run for ``own``, one of the comparisons of a trial. The ``first`` comparison has the
    trial's run; any further comparison has its own run.
    """
    return (ablation, trial) if own is first else (ablation, trial, part_of(own.row, own.reference))


def _ends(name: str, score: Estimate, sign: float) -> dict[str, float | None]:
    if score.low is None or score.high is None:
        return {}
    low, high = sorted((sign * score.low, sign * score.high))
    return {f"{name}_low": low, f"{name}_high": high}
