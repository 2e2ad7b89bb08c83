"""The command line, ``skipstack COMMAND``. Results are written to stdout, progress and messages to stderr.

The exit codes:

- 0: done.
- 1: an unexpected error; its traceback is shown.
- 2: a user error, a missing library, or a full or failing disk; one line names it.
- 3: a study finished, but faults ended some of its trials or prevented their evaluation on test. For ``skipstack
  rerun``: a number differs from the recorded one.
- 130: the study was interrupted by the user, a full or lost disk, or a lost cluster. It can be resumed.
"""

import atexit
import gc
import re
import sys
import traceback
from importlib.metadata import version
from typing import Annotated, NoReturn

import typer

from skipstack.dashboards.commands.commands import Commands, help_without_command
from skipstack.dashboards.reports.printing import print_everywhere, say
from skipstack.data.basis.command_process import claim
from skipstack.data.basis.disk_errors import disk_trouble
from skipstack.data.basis.errors import UserError, unknown
from skipstack.data.basis.left_behind import leave
from skipstack.data.basis.parts import missing
from skipstack.data.basis.printable import visible
from skipstack.data.basis.redaction import redacted
from skipstack.data.basis.streams import OutputLostError, standard_streams
from skipstack.data.basis.system import check_system
from skipstack.data.basis.unwrapping import interruptions_unwrapped
from skipstack.search.execution.driver.interruption import terminated_as_interrupted

try:
    from typer.exceptions import TyperException
except ModuleNotFoundError:  # before 0.28, when Typer was built on click
    from click import ClickException as TyperException  # type: ignore[assignment]


def _show_version(asked: bool) -> None:
    if asked:
        sys.stdout.write(f"skipstack {version('skipstack')}\n")
        raise typer.Exit


def _without_a_command(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Show the help if no command was typed."""
    help_without_command(context)


app = typer.Typer(
    name="skipstack",
    cls=Commands,
    callback=_without_a_command,
    invoke_without_command=True,
    context_settings={"help_option_names": ["--help", "-h"]},
    help="Search architectures and hyperparameters of recurrent sequence models, on one machine or a Ray cluster.",
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def command() -> NoReturn:
    """Run ``skipstack`` as the only task of this process. This is the entry point of the installed script."""
    claim()
    main()


def main() -> NoReturn:
    """Run the command that was typed, and exit with its code."""
    print_everywhere()
    atexit.register(gc.freeze)  # no garbage collection at exit, which would take a second after a study
    with standard_streams():
        code = _code()
    leave(code)


def _code() -> int:
    """Run the command, print its error if it fails, and return the exit code."""
    try:
        check_system()
        with interruptions_unwrapped(), terminated_as_interrupted():
            code = app(standalone_mode=False)
        sys.stdout.flush()
    except OutputLostError as error:
        code = 0 if error.reader_left else _refused(str(error))
    except UserError as error:
        code = _refused(str(error))
    except TyperException as error:
        code = _refused(_of_typer(error))
    except typer.Exit as error:
        code = error.exit_code
    except (KeyboardInterrupt, typer.Abort):
        code = 130
    except Exception as error:  # noqa: BLE001 (this machine's fault; or a bug: show the traceback, without secrets)
        told = _of_this_machine(error)
        if told is None:
            sys.stderr.write(visible(redacted(traceback.format_exc())))
        code = 1 if told is None else _refused(told)
    return code or 0


def _of_this_machine(error: Exception) -> str | None:
    """The message for an error of this machine: a full or failing disk, or a missing library. None for other errors."""
    if (trouble := disk_trouble(error)) is not None:
        return f"a disk is full or fails ({trouble.words}; allowed: one with room)"
    if (
        isinstance(error, ModuleNotFoundError)
        and error.name
        and error.name.isidentifier()
        and error.name != "skipstack"
    ):
        return str(missing(error.name))
    return None


def _of_typer(error: TyperException) -> str:
    """The message for Typer's error about a command line. For an invalid choice, it names the nearest valid choice."""
    message = " ".join(error.format_message().split()).rstrip(".")
    choice = re.fullmatch(r"Invalid value for '(.+?)': (?:Value error, )?'(.*)' is not one of (.+)", message)
    if choice is None:
        return f"{message} (allowed: see --help)"
    option, got, allowed = choice.groups()
    names = re.findall(r"'(.+?)'", allowed)
    return f"{option}: {unknown('value', got, names)}"


def _refused(message: str) -> int:
    say(f"skipstack: {message}")
    return 2
