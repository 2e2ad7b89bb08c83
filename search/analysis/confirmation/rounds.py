"""Plans the next part of an ablation that has several parts: the next search that tunes a row (an arm), the comparison
of all tuned rows, or the next round of seeds.

A row is decided once it is marked, or once it is unlikely to be marked with the largest number of seeds (``HOPELESS``).
It then gets no further seeds, and neither does a row whose trial, or whose reference's trial, failed in a round. The
other rows are open: the next round trains them and their references with as many new seeds as the next look needs.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from skipstack.search.analysis.ablation.experiment import Experiment, arm_of, round_after, tuned_experiment
from skipstack.search.analysis.confirmation.ablated import compared_rows
from skipstack.search.analysis.confirmation.confirmation import ConfirmedRow, RowToConfirm, confirm
from skipstack.search.analysis.confirmation.designs import split_of
from skipstack.search.ledger.events import AblationPlanned
from skipstack.search.statistics.sequential import HOPELESS, chance_of_mark
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.search.study.record.whole_ablations import whole_ablations

Standing = Literal["marked", "hopeless", "open", "all seeds", "no interval"]


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision whether a row gets further seeds.

    ``standing``: ``open`` if it gets further seeds; otherwise the reason why not. ``seeds``: the number of its seeds so
    far. ``chance``: the chance that it would be marked at the last look, with the largest number of seeds; known only
    for open and hopeless rows.
    """

    standing: Standing
    seeds: int
    chance: float | None = None


def next_part(record: StudyRecord, *, time: float) -> Experiment | None:
    """Plan the part that follows the last part so far of a study's last ablation: the search of the next arm, the
    comparison of all arms, or the next round of seeds. None if that last part is not finished, or if no part follows
    it. ``time``: the time of the planning, in Unix seconds.
    """
    last = record.ablations.get(max(record.ablations, default=0))
    if last is None or last.plan is None or not last.finished:
        return None
    plan = last.plan
    if plan.tuning is not None and plan.arm is not None:
        further = plan.arm + 1 < len(plan.tuning.arms)
        return arm_of(record, plan, plan.arm + 1, time=time) if further else tuned_experiment(record, plan, time=time)
    return _next_round(record, plan, time)


def _next_round(record: StudyRecord, plan: AblationPlanned, time: float) -> Experiment | None:
    """Plan the next round of seeds after an ablation with this ``plan``. None if it has no rounds, or no open row."""
    number = plan.continues or max(record.ablations)
    whole = whole_ablations(record)[number]
    assert whole.plan is not None, "it has rounds"
    if not whole.plan.looks:
        return None
    wanted = {
        row.number
        for asked, _, decision in decisions(whole)
        if decision.standing == "open"
        for row in (asked.trial, asked.reference)
        if row is not None
    }
    if not wanted:
        return None
    points = [trial.point for trial in whole.trials.values() if trial.number in wanted]
    seeds = max(len(trial.seeds) for trial in whole.trials.values())
    following = next(look for look in whole.plan.looks if look > seeds)
    return round_after(record, whole, number, points, range(seeds, following), time=time)


def decisions(whole: StudyRecord) -> Iterator[tuple[RowToConfirm, ConfirmedRow, Decision]]:
    """Yield each compared row of an ablation, its result, and the decision on it.

    ``whole``: the record of the ablation with all its parts (``whole_ablations``).
    """
    asked = compared_rows(whole)
    found = confirm(asked, split=split_of(whole))
    most = _seeds_asked(whole)
    for row, result in zip(asked, found, strict=True):
        if not row.is_reference:
            yield row, result, _decided(row, result, most)


def _seeds_asked(whole: StudyRecord) -> int:
    """Return the number of seeds that the last round so far was to reach. Its trials may have failed: no later round
    would count for them (``whole_ablations``).
    """
    most = max((len(trial.seeds) for trial in whole.trials.values()), default=0)
    if whole.plan is None or not whole.plan.looks:
        return most
    finished = sum(each.finished for each in whole.rounds)
    return max(most, whole.plan.looks[: finished + 1][-1])


def _decided(row: RowToConfirm, result: ConfirmedRow, most: int) -> Decision:
    """Decide on a row. ``most``: the number of seeds that the last round so far was to reach. A row with fewer seeds
    was decided in an earlier round, or its seeds of a round failed.
    """
    gain = result.gain
    if gain is None or not gain.parts or result.level is None:
        return Decision("no interval", 0 if gain is None else gain.seeds)
    if result.marked:
        return Decision("marked", gain.seeds)
    last = row.looks[-1]
    if gain.seeds >= last:
        return Decision("all seeds", gain.seeds)
    level = result.level * row.spending[-1]
    value = np.asarray(gain.value)
    chance = float(chance_of_mark(value, gain.parts, seeds=gain.seeds, most=last, level=level))
    further = chance >= HOPELESS and gain.seeds == most
    return Decision("open" if further else "hopeless", gain.seeds, chance)
