"""``skipstack dashboard``: shows studies in a browser."""

import sys
from pathlib import Path
from typing import Annotated, Final

import typer

from skipstack.dashboards.commands.options import Hosts, Port, StoreOfStudy, in_mlflow, located
from skipstack.data.basis.errors import UserError
from skipstack.data.basis.parts import need

STORE: Final = "mlflow:"
"""The argument that means all studies of an MLflow store."""


def dashboard(
    folders: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[FOLDER]...",
            help="Folders, shown with all studies below them; mlflow:NAME for a study in MLflow, mlflow: for all "
            "studies of a store. Left out: all of --tracking-uri; without it, the folder runs, or else this one.",
        ),
    ] = None,
    port: Port = None,
    host: Hosts = None,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Open no browser. Without a terminal, none is opened anyway.")
    ] = False,
    tracking_uri: StoreOfStudy = None,
) -> None:
    """Show studies in a browser, also while they run.

    The pages are served to this machine only. They answer: Is it going well? What works? Can I believe it? What do I
    take away? A second address, with a token, is printed: pages opened from it can also stop trials, try points and
    write notes. Ctrl-C ends the server.
    """
    need("starlette", "dashboard")
    here = Path("runs") if Path("runs").is_dir() else Path()
    given = folders or [here if tracking_uri is None else Path(STORE)]
    local = [path for path in given if not in_mlflow(path)]
    for path in local:
        if not path.is_dir():
            raise UserError(
                f"{path}: no such folder (allowed: a folder with studies below it, mlflow:NAME, or --tracking-uri URI "
                "alone)"
            )
    named = [path for path in given if in_mlflow(path) and str(path) != STORE]
    received = dict(zip(map(str, named), located(named, tracking_uri), strict=True))
    if Path(STORE) in given:
        from skipstack.search.publishing.tracking.reading import all_located

        received |= all_located(tracking_uri)
    from skipstack.dashboards.web.serving import serve

    asks = not no_browser and sys.stdin.isatty() and sys.stdout.isatty()
    serve(local, received, port=port, hosts=host or (), browser=asks)
