"""Streamlit, started in this process: for this machine alone, telling nobody, until it is interrupted."""

import json
import socket
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from skipstack.data.basis.errors import UserError

HOST: Final = "127.0.0.1"
"""Nobody else reaches it."""

PORT: Final = 8501
"""The first that is tried where none is asked for."""

TRIED: Final = 100
"""Ports that are tried then."""


def serve(folders: Sequence[Path], received: Mapping[str, Path], *, port: int | None, browser: bool) -> None:
    """Serve the dashboard of these studies until Ctrl-C; its address goes to stdout.

    ``received``: the folders of studies in MLflow, by their addresses. ``browser``: open one. Raises UserError where
    the ``port`` is taken.
    """
    chosen = free_port(port)
    from streamlit.web import bootstrap

    from skipstack.dashboards.web import app

    options = options_of(chosen, browser=browser)
    bootstrap.load_config_options(options)
    given = {"folders": [str(each) for each in folders], "received": {name: str(at) for name, at in received.items()}}
    print(f"http://{HOST}:{chosen}", flush=True)
    argv = sys.argv
    try:
        bootstrap.run(str(app.__file__), False, [json.dumps(given)], options)
    finally:
        sys.argv = argv


def options_of(port: int, *, browser: bool) -> dict[str, Any]:
    """How Streamlit is set; what a user's own files say of these counts for nothing."""
    return {
        "server_address": HOST,
        "server_port": port,
        "server_headless": not browser,
        "server_showEmailPrompt": False,
        "runner_magicEnabled": False,  # which would print what stands alone in a line, such as a docstring
        "server_fileWatcherType": "none",  # the code does not change while it runs
        "browser_gatherUsageStats": False,
        "client_toolbarMode": "minimal",
        "client_showErrorDetails": "full",
        "logger_hideWelcomeMessage": True,
        "logger_level": "error",
        "theme_base": "light",  # as the charts are
        "theme_primaryColor": "#0072b2",
    }


def free_port(port: int | None) -> int:
    """The port that was asked for, or the first free one. Raises UserError where there is none."""
    tried = [port] if port is not None else range(PORT, PORT + TRIED)
    for each in tried:
        with socket.socket() as tester:
            tester.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                tester.bind((HOST, each))
            except OSError as error:
                why = error.strerror
                continue
            return each
    if port is None:
        raise UserError(f"no port from {PORT} to {PORT + TRIED - 1} is free (allowed: another one, with --port N)")
    raise UserError(f"--port {port}: cannot be had ({why}) (allowed: a free port, or none, and one is chosen)")
