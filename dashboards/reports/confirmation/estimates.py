"""The numbers of estimates, by the names used in all reports, and the sentences that explain them."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from skipstack.dashboards.formats.page import Numbers
from skipstack.dashboards.reports.wording import NONE, gained, with_error
from skipstack.data.basis.counted import counted
from skipstack.data.tasks.measure import Measure
from skipstack.search.analysis.confirmation.confirmation import ConfirmedRow
from skipstack.search.analysis.confirmation.differences import Split
from skipstack.search.statistics.estimates import Estimate
from skipstack.spaces.subject import Scalar

MARK = "*"
"""Marks a significant gain or loss. Of families (rows corrected together) without any effect, at most 5 % have a mark.
"""

BOLD = "Bold: the best score."
"""The sentence that explains bold cells."""


def best_scores(records: Sequence[Numbers], name: str, measure: Measure) -> set[int]:
    """The positions of the records with the best score of their corpus. Scores that are printed alike count as equal.
    ``name``: the name of the score.
    """
    best: dict[Scalar, float] = {}
    for numbers in records:
        if isinstance(score := numbers[name], float):
            best[numbers["corpus"]] = max(score, best.get(numbers["corpus"], score))
    return {
        place
        for place, numbers in enumerate(records)
        if isinstance(score := numbers[name], float)
        and measure.written(score) == measure.written(best[numbers["corpus"]])
    }


def confirmed_numbers(row: ConfirmedRow) -> Numbers:
    """The numbers of a confirmed row, by name: unscaled, and larger if better (``data.tasks.measure``).

    The interval of ``gain`` is the corrected one, which decides the mark. The names of the uncorrected interval end in
    ``_uncorrected``.
    """
    gain, corrected = row.gain, row.corrected or (None, None)
    return {
        "row": row.label,
        "over": row.over,
        "section": row.section,
        "axis": row.axis,
        "corpus": row.corpus,
        "is_reference": row.is_reference,
        "taken_back": row.taken_back,
        "trial": row.trial,
        "reference_trial": row.reference,
        "state": row.state,
        "whole": row.whole,
        "seeds": len(row.seeds),
        **_numbers("dev", row.dev),
        **_numbers("test", row.test),
        **_numbers("reference_dev", row.reference_dev),
        **_numbers("reference_test", row.reference_test),
        "gain": None if gain is None else gain.value,
        "gain_low": corrected[0],
        "gain_high": corrected[1],
        "gain_half": row.half,
        "marked": row.marked,
        "p_holm": row.p,
        "gain_low_uncorrected": None if gain is None else gain.low,
        "gain_high_uncorrected": None if gain is None else gain.high,
        "gain_half_uncorrected": None if gain is None else gain.half,
        "gain_error": None if gain is None else gain.error,
        "gain_degrees": None if gain is None else gain.degrees,
        "gain_sentences": None if gain is None else gain.sentences,
        "gain_documents": None if gain is None else gain.documents,
        "p": None if gain is None else gain.p,
        "effect_size": row.effect_size,
        "p_randomised": row.p_randomised,
        "why": row.why or (gain.why if gain is not None else ""),
    }


def gain_text(numbers: Numbers, measure: Measure) -> str:
    """The gain of a row as text, with half of the interval that decides its mark: ``+1.20 ± 0.31``."""
    return gained(numbers["gain"], numbers["gain_half"], measure)


def estimate_text(name: str, numbers: Numbers, measure: Measure) -> str:
    """The estimate ``name`` as text, with half the width of its 95 % interval: ``96.41 ± 0.12``."""
    return with_error(numbers[name], numbers[f"{name}_half"], measure)


def meaning(
    rows: Sequence[ConfirmedRow],
    split: Split,
    measure: Measure,
    *,
    what: str = "what the change adds",
    alone: str = "since no counts by sentence are known",
) -> Iterator[str]:
    """Yield sentences that explain the gain, ± and the mark in a table of confirmed rows.

    ``split``: the split of the scores. ``what``: the words for the gain. ``alone``: the reason why intervals are over
    seeds alone, if they are.
    """
    if all(row.is_reference for row in rows):
        scores = [row.test if split == "test" else row.dev for row in rows]
        known = [each for each in scores if each is not None and each.half is not None]
        why = next((each.why for each in scores if each is not None and each.why), "no score is known")
        held = f"±: half of the 95 % interval {_chance(known, measure, alone)}." if known else ""
        yield held or f"No interval: {why}."
        return
    gains = [row.gain for row in rows if row.gain is not None]
    with_interval = [each for each in gains if each.half is not None]
    families = Counter(row.corpus for row in rows if row.p is not None)
    over = next((each.over for each in with_interval if each.over), "")
    points = ", in points" if measure.in_points else f", in {measure.label}" if measure.factor < 0 else ""
    helps = f"helps ({measure.label} falls)" if measure.factor < 0 else "helps"
    paired = "call by call" if over else "by seed"
    if gains:
        yield f"gain: {what} on {split}{points}, paired {paired}; + {helps}, - harms."
    if not with_interval:
        why = next((each.why for each in gains if each.why), "")
        yield f"No intervals{f': {why}' if why else ''}."
        return
    chance = _chance(with_interval, measure, alone)
    yield f"±: half of its interval {chance}{_corrected(families)}."
    yield f"{MARK}: beyond chance (5 %): ± is smaller than the gain. Without {MARK}: no conclusion."


def _chance(estimates: Sequence[Estimate], measure: Measure, alone: str) -> str:
    """The phrase on the sources of chance that the intervals of ``estimates`` cover."""
    seeds = max(each.seeds for each in estimates)
    corpora = max(each.corpora for each in estimates)
    sentences = {each.sentences for each in estimates if each.corpora == 1}
    if over := next((each.over for each in estimates if each.over), ""):
        return f"over {over}{'' if corpora > 1 else ', widened for the training data that they share'}"
    if sentences == {None}:
        chance = f"over {counted(seeds, 'seed')} alone{f', {alone}' if measure.counted else ''}"
    elif not sentences:
        chance = f"over {counted(seeds, 'seed')}"
    else:
        most = max(each for each in sentences if each is not None)
        documents = {each.documents for each in estimates if each.documents is not None}
        within = f" in {counted(max(documents), 'document')}, drawn as wholes" if documents else ""
        chance = f"over {counted(seeds, 'seed')} and {counted(most, 'sentence')}{within}"
        chance += ", or over the seeds alone where no counts by sentence are known" if None in sentences else ""
    return f"{chance} (of a mean, over {corpora} corpora)" if corpora > 1 else chance


def _corrected(families: Mapping[str, int]) -> str:
    """The clause on the correction of the intervals and marks. The rows of each corpus form a family, and the means
    over corpora form another. ``families``: the number of rows in each family.
    """
    if len(families) > 1:
        return ", corrected for the rows of a corpus together, and for the means together (Holm)"
    most = max(families.values(), default=1)
    return f", corrected for {most} rows (Holm)" if most > 1 else ""


def _numbers(name: str, estimate: Estimate | None) -> Numbers:
    return {
        name: None if estimate is None else estimate.value,
        f"{name}_low": None if estimate is None else estimate.low,
        f"{name}_high": None if estimate is None else estimate.high,
        f"{name}_half": None if estimate is None else estimate.half,
    }


def p_text(p: object) -> str:
    """A p value as text with three decimals, such as ``.012`` or ``<.001``."""
    if not isinstance(p, float):
        return NONE
    return "<.001" if p < 0.0005 else f"{p:.3f}".removeprefix("0") if p < 0.9995 else "1"
