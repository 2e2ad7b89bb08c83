"""Extends and shortens studies: the resulting config, and the checks of an extension."""

from collections.abc import Mapping, Sequence

from skipstack.data.basis.errors import UserError, unknown
from skipstack.search.config import SearchConfig, StudyConfig
from skipstack.search.ledger.events import Extended, Shortened
from skipstack.search.schedulers.config import RungConfig
from skipstack.spaces.config import Axis
from skipstack.spaces.domains import Json


def extended(study: StudyConfig, by: Extended) -> StudyConfig:
    """The study with more trials, more seeds for the trials to come, and more values on its axes.

    Raises UserError for an axis that it does not have, or that is not a choice.
    """
    axes = dict(study.space.axes)
    for path, values in by.choices.items():
        if path not in axes:
            raise UserError(unknown("axis", path, axes))
        axes[path] = _with_values(path, axes[path], values)
    trials, seeds = study.search.trials + by.trials, study.search.seeds + by.seeds
    return study.model_copy(
        update={
            "space": study.space.model_copy(update={"axes": axes}),
            "search": SearchConfig.model_validate({**dict(study.search), "trials": trials, "seeds": seeds}),
        }
    )


def shortened(study: StudyConfig, to: Shortened) -> StudyConfig:
    """The study with at most so many trials. If it stopped itself (``search.enough``), that rule is dropped: a later
    extension trains all its trials.
    """
    enough = study.search.enough if to.gain is None else None
    return study.model_copy(update={"search": study.search.model_copy(update={"trials": to.trials, "enough": enough})})


def extension(
    study: StudyConfig, proposed: int, *, trials: int, seeds: int, choices: Mapping[str, Sequence[Json]], time: float
) -> Extended:
    """The event that extends a study with ``proposed`` trials. Raises UserError if it would change nothing."""
    if not (trials or seeds or choices):
        raise UserError("nothing to extend the study by (allowed: --trials N, --seeds N, --axis PATH=CHOICE)")
    if seeds and _races(study.search):
        raise UserError("--seeds: the trials of this study race by their seeds (allowed: --trials N)")
    by = Extended(
        time=time, trials=trials, seeds=seeds, choices={path: tuple(values) for path, values in choices.items()}
    )
    if extended(study, by).search.trials <= proposed:
        raise UserError(
            f"all {proposed} trials are proposed, and seeds and choices are for trials to come (allowed: --trials N "
            "with them)"
        )
    return by


def shortening(study: StudyConfig, proposed: int, *, time: float) -> list[Shortened]:
    """The event that ends a study with its ``proposed`` trials; none if no further trial was due.

    Raises UserError if it has no trial.
    """
    if proposed == 0:
        raise UserError("--enough: the study has no trial yet (allowed: resume without it)")
    return [Shortened(time=time, trials=proposed)] if proposed < study.search.trials else []


def _races(search: SearchConfig) -> bool:
    return isinstance(search.scheduler, RungConfig) and search.scheduler.resource == "seeds"


def _with_values(path: str, axis: Axis, values: Sequence[Json]) -> Axis:
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
        named |= value
    return Axis(named=named, prior=axis.prior, when=axis.when)
