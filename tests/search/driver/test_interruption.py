"""SIGTERM and SIGHUP end a study in order, also where Ctrl-C does nothing."""

import os
import signal
import time

import pytest

from skipstack.search.driver.interruption import terminated_as_interrupted


def _terminated() -> None:
    with terminated_as_interrupted():
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(5)


@pytest.mark.parametrize("handler", [signal.default_int_handler, signal.SIG_IGN], ids=["as usual", "ignored"])
def test_sigterm_interrupts_also_in_the_background_of_a_script_where_sigint_is_ignored(handler: object) -> None:
    before = signal.signal(signal.SIGINT, handler)  # type: ignore[arg-type]
    try:
        with pytest.raises(KeyboardInterrupt):
            _terminated()
        assert signal.getsignal(signal.SIGINT) is handler
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("first", [signal.SIGHUP, signal.SIGTERM])
def test_a_closed_terminal_interrupts_once_however_often_it_is_told(first: signal.Signals) -> None:
    interrupts = []
    before = signal.signal(signal.SIGINT, lambda *_: interrupts.append(1))
    hangup = signal.getsignal(signal.SIGHUP)
    try:
        with terminated_as_interrupted():
            for number in (first, signal.SIGHUP, signal.SIGHUP):
                os.kill(os.getpid(), number)
        assert interrupts == [1]
        assert signal.getsignal(signal.SIGHUP) is hangup
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_hangup_that_is_ignored_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with terminated_as_interrupted():
            os.kill(os.getpid(), signal.SIGHUP)
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)
