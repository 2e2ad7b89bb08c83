"""Compares a study with a table of a paper: the difference to the base in each row, and the rank correlation."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

from pydantic import ValidationError

from skipstack.data.tasks.measure import Measure
from skipstack.search.analysis.confirmation.confirmation import ConfirmedRow, RowToConfirm, confirm
from skipstack.search.analysis.confirmation.designs import why_not_by_design
from skipstack.search.analysis.confirmation.differences import Split
from skipstack.search.analysis.confirmation.papers import PaperRow, PaperTable
from skipstack.search.statistics.descriptive import rank_correlation
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.search.study.record.trial_record import TrialRecord
from skipstack.spaces.domains import Json
from skipstack.spaces.paths import Tree, written
from skipstack.spaces.trial import TrialConfig, as_network


@dataclass(frozen=True, kw_only=True, slots=True)
class ComparedRow:
    """A row of the paper, and ours. Scores and differences are those of ``data.tasks.measure``.

    Both differences are to the paper's base row, on the split of the comparison. ``disagrees``: our whole interval has
    the opposite sign of the paper's difference.
    """

    paper_dev: float | None
    paper_test: float | None
    paper_difference: float | None
    ours: ConfirmedRow
    disagrees: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class PaperComparison:
    """The rows in the paper's order.

    ``split``: of the ranks and differences: test if the paper has it and all of our rows were measured there, else dev.
    ``shared``: the number of rows with a score there in both, ours of a whole trial. ``correlation``: Spearman's, of
    the two scores over these rows. ``only_described``: why our differences have no interval. ``about``:
    what the study asks.
    """

    study: str
    corpus: str
    table: str
    title: str
    note: str
    measure: Measure
    split: Split
    rows: tuple[ComparedRow, ...]
    shared: int
    correlation: float | None
    only_described: str
    about: str = ""


def compare(record: StudyRecord, name: str, table: PaperTable, *, randomise: bool = False) -> PaperComparison:
    """Compare the study with the table called ``name``.

    A row is represented by the trial whose config is the study's base with exactly the row's values, so that other axes
    do not confound it. Without such a trial, or if it has no score, the row has none. Ours have intervals if the study
    is a confirmation by design.
    """
    base = as_network(record.study.space.base)
    by_identity = {trial.config.identity: trial for trial in record.ranked()}
    files = {as_network(trial.config).data.vectors for trial in by_identity.values()}
    trials = [_trial(by_identity, base, row, files) for row in table.rows]
    reference = _trial(by_identity, base, table.base, files)
    split = _split(table, trials)
    only_described = why_not_by_design(record)
    asked = [
        RowToConfirm(label=row.label, trial=trial, reference=None if row.base else reference, is_reference=row.base)
        for row, trial in zip(table.rows, trials, strict=True)
    ]
    ours = confirm(asked, split=split, only_described=only_described, randomise=randomise)
    rows = tuple(_row(row, table.base, each, split, record.measure) for row, each in zip(table.rows, ours, strict=True))
    pairs = [pair for row in rows if (pair := _pair(row, split)) is not None]
    return PaperComparison(
        study=record.study.name,
        corpus=base.title,
        table=name,
        title=table.title,
        note=table.note,
        measure=record.measure,
        split=split,
        rows=rows,
        shared=len(pairs),
        correlation=rank_correlation([paper for paper, _ in pairs], [ours for _, ours in pairs]),
        only_described=only_described,
        about=record.study.about,
    )


def _split(table: PaperTable, trials: Sequence[TrialRecord | None]) -> Split:
    """Test, unless the paper lacks test scores or one of our whole trials was not measured there."""
    whole = [trial for trial in trials if trial is not None and trial.whole]
    if table.base.dev is None:
        return "test"
    return "test" if table.base.test is not None and whole and all(trial.test for trial in whole) else "dev"


def _trial(
    ranked: Mapping[str, TrialRecord], base: TrialConfig, row: PaperRow, files: Set[str | None]
) -> TrialRecord | None:
    """The best trial whose config is the base with the row's values; several such trials differ in their ``files`` of
    vectors only.
    """
    if row.has is None:
        return None
    own = {True: files - {None}, False: {None}, None: {base.data.vectors}}[row.vectors]
    asked = [_varied(base, {**row.has, "data.vectors": file}) for file in own]
    wanted = {each.identity for each in asked if each is not None}
    return next((trial for identity, trial in ranked.items() if identity in wanted), None)


def _varied(base: TrialConfig, has: Mapping[str, Json]) -> TrialConfig | None:
    """The base with these values; None if they do not fit it, such as another depth with a list of sources."""
    tree: Tree = base.model_dump(mode="json")
    for path, value in has.items():
        tree = written(tree, path, value)
    try:
        return TrialConfig.model_validate(tree)
    except ValidationError:
        return None


def _row(row: PaperRow, base: PaperRow, ours: ConfirmedRow, split: Split, measure: Measure) -> ComparedRow:
    printed, measured = (base.dev, row.dev) if split == "dev" else (base.test, row.test)
    in_paper = None if row.base or printed is None or measured is None else _score(measured - printed, measure)
    sign = 0 if ours.difference is None else ours.difference.sign
    return ComparedRow(
        paper_dev=_score(row.dev, measure),
        paper_test=_score(row.test, measure),
        paper_difference=in_paper,
        ours=ours,
        disagrees=in_paper is not None and in_paper * sign < 0,
    )


def _pair(row: ComparedRow, split: Split) -> tuple[float, float] | None:
    paper, ours = (row.paper_dev, row.ours.dev) if split == "dev" else (row.paper_test, row.ours.test)
    return None if paper is None or ours is None or not row.ours.whole else (paper, ours.value)


def _score(printed: float | None, measure: Measure) -> float | None:
    """A printed figure as a score, with the precision of two printed decimals."""
    return None if printed is None else round(printed / measure.factor, 4) + 0.0
