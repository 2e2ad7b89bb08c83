"""The list of tasks by name. A new task needs a line here."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import AfterValidator

from skipstack.data.basis.errors import unknown
from skipstack.data.tasks.classification import Classification
from skipstack.data.tasks.language_modelling import LanguageModelling
from skipstack.data.tasks.parsing import Parsing
from skipstack.data.tasks.slots_and_intent import SlotsAndIntent
from skipstack.data.tasks.tagging import Tagging
from skipstack.data.tasks.task import Task

TASKS: Mapping[str, Task] = {
    task.name: task
    for task in (
        Tagging(),
        Classification(),
        Parsing(),
        LanguageModelling(),
        SlotsAndIntent(),
    )
}


def _known(name: str) -> str:
    if name not in TASKS:
        raise ValueError(unknown("value", name, TASKS))
    return name


TaskName = Annotated[str, AfterValidator(_known)]
"""The name of a task in ``TASKS``."""
