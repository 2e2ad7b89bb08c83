"""The user's process, which an engine borrows: what it sets there, and what Ray does, lasts as long as the engine."""

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

from skipstack.data.basis.own_process import is_claimed

ENVIRONMENT: Final = {
    "TUNE_DISABLE_AUTO_CALLBACK_LOGGERS": "1",  # the ledger is the log
    "TUNE_DISABLE_SIGINT_HANDLER": "1",  # Ctrl-C is the driver's
    "RAY_AIR_NEW_OUTPUT": "0",  # progress is shown by others
    "RAY_TRAIN_COUNT_PREEMPTION_AS_FAILURE": "1",  # whether a trial is tried again is the driver's to say
    "TUNE_GLOBAL_CHECKPOINT_S": str(10**9),  # Tune would keep its slots in a file, for a restore of its own
    "TUNE_STATE_REFRESH_PERIOD": str(10**9),  # and ask the head what there is, for a progress that nobody sees
}
"""What Tune is told, whatever it is told for the user's own runs."""

UNLESS_SAID: Final = {
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "1",  # a worker that takes no GPU is not to find one
    "RAY_gcs_server_request_timeout_seconds": "20",  # a call that a lost head does not answer fails
    "RAY_gcs_rpc_server_reconnect_timeout_s": "600",  # only then would Ray end this process, whatever it is at
}
"""What this process is told, and those of a cluster that is started here, unless the user tells them."""

PREFIXES: Final = ("RAY_", "TUNE_", "PYTHONBREAKPOINT")
"""Of the variables that Ray sets, too: in ``ray.init``, and where Tune begins."""

SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1)
"""Handled by ray (SIGTERM) and by Tune once they have run, even after their ends."""

LOGGERS: Final = ("ray", "ray.tune")


@contextmanager
def borrowed() -> Iterator[None]:
    """Within, Ray and Tune are told what an engine needs, and say nothing by themselves: a failed trial is told by the
    ledger and the command line, in one line. At the end all that is the process's is as it was.
    """
    with ExitStack() as undo:
        undo.callback(_set_environment, {name: value for name, value in os.environ.items() if _is_rays(name)})
        for name in LOGGERS:
            undo.callback(_logger_as_it_is(logging.getLogger(name)))
        if threading.current_thread() is threading.main_thread():  # no other may set a handler, and so Ray does not
            for number in SIGNALS:
                if (handler := signal.getsignal(number)) is not None:  # one that Python knows
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
def silenced() -> Iterator[None]:
    """Within, what Ray prints of workers that die is not on stdout, where the command's report belongs: the ledger and
    the progress tell of them. In a user's own process, Ray prints it where it prints all else.
    """
    with redirect_stdout(StringIO()) if is_claimed() else nullcontext():
        yield


def _has_descriptor(stream: TextIO | None) -> bool:
    """Whether a stream, of whatever class, can be written to by its number."""
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
    """What makes the logger once more what it is now."""
    return partial(_set_logger, logger, logger.level, list(logger.handlers), logger.propagate)


def _set_logger(logger: logging.Logger, level: int, handlers: list[logging.Handler], propagate: bool) -> None:
    logger.setLevel(level)
    logger.handlers[:] = handlers
    logger.propagate = propagate
