"""Compares several studies: rows confirmed in more than one are tested, their searches are only described."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pandas as pd

from skipstack.data.basis.errors import UserError
from skipstack.data.basis.frozen import canonical_json
from skipstack.data.tasks.measure import Measure
from skipstack.search.analysis.confirmation.ablated import ablated
from skipstack.search.analysis.confirmation.confirmation import ConfirmedRow, RowToConfirm, confirm
from skipstack.search.analysis.confirmation.designs import by_design, split_of
from skipstack.search.analysis.confirmation.differences import Split
from skipstack.search.analysis.exploration.budgets import expected_best
from skipstack.search.study.record.domain_parts import short_text
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.search.study.record.trial_record import TrialRecord
from skipstack.spaces.changes import changes, chosen
from skipstack.spaces.paths import overlap, present, replaced
from skipstack.spaces.subject import Subject
from skipstack.spaces.trial import CORPUS

WINNER = "the best config of each, as its own ablation found it"
"""The heading of the section of winners, whose configs may differ."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchSummary:
    """A summary of a study's search. Scores are those of ``data.tasks.measure``, on dev.

    ``best``: the best score, a mean over ``seeds``; None without a score. ``alike``: the expected best score of
    ``trials_alike`` trials, as many as fit into the epochs of the cheapest study.
    """

    study: str
    trials: int
    epochs: int
    seeds: int
    best: float | None
    trials_alike: int
    alike: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Studies:
    """Several studies on one corpus.

    ``rows``: a section for each config that more than one study confirmed, and one for the best configs; a section has
    a row for each study with that config, compared with the first of them. All rows are one family. ``budgets``: the
    expected best of a part of each study's trials (``search.analysis.exploration.budgets``), with a column study.
    ``split``: on which rows are compared.
    """

    corpus: str
    measure: Measure
    explored: tuple[SearchSummary, ...]
    budgets: pd.DataFrame
    rows: tuple[ConfirmedRow, ...]
    split: Split = "test"


@dataclass(frozen=True, slots=True)
class _Confirmed:
    """A confirmed trial: its label in its study, and its config without the path of the corpus."""

    name: str
    config: str
    trial: TrialRecord


def compare_studies(records: Mapping[str, StudyRecord], *, randomise: bool = False) -> Studies:
    """Compare at least two studies, given by their names. Raises UserError if they are not comparable."""
    (first, one), *others = records.items()
    fingerprint = _fingerprint(one)
    split: Split = "test" if all(split_of(each) == "test" for each in records.values()) else "dev"
    for name, record in others:
        _check(first, one, name, record)
    confirmed = {name: list(_confirmed(record, fingerprint)) for name, record in records.items()}
    rows = [*_rows({name: {each.config: each for each in found} for name, found in confirmed.items()})]
    winners = {name: trial for name, record in records.items() if (trial := _winner(record, fingerprint)) is not None}
    rows += _section(WINNER, winners) if len(winners) > 1 else []
    budgets = {name: _budgets(record) for name, record in records.items()}
    return Studies(
        corpus=one.study.space.base.title,
        measure=one.measure,
        explored=tuple(_explored(records, budgets)),
        budgets=pd.concat([each.assign(study=name) for name, each in budgets.items()], ignore_index=True),
        rows=confirm(rows, split=split, randomise=randomise),
        split=split,
    )


def _fingerprint(record: StudyRecord) -> str:
    return record.fingerprint_of(record.study.space.base)


def _check(first: str, ours: StudyRecord, name: str, theirs: StudyRecord) -> None:
    """Raise UserError unless both have the same measure, on the same sentences and splits or of the same function."""
    if theirs.measure != ours.measure:
        raise UserError(f"{name}: got scores in {theirs.measure.name} (allowed: {ours.measure.name}, as in {first})")
    if (got := _fingerprint(theirs)) != (wanted := _fingerprint(ours)):
        about = "a corpus" if ours.study.space.base.keeps_weights else "a function"
        raise UserError(
            f"{name}: got {about} of fingerprint {got} (allowed: {wanted}, as in {first}: scores on other sentences, "
            "or another division into train, dev and test, say nothing of these)"
        )


def _confirmed(record: StudyRecord, fingerprint: str) -> Iterator[_Confirmed]:
    """The whole trials of a study that are confirmed rows, on the corpus with this fingerprint."""
    designed = by_design(record)
    tables = [] if designed is None else [(record, designed)]
    tables += [(each, ablated(each)) for each in record.ablations.values()]
    for owner, table in tables:
        for row in table.rows if table.confirmed else ():
            trial = None if row.trial is None else owner.trials[row.trial]
            if trial is not None and trial.whole and owner.fingerprint_of(trial.config) == fingerprint:
                yield _Confirmed(_named(trial.config, record.study.space.base), _text(trial.config), trial)


def _named(config: Subject, base: Subject) -> str:
    """The values in which a config differs from the base of its study, except for its corpus."""
    changed = chosen(changes(config, base), config)
    said = (f"{path}={short_text(value)}" for path, value in changed.items() if not overlap(path, CORPUS))
    return ", ".join(said) or "base"


def _text(config: Subject) -> str:
    """The JSON of a config without its corpus, whose path differs between studies."""
    whole = config.model_dump(mode="json")
    return canonical_json(replaced(whole, CORPUS.split("."), None) if present(whole, CORPUS) else whole)


def _rows(confirmed: Mapping[str, Mapping[str, _Confirmed]]) -> Iterator[RowToConfirm]:
    """A section for each config that more than one study has."""
    for config in dict.fromkeys(config for found in confirmed.values() for config in found):
        having = {name: found[config] for name, found in confirmed.items() if config in found}
        if len(having) > 1:
            named = next(iter(having.values())).name
            yield from _section(named, {name: each.trial for name, each in having.items()})


def _section(named: str, trials: Mapping[str, TrialRecord]) -> list[RowToConfirm]:
    """The rows of a section: the trials of several studies, compared with the first."""
    reference = next(iter(trials.values()))
    return [
        RowToConfirm(
            label=name,
            section=named,
            trial=trial,
            reference=None if trial is reference else reference,
            is_reference=trial is reference,
            same_sentences=True,
        )
        for name, trial in trials.items()
    ]


def _winner(record: StudyRecord, fingerprint: str) -> TrialRecord | None:
    """The winner's trial in the latest ablation of a study, on this corpus.

    None without an ablation, and if nothing beat the base.
    """
    for each in reversed(list(record.ablations.values())):
        rows = each.plan.rows if each.plan is not None else ()
        point = next((row.point for row in rows if row.roles[0].kind == "winner"), None)
        for trial in each.trials.values() if point is not None else ():
            its = {path: trial.point[path] for path in trial.point if path != CORPUS}
            wanted = {path: value for path, value in (point or {}).items() if path != CORPUS}
            here = each.fingerprint_of(trial.config) == fingerprint
            if trial.whole and here and canonical_json(its) == canonical_json(wanted):
                return trial
    return None


def _budgets(record: StudyRecord) -> pd.DataFrame:
    return expected_best([trial.score for trial in record.ranked() if trial.score is not None], _epochs(record))


def _epochs(record: StudyRecord) -> int:
    return sum(trial.epochs for trial in record.trials.values())


def _explored(records: Mapping[str, StudyRecord], budgets: Mapping[str, pd.DataFrame]) -> Iterator[SearchSummary]:
    least = min(map(_epochs, records.values()))
    for name, record in records.items():
        ranked = record.ranked()
        alike = budgets[name][budgets[name]["epochs"] <= least]
        yield SearchSummary(
            study=name,
            trials=len(record.trials),
            epochs=_epochs(record),
            seeds=len(ranked[0].seeds) if ranked else 0,
            best=ranked[0].score if ranked else None,
            trials_alike=int(alike["trials"].iloc[-1]) if len(alike) else 0,
            alike=float(alike["expected_best"].iloc[-1]) if len(alike) else None,
        )
