"""Ablations of studies that train nothing."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from skipstack.data.basis.frozen import identity
from skipstack.data.basis.seeding import generator
from skipstack.search.analysis.ablation.experiment import Experiment, experiment
from skipstack.search.analysis.ablation.options import AblationOptions
from skipstack.search.api.ablation import AblationHistory
from skipstack.search.execution.driver.driver import Driver
from skipstack.search.execution.driver.engine import Engine, run_study
from skipstack.search.execution.engines.serial import SerialEngine
from skipstack.search.ledger.events import Event, StudyOpened
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.ledger.sentences import SentenceCounts
from skipstack.search.study.config import StudyConfig
from skipstack.search.study.preparation import needs
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.record.reading import read_study
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.search.study.task import Measured, TrialTask, Workers
from tests.search.toy import ToyWorker, open_toy, run_toy, toy_study


def made(
    folder: Path, *, beside: Mapping[str, StudyRecord] | None = None, place: int = 1, seeds: int = 3, **options: Any
) -> Experiment:
    """The next ablation of the study in a folder."""
    asked = AblationOptions(seeds=seeds, **options)
    return experiment(read_study(folder), asked, beside=beside, place=place, time=2.0)


def beginning(path: Path, planned: Experiment) -> list[Event]:
    """What happens first in it, without any corpus: of one that the search has not, it is said that it is there."""
    opened = StudyOpened(time=2.0, study=planned.study.model_dump(mode="json"), code_version="toy")
    known = read_study(path).corpora
    own = next(iter(known.values()))
    wanted = [identity(needed.corpus) for needed in needs(planned.study.space)]
    further = [own.model_copy(update={"corpus": name, "fingerprint": name}) for name in wanted if name not in known]
    return [opened, *known.values(), *further, planned.plan]


class PlantedWorker(ToyWorker):
    """On test, three layers get 15 of 25 tags right, fewer layers 23, at any learning rate; or one more or less.

    On ATIS three layers get 18, and fewer 21.
    """

    @classmethod
    def test(cls, task: TrialTask) -> Measured:
        deep, flat = (18, 21) if task.config.data.corpus.kind == "named" else (15, 23)
        right = deep if task.config.model.stack.depth == 3 else flat
        chance = [generator(seed, task.config.identity).integers(-1, 2, size=40) for seed in task.seeds]
        counts = np.stack([np.stack([right + own, np.full(40, 25)], axis=-1) for own in chance])
        accuracies = tuple((counts[..., 0].sum(axis=1) / 1000).tolist())
        sentences = SentenceCounts.of(counts, ("correct", "tags"))
        return Measured(metrics={"test_accuracy": accuracies}, sentences=sentences)


def grid_search(path: Path, axes: dict[str, object], *, depth: int = 3, **other: object) -> Path:
    """A finished grid over these axes, from a base of ``depth`` layers; ``other``: of the study, such as its name."""
    tree = toy_study(6, "grid", epochs=2).model_dump(mode="json") | other
    tree["space"] |= {"axes": axes}
    shortcuts = {"composition": 2} if "model.stack.composition" in axes else {}
    tree["space"]["base"]["model"]["stack"] |= {"depth": depth, **shortcuts}
    run_toy(open_toy(path, StudyConfig.model_validate(tree)))
    return path


def planted(path: Path, axes: dict[str, object], /, **options: object) -> StudyRecord:
    """An ablation of a search over these axes, whose base has three layers, with planted scores on test."""
    planned = made(grid_search(path, axes), **options)
    return run_ablation(path, planned.number, beginning(path, planned), worker=PlantedWorker)


def run_ablation(
    path: Path,
    number: int,
    first: list[Event] | None = None,
    *,
    worker: Workers = ToyWorker,
    engine: Engine | None = None,
) -> StudyRecord:
    """Run what is left of an ablation, one trial after the other where there is no ``engine``."""
    folder = StudyFolder(path, number)
    with Ledger(folder.ledger) as own:
        history = AblationHistory(own, number)
        driver = Driver(folder, history, device="cpu", clock=lambda: 3.0, first=first or ())
        run_study(driver, engine or SerialEngine(worker))
    return driver.record
