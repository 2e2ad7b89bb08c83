"""Compares a study with a table of a paper: what rows gain over the base, and the rank correlation of scores."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from statistics import fmean

from pydantic import ValidationError

from skipstack.data.corpora.config import NamedCorpus, TokenVectors
from skipstack.data.tasks.measure import Measure
from skipstack.search.analysis.confirmation.confirmation import ConfirmedRow, RowToConfirm, confirm
from skipstack.search.analysis.confirmation.designs import why_not_by_design
from skipstack.search.analysis.confirmation.differences import Split
from skipstack.search.analysis.confirmation.papers import PaperRow, PaperTable
from skipstack.search.statistics.descriptive import rank_correlation
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.search.study.record.trial_record import TrialRecord
from skipstack.spaces.domains import Json
from skipstack.spaces.one_network import network_identity
from skipstack.spaces.paths import written
from skipstack.spaces.trees import Tree
from skipstack.spaces.trial import TrialConfig, as_network


@dataclass(frozen=True, kw_only=True, slots=True)
class ComparedRow:
    """A row of the paper beside our result for it. Scores and gains are those of ``data.tasks.measure``.

    ``paper_dev``, ``paper_test``: the paper's scores. ``paper_gain``: the difference between the paper's scores of this
    row and of its base row, on the split of the comparison. ``paper_precision``, ``paper_recall``: as printed for test;
    None if the paper prints none. ``precision``, ``recall``: our scores on test, as means over seeds; None if the paper
    prints none, or if ours are unknown. ``ours``: our result for the row, compared with our result for the base row.
    ``disagrees``: whether our gain is marked and has the opposite sign of the paper's.
    """

    paper_dev: float | None
    paper_test: float | None
    paper_gain: float | None
    paper_precision: float | None
    paper_recall: float | None
    precision: float | None
    recall: float | None
    ours: ConfirmedRow
    disagrees: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class PaperComparison:
    """The comparison of a study with a table of a paper.

    ``study``, ``corpus``: the study's name and the corpus of its base.
    ``table``, ``title``, ``note``: the table's full name, its title and a remark on it.
    ``split``: the split of gains and ranks, usually dev. It is test if the paper's base row has no dev score. It
    is also test if that row and all our complete trials (at least one) have test scores.
    ``rows``: the rows in the paper's order.
    ``shared``: the number of rows that have a score in the paper and a complete trial of ours with a score.
    ``correlation``: Spearman's rank correlation of the two scores over the ``shared`` rows.
    ``only_described``: the reason if our gains have no intervals; otherwise empty.
    ``same_test_set``: whether our test set is the paper's own, so that all intervals on test are over seeds alone.
    ``about``: the question that the study asks.
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
    same_test_set: bool = False
    about: str = ""


def compare(record: StudyRecord, name: str, table: PaperTable, *, randomise: bool = False) -> PaperComparison:
    """Compare a study with the table called ``name``. ``randomise``: as in ``confirm``.

    Our result for a row is the best trial whose network differs from that of the study's base by the row's values only.
    So other axes do not confound the comparison. The row's values are ``PaperRow.has``. If no scored trial has them,
    the values of ``otherwise`` replace theirs. If no scored trial has those either, our result is empty.

    Our gains have intervals if the study is a confirmation by design (``designs.py``). If our test set is the paper's
    own, both results are about the same sentences, which are then no source of chance: the intervals are over seeds
    alone.
    """
    base = as_network(record.study.space.base)
    same_test_set = isinstance(base.data.corpus, NamedCorpus) and base.data.corpus.name == table.test_set
    by_network: dict[str, TrialRecord] = {}
    for trial in record.ranked():
        kept = replace(trial, packed=None) if same_test_set else trial
        by_network.setdefault(network_identity(as_network(trial.config)), kept)
    given = {as_network(trial.config).data.vectors for trial in by_network.values()}
    files = {file for file in given if not isinstance(file, TokenVectors)}
    trials = [_trial(by_network, base, row, files) for row in table.rows]
    reference = _trial(by_network, base, table.base, files)
    split = _split(table, trials)
    only_described = why_not_by_design(record)
    asked = [
        RowToConfirm(
            label=row.label,
            over="" if row.base else table.base.label,
            trial=trial,
            reference=None if row.base else reference,
            is_reference=row.base,
        )
        for row, trial in zip(table.rows, trials, strict=True)
    ]
    ours = confirm(asked, split=split, only_described=only_described, randomise=randomise)
    rows = tuple(
        _row(row, table.base, trial, each, split, record.measure)
        for row, trial, each in zip(table.rows, trials, ours, strict=True)
    )
    pairs = [pair for row in rows if (pair := _pair(row, split)) is not None]
    return PaperComparison(
        study=record.study.title,
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
        same_test_set=same_test_set,
        about=record.study.about,
    )


def _split(table: PaperTable, trials: Sequence[TrialRecord | None]) -> Split:
    """Return the split of the comparison (see ``PaperComparison``). ``trials``: our trial of each row."""
    whole = [trial for trial in trials if trial is not None and trial.whole]
    if table.base.dev is None:
        return "test"
    return "test" if table.base.test is not None and whole and all(trial.test for trial in whole) else "dev"


def _trial(
    ranked: Mapping[str, TrialRecord], base: TrialConfig, row: PaperRow, files: Set[str | None]
) -> TrialRecord | None:
    """Return the best trial that has the network of the base with the row's values; None if there is none.

    ``ranked``: maps the identity of each network to its scored trial, the best trial first. ``files``: the files of
    pretrained vectors that the trials use. A row with pretrained vectors accepts any of these files.
    """
    if row.has is None:
        return None
    given: Set[str | None] = files - {None} if row.vectors else {None}
    own: list[dict[str, Json]] = [{}] if row.vectors is None else [{"data.vectors": file} for file in given]
    for has in (row.has, {**row.has, **row.otherwise}):
        asked = [_varied(base, {**has, **vectors}) for vectors in own]
        wanted = {network_identity(each) for each in asked if each is not None}
        for identity, trial in ranked.items():
            if identity in wanted:
                return trial
    return None


def _varied(base: TrialConfig, has: Mapping[str, Json]) -> TrialConfig | None:
    """Return the base with the values ``has``, which are given by path. None if the resulting config is invalid.

    For example, another depth does not fit a base that lists the sources of each layer, and a stack of another kind
    lacks some of the paths.
    """
    tree: Tree = base.model_dump(mode="json")
    try:
        for path, value in has.items():
            tree = written(tree, path, value)
        return TrialConfig.model_validate(tree)
    except (KeyError, TypeError, ValidationError):
        return None


def _row(
    row: PaperRow, base: PaperRow, trial: TrialRecord | None, ours: ConfirmedRow, split: Split, measure: Measure
) -> ComparedRow:
    printed, measured = (base.dev, row.dev) if split == "dev" else (base.test, row.test)
    in_paper = None if row.base or printed is None or measured is None else _score(measured - printed, measure)
    sign = int(ours.helps) - int(ours.harms)
    tested = {} if trial is None else trial.tested
    precision, recall = (
        fmean(tested[name]) if printed is not None and name in tested else None
        for name, printed in (("test_precision", row.precision), ("test_recall", row.recall))
    )
    return ComparedRow(
        paper_dev=_score(row.dev, measure),
        paper_test=_score(row.test, measure),
        paper_gain=in_paper,
        paper_precision=_score(row.precision, measure),
        paper_recall=_score(row.recall, measure),
        precision=precision,
        recall=recall,
        ours=ours,
        disagrees=in_paper is not None and in_paper * sign < 0,
    )


def _pair(row: ComparedRow, split: Split) -> tuple[float, float] | None:
    paper, ours = (row.paper_dev, row.ours.dev) if split == "dev" else (row.paper_test, row.ours.test)
    return None if paper is None or ours is None or not row.ours.whole else (paper, ours.value)


def _score(printed: float | None, measure: Measure) -> float | None:
    """Convert a figure as the paper prints it to a score, rounded to four decimals; None stays None."""
    return None if printed is None else round(printed / measure.factor, 4) + 0.0
