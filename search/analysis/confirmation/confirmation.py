"""Confirmed rows, which were fixed before anything was measured: their scores, and differences to a reference.

Only such rows have intervals and marks. Trials that a search selected or stopped have none
(``search/analysis/exploration``).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf

from skipstack.search.analysis.confirmation.differences import (
    Split,
    described,
    difference,
    difference_table,
    randomised,
    score_of,
    size_of,
)
from skipstack.search.statistics.estimates import Estimate
from skipstack.search.statistics.multiple_testing import LEVEL, holm, levels
from skipstack.search.statistics.power import chances, noise, seeds_needed, smallest_difference
from skipstack.search.study.record.trial_record import TrialRecord


@dataclass(frozen=True, kw_only=True, slots=True)
class RowToConfirm:
    """A row to be confirmed. ``trial``: its trial; None if it was not trained.

    ``reference``: the trial that it is compared with; ``is_reference``: other rows are compared with it, and it with
    none. ``section``: its heading, such as its axis; ``axis``: the only axis on which it differs from its reference, if
    there is just one; ``corpus``: its name if there are several. ``family``: rows of a family are corrected together.
    ``same_sentences``: both trials are known to be tested on the same sentences, even if the corpora have other paths.
    """

    label: str
    trial: TrialRecord | None
    reference: TrialRecord | None = None
    is_reference: bool = False
    section: str = ""
    axis: str = ""
    corpus: str = ""
    family: str = ""
    same_sentences: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class ConfirmedRow:
    """The results of a row. Scores and differences are those of ``data.tasks.measure``, the larger the better.

    ``difference``: to the reference; None for a reference, and if it is missing (``why`` says why). ``effect_size``:
    the same in standard deviations over seeds. ``p``: of the difference, corrected for all rows of the family (Holm);
    ``marked``: it is below 5 %. ``corrected``: the interval of the difference, corrected likewise: it contains 0 unless
    the row is marked. ``p_randomised``: by approximate randomisation over the sentences, for these networks
    only; None if not requested. ``state``: of the trial; ``whole``: it was trained to its end.
    """

    label: str
    section: str
    is_reference: bool
    axis: str = ""
    corpus: str = ""
    trial: int | None = None
    reference: int | None = None
    state: str | None = None
    whole: bool = False
    seeds: tuple[int, ...] = ()
    dev: Estimate | None = None
    test: Estimate | None = None
    difference: Estimate | None = None
    effect_size: float | None = None
    p: float | None = None
    p_randomised: float | None = None
    marked: bool = False
    corrected: tuple[float, float] | None = None
    why: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Reach:
    """The power of an experiment, as the mark is given: for one row of its family, if no other row has an effect.

    ``smallest``: the smallest difference that gets a mark in 80 of 100 such experiments; ``questions``: the number of
    comparisons in the family. ``half_detected``: how often a difference half as large gets a mark; ``half_overstated``:
    how large it is shown where it has a mark, as a multiple of the true difference. ``seeds``: the seeds needed to
    detect the difference ``sought``; None if no number of seeds suffices.
    """

    smallest: float
    questions: int
    half_detected: float
    half_overstated: float
    sought: float
    seeds: int | None


def confirm(
    rows: Sequence[RowToConfirm], *, split: Split = "test", only_described: str = "", randomise: bool = False
) -> tuple[ConfirmedRow, ...]:
    """Measure the rows' differences on a split, corrected family by family.

    ``only_described``: why no row may have an interval, if the trials were not fixed in advance. ``randomise``: also
    compute approximate randomisation, which is slow.
    """
    found = [_measured(row, split, only_described, randomise) for row in rows]
    for family in dict.fromkeys(row.family for row in rows):
        places = [place for place, row in enumerate(rows) if row.family == family]
        answers = [each.p if (each := found[place].difference) else None for place in places]
        asked = [(id(rows[place].trial), id(rows[place].reference)) for place in places]  # winners share changes
        for place, p, level in zip(places, holm(answers, asked), levels(answers, asked), strict=True):
            found[place] = replace(
                found[place],
                p=p,
                marked=p is not None and p < LEVEL,
                corrected=corrected_interval(found[place].difference, level),
            )
    return tuple(found)


def corrected_interval(difference: Estimate | None, level: float | None) -> tuple[float, float] | None:
    """The interval of a difference at the level at which it is tested; None where it has none."""
    return None if difference is None or level is None else difference.interval(level)


def reach(rows: Sequence[RowToConfirm], sought: float) -> Reach | None:
    """The power for differences with the noise of these rows, in the largest of their families; None without two seeds
    or without noise.
    """
    families: dict[str, set[tuple[int, int]]] = {}  # winners share changes
    tables = []
    for row in rows:
        if row.trial is None or row.reference is None or not (row.trial.whole and row.reference.whole):
            continue
        if (table := difference_table(row.trial, row.reference)) is not None:
            families.setdefault(row.family, set()).add((row.trial.number, row.reference.number))
            tables.append(table)
    found = noise(tables)
    if found is None:
        return None
    seeds, sentences = min(map(len, tables)), min(table.shape[1] for table in tables)
    questions = max(map(len, families.values()))
    smallest = smallest_difference(found, seeds=seeds, sentences=sentences, questions=questions)
    if not 0 < smallest < inf:
        return None
    half = chances(found, smallest / 2, seeds=seeds, sentences=sentences, questions=questions)
    return Reach(
        smallest=smallest,
        questions=questions,
        half_detected=half.marked,
        half_overstated=half.overstated,
        sought=sought,
        seeds=seeds_needed(found, sought, sentences=sentences, questions=questions),
    )


def _measured(row: RowToConfirm, split: Split, only_described: str, randomise: bool) -> ConfirmedRow:
    trial, reference = row.trial, row.reference
    plain = ConfirmedRow(
        label=row.label, section=row.section, axis=row.axis, corpus=row.corpus, is_reference=row.is_reference
    )
    if trial is None:
        return replace(plain, why="not trained")
    plain = replace(
        plain,
        trial=trial.number,
        reference=None if reference is None else reference.number,
        state=trial.state,
        whole=trial.whole,
        seeds=trial.seeds,
        dev=_score(trial, "dev", only_described),
        test=_score(trial, "test", only_described),
    )
    if row.is_reference:
        return plain
    if reference is None:
        return replace(plain, why="its reference was not trained")
    cut = next((each for each in (trial, reference) if not each.whole), None)
    if cut is not None:
        return replace(plain, why=f"trial {cut.number} is {cut.state}, not trained to its end")
    estimate = difference(trial, reference, split, same_sentences=row.same_sentences)
    if estimate is None:
        return replace(plain, why=f"not measured on {split}")
    if only_described:
        return replace(plain, difference=described(estimate, only_described))
    return replace(
        plain,
        difference=estimate,
        effect_size=size_of(trial, reference, split),
        p_randomised=randomised(trial, reference) if randomise and split == "test" else None,
    )


def _score(trial: TrialRecord, split: Split, only_described: str) -> Estimate | None:
    """A score with its interval, or without one if the trial was stopped early or no row may have one."""
    estimate = score_of(trial, split)
    why = only_described or ("" if trial.whole else f"the trial is {trial.state}")
    return estimate if estimate is None or not why else described(estimate, why)
