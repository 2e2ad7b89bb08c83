"""SIGTERM ends a study in order, also where Ctrl-C does nothing."""

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
