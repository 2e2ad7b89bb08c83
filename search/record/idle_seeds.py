"""Seeds that change nothing: a function that does not use its seed has the same scores with all of them."""

from collections.abc import Collection

from skipstack.data.basis.counted import counted
from skipstack.search.ledger.events import Reported
from skipstack.search.record.trial_record import TrialRecord
from skipstack.search.statistics.rounding import alike

CURE = "one seed would say as much (--seeds 1)"


def seeds_say_the_same(report: Reported) -> bool:
    """Whether all metrics of a report, which has several seeds, are the same for each of them, up to rounding."""
    return bool(report.metrics) and all(alike(lanes) for lanes in report.metrics.values())


def first_report(report: Reported) -> str:
    """A line about the first report of a study whose seeds say the same."""
    lanes = len(next(iter(report.metrics.values())))
    return (
        f"trial {report.trial} reported the same with each of its {lanes} seeds: if nothing in it is drawn from the "
        f"seed, {CURE}"
    )


def idle_seeds(trials: Collection[TrialRecord]) -> str:
    """A line about a study in which all trials with several seeds reported the same with each of them; else empty."""
    several = [trial for trial in trials if trial.best is not None and len(trial.seeds) > 1]
    if not several or not all(_idle(trial) for trial in several):
        return ""
    which = "the only trial" if len(several) == 1 else f"all {counted(len(several), 'trial')}"
    return (
        f"{which} with several seeds reported the same with each of them, so nothing shows how far chance reaches, and "
        f"{CURE}"
    )


def _idle(trial: TrialRecord) -> bool:
    if trial.raced:
        return trial.best is not None and seeds_say_the_same(trial.best)
    return all(seeds_say_the_same(report) for report in trial.reports)
