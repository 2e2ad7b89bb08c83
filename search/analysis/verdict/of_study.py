"""The verdict on a study, from its search and its confirmed tables.

The verdict uses the strongest evidence: a finished confirmed table (``decisive_table``) or, without one, the search.
"""

from collections import Counter
from collections.abc import Sequence

from skipstack.search.analysis.ablation.labels import label
from skipstack.search.analysis.ablation.options import repeating
from skipstack.search.analysis.ablation.rows import changed
from skipstack.search.analysis.confirmation.changes import base_of
from skipstack.search.analysis.confirmation.confirmation import ConfirmedRow
from skipstack.search.analysis.confirmation.designs import Confirmation
from skipstack.search.analysis.exploration.exploration import Exploration
from skipstack.search.analysis.exploration.table import BASE, BASELINE, BEST, ValueRow
from skipstack.search.analysis.verdict.verdicts import (
    Explored,
    Failed,
    Other,
    Others,
    RowsTested,
    Stop,
    Unfinished,
    Verdict,
    WinnerChange,
    WinnerTested,
)
from skipstack.search.ledger.events import Role
from skipstack.search.statistics.descriptive import mean
from skipstack.search.statistics.rounding import alike
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.search.study.study_size import study_size
from skipstack.spaces.short_names import names_by_path, value_name
from skipstack.spaces.side_effects import change_name
from skipstack.spaces.trial import CORPUS

Tables = Sequence[tuple[StudyRecord, Confirmation]]
"""Tables of rows that were fixed in advance, each with the record of its trials: the record of the study or of one of
its ablations.
"""


def verdict(seen: Exploration, tables: Tables = ()) -> Verdict:
    """Return the verdict on a study. ``seen``: the analysis of its search; ``tables``: its tables of rows."""
    if (decisive := decisive_table(tables)) is not None:
        return of_table(*tables[decisive])
    ended = sum(count for end, count in seen.ends.items() if end not in ("running", "paused"))
    unfinished = next((table.study for own, table in tables if own.plan is not None and not own.finished), "")
    best = _explored(seen, unfinished)
    if not seen.finished:
        asked = study_size(seen.config, seen.space)
        return Unfinished(ended=ended, asked=max(asked, len(seen.seen.trials)), best=best)
    return _failed(seen) if best is None else best


def decisive_table(tables: Tables) -> int | None:
    """Return the index of the table that the verdict is about; None if no table qualifies.

    Only tables of finished records qualify. The first choice is the last ablation with several seeds. The second choice
    is the study, if its rows were fixed in advance and have several seeds. The third choice is the last ablation with
    one seed, which has no intervals on a single corpus.
    """
    # In an unfinished record, further rows will join the family and change the corrected p values.
    finished = [place for place, (own, _) in enumerate(tables) if own.finished]
    ablations = [place for place in finished if tables[place][0].plan is not None]
    designs = [place for place in finished if tables[place][0].plan is None and tables[place][1].confirmed]
    confirmed = [place for place in ablations if tables[place][1].confirmed]
    return next((places[-1] for places in (confirmed, designs, ablations) if places), None)


def of_table(record: StudyRecord, table: Confirmation) -> Verdict:
    """Return the verdict of a single confirmed table. ``record``: the record of the table's trials."""
    if record.plan is not None:
        return _of_ablation(record, table)
    known = [row for row in table.rows if row.gain is not None and row.p is not None]
    compared = sum(not row.is_reference for row in table.rows)
    return RowsTested(
        measure=table.measure,
        split=table.split,
        rows=tuple(known),
        untold=compared - len(known),
        base={axis: value_name(record.space.domains[axis], value) for axis, value in base_of(record.space).items()},
    )


def _of_ablation(record: StudyRecord, found: Confirmation) -> WinnerTested:
    """Return the verdict of an ablation: on the best config that the search found (the first winner), and on each axis
    on which this config differs from the base.

    ``record``: the ablation's own record. ``found``: its confirmed table. With several corpora, the verdict uses the
    means over them; if no row has such a mean, it uses the last corpus.
    """
    planned = record.plan
    assert planned is not None, "an ablation begins with its rows"
    corpus = found.rows[-1].corpus
    rows = {(row.section, row.label): row for row in found.rows if row.corpus == corpus}

    def measured(role: Role) -> ConfirmedRow:
        named = label(record.space, planned, role)
        return rows.get((named.section, named.name), _unknown("not measured on every corpus"))

    row, first = next((row, each) for row in planned.rows for each in row.roles if each.kind == "winner")
    winner, point = _unknown("it is the base") if row.roles[0].kind == "base" else measured(first), row.point
    changes: dict[str, tuple[Role, ConfirmedRow]] = {}
    alone: dict[str, ConfirmedRow] = {}
    others: list[Other] = []
    for row in planned.rows:
        first_kind = row.roles[0].kind
        told = first_kind in ("base", "winner", "without")  # these rows are in other fields of the verdict
        for role in row.roles:
            own = role.winner == first.winner
            if role.kind == "beside" and row.roles[0] == role:
                others.append(Other(kind="search", row=measured(role)))
            if role.kind == "without_several" and own and not told:
                others.append(Other(kind="without", row=measured(role)))
            if role.kind == "without" and own and role.axis is not None:
                # Without its only change, the winner is the base.
                changes[role.axis] = role, winner if first_kind == "base" else measured(role)
            if role.kind == "alone" and own and first_kind in ("without", "alone") and role.axis is not None:
                alone[role.axis] = measured(role)
    short, differing = names_by_path(record.space.domains), changed(record.space, point)
    return WinnerTested(
        measure=found.measure,
        split=found.split,
        corpus=corpus if len({row.corpus for row in found.rows}) > 1 else "",
        winner=winner,
        changes=tuple(
            WinnerChange(
                axis=axis,
                short=short[axis],
                value=point[axis],
                called=change_name(record.space, axis, point[axis]),
                name=label(record.space, planned, role).name,
                row=row,
                alone=alone.get(axis),
            )
            for axis, (role, row) in changes.items()
        ),
        others=tuple(others),
        kept=tuple(short[axis] for axis in short if axis not in (*differing, CORPUS)) if changes else (),
        left_out={
            short[left.role.axis]: left.why
            for left in planned.left_out
            if left.role.kind == "without" and left.role.winner == first.winner and left.role.axis in short
        },
        seeds_to_show=found.seeds_to_show,
        repeated=repeating(planned),
    )


def _unknown(why: str) -> ConfirmedRow:
    return ConfirmedRow(label="", section="", is_reference=False, why=why)


def _explored(seen: Exploration, ablation: str) -> Explored | None:
    """Return the verdict on the best scored trial, if any. ``ablation``: an unfinished ablation's name, or empty."""
    rows = {row.axis: row for row in seen.rows if row.axis in (BASELINE, BASE, BEST)}
    best, base, baseline = rows.get(BEST), rows.get(BASE), rows.get(BASELINE)
    if best is None or best.selected is None:
        return None
    others = [number for number in seen.seen.ranked if number != best.selected]
    seeds = seen.seen.trials["seeds"]
    fewer = [number for number in others if seen.config.search.seeds_race and seeds[number] < seeds[best.selected]]
    others = others[: len(others) - len(fewer)]  # those with fewer seeds come last
    cut = [number for number in others if not seen.seen.whole[number]]
    trained = seen.seen.trials.loc[cut, "epochs"]
    return Explored(
        measure=seen.measure,
        trial=best.selected,
        is_base=best.is_base,
        score=mean(best.dev),
        whole=best.whole,
        stop=_stop(seen, best),
        others=Others(
            whole=len(others) - len(cut),
            cut=len(cut),
            least=int(trained.min()) if cut else 0,
            most=int(trained.max()) if cut else 0,
            fewer=len(fewer),
        ),
        epochs=seen.base.epochs,
        base=None if base is None else mean(base.dev),
        base_whole=base is not None and base.whole,
        base_removed_by=(seen.space.base_removed_by or "") if base is None else "",
        baseline=None if baseline is None or not baseline.dev else mean(baseline.dev),
        exact=_exact(seen),
        ablation=ablation,
        imported=seen.imported,
    )


def _stop(seen: Exploration, best: ValueRow) -> Stop | None:
    """Return how the best trial was stopped; None if it was not stopped, or if its last epoch is its best."""
    if best.state != "stopped" or best.whole or best.epoch is None:
        return None
    curves = seen.curves()
    own = curves[curves["trial"] == best.selected]
    last = int(own["epoch"].max())
    if last == best.epoch:
        return None
    return Stop(epoch=last, score=float(own.loc[own["epoch"] == last, "score"].iloc[0]), best_epoch=best.epoch)


def _failed(seen: Exploration) -> Failed:
    messages = Counter(message for message in seen.seen.trials["message"] if message)
    message, times = next(iter(messages.most_common(1)), ("", 0))
    return Failed(ends=seen.ends, message=message, times=times)


def _exact(seen: Exploration) -> bool:
    """Whether there are trials with several seeds, and in each of these trials all seeds have the same score up to
    rounding.
    """
    by_trial = [own.tolist() for _, own in seen.seen.seeds.groupby("trial")["dev"]]
    several = [own for own in by_trial if len(own) > 1]
    return bool(several) and all(map(alike, several))
