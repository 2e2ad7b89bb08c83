"""Streamlit, served by this process: for this machine alone, telling nobody, until it is interrupted."""

import socket
import webbrowser
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from skipstack.data.basis.errors import UserError

HOST: Final = "127.0.0.1"
"""Nobody else reaches it."""

PORT: Final = 8501
"""The first that is tried where none is asked for."""

TRIED: Final = 100
"""Ports that are tried then."""

OPTIONS: Final[Mapping[str, Any]] = {
    "server_address": HOST,
    "server_headless": True,  # opens no browser and asks for nobody's address
    "server_fileWatcherType": "none",  # the code does not change while it runs
    "runner_magicEnabled": False,  # which would print what stands alone in a line, such as a docstring
    "browser_gatherUsageStats": False,
    "client_toolbarMode": "minimal",
    "logger_level": "error",
    "theme_base": "light",  # as the charts are
    "theme_primaryColor": "#0072b2",
}
"""How Streamlit is set; what a user's own files say of these counts for nothing."""


def serve(folders: Sequence[Path], received: Mapping[str, Path], *, port: int | None, browser: bool) -> None:
    """Serve the dashboard of these studies until Ctrl-C; its address goes to stdout.

    ``received``: the folders of studies in MLflow, by their addresses. ``browser``: open one. Raises UserError where
    the ``port`` is taken.
    """
    with listening(port) as listener:
        import uvicorn
        from streamlit.starlette import App
        from streamlit.web.bootstrap import load_config_options

        from skipstack.dashboards.web import app

        chosen = listener.getsockname()[1]
        load_config_options({**OPTIONS, "server_port": chosen, "browser_serverPort": chosen})
        given: dict[str, Any] = {
            "folders": [*map(str, folders)],
            "received": {name: str(path) for name, path in received.items()},
        }
        dashboard = App(str(app.__file__), secrets=given)  # which is how a script is given anything
        server = uvicorn.Server(uvicorn.Config(dashboard, log_level="error", timeout_graceful_shutdown=2))
        address = f"http://{HOST}:{chosen}"
        print(address, flush=True)
        if browser:
            webbrowser.open(address)
        with suppress(KeyboardInterrupt):  # which is how it ends
            server.run(sockets=[listener])


def listening(port: int | None) -> socket.socket:
    """A socket that listens at this port, or at the first free one. Raises UserError where there is none.

    Who connects to it waits until it is served.
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
