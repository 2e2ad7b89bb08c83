"""The user's process, which an engine borrows: what the engine and Ray set there lasts as long as the engine."""

import faulthandler
import logging
import os
import resource
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext, redirect_stdout
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Final, TextIO

from skipstack.data.basis.command_process import is_claimed

SLOTS: Final = {
    "TUNE_DISABLE_AUTO_CALLBACK_LOGGERS": "1",  # the ledger is the log
    "TUNE_DISABLE_SIGINT_HANDLER": "1",  # Ctrl-C is the driver's
    "RAY_AIR_NEW_OUTPUT": "0",  # progress is shown by others
    "TUNE_GLOBAL_CHECKPOINT_S": str(10**9),  # Tune would keep its slots in a file, for a restore of its own
    "TUNE_STATE_REFRESH_PERIOD": str(10**9),  # and ask the head what there is, for a progress that nobody sees
}
"""Settings of the run of Tune that holds a study's slots, whatever the user's own runs have; read where one begins."""

ENVIRONMENT: Final = {"RAY_TRAIN_COUNT_PREEMPTION_AS_FAILURE": "1"}
"""Settings while an engine runs: whether a trial is tried again is the driver's to say."""

UNLESS_SAID: Final = {
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "1",  # a worker that takes no GPU should not find one
    "RAY_gcs_server_request_timeout_seconds": "20",  # a call that a lost head does not answer fails
    "RAY_gcs_rpc_server_reconnect_timeout_s": "600",  # the time after which Ray would end this process
}
"""Environment variables for this process, and those of a cluster that is started here, unless the user sets them."""

PREFIXES: Final = ("RAY_", "TUNE_", "PYTHONBREAKPOINT")
"""Prefixes of the environment variables that Ray sets, too: in ``ray.init``, and when Tune begins."""

SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1)
"""Signals that Ray (SIGTERM) and Tune handle once they have run, even after their ends."""

LOGGERS: Final = ("ray", "ray.tune")


@contextmanager
def borrowed() -> Iterator[None]:
    """Configure Ray and Tune for an engine during the block, without output of their own: the ledger and the command
    line report a failed trial, in one line. At the end, all settings of the process are as before.
    """
    with ExitStack() as undo:
        undo.callback(_set_environment, {name: value for name, value in os.environ.items() if _is_rays(name)})
        for name in LOGGERS:
            undo.callback(_logger_as_it_is(logging.getLogger(name)))
        if threading.current_thread() is threading.main_thread():  # no other may set a handler, and so Ray does not
            for number in SIGNALS:
                if (handler := signal.getsignal(number)) is not None:  # None: not set by Python
                    undo.callback(signal.signal, number, handler)
        undo.callback(resource.setrlimit, resource.RLIMIT_NOFILE, resource.getrlimit(resource.RLIMIT_NOFILE))
        if not faulthandler.is_enabled():
            if not _has_descriptor(sys.stderr):  # Ray would enable it there, and fail
                faulthandler.enable(undo.enter_context(Path(os.devnull).open("w")))
            undo.callback(faulthandler.disable)
        os.environ.update({**UNLESS_SAID, **os.environ, **ENVIRONMENT})
        logging.getLogger("ray.tune").setLevel(logging.CRITICAL)
        yield


@contextmanager
def settings_of_slots() -> Iterator[None]:
    """Give the run of Tune that begins now the settings of ``SLOTS``. Ended once it has begun, so that a run of the
    user's in another thread begins without them.
    """
    before = {name: os.environ.get(name) for name in SLOTS}
    os.environ.update(SLOTS)
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
    """Keep Ray's messages about dying workers off stdout, where the command's report belongs: the ledger and the
    progress report them. In a user's own process, Ray prints them where it prints all else.
    """
    with redirect_stdout(StringIO()) if is_claimed() else nullcontext():
        yield


def _has_descriptor(stream: TextIO | None) -> bool:
    """Whether a stream, of whatever class, has a file descriptor."""
    try:
        return stream is not None and stream.fileno() >= 0
    except Exception:  # noqa: BLE001 (of streams of any class)
        return False


def _is_rays(name: str) -> bool:
    return name.startswith(PREFIXES)


def _set_environment(before: dict[str, str]) -> None:
    for name in [each for each in os.environ if _is_rays(each) and each not in before]:
        del os.environ[name]
    os.environ.update(before)


def _logger_as_it_is(logger: logging.Logger) -> Callable[[], None]:
    """The function that restores a logger's present state."""
    return partial(_set_logger, logger, logger.level, list(logger.handlers), logger.propagate)


def _set_logger(logger: logging.Logger, level: int, handlers: list[logging.Handler], propagate: bool) -> None:
    logger.setLevel(level)
    logger.handlers[:] = handlers
    logger.propagate = propagate
