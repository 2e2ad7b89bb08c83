"""What runs the trials of a study: the interface of all engines."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence

from skipstack.search.driver.driver import Driver
from skipstack.search.driver.faults import Fault
from skipstack.search.driver.measuring_on_test import Measurement
from skipstack.search.driver.task import Measured
from skipstack.search.record.folder import StudyFolder
from skipstack.search.record.study_record import StudyRecord


class Engine(ABC):
    """Runs the trials that a driver proposes, on workers of one class."""

    words: str = ""
    """What each trial gets of the machines, in one line for the user, if there is anything to say."""

    on_idle: Callable[[], None] = staticmethod(lambda: None)
    """Called, more than once, while there is nothing to start and a processor has nothing to do."""

    def preflight(self, folder: StudyFolder, record: Callable[[], StudyRecord]) -> None:  # noqa: B027 (most engines are on this machine alone)
        """See that every machine can train the study. Raises UserError, which names a machine that cannot."""

    @abstractmethod
    def run(self, driver: Driver) -> None:
        """Run until the driver has nothing to start and nothing runs. Workers that are there may then measure as well,
        each trial once.
        """

    @abstractmethod
    def test(self, measurements: Sequence[Measurement]) -> Iterator[tuple[int, Measured | Fault]]:
        """Measure trials on the test split: (trial number, what came of it), each once, as soon as it is there."""

    def close(self) -> None:  # noqa: B027 (most engines hold nothing)
        """Let go of what the engine holds."""
