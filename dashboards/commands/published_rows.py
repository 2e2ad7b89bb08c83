"""Finds, for each confirmed row, its MLflow run and the metrics to write there, so that every number is in a run."""

from skipstack.data.tasks.measure import Measure
from skipstack.search.analysis.ablation.comparisons import RowComparison, compared
from skipstack.search.analysis.confirmation.confirmation import ConfirmedRow
from skipstack.search.analysis.confirmation.designs import Confirmation
from skipstack.search.publishing.tracking.entry import RunKey, part_of
from skipstack.search.statistics.estimates import Estimate
from skipstack.search.study.record.study_record import StudyRecord


def by_run(record: StudyRecord, table: Confirmation) -> dict[RunKey, ConfirmedRow]:
    """The rows of a confirmed table, by the keys of their MLflow runs.

    A row is a trial's comparison with a reference. The first comparison of a trial belongs to the trial's own run. A
    further comparison has its own run, and so has a mean over corpora, which has no trial. A mean without a gain is
    left out, and so is a row without a run: two trials that are compared twice have the run of their first comparison.
    """
    ablation = table.ablation
    if ablation is None:
        return {(None, row.trial): row for row in table.rows if row.trial is not None}
    comparisons = {each.numbers: each for each in compared(record)}
    found: dict[RunKey, ConfirmedRow] = {}
    parts: dict[tuple[str, str, str], str] = {}
    for row in table.rows:
        named = (row.section, row.axis, row.label)
        if row.own is None:
            if row.gain is not None and named in parts:  # a mean over corpora: listed after the rows of all corpora
                found[ablation, None, parts[named]] = row
            continue
        own = comparisons.get((row.trial, row.reference))
        if own is None:
            continue
        parts[named] = part_of(own.row, own.reference)
        first = next(each for each in comparisons.values() if each.trials == own.trials)
        found.setdefault(_key(ablation, row.own, own, first), row)
    return found


def metrics_of(key: RunKey, row: ConfirmedRow, measure: Measure) -> dict[str, float]:
    """The metrics of a row, by name: its gain with the interval that decides its mark, p (corrected), the effect size,
    and the ends of the intervals of the scores of the row's own trial.

    A ``key`` with three elements belongs to a run that trained nothing. The metrics of such a run also include the
    scores themselves. A positive gain means that the change helps. Larger values of ``best_score`` (on dev) are always
    better. Test scores are in the measure's own unit: smaller perplexities are better.
    """
    found: dict[str, float | None] = {"p": row.p, "effect_size": row.effect_size}
    if row.gain is not None:
        low, high = row.corrected or (None, None)
        found |= {"gain": row.gain.value, "gain_low": low, "gain_high": high}
    dev, test = row.own_scores
    if test is not None:
        found |= _ends(f"test_{measure.name}", test, measure.score(1.0))
    if dev is not None:
        found |= _ends("best_score", dev, 1.0)
    if len(key) > 2:
        found |= {} if test is None else {f"test_{measure.name}": measure.score(test.value)}
        found |= {} if dev is None else {"best_score": dev.value}
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
