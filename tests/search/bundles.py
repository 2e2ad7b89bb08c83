"""From a study file to the bundle of its first trial, in this process."""

import time
from collections.abc import Sequence
from pathlib import Path

from search.driver import Driver
from search.export import export_bundle
from search.folder import StudyFolder, new_folder
from search.ledger import Ledger
from search.records import read_study
from search.serial import SerialEngine
from search.study import open_study, run_study
from search.study_file import load_study
from search.worker import TrainingWorker


def exported(file: Path, overrides: Sequence[str] = ()) -> Path:
    """Run the study beside its file; the bundle lies there, too."""
    study = StudyFolder(file.parent / "runs")
    config, corpora = load_study(file, overrides=overrides)
    with new_folder(study.path) as beside:
        open_study(config, beside, data_dir=None, corpus_folder=corpora, clock=time.time)
    with Ledger(study.ledger) as ledger:
        run_study(Driver(study, ledger, device="cpu", clock=time.time), SerialEngine(TrainingWorker))
    record = read_study(study.path)
    return export_bundle(record, study, record.trials[0], file.parent / "bundle", "cpu")
