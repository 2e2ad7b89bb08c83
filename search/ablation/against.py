"""A study beside a table of a paper: row by row, the difference to the base in both, and how alike they rank."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from pydantic import ValidationError

from skipstack.data.tasks.measure import Measure
from skipstack.search.ablation.papers import PaperRow, PaperTable
from skipstack.search.statistics.spreads import Spread, paired_difference, rank_correlation
from skipstack.search.study.records.study_record import StudyRecord
from skipstack.search.study.records.trial_record import TrialRecord
from skipstack.spaces.domains import Json
from skipstack.spaces.paths import Tree, written
from skipstack.spaces.trial import TrialConfig

Split = Literal["dev", "test"]


@dataclass(frozen=True, kw_only=True, slots=True)
class ComparedRow:
    """A row of the paper and the trial that stands for it. Scores and differences are those of ``data.tasks.measure``.

    ``difference`` is to the trial of the paper's base row, seed by seed. Both are measured on the split of the
    comparison, and None for the base itself and where one of the two is missing. ``disagrees``: ours has
    the other sign than the paper's and lies further from 0 than its standard error. ``state``: that of the trial
    (``TrialRecord.state``); only what is ``whole`` has a difference, since it compares equal trainings.
    """

    label: str
    is_base: bool
    paper_dev: float | None
    paper_test: float | None
    paper_difference: float | None
    trial: int | None = None
    state: str | None = None
    whole: bool
    seeds: tuple[int, ...] = ()
    dev: Spread | None = None
    test: Spread | None = None
    difference: Spread | None = None
    disagrees: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Comparison:
    """The rows in the paper's order.

    ``split``: on which ranks and differences are measured, dev where the paper has it. ``shared``: rows that have
    a score there in both, ours of a whole trial. ``correlation``: Spearman's, of the two scores over these rows.
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


def compare(record: StudyRecord, name: str, table: PaperTable) -> Comparison:
    """The study beside the table called ``name``.

    A row is represented by the trial whose config is the study's base with what the row has, and nothing else: other
    axes do not blur what the row is about. Where there is no such trial, or it has no score, the row has none.
    """
    split: Split = "dev" if table.base.dev is not None else "test"
    base = record.study.space.base
    by_identity = {trial.config.identity: trial for trial in record.ranked()}
    reference = _trial(by_identity, base, table.base)
    measure = record.measure
    rows = tuple(_row(row, _trial(by_identity, base, row), table.base, reference, split, measure) for row in table.rows)
    pairs = [pair for row in rows if (pair := _pair(row, split)) is not None]
    corpus = base.data.corpus
    return Comparison(
        study=record.study.name,
        corpus=corpus.name if corpus.kind == "named" else corpus.kind,
        table=name,
        title=table.title,
        note=table.note,
        measure=measure,
        split=split,
        rows=rows,
        shared=len(pairs),
        correlation=rank_correlation([paper for paper, _ in pairs], [ours for _, ours in pairs]),
    )


def _trial(trials: Mapping[str, TrialRecord], base: TrialConfig, row: PaperRow) -> TrialRecord | None:
    """The trial of the base with what the row has."""
    config = None if row.has is None else _varied(base, row.has)
    return None if config is None else trials.get(config.identity)


def _varied(base: TrialConfig, has: Mapping[str, Json]) -> TrialConfig | None:
    """The base with these values; None where they do not fit it, such as another depth under a list of sources."""
    tree: Tree = base.model_dump(mode="json")
    for path, value in has.items():
        tree = written(tree, path, value)
    try:
        return TrialConfig.model_validate(tree)
    except ValidationError:
        return None


def _row(
    row: PaperRow,
    trial: TrialRecord | None,
    base: PaperRow,
    reference: TrialRecord | None,
    split: Split,
    measure: Measure,
) -> ComparedRow:
    printed, measured = (base.dev, row.dev) if split == "dev" else (base.test, row.test)
    in_paper = None if row.base or printed is None or measured is None else _score(measured - printed, measure)
    ours = _difference(trial, reference, split)
    opposite = in_paper is not None and ours is not None and in_paper * ours.mean < 0
    dev, test = (trial.dev, trial.test) if trial else ({}, {})
    return ComparedRow(
        label=row.label,
        is_base=row.base,
        paper_dev=_score(row.dev, measure),
        paper_test=_score(row.test, measure),
        paper_difference=in_paper,
        trial=None if trial is None else trial.number,
        state=None if trial is None else trial.state,
        whole=trial is not None and trial.whole,
        seeds=() if trial is None else trial.seeds,
        dev=Spread(tuple(dev.values())) if dev else None,
        test=Spread(tuple(test.values())) if test else None,
        difference=ours,
        disagrees=opposite and ours is not None and ours.exceeds_error,
    )


def _difference(trial: TrialRecord | None, reference: TrialRecord | None, split: Split) -> Spread | None:
    """Ours, between two trials that were trained to their ends."""
    if trial is None or reference is None or trial is reference or not (trial.whole and reference.whole):
        return None
    return paired_difference(_by_seed(trial, split), _by_seed(reference, split))


def _by_seed(trial: TrialRecord, split: Split) -> dict[int, float]:
    return trial.dev if split == "dev" else trial.test


def _pair(row: ComparedRow, split: Split) -> tuple[float, float] | None:
    paper, ours = (row.paper_dev, row.dev) if split == "dev" else (row.paper_test, row.test)
    return None if paper is None or ours is None or not row.whole else (paper, ours.mean)


def _score(printed: float | None, measure: Measure) -> float | None:
    """What papers print, as a score, with the two decimals that they print and no others."""
    return None if printed is None else round(printed / measure.factor, 4) + 0.0
