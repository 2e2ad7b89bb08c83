"""Confirmed rows: what each row gains over its reference, with intervals and significance marks.

The **gain** of a row is the score of the trial that has the row's change, minus the score of the trial that lacks it.
So it is positive where the change helps, whichever of the two trials was trained for the row. It is computed here and
nowhere else.

A row is confirmed if its config was fixed before its seeds were trained. So the results of the seeds did not influence
the choice of the config. Only confirmed rows have intervals and marks. Trials that a search selected or stopped have
none (``search/analysis/exploration``).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import ceil, inf, isfinite

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
from skipstack.search.statistics.multiple_testing import holm
from skipstack.search.statistics.power import chances, noise, seeds_needed, smallest_difference
from skipstack.search.statistics.sequential import sequential_p
from skipstack.search.study.record.trial_record import TrialRecord


@dataclass(frozen=True, kw_only=True, slots=True)
class RowToConfirm:
    """A row to be confirmed: a trial that has the row's change, and a trial that lacks it.

    ``label``: the name of the change. ``over``: the name of the config without it, over which the gain is measured.
    ``trial``, ``reference``: the trials with and without the change; None for a trial that was not trained.
    ``taken_back``: whether the row was made by taking the change back, so that its own trial is ``reference``.
    ``is_reference``: whether the row is a reference for other rows and is compared with none itself.
    ``section``: the heading of the row's section, such as its axis.
    ``axis``: the only axis on which the two trials differ; empty if there are several or none.
    ``corpus``: the name of its corpus; may be empty if there is only one.
    ``family``: a key; the p values of rows with the same key are corrected together.
    ``same_sentences``: whether both trials are known to be tested on the same sentences, even with different corpus
    paths.
    ``looks``: the numbers of seeds at which the row is compared until it is decided; empty if it is compared once.
    ``spending``: the share of the level at which it is tested at each look.
    ``share``: the share of the level at which the row's family is tested, below 1 if other ablations share the level.
    """

    label: str
    trial: TrialRecord | None
    reference: TrialRecord | None = None
    over: str = ""
    taken_back: bool = False
    is_reference: bool = False
    section: str = ""
    axis: str = ""
    corpus: str = ""
    family: str = ""
    same_sentences: bool = False
    looks: tuple[int, ...] = ()
    spending: tuple[float, ...] = ()
    share: float = 1.0

    @property
    def own(self) -> TrialRecord | None:
        """The trial that was trained for the row."""
        return self.reference if self.taken_back else self.trial


@dataclass(frozen=True, kw_only=True, slots=True)
class ConfirmedRow:
    """The results of a row. Scores and gains are those of ``data.tasks.measure``: larger is better.

    ``label``, ``over``, ``taken_back``, ``section``, ``is_reference``, ``axis``, ``corpus``: as in ``RowToConfirm``.
    ``trial``, ``reference``: the numbers of the trials with and without the change.
    ``state``, ``whole``, ``seeds``: how the row's own trial ended, whether it was trained to its end, and its seeds.
    ``dev``, ``test``: the scores of ``trial``. ``reference_dev``, ``reference_test``: the scores of ``reference``.
    ``gain``: the gain of the change, with an uncorrected interval. If the row is compared at several numbers of seeds
    (looks), it is the gain at the look that decides the row. None if it is unknown, and for a row that is a reference.
    ``effect_size``: the gain in standard deviations over seeds.
    ``p``: the p value of the gain, corrected for all looks (``sequential_p``), all rows of the family (Holm), and the
    other ablations that share the level.
    ``level``: the level at which the row is tested, over all its looks.
    ``p_randomised``: the p value of approximate randomisation over the test sentences. It is valid for these trained
    networks only. None if it was not requested, or if the trials lack a shared seed or counts of the same sentences.
    ``marked``: whether ``p`` is below 5 %.
    ``corrected``: the interval of the gain, corrected like ``p``: it contains 0 unless the row is marked.
    ``why``: the reason if ``gain`` is unknown.
    """

    label: str
    section: str
    is_reference: bool
    over: str = ""
    taken_back: bool = False
    axis: str = ""
    corpus: str = ""
    trial: int | None = None
    reference: int | None = None
    state: str | None = None
    whole: bool = False
    seeds: tuple[int, ...] = ()
    dev: Estimate | None = None
    test: Estimate | None = None
    reference_dev: Estimate | None = None
    reference_test: Estimate | None = None
    gain: Estimate | None = None
    effect_size: float | None = None
    p: float | None = None
    level: float | None = None
    p_randomised: float | None = None
    marked: bool = False
    corrected: tuple[float, float] | None = None
    why: str = ""

    @property
    def own(self) -> int | None:
        """The number of the trial that was trained for the row."""
        return self.reference if self.taken_back else self.trial

    @property
    def own_scores(self) -> tuple[Estimate | None, Estimate | None]:
        """The scores of the trial that was trained for the row, on dev and on test."""
        return (self.reference_dev, self.reference_test) if self.taken_back else (self.dev, self.test)

    @property
    def half(self) -> float | None:
        """Half the width of the corrected interval, as printed after ±; None without an interval. It is smaller than
        the size of the gain if and only if the row is marked.
        """
        return None if self.corrected is None else (self.corrected[1] - self.corrected[0]) / 2

    @property
    def helps(self) -> bool:
        """Whether the change helps beyond chance."""
        return self.marked and self.gain is not None and self.gain.value > 0

    @property
    def harms(self) -> bool:
        """Whether the change harms beyond chance."""
        return self.marked and self.gain is not None and self.gain.value < 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Reach:
    """The power of an experiment: how large a row's gain must be to be marked as significant after correction.

    All numbers are about experiments with as many seeds and test sentences as this one. They are about one row of a
    family in which no other row has an effect.

    ``smallest``: the smallest true gain, or loss, that is marked in 80 of 100 experiments.
    ``questions``: the number of comparisons in the family.
    ``half_detected``: the share of experiments that mark a true gain half as large as ``smallest``.
    ``half_overstated``: the mean estimate of this gain in those experiments, divided by its true size.
    ``sought``, ``seeds``: a gain, and the number of seeds that detect it; None if ``power.MOST_SEEDS`` are too few.
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
    """Compute the rows' gains over their references, with p values and intervals corrected within each family.

    ``split``: the split on which the rows are compared. ``only_described``: the reason why no row may have an interval,
    if the trials were not fixed in advance; otherwise empty. ``randomise``: whether to compute approximate
    randomisation as well, which is slow.
    """
    scores: dict[tuple[int, Split], Estimate | None] = {}

    def score(trial: TrialRecord | None, of: Split) -> Estimate | None:
        if trial is None:
            return None
        if (id(trial), of) not in scores:  # several rows have the same reference
            scores[id(trial), of] = _score(trial, of, only_described)
        return scores[id(trial), of]

    found = [_measured(row, split, score, only_described, randomise) for row in rows]
    for family in dict.fromkeys(row.family for row in rows):
        places = [place for place, row in enumerate(rows) if row.family == family]
        looked = [_looked(rows[place], found[place].gain, split) for place in places]
        answers = [each.p for each in looked]
        # Rows of two winners that compare the same trials, in either order, count as one question.
        asked = [frozenset((id(rows[place].trial), id(rows[place].reference))) for place in places]
        for place, each, test in zip(places, looked, holm(answers, asked), strict=True):
            level = None if test.level is None else test.level * rows[place].share
            gain, corrected = each.decisive(test.marked, level)
            found[place] = replace(
                found[place], gain=gain, p=test.p, level=level, marked=test.marked, corrected=corrected
            )
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _Looked:
    """A row's gain at its looks so far (the numbers of seeds at which it is compared). ``at``: the estimates of the
    gain. ``shares``: the share of the level at which each look tests. ``share``: as in ``RowToConfirm``.
    """

    at: tuple[Estimate, ...]
    shares: tuple[float, ...]
    share: float

    @property
    def p(self) -> float | None:
        values = [each.p for each in self.at if each.p is not None]
        if not values or len(values) < len(self.at):
            return None
        return min(1.0, sequential_p(values, self.shares) / self.share)

    def decisive(self, marked: bool, level: float | None) -> tuple[Estimate | None, tuple[float, float] | None]:
        """Return the estimate that decides the row, and its corrected interval. For a ``marked`` row, this is the
        estimate at the look with the smallest p / share; otherwise it is the estimate at the last look so far.
        ``level``: the level at which the row is tested, over all its looks.
        """
        if not self.at:
            return None, None
        spent = [(each.p or 0.0) / share for each, share in zip(self.at, self.shares, strict=False)]
        place = spent.index(min(spent)) if marked else len(self.at) - 1
        return self.at[place], None if level is None else self.at[place].interval(level * self.shares[place])


def _looked(row: RowToConfirm, now: Estimate | None, split: Split) -> _Looked:
    """Return the row's gain at each look so far (``RowToConfirm.looks``); without looks, the gain ``now``, with all
    seeds.
    """
    once = () if now is None else (now,)
    if not once or not row.looks or row.trial is None or row.reference is None:
        return _Looked(once, (1.0,), row.share)
    at = (
        difference(row.trial, row.reference, split, same_sentences=row.same_sentences, most=seeds)
        for seeds in row.looks
        if seeds <= once[0].seeds
    )
    return _Looked(tuple(each for each in at if each is not None), row.spending, row.share)


def reach(rows: Sequence[RowToConfirm], sought: float) -> Reach | None:
    """Compute the power of an experiment with the noise of ``rows``, for a row of the largest family.

    ``sought``: the gain for which the number of seeds is computed. Returns None if the rows show no noise, if
    no row has counts by sentence, or if a row with such counts shares only one seed with its reference.
    """
    # The pairs of trials are sets: rows of two winners that compare the same trials count as one question.
    families: dict[str, set[frozenset[int]]] = {}
    tables = []
    for row in rows:
        if row.trial is None or row.reference is None or not (row.trial.whole and row.reference.whole):
            continue
        if (table := difference_table(row.trial, row.reference)) is not None:
            families.setdefault(row.family, set()).add(frozenset((row.trial.number, row.reference.number)))
            tables.append(table)
    found = noise(tables)
    if found is None:
        return None
    seeds, sentences = min(map(len, tables)), min(table.shape[1] for table in tables)
    questions = max(map(len, families.values()))
    # Testing at 1/n of the level is as strict as testing n times as many questions at the whole level.
    tests = ceil(questions / rows[0].share)
    smallest = smallest_difference(found, seeds=seeds, sentences=sentences, questions=tests)
    if not 0 < smallest < inf:
        return None
    half = chances(found, smallest / 2, seeds=seeds, sentences=sentences, questions=tests)
    return Reach(
        smallest=smallest,
        questions=questions,
        half_detected=half.marked,
        half_overstated=half.overstated,
        sought=sought,
        seeds=seeds_needed(found, sought, sentences=sentences, questions=tests),
    )


def _measured(
    row: RowToConfirm,
    split: Split,
    score: Callable[[TrialRecord | None, Split], Estimate | None],
    only_described: str,
    randomise: bool,
) -> ConfirmedRow:
    trial, reference, own = row.trial, row.reference, row.own
    plain = ConfirmedRow(
        label=row.label,
        section=row.section,
        over=row.over,
        taken_back=row.taken_back,
        axis=row.axis,
        corpus=row.corpus,
        is_reference=row.is_reference,
    )
    if own is None:
        return replace(plain, why="not trained")
    plain = replace(
        plain,
        trial=None if trial is None else trial.number,
        reference=None if reference is None else reference.number,
        state=own.state,
        whole=own.whole,
        seeds=own.seeds,
        dev=score(trial, "dev"),
        test=score(trial, "test"),
        reference_dev=score(reference, "dev"),
        reference_test=score(reference, "test"),
    )
    if row.is_reference:
        return plain
    if trial is None or reference is None:
        return replace(plain, why="its reference was not trained")
    cut = next((each for each in (own, trial, reference) if not each.whole), None)
    if cut is not None:
        return replace(plain, why=f"trial {cut.number} is {cut.state}, not trained to its end")
    gain = difference(trial, reference, split, same_sentences=row.same_sentences)
    if gain is None:
        return replace(plain, why=f"not measured on {split}")
    if not isfinite(gain.value):
        return replace(plain, why=gain.why)
    if only_described:
        return replace(plain, gain=described(gain, only_described))
    return replace(
        plain,
        gain=gain,
        effect_size=size_of(trial, reference, split),
        p_randomised=randomised(trial, reference) if randomise and split == "test" else None,
    )


def _score(trial: TrialRecord, split: Split, only_described: str) -> Estimate | None:
    """Return the score on ``split``, if any. It has no interval for an incomplete trial or with ``only_described``."""
    estimate = score_of(trial, split)
    why = only_described or ("" if trial.whole else f"the trial is {trial.state}")
    return estimate if estimate is None or not why else described(estimate, why)
