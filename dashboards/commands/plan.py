"""``skipstack plan``: what a study would cost."""

import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

import typer

from skipstack.dashboards.commands.search import (
    Corpus,
    DataDir,
    Device,
    Epochs,
    GpusPerTrial,
    Lanes,
    Proposer,
    Scale,
    Seed,
    Seeds,
    Settings,
    Study,
    Trials,
    studied,
)
from skipstack.dashboards.report.printing import say
from skipstack.data.basis.errors import UserError
from skipstack.search.config import StudyConfig
from skipstack.search.study.records.folder import StudyFolder
from skipstack.search.study.records.reading import read_study
from skipstack.search.study.records.study_record import StudyRecord


def add_to(app: typer.Typer) -> None:
    """Add the command of this file."""
    app.command("plan")(plan)


def plan(
    study: Study,
    corpus: Corpus = None,
    data_dir: DataDir = None,
    scale: Scale = None,
    settings: Settings = None,
    proposer: Proposer = None,
    trials: Trials = None,
    epochs: Epochs = None,
    seeds: Seeds = None,
    lanes: Lanes = None,
    seed: Seed = None,
    gpus_per_trial: GpusPerTrial = 0.0,
    device: Device = "auto",
    form: Annotated[Literal["text", "json"], typer.Option("--format", help="How to write it.")] = "text",
) -> None:
    """Count a study's space, measure its networks, forecast its hours. Nothing is trained and nothing is kept."""
    config, corpus_folder = studied(
        study,
        corpus=corpus,
        scale=scale,
        settings=settings,
        proposer=proposer,
        trials=trials,
        epochs=epochs,
        seeds=seeds,
        lanes=lanes,
        seed=seed,
    )
    from skipstack.dashboards.report.plan_text import as_json, as_text
    from skipstack.search.planning import plan as planning
    from skipstack.search.planning.measuring import TrainingMeter, room
    from skipstack.search.study.study import check_study

    check_study(config)
    here = room(device, gpus_per_trial)
    say(f"counting the space of {config.name}")
    made = planning.plan(config, here)
    with tempfile.TemporaryDirectory(prefix="skipstack-plan-") as scratch:
        folder = StudyFolder(Path(scratch))
        try:
            record = _prepared(config, folder, data_dir=data_dir, corpus_folder=corpus_folder)
        except UserError as missing:
            made = replace(made, unmeasured=str(missing))
        else:
            made = planning.measured(made, TrainingMeter(record, folder, device), tell=say)
    sys.stdout.write(as_json(made) if form == "json" else as_text(made))


def _prepared(config: StudyConfig, folder: StudyFolder, *, data_dir: Path | None, corpus_folder: Path) -> StudyRecord:
    from skipstack.search.study.study import open_study

    say("preparing its corpora")
    open_study(config, folder, data_dir=data_dir, corpus_folder=corpus_folder, clock=time.time)
    return read_study(folder.path)
