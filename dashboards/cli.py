"""The command line: ``skipstack COMMAND``. stdout carries the result, stderr the progress.

Exit 0: done. 2: the user's mistake, told in one line. 3: a study finished, and faults ended some of its
trials. 130: interrupted, by the user, a full disk or a lost cluster, and can be resumed.
"""

import sys
import traceback
from typing import NoReturn

import typer
from typer.exceptions import Abort, Exit, TyperException

from dashboards import (
    catalogue_commands,
    extend_commands,
    inspect_commands,
    plan_commands,
    report_commands,
    search_commands,
    simulate_commands,
)
from dashboards.printing import say
from data.errors import UserError
from data.redaction import redacted

app = typer.Typer(
    name="skipstack",
    help="Search architectures and hyperparameters of recurrent sequence models on a Ray cluster.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
search_commands.add_to(app)
extend_commands.add_to(app)
plan_commands.add_to(app)
simulate_commands.add_to(app)
report_commands.add_to(app)
inspect_commands.add_to(app)
catalogue_commands.add_to(app)


def main() -> NoReturn:
    """Run the command that was typed, and exit with its code."""
    try:
        code = app(standalone_mode=False)
    except UserError as error:
        code = _refused(str(error))
    except TyperException as error:
        code = _refused(f"{' '.join(error.format_message().split()).rstrip('.')} (allowed: see --help)")
    except Exit as error:
        code = error.exit_code
    except BrokenPipeError:
        sys.stderr.close()  # the reader of stdout has gone, and wants no more
        code = 0
    except (KeyboardInterrupt, Abort):
        code = 130
    except Exception:  # noqa: BLE001 (a defect of ours, told whole, but for the secrets that an error may quote)
        sys.stderr.write(redacted(traceback.format_exc()))
        code = 1
    sys.exit(code or 0)


def _refused(message: str) -> int:
    say(f"skipstack: {message}")
    return 2
