"""The numbers of estimates, by the names used in all reports, and the sentences that explain them."""

from collections import Counter
from collections.abc import Iterator, Sequence

from skipstack.dashboards.formats.page import Numbers
from skipstack.dashboards.reports.wording import NONE, with_error
from skipstack.data.basis.counted import counted
from skipstack.data.tasks.measure import Measure
from skipstack.search.analysis.confirmation.confirmation import ConfirmedRow
from skipstack.search.analysis.confirmation.differences import Split
from skipstack.search.statistics.estimates import Estimate
from skipstack.spaces.subject import Scalar

MARK = "*"
"""Marks a significant difference. Of families (rows corrected together) without any effect, at most 5 % have a mark."""

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
    """The numbers of a confirmed row, by name: unscaled, and larger if better (``data.tasks.measure``)."""
    return {
        "row": row.label,
        "section": row.section,
        "axis": row.axis,
        "corpus": row.corpus,
        "is_reference": row.is_reference,
        "trial": row.trial,
        "reference_trial": row.reference,
        "state": row.state,
        "whole": row.whole,
        "seeds": len(row.seeds),
        **_numbers("dev", row.dev),
        **_numbers("test", row.test),
        **_numbers("difference", row.difference),
        "difference_error": None if row.difference is None else row.difference.error,
        "difference_degrees": None if row.difference is None else row.difference.degrees,
        "difference_sentences": None if row.difference is None else row.difference.sentences,
        "difference_documents": None if row.difference is None else row.difference.documents,
        "effect_size": row.effect_size,
        "p": None if row.difference is None else row.difference.p,
        "p_holm": row.p,
        "difference_low_corrected": None if row.corrected is None else row.corrected[0],
        "difference_high_corrected": None if row.corrected is None else row.corrected[1],
        "p_randomised": row.p_randomised,
        "marked": row.marked,
        "why": row.why or (row.difference.why if row.difference is not None else ""),
    }


def estimate_text(name: str, numbers: Numbers, measure: Measure, sign: str = "") -> str:
    """The estimate ``name`` as text, with half the width of its interval: ``96.41 ± 0.12``."""
    return with_error(numbers[name], numbers[f"{name}_half"], measure, sign)


def meaning(
    rows: Sequence[ConfirmedRow],
    split: Split,
    measure: Measure,
    *,
    reference: str = "the base",
    alone: str = "since no counts by sentence are known",
) -> Iterator[str]:
    """Yield sentences that explain ± and the mark in a table of confirmed rows.

    ``split``: the split of the scores. ``reference``: the words for the row with which the rows are compared.
    ``alone``: the reason why intervals are over seeds alone, if they are.
    """
    of_split = [row.test if split == "test" else row.dev for row in rows]
    every = [each for row, score in zip(rows, of_split, strict=True) for each in (row.difference, score) if each]
    with_interval = [each for each in every if each.half is not None]
    families = Counter(row.corpus for row in rows if row.p is not None)
    if not with_interval:
        why = next((each.why for each in every if each.why), "")
        yield f"No intervals{f': {why}' if why else ''}."
        return
    seeds = max(each.seeds for each in with_interval)
    corpora = max(each.corpora for each in with_interval)
    sentences = {each.sentences for each in with_interval if each.corpora == 1}
    if over := next((each.over for each in with_interval if each.over), ""):
        chance = f"of {over}{'' if corpora > 1 else ', widened for the training data that they share'}"
    elif sentences == {None}:
        why = f", {alone}" if measure.counted else ""
        chance = f"of {counted(seeds, 'seed')} alone{why}"
    else:
        most = max(each for each in sentences if each is not None)
        documents = {each.documents for each in with_interval if each.documents is not None}
        within = f" in {counted(max(documents), 'document')}, drawn as wholes" if documents else ""
        chance = f"of {counted(seeds, 'seed')} and {counted(most, 'sentence')}{within}"
        chance += ", or of the seeds alone where no counts by sentence are known" if None in sentences else ""
    chance += f"; that of a mean holds the chance of {corpora} corpora" if corpora > 1 and not over else ""
    yield f"±: half the 95 % interval, which holds the chance {chance}."
    if families:
        points = ", in points" if measure.in_points else ""
        paired = "call by call" if over else "by seed"
        yield (
            f"Difference: to {reference} on {split}{points}, paired {paired}. {MARK}: significant at 5 %"
            f"{_corrected(list(families.values()))}; the others leave open which is better."
        )


def _corrected(families: Sequence[int]) -> str:
    """The clause on the correction of the marks. The rows of each corpus form a family; so do the means over corpora.
    ``families``: the number of rows in each family.
    """
    if len(families) > 1:
        return ", corrected for the rows of a corpus together, and for the means together (Holm)"
    return f", corrected for {families[0]} rows (Holm)" if families[0] > 1 else ""


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
