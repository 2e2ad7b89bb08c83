"""The interface of engines, which run the trials of a study, and the function that runs a whole study on an engine."""

from abc import ABC, abstractmethod
from collections.abc import Callable

from skipstack.data.basis.saying import Say, unsaid
from skipstack.search.execution.driver.driver import Driver
from skipstack.search.execution.driver.faults import StudyGoneError, StudyInterruptedError, lost_disk_interrupts
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.record.study_record import StudyRecord


class Engine(ABC):
    """Runs the trials that a driver proposes, in one or more processes."""

    words: str = ""
    """A line for the user about how trials run, for example with which resources; may be empty."""

    say: Say = staticmethod(unsaid)
    """Called with a line for the user, such as when the engine waits, when a GPU is left alone after failures, or when
    the resources of trials have changed."""

    on_idle: Callable[[], None] = staticmethod(lambda: None)
    """Called repeatedly while a CPU is idle and no trial can start."""

    on_late_files: Callable[[int], None] = staticmethod(lambda trial: None)
    """Called with the number of an ended or paused trial once its last files have arrived from another machine."""

    def preflight(self, folder: StudyFolder, record: Callable[[], StudyRecord]) -> None:  # noqa: B027 (most engines are on this machine alone)
        """Check that every machine can train the study. The default checks nothing. ``folder``: the study's folder.
        ``record``: reads the study's record. Raises UserError, with the machine's name, if a machine cannot.
        """

    @abstractmethod
    def run(self, driver: Driver) -> None:
        """Run the driver's trials until none is left, then measure the selected trials on the test split."""

    def close(self) -> None:  # noqa: B027 (most engines hold nothing)
        """Release all resources."""


def run_study(driver: Driver, engine: Engine) -> None:
    """Run all remaining trials and measurements of the driver's study. After KeyboardInterrupt or
    StudyInterruptedError, the study can be resumed. Raises StudyGoneError if the study's folder was moved or deleted.
    """
    try:
        with lost_disk_interrupts(str(driver.folder.path)):
            more = True
            while more:
                engine.run(driver)
                driver.end_paused()
                more = driver.take_asked()
    except KeyboardInterrupt:
        driver.interrupted()
        raise
    except Exception as cause:
        # If the study's folder is gone, that is the cause of any error of a worker.
        if isinstance(cause, StudyInterruptedError) or not driver.folder.path.exists():
            try:
                driver.interrupted()
            except StudyGoneError as gone:
                raise gone from cause
            except StudyInterruptedError:
                pass  # the ledger cannot be written either
        raise
    driver.finished()
