"""What tests make of a search: another one, with some fields changed, and the scheduler that it asks for."""

from typing import Any

from skipstack.search.config import SearchConfig, StudyConfig
from skipstack.search.decisions.schedulers.build import scheduler
from skipstack.search.decisions.schedulers.scheduler import Scheduler


def changed(search: SearchConfig, **fields: Any) -> SearchConfig:
    return SearchConfig.model_validate({**dict(search), **fields})


def searched(study: StudyConfig, **fields: Any) -> StudyConfig:
    return study.model_copy(update={"search": changed(study.search, **fields)})


def scheduler_of(search: SearchConfig, epochs: int, spared: frozenset[int] = frozenset()) -> Scheduler:
    return scheduler(search.scheduler, epochs, spared, seeds=search.seeds)
