"""Extends and shortens studies: computes the resulting configs, checks the requests, and creates their events."""

from collections.abc import Iterable, Mapping, Sequence
from math import inf

from skipstack.data.basis.errors import UserError, unknown
from skipstack.data.basis.explain import shown
from skipstack.data.basis.frozen import canonical_json
from skipstack.search.ledger.events import Extended, HoursOver, Shortened
from skipstack.search.strategy.objectives.hours import HOUR
from skipstack.search.strategy.proposers.config import ListedConfig, PathConfig, PlainProposerConfig
from skipstack.search.study.config import SearchConfig, StudyConfig
from skipstack.search.study.record.earlier_defaults import completed
from skipstack.search.study.record.trial_record import TrialRecord
from skipstack.spaces.config import Axis
from skipstack.spaces.counting import Combinations
from skipstack.spaces.domains import Json, json_of
from skipstack.spaces.given_points import given_point
from skipstack.spaces.space import Point, Space


def extended(study: StudyConfig, by: Extended) -> StudyConfig:
    """Return the study extended by the event ``by``: more trials, axis values and seeds, or another limit of hours.

    Additional seeds are for trials that are proposed from now on. Raises UserError for an axis that the study does not
    have or that is not a choice, and for a value without a new name on an axis with named values.
    """
    axes = dict(study.space.axes)
    for path, values in by.choices.items():
        if path not in axes:
            raise UserError(unknown("axis", path, axes))
        axes[path] = _with_values(path, axes[path], values)
    more = {
        "trials": study.search.trials + by.trials,
        "seeds": study.search.seeds + by.seeds,
        "hours": study.search.hours if by.hours is None else by.hours,
    }
    return study.model_copy(
        update={
            "space": study.space.model_copy(update={"axes": axes}),
            "search": SearchConfig.model_validate({**dict(study.search), **more}),
        }
    )


def shortened(study: StudyConfig, to: Shortened) -> StudyConfig:
    """Return the study with only the number of trials in the event ``to``. If the rule ``search.enough`` or
    ``search.hours`` stopped the study, the rule is dropped. So the trials of a later extension are trained.
    """
    rules = {
        "enough": study.search.enough if to.gain is None else None,
        "hours": study.search.hours if to.over is None else None,
    }
    return study.model_copy(update={"search": study.search.model_copy(update={"trials": to.trials, **rules})})


def extension(
    study: StudyConfig,
    proposed: int,
    *,
    trials: int,
    seeds: int,
    choices: Mapping[str, Sequence[Json]],
    points: int = 0,
    time: float,
) -> Extended:
    """Create the event that extends a study.

    ``proposed``: the number of trials proposed so far. ``trials``, ``seeds``, ``choices``: the additional trials,
    seeds, and values by axis. ``points``: the number of further trials, at points that the user chose.

    Raises UserError for a negative number, if the extension would change nothing, and if seeds are added to a study
    whose seeds race (a trial trains its seeds in groups). Also raises the errors of ``extended``.
    """
    for option, number in (("trials", trials), ("seeds", seeds)):
        if number < 0:
            raise UserError(f"--{option}: got {number} (allowed: 0 or more)")
    if not (trials or seeds or choices or points):
        raise UserError(
            "nothing to extend the study by (allowed: --trials N, --seeds N, --axis PATH=CHOICE, --point AXIS=VALUE)"
        )
    if seeds and study.search.seeds_race:
        raise UserError("--seeds: the trials of this study race by their seeds (allowed: --trials N)")
    by = Extended(
        time=time,
        trials=trials + points,
        seeds=seeds,
        choices={path: tuple(values) for path, values in choices.items()},
    )
    if extended(study, by).search.trials <= proposed:
        raise UserError(
            f"all {proposed} trials are proposed, and seeds and choices are for trials to come (allowed: --trials N "
            "with them)"
        )
    return by


def all_tried(study: StudyConfig, tried: Iterable[Point]) -> bool:
    """Whether the proposer of a study can propose no other points than ``tried``, so that more trials would train
    nothing. False for a greedy path, whose points depend on scores.
    """
    space = Space(study.space)
    match study.search.proposer:
        case PathConfig():
            return False
        case ListedConfig(points=listed):
            return not _goes_beyond(listed, tried)
        case PlainProposerConfig(kind="one_at_a_time"):
            return not _goes_beyond(space.one_at_a_time(), tried)
        case _:
            found = Combinations(space)  # a continuous axis that is never active adds no config
            finite = all(space.domains[path].finite for path in found.varying)
            return finite and not _goes_beyond(filter(space.allowed, found), tried)


def check_untried(study: StudyConfig, tried: Sequence[Point]) -> None:
    """Raise UserError if an extended study has no config left beyond the points ``tried``."""
    if not all_tried(study, tried):
        return
    space, allowed = Space(study.space), []
    has_choices = any(axis.choice or axis.named for axis in study.space.axes.values())
    if has_choices and not isinstance(study.search.proposer, ListedConfig):
        allowed.append("--trials N with --axis PATH=CHOICE, a value that the axis lacks")
    if not space.finite or _goes_beyond(space.enumerate(), tried):
        allowed.append("--point AXIS=VALUE")
    which = "the only config of the study has" if len(tried) == 1 else f"all {len(tried)} configs of the study have"
    raise UserError(f"{which} been tried (allowed: {'; '.join(allowed) or 'a study with axes'})")


def _goes_beyond(points: Iterable[Point], tried: Iterable[Point]) -> bool:
    texts = {canonical_json(point) for point in tried}
    return any(canonical_json(point) not in texts for point in points)


def new_points(trials: Iterable[TrialRecord], space: Space, given: Sequence[Mapping[str, Json]]) -> tuple[Point, ...]:
    """Convert points that a user gives for a study into points of ``space``. Raises UserError for a repeated point, for
    a point that the study has already tried, and as ``given_point`` does. ``trials``: all trials of the study.
    """
    given = [given] if isinstance(given, Mapping | str) else given
    owners = {canonical_json(trial.point): f"trial {trial.number} has" for trial in trials}
    points = []
    for number, each in enumerate(given, 1):
        if not isinstance(each, Mapping):
            axes = ", ".join(f'"{path}": ...' for path in space.domains)
            raise UserError(f"points: got {shown(each)} (allowed: points, each as {{{axes}}})")
        point = given_point(space, json_of(each))
        text = canonical_json(point)
        if text in owners:
            raise UserError(f"{text}: {owners[text]} this point already (allowed: points that the study has not tried)")
        owners[text] = f"point {number} is"
        points.append(point)
    return tuple(points)


def shortening(study: StudyConfig, proposed: int, *, time: float) -> list[Shortened]:
    """Create the event that ends a study after its ``proposed`` trials; none if no further trial was planned. Raises
    UserError if the study has no trial yet.
    """
    if proposed == 0:
        raise UserError("--enough: the study has no trial yet (allowed: resume without it)")
    return [Shortened(time=time, trials=proposed)] if proposed < study.search.trials else []


def more_hours(hours: float, over: HoursOver | None, *, ended: int | None, worked: float, time: float) -> Extended:
    """Create the event that sets the limit of hours of a study to ``hours``.

    If the study ended because its hours were ``over``, the trials that were left out are added again. ``ended``: the
    number of trials of the study if it is finished, otherwise None. ``worked``: the seconds for which it has run.
    Raises UserError if ``hours`` is not a positive number, if no trial is left to run, and if the study has already run
    that long.
    """
    if not 0 < hours < inf:
        raise UserError(f"--hours: got {hours:g} (allowed: a number above 0)")
    if ended is not None and over is None:
        raise UserError(f"--hours: all {ended} trials of the study have ended (allowed: `skipstack extend` with more)")
    if hours * HOUR <= worked:
        raise UserError(
            f"--hours: got {hours:g}, and the study was run for {worked / HOUR:.3g} already (allowed: more than that)"
        )
    return Extended(time=time, trials=0 if over is None else over.left_out, hours=hours)


def _with_values(path: str, axis: Axis, values: Sequence[Json]) -> Axis:
    values = [completed(path, value) for value in values] if axis.named is None else values
    if axis.choice is not None:
        return Axis(choice=(*axis.choice, *values), prior=axis.prior, when=axis.when)
    if axis.named is None:
        raise UserError(f"--axis {path}: the axis has {axis.domain} (allowed: an axis of choices)")
    named = dict(axis.named)
    for value in values:
        if not isinstance(value, dict):
            raise UserError(
                f"--axis {path}: got a value without a name (allowed: '{{NAME: VALUE}}', as the others have)"
            )
        for name in value:
            if not name.isprintable() or not name.strip() or name in named:
                raise UserError(f"--axis {path}: got the name {name!r} (allowed: a new one, on one line)")
        named |= {name: completed(path, own) for name, own in value.items()}
    return Axis(named=named, prior=axis.prior, when=axis.when)
