"""``skipstack search`` and ``skipstack resume``."""

import time
from functools import cache
from pathlib import Path
from typing import Annotated

import typer

from skipstack.dashboards.commands.options import (
    Address,
    Corpus,
    DataDir,
    Device,
    EngineName,
    Epochs,
    Lanes,
    Proposer,
    Scale,
    Seed,
    Seeds,
    Settings,
    SharePerTrial,
    Study,
    TrackingUri,
    Trials,
    WarmStart,
    share,
    studied,
)
from skipstack.search.ledger.ledger import withdrawn_on_failure
from skipstack.search.records.extension import shortening
from skipstack.search.records.folder import StudyFolder, free_name, new_folder
from skipstack.search.records.reading import is_finished, read_study
from skipstack.search.tracking.tracking import checked_uri
from skipstack.search.trials.faults import full_disk_told


def add_to(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command("search")(search)
    app.command("resume")(resume)


def search(
    study: Study,
    corpus: Corpus = None,
    data_dir: DataDir = None,
    scale: Scale = None,
    settings: Settings = None,
    proposer: Proposer = None,
    warm_start: WarmStart = None,
    trials: Trials = None,
    epochs: Epochs = None,
    seeds: Seeds = None,
    lanes: Lanes = None,
    seed: Seed = None,
    out: Annotated[Path | None, typer.Option(help="A new folder for the study; by default runs/STUDY.")] = None,
    ledger: Annotated[
        str | None,
        typer.Option(
            help="Where to keep the ledger, if not in that folder, such as s3://BUCKET/FOLDER.", metavar="URI"
        ),
    ] = None,
    tracking_uri: TrackingUri = None,
    address: Address = None,
    gpus_per_trial: SharePerTrial = "0",
    device: Device = "auto",
    engine: EngineName = "ray",
) -> int:
    """Run a study: propose trials, train them, stop the worse ones early, record and rank them."""
    config, corpus_folder = studied(
        study,
        corpus=corpus,
        scale=scale,
        settings=settings,
        proposer=proposer,
        warm_start=warm_start,
        trials=trials,
        epochs=epochs,
        seeds=seeds,
        lanes=lanes,
        seed=seed,
    )
    uri = None if tracking_uri is None else checked_uri(tracking_uri)
    gpus = share(gpus_per_trial)
    from skipstack.dashboards.commands.running import (  # loads torch, ray and mlflow: for a valid study alone
        check_machines,
        run,
        start_engine,
    )
    from skipstack.search.study.study import open_study

    path = free_name(Path("runs"), config.name) if out is None else out
    with full_disk_told(path), new_folder(path) as beside:
        open_study(config, beside, data_dir=data_dir, corpus_folder=corpus_folder, clock=time.time, address=ledger)
        with withdrawn_on_failure(beside.ledger):
            running = start_engine(engine, address=address, gpus_per_trial=gpus, device=device)
            check_machines(running, beside, lambda: read_study(beside.path))
    return run(StudyFolder(path), running, tracking_uri=uri, device=device, again=False)


def resume(
    folder: Annotated[Path, typer.Argument(help="The folder of the study.")],
    tracking_uri: TrackingUri = None,
    address: Address = None,
    gpus_per_trial: SharePerTrial = "0",
    device: Device = "auto",
    engine: EngineName = "ray",
    enough: Annotated[
        bool, typer.Option("--enough", help="Start no further trial; finish those that have been started.")
    ] = False,
) -> int:
    """Continue an interrupted study: finish the trials that were running, then run those still to come."""
    uri = None if tracking_uri is None else checked_uri(tracking_uri)
    finished = is_finished(folder)
    gpus = share(gpus_per_trial)
    from skipstack.dashboards.commands.running import catch_up, check_machines, finish, run, start_engine

    if finished:
        catch_up(StudyFolder(folder), uri)
        return finish(folder, read_study(folder), uri)
    record = cache(lambda: read_study(folder))  # which takes time, and only some need it
    first = shortening(record().study, len(record().trials), time=time.time()) if enough else []
    running = start_engine(engine, address=address, gpus_per_trial=gpus, device=device)
    check_machines(running, StudyFolder(folder), record)
    return run(StudyFolder(folder), running, tracking_uri=uri, device=device, again=True, first=first)
