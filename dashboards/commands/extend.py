"""``skipstack extend`` and ``skipstack rerun``: more of a study, and one trial of it again."""

import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from skipstack.dashboards.commands.report import Device as Anywhere
from skipstack.dashboards.commands.report import StudyPath
from skipstack.dashboards.commands.search import (
    Address,
    DataDir,
    Device,
    EngineName,
    SharePerTrial,
    TrackingUri,
    share,
    whole,
)
from skipstack.dashboards.report.printing import say
from skipstack.data.basis.errors import UserError
from skipstack.search.code_version import code_version
from skipstack.search.study.records.folder import StudyFolder
from skipstack.search.study.records.reading import read_study
from skipstack.search.study_files.yaml_lines import read_yaml
from skipstack.search.tracking.tracking import checked_uri
from skipstack.spaces.domains import Json

DIFFERS = 3
"""The exit code where a trial that is trained again gives another number."""


def add_to(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command("extend")(extend)
    app.command("rerun")(rerun)


def extend(
    study: StudyPath,
    trials: Annotated[int, typer.Option(help="So many more trials.", parser=whole, metavar="N")] = 0,
    seeds: Annotated[
        int, typer.Option(help="So many more seeds for each trial that is still to come.", parser=whole, metavar="N")
    ] = 0,
    axis: Annotated[
        list[str] | None,
        typer.Option(metavar="PATH=CHOICE", help="One more value for an axis of choices; any number of times."),
    ] = None,
    data_dir: DataDir = None,
    tracking_uri: TrackingUri = None,
    address: Address = None,
    gpus_per_trial: SharePerTrial = "0",
    device: Device = "auto",
    engine: EngineName = "ray",
) -> int:
    """Go on with a study, finished or not, with more than was asked for at first."""
    for option, number in (("trials", trials), ("seeds", seeds)):
        if number < 0:
            raise UserError(f"--{option}: got {number} (allowed: 0 or more)")
    uri = None if tracking_uri is None else checked_uri(tracking_uri)
    gpus = share(gpus_per_trial)
    record, folder = read_study(study), StudyFolder(study)
    from skipstack.dashboards.commands.running import check_machines, run, start_engine
    from skipstack.search.study.study import extend_study

    first = extend_study(
        record,
        folder,
        trials=trials,
        seeds=seeds,
        choices=_choices(axis or ()),
        data_dir=data_dir,
        corpus_folder=Path.cwd(),
        clock=time.time,
    )
    running = start_engine(engine, address=address, gpus_per_trial=gpus, device=device)
    check_machines(running, folder, lambda: record)
    return run(folder, running, tracking_uri=uri, device=device, again=True, first=first)


def rerun(
    study: StudyPath,
    trial: Annotated[int, typer.Argument(help="The number of a trial.", parser=whole, metavar="TRIAL")],
    device: Anywhere = "auto",
) -> int:
    """Train a trial again from its config and seeds, and compare every number; nothing is written into the study."""
    record = read_study(study)
    from skipstack.search.study.rerun import rerun as trained_again
    from skipstack.search.study.rerun import trial_of

    reports, seeds = len(trial_of(record, trial).reports), len(record.trials[trial].seeds)
    from skipstack.search.trials.worker import TrainingWorker

    with TemporaryDirectory(prefix="skipstack-rerun-") as scratch:
        difference = trained_again(
            record, StudyFolder(study), trial, TrainingWorker, scratch=Path(scratch), device=device, tell=say
        )
    over = f"{reports} {'epoch' if reports == 1 else 'epochs'}, {seeds} {'seed' if seeds == 1 else 'seeds'}"
    if difference is None:
        print(f"trial {trial}: {over}: every score and metric is the recorded one, bit for bit")
        return 0
    print(
        f"trial {trial}: epoch {difference.epoch}: {difference.name}: recorded {difference.recorded}, "
        f"now {difference.now}"
    )
    assert record.opened is not None
    if record.opened.code_version != code_version():
        say(f"the study was begun by {record.opened.code_version}, this is {code_version()}")
    return DIFFERS


def _choices(given: Sequence[str]) -> dict[str, list[Json]]:
    """The values by path, each as YAML."""
    choices: dict[str, list[Json]] = {}
    for text in given:
        path, equals, value = text.partition("=")
        if not equals:
            raise UserError(f"--axis {text}: got no value (allowed: PATH=CHOICE, such as model.stack.depth=7)")
        choices.setdefault(path.strip(), []).append(read_yaml(value, f"--axis {text}")[0])
    return choices
