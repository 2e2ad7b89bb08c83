"""Runs a driver's study on an engine, to its end."""

from skipstack.search.execution.driver.driver import Driver
from skipstack.search.execution.driver.engine import Engine
from skipstack.search.execution.driver.faults import StudyGoneError, StudyInterruptedError, lost_disk_interrupts


def run_study(driver: Driver, engine: Engine) -> None:
    """Run all trials and measurements that are left of a study.

    KeyboardInterrupt and StudyInterruptedError leave a study that can be resumed. Raises StudyGoneError if its folder
    was moved or deleted.
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
