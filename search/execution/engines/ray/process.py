"""Settings of the user's process that the engine and Ray change, and that are restored when the engine ends."""

import faulthandler
import logging
import os
import resource
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext, redirect_stdout
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Final, TextIO

from skipstack.data.basis.command_process import is_claimed

SLOTS: Final = {
    "TUNE_DISABLE_AUTO_CALLBACK_LOGGERS": "1",  # the ledger is the log
    "TUNE_DISABLE_SIGINT_HANDLER": "1",  # the driver handles Ctrl-C
    "RAY_AIR_NEW_OUTPUT": "0",  # the command line shows progress
    "TUNE_GLOBAL_CHECKPOINT_S": str(10**9),  # Tune would save its slots to a file, for its own restore
    "TUNE_STATE_REFRESH_PERIOD": str(10**9),  # Tune would ask the head for resources, for its own progress output
}
"""Environment variables for the run of Tune that holds a study's slots. Tune reads them when a run begins. Unset
them as soon as the run has begun: otherwise a run that the user starts in another thread would read them, too.
"""

ENVIRONMENT: Final = {"RAY_TRAIN_COUNT_PREEMPTION_AS_FAILURE": "1"}
"""Environment variables that are set while an engine exists. This one makes a slot on a preempted machine count as
failed, so that the driver decides whether its trials are retried.
"""

UNLESS_SAID: Final = {
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "1",  # a worker without a share of a GPU sees no GPU
    "RAY_gcs_server_request_timeout_seconds": "20",  # calls to a lost head fail after this time
    "RAY_gcs_rpc_server_reconnect_timeout_s": "600",  # after this time without its head, Ray ends this process
}
"""Environment variables for this process and for a cluster that is started here, unless the user has set them."""

PREFIXES: Final = ("RAY_", "TUNE_", "PYTHONBREAKPOINT")
"""Prefixes of the environment variables that are restored: Ray and Tune set some themselves."""

SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1)
"""Signals whose handlers Ray (SIGTERM) and Tune set and do not restore."""

LOGGERS: Final = ("ray", "ray.tune")


@contextmanager
def borrowed() -> Iterator[None]:
    """Configure Ray and Tune for an engine during the block, and restore all settings of the process afterwards. Ray
    and Tune print nothing themselves: the ledger and the command line report a failed trial in one line.
    """
    with ExitStack() as undo:
        undo.callback(_set_environment, {name: value for name, value in os.environ.items() if _is_rays(name)})
        for name in LOGGERS:
            undo.callback(_logger_as_it_is(logging.getLogger(name)))
        if threading.current_thread() is threading.main_thread():  # only this thread can set handlers
            for number in SIGNALS:
                if (handler := signal.getsignal(number)) is not None:  # None: C code has set the handler
                    undo.callback(signal.signal, number, handler)
        undo.callback(resource.setrlimit, resource.RLIMIT_NOFILE, resource.getrlimit(resource.RLIMIT_NOFILE))
        if not faulthandler.is_enabled():
            if not _has_descriptor(sys.stderr):  # Ray would enable faulthandler on it, and fail
                faulthandler.enable(undo.enter_context(Path(os.devnull).open("w")))
            undo.callback(faulthandler.disable)
        os.environ.update({**UNLESS_SAID, **os.environ, **ENVIRONMENT})
        logging.getLogger("ray.tune").setLevel(logging.CRITICAL)
        yield


@contextmanager
def environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Context in which environment variables are set. Afterwards, they are as before."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextmanager
def silenced() -> Iterator[None]:
    """Drop the stdout of the block, such as Ray's messages about dying workers, if this process runs a skipstack
    command. The command's report goes to stdout, and its progress output reports deaths. Does nothing in a user's own
    process.
    """
    with redirect_stdout(StringIO()) if is_claimed() else nullcontext():
        yield


def _has_descriptor(stream: TextIO | None) -> bool:
    """Whether a stream has a file descriptor. Streams that replace stderr, as in notebooks, may have none."""
    try:
        return stream is not None and stream.fileno() >= 0
    except Exception:  # noqa: BLE001 (a stream may be of any class)
        return False


def _is_rays(name: str) -> bool:
    return name.startswith(PREFIXES)


def _set_environment(before: dict[str, str]) -> None:
    for name in [each for each in os.environ if _is_rays(each) and each not in before]:
        del os.environ[name]
    os.environ.update(before)


def _logger_as_it_is(logger: logging.Logger) -> Callable[[], None]:
    """Return a function that restores a logger's present state."""
    return partial(_set_logger, logger, logger.level, list(logger.handlers), logger.propagate)


def _set_logger(logger: logging.Logger, level: int, handlers: list[logging.Handler], propagate: bool) -> None:
    logger.setLevel(level)
    logger.handlers[:] = handlers
    logger.propagate = propagate
