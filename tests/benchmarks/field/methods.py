"""The searches that are compared, by name, and how one of them is run."""

from statistics import median
from typing import Final

from tests.benchmarks.field.ours import Ours
from tests.benchmarks.field.race import Course, Search, Task, race
from tests.benchmarks.field.remote import ENVIRONMENTS, SOURCES, Child, Remote
from tests.benchmarks.field.results import Cost
from tests.benchmarks.field.tasks import opened

DEFAULT: Final = "skipstack: TPE"
DEFAULT_STOPPING: Final = "skipstack: TPE, ASHA"

RACES: Final = (
    DEFAULT,
    "skipstack: GP",
    "skipstack: random",
    "skipstack: evolution",
    "Optuna: TPE",
    "Optuna: GP",
    "Syne Tune: CQR",
    "Syne Tune: BORE",
    "SMAC: random forest",
    "Ax: GP",
    "NePS: GP",
)
"""Where nothing is stopped."""

STOPPING_RACES: Final = (
    *(
        f"skipstack: {proposer}, {scheduler}"
        for scheduler in ("ASHA", "ASHA with promotions", "Hyperband")
        for proposer in ("TPE", "GP", "random", "evolution")
    ),
    "Optuna: TPE, median",
    "Optuna: TPE, Hyperband",
    "Ray Tune: random, ASHA",
    "Ray Tune: Optuna, ASHA",
    "Syne Tune: random, ASHA",
    "Syne Tune: CQR, ASHA",
    "Syne Tune: BORE, ASHA",
)

TRIALS: Final = 60
"""Of a race in which nothing is stopped."""

UNLIMITED: Final = 10**6
"""Trials of a race that ends by its budget."""

MANY, LAST, PATIENCE = 300, 10, 30
"""The cost of a proposal is the median of the last ten of so many, or of as many as take so many processor seconds."""


class Field:
    """The children, each begun when it is needed first."""

    def __init__(self) -> None:
        self._children: dict[str, Child] = {}

    def task(self, name: str) -> Task:
        """A task as it is before a race."""
        return opened(name, self._child("sources"))

    def search(self, method: str, task: Task, *, seed: int, workers: int, trials: int) -> Search:
        """A search at its beginning. Raises MissingError if its tool was not installed."""
        tool, _, how = method.partition(": ")
        if tool != "skipstack":
            child = self._child(tool)
            return Remote(child, how, task.space, seed=seed, epochs=task.epochs, trials=trials, workers=workers)
        proposer, _, scheduler = how.partition(", ")
        stopped = scheduler or "nothing stopped"
        return Ours(proposer, stopped, task.space, seed=seed, epochs=task.epochs, trials=trials)

    def close(self) -> None:
        """End all children."""
        for child in self._children.values():
            child.close()

    def _child(self, tool: str) -> Child:
        if tool not in self._children:
            self._children[tool] = Child(SOURCES if tool == "sources" else ENVIRONMENTS[tool])
        return self._children[tool]


def run(field: Field, method: str, task: Task, *, seed: int, workers: int) -> Course:
    """Run one race. Raises MissingError if the tool was not installed or fails."""
    trials = TRIALS if task.epochs == 1 else task.trials or UNLIMITED
    search = field.search(method, task, seed=seed, workers=workers, trials=trials)
    return race(search, task, seed=seed, workers=workers, budget=task.budget)


def proposal_cost(field: Field, method: str, task: Task) -> Cost:
    """What a proposal costs after many trials. Raises MissingError as ``run`` does."""
    search = field.search(method, task, seed=0, workers=1, trials=MANY)
    taken: list[float] = []
    for number in range(MANY):
        before = search.seconds
        asked = search.ask(number)
        if asked is None or isinstance(asked, int) or search.seconds > PATIENCE:
            break
        search.begin(number, asked)
        search.report(number, 1, task.curve(asked, 0.5).scores[0])
        taken.append(search.seconds - before)
    return Cost(median(taken[-LAST:]), len(taken))
