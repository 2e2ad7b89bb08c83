"""The interface of the engines that run the trials of a study."""

from abc import ABC, abstractmethod
from collections.abc import Callable

from skipstack.data.basis.saying import Say, unsaid
from skipstack.search.execution.driver.driver import Driver
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.record.study_record import StudyRecord


class Engine(ABC):
    """Runs the trials that a driver proposes, in one or more processes."""

    words: str = ""
    """A line for the user that says how trials run, for example with which resources; may be empty."""

    say: Say = staticmethod(unsaid)
    """Called with a line for the user, when the engine waits or the resources of trials have changed."""

    on_idle: Callable[[], None] = staticmethod(lambda: None)
    """Called, possibly several times, while no trial can start and a CPU is idle."""

    on_late_files: Callable[[int], None] = staticmethod(lambda trial: None)
    """Called with the number of a trial that has already ended or paused, once its last files have arrived from another
    machine.
    """

    def preflight(self, folder: StudyFolder, record: Callable[[], StudyRecord]) -> None:  # noqa: B027 (most engines are on this machine alone)
        """Test that every machine can train the study; by default, test nothing. Raises UserError with the name of a
        machine that cannot train it.

        ``folder``: the study's folder. ``record``: reads the study's record.
        """

    @abstractmethod
    def run(self, driver: Driver) -> None:
        """Run the driver's trials until none runs and none can start, then measure the selected trials on the test
        split.
        """

    def close(self) -> None:  # noqa: B027 (most engines hold nothing)
        """Release all resources."""
