"""Detects seeds and replicates that change nothing: the metrics are equal for all of them."""

from collections.abc import Collection, Sequence

from skipstack.data.basis.counted import counted
from skipstack.search.ledger.events import Reported
from skipstack.search.statistics.rounding import alike
from skipstack.search.study.record.trial_record import TrialRecord
from skipstack.spaces.replicates import SEEDS_ALONE, Replicates

CURE = "one seed would say as much (--seeds 1, in Python seeds=1)"


def seeds_say_the_same(report: Reported, replicates: Replicates = SEEDS_ALONE) -> bool:
    """Whether each metric of a report is equal, up to rounding, for all seeds; with replicates, for all seeds of each
    replicate. False for a report without metrics.
    """
    return bool(report.metrics) and all(
        alike(lanes[place :: replicates.number])
        for lanes in report.metrics.values()
        for place in range(replicates.number)
    )


def replicates_say_the_same(report: Reported, replicates: Replicates) -> bool:
    """Whether each metric of a report has the same value for all calls. False without replicates."""
    return bool(replicates.name and report.metrics) and all(map(alike, report.metrics.values()))


def first_report(report: Reported, replicates: Replicates = SEEDS_ALONE) -> str:
    """Return a line for the user if all seeds or replicates agree in a study's first report; otherwise empty."""
    lanes = len(next(iter(report.metrics.values()), ()))
    if replicates_say_the_same(report, replicates):
        return (
            f"trial {report.trial} reported the same with {_each(replicates)}: if nothing in it depends on "
            f"{replicates.name}, {_one(replicates)}"
        )
    if seeds_say_the_same(report, replicates):
        return (
            f"trial {report.trial} reported the same with each of its {lanes // replicates.number} seeds: if nothing "
            f"in it is drawn from the seed, {CURE}"
        )
    return ""


def idle_seeds(trials: Collection[TrialRecord]) -> str:
    """Return a line for the user if all seeds or replicates agree in every scored trial; otherwise empty."""
    several = [trial for trial in trials if trial.best is not None and len(trial.seeds) > 1]
    which = "the only trial" if len(several) == 1 else f"all {counted(len(several), 'trial')}"
    if several and all(replicates_say_the_same(each, trial.replicates) for trial in several for each in _told(trial)):
        replicates = several[0].replicates
        return (
            f"{which} reported the same with {_each(replicates)}, so nothing shows how far chance reaches, and "
            f"{_one(replicates)}"
        )
    if several and all(seeds_say_the_same(each, trial.replicates) for trial in several for each in _told(trial)):
        return (
            f"{which} with several seeds reported the same with each of them, so nothing shows how far chance reaches, "
            f"and {CURE}"
        )
    return ""


def _told(trial: TrialRecord) -> Sequence[Reported]:
    """Return the reports of a trial. If its seeds race, return one report that joins the best reports of its groups."""
    return trial.reports if not trial.raced or trial.best is None else [trial.best]


def _each(replicates: Replicates) -> str:
    return f"each of its {replicates.counted(replicates.number)}"


def _one(replicates: Replicates) -> str:
    return f"one call would say as much (without replicates: {replicates.name})"
