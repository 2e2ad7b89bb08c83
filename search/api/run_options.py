"""The options of a run: where and how trials run, and which listeners receive the study's events.

The names, defaults, help texts and checks of these options are defined only here. The command line, the signatures of
the library and the fields of the ledger follow these definitions.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, TypedDict, get_args

from skipstack.data.basis.errors import UserError, unknown

EngineName = Literal["ray", "serial"]
DeviceName = Literal["auto", "cpu", "cuda", "cuda-graphs"]
Share = float | Literal["auto"]
Concurrent = int | Literal["auto"]


@dataclass(frozen=True, slots=True)
class Option:
    """An option on the command line. ``metavar``: the placeholder for its value in the help. If it is None, Typer
    derives the placeholder from the option's type.
    """

    help: str
    metavar: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """The options of a run. Numbers may be passed as text. Raises UserError for a value that is not allowed."""

    engine: Annotated[
        EngineName,
        Option(
            "`ray`, the default, or `serial`: all trials in this process, one after another unless "
            "`--trials-per-program` is more."
        ),
    ] = "ray"
    address: Annotated[
        str | None,
        Option(
            "The Ray cluster: HOST:PORT, ray://HOST:10001 or `auto` use a running one, `local` starts one here; the "
            "default is that of RAY_ADDRESS, or else `local`."
        ),
    ] = None
    gpus_per_trial: Annotated[
        Share,
        Option(
            "GPUs for each trial, such as 0.25 or 1; `auto`, the default: as much as its network needs, if there is a "
            "GPU; none for a function.",
            "SHARE|auto",
        ),
    ] = "auto"
    cpus_per_trial: Annotated[
        int,
        Option(
            "CPUs that each trial takes on Ray, 1 by default. A function may use them all; a network computes on one, "
            "and the others are kept free.",
            "N",
        ),
    ] = 1
    concurrent: Annotated[
        Concurrent,
        Option(
            "How many trials run at a time, at most; `auto`, the default: as many as there is room for. `--engine "
            "serial` does not read it.",
            "N|auto",
        ),
    ] = "auto"
    trials_per_program: Annotated[
        int,
        Option(
            "How many trials a process holds at a time, 1 by default. Those whose configs differ only in scalars train "
            "together as one program, which makes a GPU faster; `--gpus-per-trial` is then of all of them.",
            "N",
        ),
    ] = 1
    device: Annotated[
        DeviceName,
        Option(
            "Where trials compute; `auto`, the default, takes a GPU if there is one. `cuda-graphs`: on a GPU, launches "
            "each training step as one CUDA graph; nobody has tried it on one yet."
        ),
    ] = "auto"
    tracking_uri: Annotated[
        str | None,
        Option("The MLflow store; by default MLFLOW_TRACKING_URI, else a SQLite file in the study's folder.", "URI"),
    ] = None
    system_metrics: Annotated[
        bool, Option("With each epoch, record the processor, memory and GPU use of the workers.")
    ] = False
    also: Annotated[
        Sequence[str],
        Option(
            "What receives the study's events beside MLflow: `tensorboard`; `wandb`, offline; or a Python file with a "
            "class of `skipstack.Listener`. May be repeated.",
            "NAME|FILE",
        ),
    ] = ()
    code: Annotated[
        Sequence[str],
        Option(
            "A file of the study's own Python code, which is run; its hash must be the recorded one. May be repeated. "
            "Left out for a study: the path where the file was before.",
            "FILE",
        ),
    ] = ()

    def __post_init__(self) -> None:
        for kind, got, allowed in (("engine", self.engine, EngineName), ("device", self.device, DeviceName)):
            if got not in get_args(allowed):
                raise UserError(unknown(kind, got, get_args(allowed)))
        object.__setattr__(self, "gpus_per_trial", _share(self.gpus_per_trial))
        object.__setattr__(self, "concurrent", "auto" if self.concurrent == "auto" else _whole(self, "concurrent"))
        for name in ("cpus_per_trial", "trials_per_program"):
            object.__setattr__(self, name, _whole(self, name))

    @property
    def most_at_a_time(self) -> int | None:
        """The maximum number of concurrent trials; None means as many as there is capacity for."""
        return None if self.concurrent == "auto" else self.concurrent


class GivenOptions(TypedDict, total=False):
    """The options of a run, as keyword arguments of the library's functions. An option that is missing or None gets the
    value that it had in the study's last run or, in a new study, its default.

    ``code``: the files of the study's own code, needed only if they or the study were moved since the last run. (A new
    study names these files in its config.) ``progress``: whether the progress of the study is shown on stderr. If not,
    messages to the user go to the logger ``skipstack``.
    """

    engine: EngineName | None
    address: str | None
    gpus_per_trial: Share | None
    cpus_per_trial: int | None
    concurrent: Concurrent | None
    trials_per_program: int | None
    device: DeviceName | None
    tracking_uri: str | None
    system_metrics: bool | None
    also: Sequence[str] | None
    code: Sequence[str | Path] | None
    progress: bool


def _share(given: str | float) -> Share:
    """Convert an option into a share of a GPU: a number, or ``auto``. Raises UserError if it is not allowed."""
    if given == "auto":
        return "auto"
    try:
        number = float(given)
    except ValueError:
        number = -1.0
    if not 0 <= number <= 1 and not (number > 1 and number.is_integer()):
        raise UserError(f"--gpus-per-trial: got {given!r} (allowed: a number from 0 to 1, whole GPUs, or auto)")
    return number


def _whole(options: RunOptions, name: str) -> int:
    """Convert the option ``name`` into a positive integer. Raises UserError for any other value."""
    given = getattr(options, name)
    is_whole = isinstance(given, int) and not isinstance(given, bool)
    number = int(given) if is_whole or str(given).isdecimal() else 0
    if number < 1:
        allowed = f"1 or more{', or auto' if name == 'concurrent' else ''}"
        raise UserError(f"--{name.replace('_', '-')}: got {given!r} (allowed: {allowed})")
    return number
