"""Runs studies of real networks from their files to their ends in this process, and exports their bundles."""

import json
import time
from collections.abc import Sequence
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import Any

from skipstack.search.api.opening import open_study
from skipstack.search.execution.driver.driver import Driver
from skipstack.search.execution.driver.engine import run_study
from skipstack.search.execution.engines.serial import SerialEngine
from skipstack.search.execution.workers.worker import TrainingWorker
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.publishing.bundles.export import export_bundle
from skipstack.search.publishing.bundles.files import seal
from skipstack.search.publishing.tracking.runs import ExpectedRuns
from skipstack.search.study.record.folder import StudyFolder, new_folder
from skipstack.search.study.record.reading import read_study
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.search.study.study_files.study_file import load_study


def opened(file: Path, overrides: Sequence[str] = ()) -> StudyFolder:
    """Prepare the study of a file in the folder ``runs`` beside it, without training."""
    study = StudyFolder(file.parent / "runs")
    config, corpora = load_study(file, overrides=overrides)
    with new_folder(study.path) as beside:
        open_study(config, beside, data_dir=None, corpus_folder=corpora)
    return study


def run(study: StudyFolder) -> StudyRecord:
    """Run a study to its end."""
    with Ledger(study.ledger) as ledger:
        driver = Driver(study, ledger, device="cpu", clock=time.time)
        run_study(driver, SerialEngine(TrainingWorker))
    return driver.record


def trained(file: Path, overrides: Sequence[str] = ()) -> StudyFolder:
    """Run the study of a file to its end."""
    study = opened(file, overrides)
    run(study)
    return study


def curves(study: StudyFolder) -> set[str]:
    """Return the names of the metrics in MLflow of the study's first trial."""
    runs = ExpectedRuns()
    with Ledger(study.ledger) as ledger:
        for event in ledger.read():
            runs.apply(event)
    return {name for name, _ in runs.pending[None, 0].metrics}


def exported(file: Path, overrides: Sequence[str] = ()) -> Path:
    """Run the study of a file, and export its first trial as a bundle beside the file."""
    study = trained(file, overrides)
    record = read_study(study.path)
    return export_bundle(record, study, record.trials[0], file.parent / "bundle", "cpu")


def resealed(bundle: Path, name: str, place: str, value: Any) -> None:
    """Set the value at a dotted path of a JSON file of a bundle, and seal the bundle again."""
    tree = json.loads((bundle / name).read_text())
    *parents, last = place.split(".")
    reduce(getitem, parents, tree)[last] = value
    (bundle / name).write_text(json.dumps(tree))
    seal(bundle)
