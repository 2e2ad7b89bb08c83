"""From a config to a scheduler: the one place that knows which class a key means."""

from search.asha import Asha
from search.config import SearchConfig
from search.keep_best import KeepBest
from search.median import Median
from search.scheduler import NeverStop, Scheduler


def scheduler(config: SearchConfig, maximum: int, spared: frozenset[int] = frozenset()) -> Scheduler:
    """The scheduler of a study whose trials have ``maximum`` epochs; ``NeverStop`` where the config names none."""
    if config.asha is not None:
        return Asha(config.asha, maximum, spared)
    if config.median is not None:
        return Median(config.median, maximum, spared)
    if config.keep_best is not None:
        return KeepBest(config.keep_best, maximum, spared)
    return NeverStop(maximum, spared)


def described(config: SearchConfig) -> str:
    """The scheduler in a few words: ``asha (grace 1, reduction 3)``, or ``none``."""
    chosen = {"asha": config.asha, "median": config.median, "best-after-first": config.keep_best}
    for name, own in chosen.items():
        if own is not None:
            return f"{name} ({', '.join(f'{key} {value}' for key, value in own)})".replace("_", " ")
    return "none"
