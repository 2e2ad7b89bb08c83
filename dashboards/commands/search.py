"""``skipstack search`` and ``skipstack resume``."""

import json
import time
from functools import cache
from pathlib import Path
from typing import Annotated, Literal

import typer

from skipstack.data.basis.errors import UserError
from skipstack.search.config import StudyConfig
from skipstack.search.decisions.proposers.config import ProposerName
from skipstack.search.ledger.ledger import withdrawn_on_failure
from skipstack.search.study.faults import full_disk_interrupts
from skipstack.search.study.records.extension import shortening
from skipstack.search.study.records.folder import StudyFolder, free_name, new_folder
from skipstack.search.study.records.reading import is_finished, read_study
from skipstack.search.study_files.study_file import load_study
from skipstack.search.tracking.tracking import checked_uri


def whole(text: str) -> int:
    """A whole number as it was typed. Raises BadParameter, which names the option."""
    try:
        return int(text)
    except ValueError as error:
        raise typer.BadParameter(f"got {text!r}, not a whole number") from error


Study = Annotated[str, typer.Argument(help="A preset (`skipstack spaces` lists them) or a YAML file.")]
Corpus = Annotated[str | None, typer.Option(help="A named corpus (`skipstack data list`), or `grammar`.")]
DataDir = Annotated[Path | None, typer.Option(help="The folder that holds the named corpora.")]
Scale = Annotated[str | None, typer.Option(metavar="NAME", help="A size that the study offers, such as `small`.")]
Settings = Annotated[
    list[str] | None, typer.Option("--set", metavar="PATH=VALUE", help="Set one value; any number of times.")
]
Proposer = Annotated[ProposerName | None, typer.Option(help="Who chooses the trials.")]
WarmStart = Annotated[
    list[Path] | None,
    typer.Option(metavar="DIR", help="An earlier study, whose trials the proposer learns from first; any number."),
]
Trials = Annotated[int | None, typer.Option(help="Trials at most.", parser=whole, metavar="N")]
Epochs = Annotated[int | None, typer.Option(help="Epochs of a whole trial.", parser=whole, metavar="N")]
Seeds = Annotated[int | None, typer.Option(help="Replicas of each trial.", parser=whole, metavar="N")]
Lanes = Annotated[str | None, typer.Option(help="Seeds trained as one program: a number, or `auto`.")]
Seed = Annotated[int | None, typer.Option(help="Seed of the study itself.", parser=whole, metavar="N")]
TrackingUri = Annotated[
    str | None, typer.Option(help="MLflow store; by default a SQLite file in the study's folder.", metavar="URI")
]
Address = Annotated[str | None, typer.Option(help="A running Ray cluster: `auto`, or ray://HOST:10001.")]
GpusPerTrial = Annotated[float, typer.Option(min=0, help="Share of a GPU that each trial takes.")]
SharePerTrial = Annotated[
    str,
    typer.Option(
        "--gpus-per-trial",
        metavar="SHARE|auto",
        help="Share of a GPU that each trial takes; `auto`: by the memory that its config needs.",
    ),
]
Device = Annotated[
    Literal["auto", "cpu", "cuda"], typer.Option(help="Where trials compute; `auto` takes a GPU where there is one.")
]
EngineName = Annotated[
    Literal["ray", "serial"], typer.Option("--engine", help="`serial`: one trial after another, in this process.")
]


def share(text: str) -> float | Literal["auto"]:
    """``--gpus-per-trial`` as it was typed. Raises UserError for what is no share."""
    if text == "auto":
        return "auto"
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number < float("inf"):
        raise UserError(f"--gpus-per-trial: got {text!r} (allowed: a number from 0, or auto)")
    return number


def add_to(app: typer.Typer) -> None:
    """Add the commands of this file."""
    app.command("search")(search)
    app.command("resume")(resume)


def studied(
    study: str,
    *,
    corpus: str | None,
    scale: str | None,
    settings: list[str] | None,
    proposer: str | None,
    warm_start: list[Path] | None = None,
    trials: int | None,
    epochs: int | None,
    seeds: int | None,
    lanes: str | None,
    seed: int | None,
) -> tuple[StudyConfig, Path]:
    """The study that the options describe, and the folder from which its corpus paths are read."""
    options = {"lanes": lanes, "proposer": proposer}
    if warm_start:
        options["warm_start"] = json.dumps([str(path.resolve()) for path in warm_start])
    return load_study(
        study,
        scale=scale,
        corpus=corpus,
        overrides=[*(f"search.{name}={value}" for name, value in options.items() if value), *(settings or [])],
        trials=trials,
        epochs=epochs,
        seeds=seeds,
        seed=seed,
    )


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
        typer.Option(help="Where the ledger lies if not in the folder, such as s3://BUCKET/FOLDER.", metavar="URI"),
    ] = None,
    tracking_uri: TrackingUri = None,
    address: Address = None,
    gpus_per_trial: SharePerTrial = "0",
    device: Device = "auto",
    engine: EngineName = "ray",
) -> int:
    """Search a space: propose trials, train them under ASHA, record them, rank them."""
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
    with full_disk_interrupts(path), new_folder(path) as beside:
        open_study(config, beside, data_dir=data_dir, corpus_folder=corpus_folder, clock=time.time, address=ledger)
        with withdrawn_on_failure(beside.ledger):
            running = start_engine(engine, address=address, gpus_per_trial=gpus, device=device)
            check_machines(running, beside, lambda: read_study(beside.path))
    return run(StudyFolder(path), running, tracking_uri=uri, device=device, again=False)


def resume(
    folder: Annotated[Path, typer.Argument(help="The folder of a study that was interrupted.")],
    tracking_uri: TrackingUri = None,
    address: Address = None,
    gpus_per_trial: SharePerTrial = "0",
    device: Device = "auto",
    engine: EngineName = "ray",
    enough: Annotated[bool, typer.Option("--enough", help="Begin no further trial; finish those that began.")] = False,
) -> int:
    """Finish a study: trials that ran go on where they were, and what is still to come is proposed."""
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
