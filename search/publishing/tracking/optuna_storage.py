"""Writes a study into an Optuna storage, for Optuna's dashboard and other programs that read such storages.

Each axis becomes a parameter; a trial has the parameters of its active axes. A completed trial becomes COMPLETE, and a
trial that the scheduler stopped becomes PRUNED. Both have the values by which trials are ranked. A trial that diverged,
failed, or lacks a finite value becomes FAIL. A running or paused trial becomes RUNNING, and one that was only proposed
WAITING. Intermediate values are the mean dev scores by epoch. If seeds race, the only one is the joint score, with the
number of seeds as its step.
"""

import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, TrialState
from sqlalchemy.exc import SQLAlchemyError

from skipstack.data.basis.errors import UserError
from skipstack.data.basis.frozen import canonical_json
from skipstack.data.basis.redaction import hide
from skipstack.search.ledger.events import SCORELESS, Ended, Event, Started
from skipstack.search.publishing.tracking.stores import check_sqlite
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.search.study.record.trial_record import TrialRecord
from skipstack.spaces.domains import Choice, Domain, Integer, Json, Numeric, Range, is_number

Label = str | int | float | bool | None
"""The type of a choice's value in Optuna."""

NAME: Final = "skipstack/{}"
"""The name of the study in Optuna, the same as the default name of its experiment in MLflow."""


def write_study(record: StudyRecord, events: Iterable[Event], uri: str) -> str:
    """Write a study into the storage at ``uri``, and return the study's name in the storage. Values are in the unit of
    the study's measure.

    ``events``: the study's events, from which the times of trials are read. ``uri``: a database URL in Optuna's form.
    Raises UserError, and adds no study, if the storage cannot be written or has a study of this name already.
    """
    hide(uri)
    check_sqlite("--optuna", uri)
    name = NAME.format(record.study.name)
    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        storage = _opened(record, name, uri)
        _fill(storage, name, record, _Times(events))
    except optuna.exceptions.DuplicatedStudyError:
        raise UserError(f"--optuna {uri}: holds a study {name!r} already (allowed: a storage without it)") from None
    except (SQLAlchemyError, optuna.exceptions.StorageInternalError, OSError) as error:
        raise _unwritten(uri, error) from None
    finally:
        optuna.logging.set_verbosity(verbosity)
    return name


def _opened(record: StudyRecord, name: str, uri: str) -> optuna.storages.BaseStorage:
    """Open the storage, create an empty study called ``name`` in it, and return the storage."""
    score = StudyDirection.MAXIMIZE if record.measure.factor > 0 else StudyDirection.MINIMIZE
    further = [each.sign > 0 for each in record.study.search.further]
    directions = [score, *(StudyDirection.MAXIMIZE if larger else StudyDirection.MINIMIZE for larger in further)]
    try:
        storage = optuna.storages.get_storage(uri)
        optuna.create_study(storage=storage, study_name=name, directions=directions)
    except (ValueError, ImportError) as error:  # not a URL, or no such kind of database or driver
        raise _unwritten(uri, error) from None
    return storage


def _unwritten(uri: str, error: Exception) -> UserError:
    why = (str(getattr(error, "orig", None) or error).splitlines() or [type(error).__name__])[0]
    return UserError(f"--optuna {uri}: cannot be written: {why} (allowed: a database, as in sqlite:///PATH/optuna.db)")


def _fill(storage: optuna.storages.BaseStorage, name: str, record: StudyRecord, times: "_Times") -> None:
    """Write the contents of the study. If that fails, delete the study from the storage."""
    study = optuna.load_study(study_name=name, storage=storage)
    points = [trial.point for trial in record.trials.values()]
    axes = {
        path: _Axis(domain, [point[path] for point in points if path in point])
        for path, domain in record.space.domains.items()
    }
    try:
        search = record.study.search
        _tell_names(study, list(search.reported) or [record.measure.name, *(each.name for each in search.further)])
        study.set_user_attr("about", record.study.about)
        study.set_user_attr("measure", record.measure.label)
        study.add_trials([_trial(record, each, axes, times) for each in record.trials.values()])
    except BaseException:
        optuna.delete_study(study_name=name, storage=storage)
        raise


def _tell_names(study: Study, names: list[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        study.set_metric_names(names)


def _trial(record: StudyRecord, trial: TrialRecord, axes: "Mapping[str, _Axis]", times: "_Times") -> FrozenTrial:
    own = record.measure.score
    state = _state(trial, times)
    values = None
    if trial.score is not None and state in (TrialState.COMPLETE, TrialState.PRUNED):
        sought = record.study.search.further
        ranked = zip(sought, trial.further(sought), strict=True)
        values = [own(trial.score), *(each.sign * value for each, value in ranked)]
        if not all(map(math.isfinite, values)):
            state, values = TrialState.FAIL, None
    ended = times.ended.get(trial.number) if state.is_finished() else None
    return FrozenTrial(
        number=-1,  # Optuna numbers trials in the order in which they are added
        trial_id=-1,
        state=state,
        value=None,
        values=values,
        datetime_start=times.started.get(trial.number, ended),
        datetime_complete=ended,
        params={path: axes[path].label(value) for path, value in trial.point.items()},
        distributions={path: axes[path].distribution for path in trial.point},
        intermediate_values={epoch: own(score) for epoch, score in trial.curve},
        user_attrs=_about(trial),
        system_attrs={},
    )


def _state(trial: TrialRecord, times: "_Times") -> TrialState:
    if trial.reason is None:
        return TrialState.RUNNING if trial.number in times.started else TrialState.WAITING
    if trial.reason in SCORELESS or trial.score is None:
        return TrialState.FAIL
    return TrialState.COMPLETE if trial.reason == "completed" else TrialState.PRUNED


def _about(trial: TrialRecord) -> dict[str, Any]:
    """Return the attributes of a trial for which Optuna has no field. They are few: writing each takes milliseconds."""
    known = {
        "end": trial.reason,
        "seeds": list(trial.seeds),
        "best_epoch": None if trial.best is None else trial.best.epoch,
        "test": list(trial.test.values()) or None,
        "parameters": trial.parameters,
        "seconds": trial.seconds,
        "message": trial.message or None,
    }
    return {name: value for name, value in known.items() if value is not None}


class _Times:
    """The times at which a study's trials first started (``started``) and ended (``ended``), read from its events."""

    def __init__(self, events: Iterable[Event]) -> None:
        self.started: dict[int, datetime] = {}
        self.ended: dict[int, datetime] = {}
        for event in events:
            if isinstance(event, Started):
                self.started.setdefault(event.trial, datetime.fromtimestamp(event.time))
            elif isinstance(event, Ended):
                self.ended[event.trial] = datetime.fromtimestamp(event.time)


class _Axis:
    """Converts the values of an axis for Optuna. A number is kept. A choice's value becomes a label (``_labels``).

    Optuna has no order of labels. It has no logarithmic ranges with steps: such a range keeps only its step. An axis
    with a normal distribution becomes a range from the lowest to the highest of its ends (``Domain.ends``) and the
    values ``tried``.
    """

    def __init__(self, domain: Domain, tried: Sequence[Json]) -> None:
        self._labels: dict[str, Label] = {}
        match domain:
            case Choice():
                self._labels = _labels(domain)
                self.distribution: BaseDistribution = CategoricalDistribution(tuple(self._labels.values()))
            case Integer(low, high, step, log):
                self.distribution = IntDistribution(low, high, log=log and step == 1, step=step)
            case Range(low, high, step):
                self.distribution = FloatDistribution(low, high, log=domain.log and not step, step=step or None)
            case Numeric():
                numbers = [*domain.ends, *(value for value in tried if is_number(value))]
                self.distribution = FloatDistribution(min(numbers), max(numbers), log=domain.log)

    def label(self, value: Json) -> Any:
        """Return the value in Optuna for a value of the axis."""
        return self._labels[canonical_json(value)] if self._labels else value


def _labels(domain: Choice) -> dict[str, Label]:
    """Return the labels of a choice's values in Optuna, by the JSON of each value. A value with a name has this name as
    its label. Any other number, text, truth value or null is its own label. The label of a list or a mapping is its
    JSON. If Optuna would treat two labels as equal, such as 1 and true, all labels are the JSON.
    """
    texts = [canonical_json(value) for value in domain.values]
    labels: list[Label] = [
        domain.name(value) or (value if isinstance(value, Label) else text)
        for value, text in zip(domain.values, texts, strict=True)
    ]
    return dict(zip(texts, labels if len(set(labels)) == len(labels) else texts, strict=True))
