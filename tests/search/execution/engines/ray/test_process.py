"""What an engine borrows of the process, and gives back."""

import faulthandler
import logging
import os
import resource
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import nullcontext
from io import StringIO
from typing import Any

import pytest

from skipstack.search.execution.engines.ray.process import LOGGERS, SLOTS, borrowed, environment

VARIABLES = ("RAY_", "TUNE_", "PYTHONBREAKPOINT")


def shared() -> dict[str, Any]:
    """What a process has one of."""
    loggers = [logging.getLogger(name) for name in LOGGERS]
    return {
        "environment": {name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"},
        "loggers": [(each.level, list(each.handlers), each.propagate) for each in loggers],
        "signals": [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1)],
        "files": resource.getrlimit(resource.RLIMIT_NOFILE),
        "faults": faulthandler.is_enabled(),
    }


def as_ray_does() -> None:
    """What ``ray.init`` and a run of Tune's leave behind."""
    os.environ["PYTHONBREAKPOINT"] = "ray.util.rpdb._driver_set_trace"
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ["TUNE_DISABLE_SIGINT_HANDLER"] = "2"
    os.environ.pop("RAY_OF_THE_USERS", None)
    for name in LOGGERS:
        logger = logging.getLogger(name)
        logger.setLevel(logging.ERROR)
        logger.handlers.clear()
        logger.propagate = not logger.propagate
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGTERM, signal.SIGUSR1):
            signal.signal(number, lambda *_: None)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft - 1, hard))
    faulthandler.enable()


@pytest.fixture
def before(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """A process with settings of the user's own."""
    for name in [each for each in os.environ if each.startswith(VARIABLES)]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("RAY_OF_THE_USERS", "mine")
    monkeypatch.setenv("TUNE_DISABLE_SIGINT_HANDLER", "0")
    logger, handler = logging.getLogger("ray.tune"), logging.NullHandler()
    logger.addHandler(handler)
    was_enabled = faulthandler.is_enabled()
    faulthandler.disable()
    yield shared()
    logger.removeHandler(handler)
    if was_enabled:
        faulthandler.enable()


@pytest.mark.parametrize("error", [None, ValueError, KeyboardInterrupt])
def test_what_ray_leaves_behind_is_undone_also_after_an_error(
    error: type[BaseException] | None, before: dict[str, Any]
) -> None:
    with nullcontext() if error is None else pytest.raises(error), borrowed():
        with environment(SLOTS):
            assert os.environ["TUNE_DISABLE_SIGINT_HANDLER"] == "1"
        assert os.environ["TUNE_DISABLE_SIGINT_HANDLER"] == "0", (
            "a run that the user begins meanwhile is the user's own"
        )
        assert logging.getLogger("ray.tune").level == logging.CRITICAL
        as_ray_does()
        os.environ["OF_ANOTHER_THREAD"] = "set meanwhile"
        if error is not None:
            raise error
    assert os.environ.pop("OF_ANOTHER_THREAD") == "set meanwhile", "that is not Ray's"
    assert shared() == before


def test_it_may_be_borrowed_again_within_itself(before: dict[str, Any]) -> None:
    with borrowed():
        within = shared()
        with borrowed():
            as_ray_does()
        assert shared() == within
    assert shared() == before


def test_what_the_user_says_of_gpus_stays_said(before: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    name = "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO"
    with borrowed():
        assert os.environ[name] == "1"
    monkeypatch.setenv(name, "0")
    with borrowed():
        assert os.environ[name] == "0"


def test_in_another_thread_handlers_of_signals_are_left_alone(before: dict[str, Any]) -> None:
    trouble: list[BaseException] = []

    def borrow() -> None:
        try:
            with borrowed():
                as_ray_does()
        except BaseException as error:  # noqa: BLE001 (told to the test)
            trouble.append(error)

    thread = threading.Thread(target=borrow)
    thread.start()
    thread.join()
    assert trouble == []
    assert shared() == before


@pytest.mark.parametrize("stream", [None, "closed"])
def test_ray_need_not_look_for_the_descriptor_of_a_stderr_that_is_lost(
    stream: str | None, before: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    faulthandler.disable()
    lost = None if stream is None else StringIO()
    if lost is not None:
        lost.close()
    monkeypatch.setattr(sys, "stderr", lost)
    with borrowed():
        assert faulthandler.is_enabled(), "ray would enable it, on stderr, and fail"
    assert not faulthandler.is_enabled()
