"""Ablations of studies that train nothing."""

from pathlib import Path

from skipstack.data.basis.frozen import identity
from skipstack.search.ablation.experiment import Experiment, experiment
from skipstack.search.ablation.history import AblationHistory
from skipstack.search.engines.serial import SerialEngine
from skipstack.search.ledger.events import Event, StudyOpened
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.study.driver import Driver
from skipstack.search.study.engine import Engine
from skipstack.search.study.preparation import needs
from skipstack.search.study.records.folder import StudyFolder
from skipstack.search.study.records.reading import read_study
from skipstack.search.study.records.study_record import StudyRecord
from skipstack.search.study.study import run_study
from skipstack.search.study.task import Worker
from tests.search.toy import ToyWorker


def made(folder: Path, **options: object) -> Experiment:
    """The next ablation of the study in a folder."""
    return experiment(read_study(folder), **{"seeds": 3, "top": 1, "time": 2.0, **options})  # type: ignore[arg-type]


def beginning(path: Path, planned: Experiment) -> list[Event]:
    """What happens first in it, without any corpus; one that the search has not is like its own."""
    opened = StudyOpened(time=2.0, study=planned.study.model_dump(mode="json"), code_version="toy")
    own = read_study(path).corpora
    like = next(iter(own.values()))
    wanted = [identity(needed.corpus) for needed in needs(planned.study.space)]
    prepared = own | {name: like.model_copy(update={"corpus": name}) for name in wanted if name not in own}
    return [opened, *prepared.values(), planned.settled]


def run_ablation(
    path: Path,
    number: int,
    first: list[Event] | None = None,
    *,
    worker: type[Worker] = ToyWorker,
    engine: Engine | None = None,
) -> StudyRecord:
    """Run what is left of an ablation, one trial after the other where there is no ``engine``."""
    folder = StudyFolder(path, number)
    with Ledger(folder.ledger) as own:
        history = AblationHistory(own, number)
        driver = Driver(folder, history, device="cpu", clock=lambda: 3.0, first=first or ())
        run_study(driver, engine or SerialEngine(worker))
    return driver.record
