"""The arguments and options that several commands share."""

import json
from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypeVar, get_args, get_origin, get_type_hints

import typer

from skipstack.dashboards.formats.rendering import FileFormat
from skipstack.data.basis.errors import UserError
from skipstack.search.api.run_options import Option, RunOptions
from skipstack.search.strategy.proposers.config import ProposerName
from skipstack.search.strategy.schedulers.config import SchedulerName

if TYPE_CHECKING:
    from skipstack.search.study.config import StudyConfig


def whole(text: str) -> int:
    """Parse an integer that the user typed. Raises BadParameter, to which Typer adds the option's name."""
    try:
        return int(text)
    except ValueError as error:
        raise typer.BadParameter(f"got {text!r}, not a whole number") from error


def number(about: str, least: int | None = None, most: int | None = None) -> Any:
    """The Typer option of a whole number, from ``least`` to ``most`` if these are given. ``about``: its help."""

    def within(option: typer.CallbackParam, value: int | None) -> int | None:
        if value is not None and least is not None and (value < least or (most is not None and value > most)):
            allowed = f"{least} or more" if most is None else f"{least} to {most}"
            raise UserError(f"{option.opts[0]}: got {value} (allowed: {allowed})")
        return value

    return typer.Option(help=about, parser=whole, metavar="N", callback=None if least is None else within)


def decimal(text: str) -> float:
    """Parse a decimal number that the user typed. Raises BadParameter, to which Typer adds the option's name."""
    try:
        return float(text)
    except ValueError as error:
        raise typer.BadParameter(f"got {text!r}, not a number") from error


Study = Annotated[
    str, typer.Argument(help="A preset (`skipstack spaces` lists them), or a study file of your own (YAML).")
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
AnyFormat = Annotated[FileFormat, typer.Option("--format", help="The format of the output.")]
TextOrJson = Annotated[Literal["text", "json"], typer.Option("--format", help="The format of the output.")]
Out = Annotated[Path | None, typer.Option(help="Write the output to this file, replacing it. Left out: stdout.")]
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
Port = Annotated[int | None, number("The port; by default the first free one from 8501 on.", 1, 65535)]
Hosts = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME",
        help="A name under which a proxy shows the pages, besides localhost and 127.0.0.1; may be repeated.",
    ),
]


STUDY_OPTIONS: Final[Mapping[str, Any]] = {
    "corpus": Annotated[
        str | None,
        typer.Option(
            help="A named corpus (`skipstack data list`), or `grammar`, a small one that skipstack generates."
        ),
    ],
    "data_dir": DataDir,
    "scale": Scale,
    "settings": Settings,
    "proposer": Annotated[ProposerName | None, typer.Option(help="The method that chooses the trials.")],
    "scheduler": Annotated[
        SchedulerName | None, typer.Option(help="The method that stops trials early; `none` stops no trial.")
    ],
    "warm_start": Annotated[
        list[Path] | None,
        typer.Option(
            metavar="DIR",
            help="An earlier study. If its corpus is the same, the proposer learns from its trials; if not, it tries "
            "the best of them first. May be repeated.",
        ),
    ],
    "trials": Annotated[int | None, number("How many trials to run, at most.")],
    "hours": Annotated[
        float | None,
        typer.Option(
            help="Hours for the whole study, counted over all its runs. When they are over no further trial starts, "
            "what runs is stopped at its next report, and the best are tested (`search.hours`).",
            parser=decimal,
            metavar="H",
        ),
    ],
    "enough": Annotated[
        bool,
        typer.Option(
            "--enough",
            help="Start no further trial once another hour is expected to raise the best score by less than a tenth of "
            "the deviation between seeds (`search.enough`).",
        ),
    ],
    "epochs": Annotated[int | None, number("Epochs of a trial that is not stopped early.")],
    "seeds": Annotated[int | None, number("How many seeds each trial trains with; its score is their mean.")],
    "lanes": Annotated[
        str | None, typer.Option(help="How many seeds train in one batched computation: a number, or `auto`.")
    ],
    "seed": Annotated[
        int | None, number("The random seed of the study: of its proposals and of the order of batches.")
    ],
}
"""The options with which a command line changes a study, by name, in the order of ``--help``."""


KINDS: Final[Mapping[str, tuple[Any, Option]]] = {
    name: get_args(kind) for name, kind in get_type_hints(RunOptions, include_extras=True).items()
}
"""The type and the help of each run option, by its field in ``RunOptions``."""


def run_option(name: str) -> Any:
    """The Typer option for the field ``name`` of ``RunOptions``."""
    kind, said = KINDS[name]
    typed = f"--{name.replace('_', '-')}"
    return typer.Option(
        f"{typed}/--no-{typed[2:]}" if kind is bool else typed,
        help=said.help,
        metavar=said.metavar,
        parser=whole if kind is int else None,
        show_default=kind is not bool,
    )


def _given(name: str) -> Any:
    """The type with which Typer parses the run option ``name``. It includes None, since an option may be left out.
    Integers, flags and choices have their own types. An option that may be repeated is a list of texts. Any other
    option is a text, which ``RunOptions`` parses.
    """
    kind, _ = KINDS[name]
    if get_origin(kind) is Sequence:
        return list[str] | None
    return (kind if kind in (bool, int) or get_origin(kind) is Literal else str) | None


Also = Annotated[list[str] | None, run_option("also")]
Code = Annotated[list[Path] | None, run_option("code")]
ComputeDevice = Annotated[Literal["auto", "cpu", "cuda"], typer.Option(help="Where to compute.")]


Command = TypeVar("Command", bound=Callable[..., object])


def with_run_options(*names: str) -> Callable[[Command], Command]:
    """Return a decorator that adds run options to a command's signature, after the command's own options.

    The command receives the run options in its last parameter, ``**run``. ``names``: the options to add; by default all
    but ``code``. (A new study names its code in its file; other commands declare ``code`` themselves.)
    """

    def extended(command: Command) -> Command:
        *named, _ = signature(command).parameters.values()
        options = [
            Parameter(name, Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[_given(name), run_option(name)])
            for name in names or (name for name in KINDS if name != "code")
        ]
        return _with_parameters(command, [*named, *options])

    return extended


def with_study_options(*without: str) -> Callable[[Command], Command]:
    """Return a decorator that adds ``STUDY_OPTIONS``, except those in ``without``, to a command's signature, after its
    first argument. The command receives them in its last parameter, ``**given``, and passes this to ``studied``.
    """

    def extended(command: Command) -> Command:
        first, *others = signature(command).parameters.values()
        options = [
            first.replace(name=name, default=False if get_args(kind)[0] is bool else None, annotation=kind)
            for name, kind in STUDY_OPTIONS.items()
            if name not in without
        ]
        return _with_parameters(command, [first, *options, *others])

    return extended


def _with_parameters(command: Command, parameters: Sequence[Parameter]) -> Command:
    """Give a command the signature with these parameters, from which Typer makes its options."""
    described: Any = command
    described.__signature__ = signature(command).replace(parameters=parameters)
    return command


def studied(study: str, given: dict[str, Any]) -> "tuple[StudyConfig, Path]":
    """The config of the study that the options describe, and the folder where relative paths of its corpus start.

    ``given``: the options of the command. Those in ``STUDY_OPTIONS`` except ``data_dir`` are removed. An option of None
    or False leaves the study's own value.
    """
    from skipstack.search.study.study_files.study_file import load_study

    own = {name: given.pop(name, None) for name in STUDY_OPTIONS if name != "data_dir"}
    lanes, settings, warm_start = own["lanes"], own.pop("settings"), own.pop("warm_start")
    if lanes is not None and lanes != "auto" and not (lanes.isdecimal() and int(lanes)):
        raise UserError(f"--lanes: got {lanes!r} (allowed: 1 or more, or auto)")
    options = {name: own.pop(name) for name in ("lanes", "proposer", "scheduler")}
    options["enough"] = "true" if own.pop("enough") else None
    if warm_start:
        options["warm_start"] = json.dumps([str(path.resolve()) for path in warm_start])
    overrides = [*(f"search.{name}={value}" for name, value in options.items() if value), *(settings or [])]
    return load_study(study, overrides=overrides, **own)


def in_mlflow(study: Path) -> bool:
    """Whether ``study`` is the address of a study in MLflow, and not a folder."""
    return str(study).startswith(("mlflow:", "runs:")) and not study.exists()


def located(studies: Sequence[Path], tracking_uri: str | None) -> list[Path]:
    """The folders of ``studies``. Studies in MLflow are downloaded (``search/publishing/tracking/reading.py``)."""
    if not any(map(in_mlflow, studies)):
        return list(studies)
    from skipstack.search.publishing.tracking.reading import located as fetched

    return fetched(studies, tracking_uri)
