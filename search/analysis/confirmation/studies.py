"""Compares several studies: tests the rows that more than one study confirmed, and describes the studies' searches."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import pandas as pd

from skipstack.data.basis.errors import UserError
from skipstack.data.basis.frozen import canonical_json
from skipstack.data.tasks.measure import Measure
from skipstack.search.analysis.confirmation.ablated import ablated
from skipstack.search.analysis.confirmation.confirmation import ConfirmedRow, RowToConfirm, confirm
from skipstack.search.analysis.confirmation.designs import by_design, split_of
from skipstack.search.analysis.confirmation.differences import Split
from skipstack.search.analysis.exploration.budgets import expected_best
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.search.study.record.trial_record import TrialRecord
from skipstack.search.study.record.whole_ablations import whole_ablations
from skipstack.spaces.changes import changes, chosen
from skipstack.spaces.function import is_imported
from skipstack.spaces.paths import overlap, present
from skipstack.spaces.short_names import short_text
from skipstack.spaces.space import Point
from skipstack.spaces.subject import Subject
from skipstack.spaces.trees import replaced
from skipstack.spaces.trial import CORPUS

WINNER = "the best config of each, as its own ablation found it"
"""The heading of the section that compares the studies' winners (the best config of each search), whose configs may
differ.
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchSummary:
    """A summary of a study's search. Scores are those of ``data.tasks.measure``, on dev.

    ``trials``, ``epochs``: the number of trials, and of their epochs in total.
    ``best``, ``seeds``: the best score and the number of seeds that it is a mean over; None and 0 without a score.
    ``trials_alike``: the largest number of trials in ``Studies.budgets`` that fits the epochs of the cheapest study.
    ``alike``: the expected best score of that many trials; None if not even one trial fits.
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
    """The comparison of several studies on one corpus.

    ``explored``: summaries of the studies' searches.
    ``budgets``: the frames ``expected_best`` of all studies (``search.analysis.exploration.budgets``), with the study's
    name in a further column ``study``.
    ``rows``: the confirmed rows, in sections: one for each config that more than one study confirmed, and one for the
    winners. A section has a row for each of its studies, compared with the section's first row. All rows are one
    family.
    ``split``: the split on which rows are compared.
    ``bases``: for each study whose base differs from that of the first study, the difference in words. Bases of studies
    from another tool are unknown.
    ``unknown``: the studies read from another tool. Which function they called is not known.
    """

    corpus: str
    measure: Measure
    explored: tuple[SearchSummary, ...]
    budgets: pd.DataFrame
    rows: tuple[ConfirmedRow, ...]
    split: Split = "test"
    bases: Mapping[str, str] = field(default_factory=dict)
    unknown: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Confirmed:
    """A confirmed trial of a study.

    ``name``: its difference from the study's base in words. ``config``: the JSON of its config without the corpus.
    """

    name: str
    config: str
    trial: TrialRecord


def compare_studies(records: Mapping[str, StudyRecord]) -> Studies:
    """Compare at least two studies. ``records``: their records by name.

    Raises UserError if their measures, corpora or functions differ. A study read from another tool may have called any
    function.
    """
    unknown = tuple(name for name, record in records.items() if is_imported(record.study.space.base))
    first = next((name for name in records if name not in unknown), next(iter(records)))
    one = records[first]
    fingerprint = _fingerprint(one)
    split: Split = "test" if all(split_of(each) == "test" for each in records.values()) else "dev"
    for name, record in records.items():
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
        rows=confirm(rows, split=split),
        split=split,
        bases=dict(_bases(one, {name: each for name, each in records.items() if name not in unknown})),
        unknown=unknown,
    )


def _fingerprint(record: StudyRecord) -> str:
    return record.fingerprint_of(record.study.space.base)


def _check(first: str, ours: StudyRecord, name: str, theirs: StudyRecord) -> None:
    """Raise UserError unless two studies have the same measure, sentences and splits, or the same function and
    replicates.
    """
    if theirs.measure != ours.measure:
        raise UserError(f"{name}: got scores in {theirs.measure.name} (allowed: {ours.measure.name}, as in {first})")
    if is_imported(theirs.study.space.base):
        return
    if (got := _fingerprint(theirs)) != (wanted := _fingerprint(ours)):
        about = "a corpus" if ours.study.space.base.keeps_weights else "a function"
        raise UserError(
            f"{name}: got {about} of fingerprint {got} (allowed: {wanted}, as in {first}: scores on other sentences, "
            "or another division into train, dev and test, say nothing of these)"
        )
    if theirs.study.search.repeated != ours.study.search.repeated:
        got, wanted = (canonical_json(each.study.search.replicates) for each in (theirs, ours))
        raise UserError(f"{name}: got search.replicates {got} (allowed: {wanted}, as in {first})")


def _confirmed(record: StudyRecord, fingerprint: str) -> Iterator[_Confirmed]:
    """Yield the confirmed, fully trained rows of a study and its ablations on the corpus with this ``fingerprint``."""
    designed = by_design(record)
    tables = [] if designed is None else [(record, designed)]
    tables += [(each, ablated(each)) for each in whole_ablations(record).values()]
    for owner, table in tables:
        for row in table.rows if table.confirmed else ():
            trial = None if row.own is None else owner.trials[row.own]
            if trial is not None and trial.whole and owner.fingerprint_of(trial.config) == fingerprint:
                yield _Confirmed(_named(trial.config, record.study.space.base), _text(trial.config), trial)


def _bases(first: StudyRecord, records: Mapping[str, StudyRecord]) -> Iterator[tuple[str, str]]:
    """Yield the name of each study whose base differs from that of the ``first``, and the difference in words."""
    for name, record in records.items():
        if _text(record.study.space.base) != _text(first.study.space.base):
            yield name, _named(record.study.space.base, first.study.space.base)


def _named(config: Subject, base: Subject) -> str:
    """Describe the values in which a config differs from its study's base, apart from the corpus; ``base`` if none."""
    changed = chosen(changes(config, base), config)
    said = (f"{path}={short_text(value)}" for path, value in changed.items() if not overlap(path, CORPUS))
    return ", ".join(said) or "base"


def _text(config: Subject) -> str:
    """Return the JSON of a config without its corpus, since the corpus's path may differ between studies."""
    whole = config.model_dump(mode="json")
    return canonical_json(replaced(whole, CORPUS.split("."), None) if present(whole, CORPUS) else whole)


def _rows(confirmed: Mapping[str, Mapping[str, _Confirmed]]) -> Iterator[RowToConfirm]:
    """Yield a section of rows for each config that several studies have. ``confirmed``: the trials of each study."""
    for config in dict.fromkeys(config for found in confirmed.values() for config in found):
        having = {name: found[config] for name, found in confirmed.items() if config in found}
        if len(having) > 1:
            named = next(iter(having.values())).name
            yield from _section(named, {name: each.trial for name, each in having.items()})


def _section(named: str, trials: Mapping[str, TrialRecord]) -> list[RowToConfirm]:
    """Return the rows of a section. ``trials``: a trial of each study. All are compared with the first trial."""
    first, reference = next(iter(trials.items()))
    return [
        RowToConfirm(
            label=name,
            over="" if trial is reference else first,
            section=named,
            trial=trial,
            reference=None if trial is reference else reference,
            is_reference=trial is reference,
            same_sentences=True,
        )
        for name, trial in trials.items()
    ]


def _winner(record: StudyRecord, fingerprint: str) -> TrialRecord | None:
    """Return the fully trained trial of the winner (the best config of the search) in the latest ablation with such a
    trial; None if no ablation has one.

    Only trials on the corpus with this ``fingerprint`` count. A base that no config beat is not a winner.
    """
    for each in reversed(list(whole_ablations(record).values())):
        if each.plan is None:
            continue
        best = each.plan.winners[:1]  # empty in a ledger of version 0.2.0
        first = [(row.roles[0], row.point) for row in each.plan.rows]
        winners = [point for role, point in first if role.kind == "winner" and (not best or role.winner in best)]
        wanted = [_without_corpus(point) for point in winners[:1]]
        for trial in each.trials.values():
            here = each.fingerprint_of(trial.config) == fingerprint
            if trial.whole and here and _without_corpus(trial.point) in wanted:
                return trial
    return None


def _without_corpus(point: Point) -> str:
    return canonical_json({path: value for path, value in point.items() if path != CORPUS})


def _budgets(record: StudyRecord) -> pd.DataFrame:
    scores = [trial.score for trial in record.ranked() if trial.score is not None]
    return expected_best([] if record.study.search.seeds_race else scores, _epochs(record))


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
