"""``skipstack dashboard``: studies in a browser."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from skipstack.dashboards.commands.options import StoreOfStudy, located
from skipstack.data.basis.errors import UserError


def add_to(app: typer.Typer) -> None:
    """Add the command of this file."""
    app.command("dashboard")(dashboard)


def dashboard(
    folders: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[FOLDER]...",
            help="Folders, with all studies that lie below them, or mlflow:NAME. Left out: runs, or this folder.",
        ),
    ] = None,
    port: Annotated[
        int | None, typer.Option(min=1, max=65535, help="The port; by default the first free one from 8501 on.")
    ] = None,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Open no browser; nor is one opened where there is no terminal.")
    ] = False,
    tracking_uri: StoreOfStudy = None,
) -> None:
    """Show studies in a browser, also while they run: on this machine alone, reading and never changing them.

    Is it going well? What works? Can I believe it? What do I take away? Ctrl-C ends it.
    """
    from skipstack.dashboards.web.found import studies_below

    given = folders or [Path("runs") if Path("runs").is_dir() else Path()]
    local = [path for path in given if not _in_mlflow(path)]
    for path in local:
        if not path.is_dir():
            raise UserError(f"{path}: no such folder (allowed: a folder with studies below it, or mlflow:NAME)")
    if local and not studies_below(local) and len(local) == len(given):
        raise UserError(
            f"{', '.join(map(str, local))}: no study below (allowed: a folder that `skipstack search` made, or one "
            "above it)"
        )
    received = {str(path): located(path, tracking_uri) for path in given if _in_mlflow(path)}
    from skipstack.dashboards.web.serving import serve

    serve(local, received, port=port, browser=not no_browser and sys.stdin.isatty() and sys.stdout.isatty())


def _in_mlflow(path: Path) -> bool:
    return str(path).startswith(("mlflow:", "runs:")) and not path.exists()
