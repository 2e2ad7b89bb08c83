"""Serves the dashboard with Streamlit in this process: on localhost only, without telemetry, until Ctrl-C."""

import re
import socket
import webbrowser
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import Any, Final

from skipstack.dashboards.formats.style import COLOURS, FONT
from skipstack.dashboards.web.hosts import only_for
from skipstack.data.basis.errors import UserError

HOST: Final = "127.0.0.1"
"""The address to listen on, which only this machine can reach."""

NAME: Final = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?")
"""Matches a valid host name for ``--host``."""

PORT: Final = 8501
"""The first port to try if the user gives none."""

TRIED: Final = 100
"""The number of ports to try if the user gives none."""

OPTIONS: Final[Mapping[str, Any]] = {
    "server_address": HOST,
    "server_headless": True,  # opens no browser and asks for no e-mail address
    "server_fileWatcherType": "none",  # the code does not change while the server runs
    "runner_magicEnabled": False,  # if on, Streamlit prints bare expressions, such as docstrings
    "browser_gatherUsageStats": False,
    "client_toolbarMode": "minimal",
    "logger_level": "error",
    "theme_font": FONT,
    "theme_metricValueFontSize": "1.7rem",
    **{
        f"theme_{theme}_{option}": COLOURS[name][dark]
        for dark, theme in enumerate(("light", "dark"))
        for option, name in (
            ("backgroundColor", "paper"),
            ("secondaryBackgroundColor", "band"),
            ("textColor", "ink"),
            ("borderColor", "line"),
        )
    },
    "theme_light_primaryColor": "#0072b2",
    "theme_dark_primaryColor": "#2f81c7",
}
"""Streamlit's options, which override the user's config. The light or dark theme is that of the reader's system."""


def serve(
    folders: Sequence[Path], received: Mapping[str, Path], *, port: int | None, hosts: Sequence[str], browser: bool
) -> None:
    """Serve the dashboard of studies until Ctrl-C, and print its address to stdout.

    ``folders``: the folders below which studies are found. ``received``: the folders of studies fetched from MLflow, by
    address. ``port``: the port to listen on; None takes the first free one. ``hosts``: names under which a proxy shows
    the dashboard. ``browser``: whether to open a browser.

    Raises UserError if no port is free, or a host is not a valid name.
    """
    for host in hosts:
        if not NAME.fullmatch(host):
            raise UserError(f"--host {host}: no name of a host (allowed: such as lab.example.org, without port)")
    with listening(port) as listener:
        import uvicorn
        from streamlit.starlette import App
        from streamlit.web.bootstrap import load_config_options

        from skipstack.dashboards.web import app
        from skipstack.dashboards.web.first_screen_serving import with_first_screens
        from skipstack.dashboards.web.readiness import first_screen_of, make_ready

        chosen = listener.getsockname()[1]
        load_config_options({**OPTIONS, "server_port": chosen, "browser_serverPort": chosen})
        given: dict[str, Any] = {
            "folders": [*map(str, folders)],
            "received": {name: str(path) for name, path in received.items()},
        }
        dashboard = App(str(app.__file__), secrets=given)  # secrets are the only way to pass values to the script
        Thread(target=make_ready, args=(folders, received), daemon=True).start()
        guarded = only_for(with_first_screens(dashboard, first_screen_of(folders, received)), hosts)
        server = uvicorn.Server(uvicorn.Config(guarded, log_level="error", timeout_graceful_shutdown=2))
        address = f"http://{HOST}:{chosen}"
        print(address, flush=True)
        if browser:
            webbrowser.open(address)
        with suppress(KeyboardInterrupt):  # the normal end
            server.run(sockets=[listener])


def listening(port: int | None) -> socket.socket:
    """A socket that listens on ``port``; None takes the first free port from ``PORT`` on. Raises UserError if no port
    is free.

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
