import subprocess
import sys
import threading
import time

import pytest
from ray._private import state

from skipstack.search.execution.driver.faults import ClusterLostError
from skipstack.search.execution.engines.ray import head
from skipstack.search.execution.engines.ray.head import draining, of_the_head

ENDS = """
import threading
from skipstack.data.basis.left_behind import leave
from skipstack.search.execution.driver.faults import ClusterLostError
from skipstack.search.execution.engines.ray import head
head.LOOKED_AT, head.HEAD_SECONDS, head.check_this_machine = 0.01, 0.1, lambda: None
try:
    head.of_the_head(threading.Event().wait)
except ClusterLostError as lost:
    print(lost)
    leave(130)
"""


@pytest.fixture
def never(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """A head that does not answer, asked by one who is soon tired of it."""
    monkeypatch.setattr(head, "LOOKED_AT", 0.01)
    monkeypatch.setattr(head, "HEAD_SECONDS", 0.1)
    monkeypatch.setattr(head, "check_this_machine", lambda: None)
    return threading.Event()


def test_what_the_head_answers_or_raises_is_answered_or_raised(never: threading.Event) -> None:
    assert of_the_head(lambda: 7) == 7
    with pytest.raises(ZeroDivisionError):
        of_the_head(lambda: 1 // 0)


def test_a_head_that_does_not_answer_is_given_up(never: threading.Event) -> None:
    try:
        with pytest.raises(ClusterLostError, match=r"did not answer within 0\.1 s"):
            of_the_head(never.wait)
    finally:
        never.set()


def test_a_head_is_given_up_at_once_where_ray_has_ended_on_this_machine(
    never: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone() -> None:
        raise ClusterLostError("gone")

    monkeypatch.setattr(head, "HEAD_SECONDS", 3600.0)
    monkeypatch.setattr(head, "check_this_machine", gone)
    begun = time.monotonic()
    try:
        with pytest.raises(ClusterLostError, match="gone"):
            of_the_head(never.wait)
    finally:
        never.set()
    assert time.monotonic() - begun < 60


@pytest.mark.parametrize("missing", [False, True])
def test_machines_that_are_to_go_are_known_where_ray_says_so(missing: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state.state, "get_draining_nodes", lambda: {"ab": 0, "cd": 1_700_000_000_000})
    if missing:
        monkeypatch.setitem(sys.modules, "ray._private.state", None)
    assert draining() == (frozenset() if missing else {"ab", "cd"})


def test_a_process_that_gave_the_head_up_ends_with_its_own_code() -> None:
    ended = subprocess.run([sys.executable, "-c", ENDS], capture_output=True, text=True, timeout=300, check=False)
    assert (ended.returncode, ended.stderr) == (130, "")
    assert "did not answer within 0.1 s" in ended.stdout
