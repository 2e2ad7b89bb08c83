"""The arguments and options that several commands share."""

import json
from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeVar

import typer

from skipstack.search.strategy.proposers.config import ProposerName

if TYPE_CHECKING:
    from skipstack.search.study.config import StudyConfig


def whole(text: str) -> int:
    """A whole number as it was typed. Raises BadParameter, which names the option."""
    try:
        return int(text)
    except ValueError as error:
        raise typer.BadParameter(f"got {text!r}, not a whole number") from error


def decimal(text: str) -> float:
    """A number as it was typed. Raises BadParameter, which names the option."""
    try:
        return float(text)
    except ValueError as error:
        raise typer.BadParameter(f"got {text!r}, not a number") from error


Study = Annotated[
    str, typer.Argument(help="A preset (`skipstack spaces` lists them), or a study file of your own (YAML).")
]
Corpus = Annotated[
    str | None,
    typer.Option(help="A named corpus (`skipstack data list`), or `grammar`, a small one that skipstack generates."),
]
DataDir = Annotated[
    Path | None,
    typer.Option(
        help="The folder of the named corpora; by default SKIPSTACK_DATA_DIR, or else the cache that "
        "`skipstack data fetch` fills."
    ),
]
Scale = Annotated[str | None, typer.Option(metavar="NAME", help="A size that the study defines, such as `small`.")]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="PATH=VALUE", help="Set a field of the base, such as model.stack.depth=3; may be repeated."
    ),
]
Proposer = Annotated[ProposerName | None, typer.Option(help="The method that chooses the trials.")]
WarmStart = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="DIR",
        help="An earlier study. If its corpus is the same, the proposer learns from its trials; if not, it tries the "
        "best of them first. May be repeated.",
    ),
]
Trials = Annotated[int | None, typer.Option(help="How many trials to run, at most.", parser=whole, metavar="N")]
Enough = Annotated[
    bool,
    typer.Option(
        "--enough",
        help="Start no further trial once another hour is expected to raise the best score by less than a tenth of the "
        "deviation between seeds (`search.enough`).",
    ),
]
Hours = Annotated[
    float | None,
    typer.Option(
        help="Hours for the whole study, counted over all its runs. When they are over no further trial starts, what "
        "runs is stopped at its next report, and the best are tested (`search.hours`).",
        parser=decimal,
        metavar="H",
    ),
]
Epochs = Annotated[
    int | None, typer.Option(help="Epochs of a trial that is not stopped early.", parser=whole, metavar="N")
]
Seeds = Annotated[
    int | None,
    typer.Option(help="How many seeds each trial trains with; its score is their mean.", parser=whole, metavar="N"),
]
Lanes = Annotated[
    str | None, typer.Option(help="How many seeds train in one batched computation: a number, or `auto`.")
]
Seed = Annotated[
    int | None,
    typer.Option(
        help="The random seed of the study: of its proposals and of the order of batches.", parser=whole, metavar="N"
    ),
]
TrackingUri = Annotated[
    str | None,
    typer.Option(
        help="The MLflow store; by default MLFLOW_TRACKING_URI, else a SQLite file in the study's folder.",
        metavar="URI",
    ),
]
Address = Annotated[
    str | None,
    typer.Option(
        help="The Ray cluster: HOST:PORT, ray://HOST:10001 or `auto` use a running one, `local` starts one here; the "
        "default is that of RAY_ADDRESS, or else `local`."
    ),
]
SharePerTrial = Annotated[
    str | None,
    typer.Option(
        "--gpus-per-trial",
        metavar="SHARE|auto",
        help="GPUs for each trial, such as 0.25 or 1; `auto`, the default: as much as its config needs, if there is a "
        "GPU.",
    ),
]
CpusPerTrial = Annotated[
    int | None,
    typer.Option(
        "--cpus-per-trial",
        help="CPUs that each trial takes on Ray, 1 by default. A function may use them all; a network computes on one, "
        "and the others are kept free.",
        parser=whole,
        metavar="N",
    ),
]
Concurrent = Annotated[
    str | None,
    typer.Option(
        metavar="N|auto",
        help="How many trials run at a time, at most; `auto`, the default: as many as there is room for. `--engine "
        "serial` does not read it.",
    ),
]
Device = Annotated[
    Literal["auto", "cpu", "cuda", "cuda-graphs"] | None,
    typer.Option(
        help="Where trials compute; `auto`, the default, takes a GPU if there is one. `cuda-graphs`: on a GPU, "
        "launches each training step as one CUDA graph; nobody has tried it on one yet."
    ),
]
EngineName = Annotated[
    Literal["ray", "serial"] | None,
    typer.Option(
        "--engine",
        help="`ray`, the default, or `serial`: all trials in this process, one after another unless "
        "`--trials-per-program` is more.",
    ),
]
TrialsPerProgram = Annotated[
    int | None,
    typer.Option(
        "--trials-per-program",
        help="How many trials a process holds at a time, 1 by default. Those whose configs differ only in scalars "
        "train together as one program, which makes a GPU faster; `--gpus-per-trial` is then of all of them.",
        parser=whole,
        metavar="N",
    ),
]
SystemMetrics = Annotated[
    bool | None,
    typer.Option(
        "--system-metrics/--no-system-metrics",
        help="With each epoch, record the processor, memory and GPU use of the workers.",
        show_default=False,
    ),
]
Also = Annotated[
    list[str] | None,
    typer.Option(
        "--also",
        help="What hears the study beside MLflow: `tensorboard`; `wandb`, offline; or a Python file with a class of "
        "`skipstack.Listener`. May be repeated.",
        metavar="NAME|FILE",
    ),
]
StudyPath = Annotated[Path, typer.Argument(help="The folder of a study.")]
AnyStudyPath = Annotated[
    Path,
    typer.Argument(help="A study: its folder; or in MLflow: mlflow:NAME, mlflow:ID, runs:/ID.", metavar="STUDY"),
]
StoreOfStudy = Annotated[
    str | None,
    typer.Option(
        "--tracking-uri", help="The MLflow store of a study in MLflow; by default MLFLOW_TRACKING_URI.", metavar="URI"
    ),
]
BundlePath = Annotated[Path, typer.Argument(help="A bundle: its folder, or its .zip.")]
Code = Annotated[
    list[Path] | None,
    typer.Option(
        "--code",
        metavar="FILE",
        help="A file of the study's own Python code, which is run; its hash must be the recorded one. May be repeated. "
        "Left out for a study: the path where the file was before.",
    ),
]
ComputeDevice = Annotated[Literal["auto", "cpu", "cuda"], typer.Option(help="Where to compute.")]


RUN: Final[Mapping[str, Any]] = {
    "tracking_uri": TrackingUri,
    "address": Address,
    "gpus_per_trial": SharePerTrial,
    "cpus_per_trial": CpusPerTrial,
    "concurrent": Concurrent,
    "trials_per_program": TrialsPerProgram,
    "device": Device,
    "engine": EngineName,
    "system_metrics": SystemMetrics,
    "also": Also,
}
"""The options of a run, which every command that runs a study has (``search/api/run_options.py``)."""

Command = TypeVar("Command", bound=Callable[..., int])


def with_run_options(command: Command) -> Command:
    """Give a command the options of a run, after its own; its last parameter, ``**run``, takes them."""
    own = signature(command)
    *named, _ = own.parameters.values()
    options = [Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=kind) for name, kind in RUN.items()]
    command.__signature__ = own.replace(parameters=[*named, *options])  # type: ignore[attr-defined]
    return command


def studied(
    study: str,
    *,
    corpus: str | None,
    scale: str | None,
    settings: list[str] | None,
    proposer: str | None,
    warm_start: list[Path] | None = None,
    trials: int | None,
    hours: float | None = None,
    enough: bool = False,
    epochs: int | None,
    seeds: int | None,
    lanes: str | None,
    seed: int | None,
) -> "tuple[StudyConfig, Path]":
    """The study that the options describe, and the folder at which its corpus paths start."""
    from skipstack.search.study.study_files.study_file import load_study

    options = {"lanes": lanes, "proposer": proposer, "enough": "true" if enough else None}
    if warm_start:
        options["warm_start"] = json.dumps([str(path.resolve()) for path in warm_start])
    return load_study(
        study,
        scale=scale,
        corpus=corpus,
        overrides=[*(f"search.{name}={value}" for name, value in options.items() if value), *(settings or [])],
        trials=trials,
        hours=hours,
        epochs=epochs,
        seeds=seeds,
        seed=seed,
    )


def located(studies: Sequence[Path], tracking_uri: str | None) -> list[Path]:
    """The folders of studies; those in MLflow are fetched first (``search/publishing/tracking/reading.py``)."""
    if not any(str(study).startswith(("mlflow:", "runs:")) for study in studies):
        return list(studies)
    from skipstack.search.publishing.tracking.reading import located as fetched

    return fetched(studies, tracking_uri)
