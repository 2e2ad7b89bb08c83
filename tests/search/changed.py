"""Changes the search of a study, and builds the scheduler of a search."""

from pathlib import Path
from typing import Any

from skipstack.search.strategy.schedulers.build import scheduler
from skipstack.search.strategy.schedulers.scheduler import Scheduler
from skipstack.search.study.config import SearchConfig, StudyConfig


def changed(search: SearchConfig, **fields: Any) -> SearchConfig:
    return SearchConfig.model_validate({**dict(search), **fields})


def searched(study: StudyConfig, **fields: Any) -> StudyConfig:
    return study.model_copy(update={"search": changed(study.search, **fields)})


def warm(study: StudyConfig, *paths: Path) -> StudyConfig:
    """Return the study with a warm start from the studies in these folders."""
    return searched(study, warm_start=tuple(str(path) for path in paths))


def scheduler_of(search: SearchConfig, epochs: int, spared: frozenset[int] = frozenset()) -> Scheduler:
    return scheduler(search.scheduler, epochs, spared, seeds=search.seeds)
