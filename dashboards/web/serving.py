"""Serves the dashboard, or another application, in this process, to this machine only, until Ctrl-C."""

import logging
import re
import secrets
import socket
import sys
import webbrowser
from asyncio import CancelledError
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Final

from skipstack.dashboards.reports.pictures.drawing_process import UndrawnError
from skipstack.dashboards.web.hosts import only_for
from skipstack.dashboards.web.page_names import TOKEN
from skipstack.data.basis.errors import UserError

if TYPE_CHECKING:
    from starlette.types import ASGIApp

HOST: Final = "127.0.0.1"
"""The address to listen on, which only this machine can reach."""

NAME: Final = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?")
"""Matches a valid host name for ``--host``."""

PORT: Final = 8501
"""The first port to try if the user gives none."""

PARTS: Final = (
    *(f"skipstack.dashboards.charts.{each}" for each in ("curves", "effects", "history", "slices", "timeline")),
    "skipstack.search.analysis.study_frames",
    "pyarrow.parquet",
)
"""The modules that first pages need, which take a second to load."""

TRIED: Final = 100
"""The number of ports to try if the user gives none."""


def serve(
    folders: Sequence[Path], received: Mapping[str, Path], *, port: int | None, hosts: Sequence[str], browser: bool
) -> None:
    """Serve the dashboard of studies until Ctrl-C. Its address is printed to stdout. An address with a token, which
    lets a browser act on studies (``acting.py``), is printed to stderr.

    ``folders``: the folders below which studies are found. ``received``: the folders of studies fetched from MLflow, by
    address. ``port``: the port to listen on; None takes the first free one. ``hosts``: names under which a proxy shows
    the dashboard. ``browser``: whether to open a browser.

    Raises UserError if no port is free, or a host is not a valid name.
    """
    check_hosts(hosts)
    with listening(port) as listener:
        address = address_of(listener)
        token = secrets.token_urlsafe()
        own = f"{address}/?{TOKEN}={token}"
        print(address, flush=True)
        print(f"to change something from the pages: {own}", file=sys.stderr, flush=True)
        from skipstack.dashboards.web.application import application

        Thread(target=_make_ready, daemon=True).start()
        if browser:
            webbrowser.open(own)
        serve_until_interrupted(application(folders, received, token), listener, hosts)


def check_hosts(hosts: Sequence[str]) -> None:
    """Raise UserError for a name in ``--host`` that no host can have."""
    for host in hosts:
        if not NAME.fullmatch(host):
            raise UserError(f"--host {host}: no name of a host (allowed: such as lab.example.org, without port)")


def address_of(listener: socket.socket) -> str:
    """The address of a server that listens on this socket."""
    return f"http://{HOST}:{listener.getsockname()[1]}"


def serve_until_interrupted(application: "ASGIApp", listener: socket.socket, hosts: Sequence[str]) -> None:
    """Serve an application on a socket until Ctrl-C, to this machine and to proxies with the names ``hosts``."""
    import uvicorn

    logging.getLogger("uvicorn.error").addFilter(_is_an_error)
    guarded = only_for(application, hosts)
    server = uvicorn.Server(uvicorn.Config(guarded, log_level="error", timeout_graceful_shutdown=1))
    with suppress(KeyboardInterrupt):  # the normal end
        server.run(sockets=[listener])


def _is_an_error(record: logging.LogRecord) -> bool:
    """Whether a line of the server's log reports an error. At its end, the server cancels the event streams of open
    tabs, which is no error.
    """
    cut = record.exc_info is not None and isinstance(record.exc_info[1], CancelledError)
    return not (cut or record.getMessage().startswith("Cancel "))


def _make_ready() -> None:
    """Load in advance what the first page needs, while the user's browser starts."""
    from skipstack.dashboards.web.charts_script import charts_script

    for part in PARTS:
        import_module(part)
    with suppress(UndrawnError):  # the page shows the reason
        charts_script()


def listening(port: int | None) -> socket.socket:
    """A socket that listens on ``port``; None takes the first free port from ``PORT`` on. Raises UserError if none is
    free.

    The socket listens before the server runs, so that a browser that connects early waits instead of failing.
    """
    why = ""
    for each in range(PORT, PORT + TRIED) if port is None else (port,):
        try:
            return socket.create_server((HOST, each))
        except OSError as error:
            why = error.strerror or str(error)
    if port is None:
        raise UserError(f"no port from {PORT} to {PORT + TRIED - 1} is free (allowed: another one, with --port N)")
    raise UserError(f"--port {port}: cannot be had ({why}) (allowed: a free port, or none, and one is chosen)")
