"""From a config to a scheduler: the one place that knows which class a key means."""

from skipstack.data.basis.frozen import Frozen
from skipstack.search.config import SearchConfig
from skipstack.search.decisions.schedulers.asha import Asha
from skipstack.search.decisions.schedulers.hyperband import Hyperband
from skipstack.search.decisions.schedulers.keep_best import KeepBest
from skipstack.search.decisions.schedulers.median import Median
from skipstack.search.decisions.schedulers.promotion import Promotion
from skipstack.search.decisions.schedulers.scheduler import NeverStop, Scheduler

RARE = ("resource", "maximum", "brackets")
"""Options that most studies leave as they are."""


def scheduler(config: SearchConfig, maximum: int, spared: frozenset[int] = frozenset()) -> Scheduler:
    """The scheduler of a study whose trials have ``maximum`` epochs; ``NeverStop`` where the config names none.

    Raises UserError for more brackets than there is room for.
    """
    if config.asha is not None:
        kind = Asha if config.asha.variant == "stopping" else Promotion
        return kind(config.asha, maximum, spared, seeds=config.seeds)
    if config.hyperband is not None:
        return Hyperband(config.hyperband, maximum, spared, seeds=config.seeds)
    if config.median is not None:
        return Median(config.median, maximum, spared)
    if config.keep_best is not None:
        return KeepBest(config.keep_best, maximum, spared)
    return NeverStop(maximum, spared)


def named(config: SearchConfig) -> tuple[str, Frozen | None]:
    """The scheduler's name, as a simulation is told it, and its own config; ``none`` and None where there is none."""
    promotes = config.asha is not None and config.asha.variant == "promotion"
    chosen = {
        "asha-promotion" if promotes else "asha": config.asha,
        "hyperband": config.hyperband,
        "median": config.median,
        "best-after-first": config.keep_best,
    }
    return next(((name, own) for name, own in chosen.items() if own is not None), ("none", None))


def described(config: SearchConfig) -> str:
    """The scheduler in a few words: ``asha (grace 1, reduction 3)``, or ``none``. Rare options are said if set."""
    name, own = named(config)
    if own is None:
        return name
    fields = type(own).model_fields
    set_ones = {key: value for key, value in own if key not in RARE or value != fields[key].default}
    told = ", ".join(f"{key} {value}" for key, value in set_ones.items() if key != "variant")
    return f"{name} ({told})".replace("_", " ")
