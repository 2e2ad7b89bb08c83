"""Checks that an event may come next in a record. An untrusted ledger may have lines that are valid by themselves but
contradict each other.
"""

from collections.abc import Mapping
from typing import Protocol, assert_never

from pydantic import ValidationError

from skipstack.data.basis.errors import UserError
from skipstack.data.basis.explain import shown
from skipstack.data.tasks.measure import Measure
from skipstack.search.ledger.events import (
    Ablated,
    AblationPlanned,
    Begun,
    CorpusPrepared,
    Decided,
    Ended,
    Event,
    Extended,
    Finished,
    Interrupted,
    Measuring,
    Metrics,
    Noted,
    Placed,
    Promoted,
    Proposed,
    Renamed,
    Reported,
    Resumed,
    Retried,
    Reused,
    Shortened,
    Started,
    StudyOpened,
    Suggested,
    Tested,
    Untested,
    Used,
    WarmStarted,
)
from skipstack.search.study.config import MOST_TRIALS, StudyConfig
from skipstack.search.study.record.trial_record import TrialRecord
from skipstack.spaces.domains import Json
from skipstack.spaces.space import Space


class Past(Protocol):
    """The part of the study's record so far that the checks need (``StudyRecord`` in ``study_record.py``)."""

    opened: StudyOpened | None
    trials: dict[int, TrialRecord]

    @property
    def study(self) -> StudyConfig:
        """The config of the study."""

    @property
    def space(self) -> Space:
        """The space that the study searches."""

    @property
    def measure(self) -> Measure:
        """The measure that ranks the trials."""


class WrongEventError(UserError):
    """Raised for an event that is valid by itself but cannot come next in its ledger."""


def wrong_event(number: int, event: Event, error: UserError | ValidationError) -> WrongEventError:
    """Create the error for an event. ``number``: its number in the ledger, from 1. ``error``: the reason."""
    why = str(error)
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False)[0]
        why = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    return WrongEventError(f"event {number} ({event.kind}) is none that this version can read: {' '.join(why.split())}")


def check_lanes(lanes: Mapping[str, int], seeds: int, ranking: str) -> None:
    """Raise UserError if a metric has more values than the number of ``seeds``, or if the metric ``ranking`` has fewer.
    ``lanes``: the number of values of each metric, by its name.
    """
    for name, count in lanes.items():
        if count > seeds or (count < seeds and name == ranking):
            raise UserError(f"got {count} values of {shown(name)} (allowed: {seeds}, one for each seed)")


def check_report(record: Past, number: int, lanes: Mapping[str, int], seeds: int, epoch: float) -> None:
    """Raise UserError for a report that cannot exist.

    ``number``: the number of its trial. ``lanes``: the number of values of each metric, by its name. ``seeds``: the
    number of seeds in the report; 0 means all seeds of the trial. ``epoch``: its epoch.
    """
    _check_trial(record, number)
    _check_epoch(record, epoch)
    check_lanes(lanes, seeds or len(record.trials[number].seeds), f"dev_{record.measure.name}")


def check_next(record: Past, event: Event) -> None:
    """Raise UserError if ``event`` cannot come next in ``record``."""
    if isinstance(event, Ablated):
        return  # the record of the ablation checks this event
    if isinstance(event, StudyOpened) != (record.opened is None):
        opened = "a second one" if isinstance(event, StudyOpened) else "it before study_opened"
        raise UserError(f"got {opened} (allowed: study_opened once, as the first)")
    match event:
        case Proposed():
            _check_proposed(record, event)
        case Reported():
            check_report(record, event.trial, _lanes(event.metrics), len(event.seeds), event.epoch)
        case Tested(trial=number):
            _check_trial(record, number)
            check_lanes(_lanes(event.metrics), len(record.trials[number].seeds), f"test_{record.measure.name}")
        case Decided(trial=number, epoch=epoch) | Used(trial=number, epoch=epoch):
            _check_trial(record, number)
            _check_epoch(record, epoch)
        case Reused(trial=number) | Started(trial=number) | Begun(trial=number) | Promoted(trial=number):
            _check_trial(record, number)
        case Retried(trial=number) | Ended(trial=number) | Measuring(trial=number) | Untested(trial=number):
            _check_trial(record, number)
        case Noted(trial=int(number)):
            _check_trial(record, number)
        case AblationPlanned(rows=rows):
            partial = event.continues is not None or event.arm is not None  # a round or an arm has only some rows
            if not partial and not any(role.kind == "winner" for row in rows for role in row.roles):
                raise UserError("got rows without a winner (allowed: rows with one)")
        case StudyOpened() | CorpusPrepared() | WarmStarted() | Suggested():
            pass
        case Finished() | Resumed() | Interrupted() | Placed() | Extended() | Shortened() | Noted() | Renamed():
            pass
        case _:
            assert_never(event)


def _lanes(metrics: Metrics) -> dict[str, int]:
    return {name: len(values) for name, values in metrics.items()}


def _check_trial(record: Past, number: int) -> None:
    if number not in record.trials:
        raise UserError(f"got trial {shown(number)} (allowed: one that was proposed before)")


def _check_epoch(record: Past, epoch: float) -> None:
    epochs = record.study.space.base.epochs
    if epoch > epochs:
        raise UserError(f"got epoch {shown(epoch)} (allowed: up to {epochs}, the study's)")


def _check_proposed(record: Past, event: Proposed) -> None:
    if event.trial in record.trials or event.trial > MOST_TRIALS:
        raise UserError(f"got trial {shown(event.trial)} (allowed: {len(record.trials)}, the next)")
    if not event.seeds or len(set(event.seeds)) < len(event.seeds):
        raise UserError(f"got the seeds {shown(list(event.seeds))} (allowed: one or more, each once)")
    _check_point(record, event.point)


def _check_point(record: Past, point: Mapping[str, Json]) -> None:
    domains = record.space.domains
    for path, value in point.items():
        if path not in domains:
            raise UserError(f"got a value for {shown(path)} (allowed: axes of the study)")
        try:
            within = domains[path].contains(value)
        except (ValueError, RecursionError):  # the value is not JSON
            within = False
        if not within:
            raise UserError(f"{path}: got {shown(value)} (allowed: {domains[path]})")
