"""Builds a scheduler from its config. No other module maps a kind of scheduler to its class."""

from collections.abc import Mapping
from typing import Any, assert_never

from skipstack.data.basis.user_code.configs import OwnConfig
from skipstack.search.strategy.schedulers.config import (
    AshaConfig,
    HyperbandConfig,
    KeepBestConfig,
    MedianConfig,
    NeverStopConfig,
    SchedulerConfig,
)
from skipstack.search.strategy.schedulers.halving import Asha, Promotion
from skipstack.search.strategy.schedulers.hyperband import Hyperband
from skipstack.search.strategy.schedulers.keep_best import KeepBest
from skipstack.search.strategy.schedulers.median import Median
from skipstack.search.strategy.schedulers.own import OwnCodeScheduler
from skipstack.search.strategy.schedulers.scheduler import NeverStop, Scheduler

RARE = ("resource", "maximum", "brackets")
"""Options that ``described`` mentions only if they differ from their defaults."""


def scheduler(config: SchedulerConfig, epochs: int, spared: frozenset[int] = frozenset(), *, seeds: int) -> Scheduler:
    """Build the scheduler of a study. Raises UserError if ``config`` asks for more brackets than the rungs allow, or if
    the user's own scheduler refuses the number of epochs.

    ``epochs`` and ``seeds``: the numbers of epochs and seeds of a trial that completes. ``spared``: the numbers of
    trials that are never stopped by a comparison.
    """
    match config:
        case AshaConfig(variant="stopping"):
            return Asha(config, epochs, spared, seeds=seeds)
        case AshaConfig():
            return Promotion(config, epochs, spared, seeds=seeds)
        case HyperbandConfig():
            return Hyperband(config, epochs, spared, seeds=seeds)
        case MedianConfig():
            return Median(config, epochs, spared)
        case KeepBestConfig():
            return KeepBest(config, epochs, spared)
        case NeverStopConfig():
            return NeverStop(epochs, spared)
        case OwnConfig():
            return OwnCodeScheduler(config, epochs, spared)
        case _:
            assert_never(config)


def name_of(config: SchedulerConfig) -> str:
    """The name of a scheduler in ``skipstack simulate``: its kind, or ``asha-promotion`` for the promotion variant."""
    promotes = isinstance(config, AshaConfig) and config.variant == "promotion"
    return "asha-promotion" if promotes else config.kind


def options_of(config: SchedulerConfig) -> Mapping[str, Any]:
    """The kind and the options of a scheduler by name."""
    return config.fields if isinstance(config, OwnConfig) else dict(config)


def described(config: SchedulerConfig) -> str:
    """The scheduler in a few words: ``asha (grace 1, reduction 3)``, or ``none``. An option in ``RARE`` is left out if
    it has its default.
    """
    rare = {} if isinstance(config, OwnConfig) else {name: type(config).model_fields.get(name) for name in RARE}
    options = ", ".join(
        f"{name.replace('_', ' ')} {value}"
        for name, value in options_of(config).items()
        if name not in ("kind", "variant") and ((usual := rare.get(name)) is None or value != usual.default)
    )
    return f"{name_of(config)} ({options})" if options else name_of(config)
