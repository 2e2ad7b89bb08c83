"""A study whose tracking server comes and goes: nothing waits for it, and what it missed arrives later, once."""

import time
from pathlib import Path

import pytest

from skipstack.search.ledger.events import Event
from skipstack.search.publishing.tracking import retry_loop
from skipstack.search.publishing.tracking.retry_loop import ATTEMPTS
from tests.search.publishing.tracking.here import Recording
from tests.search.publishing.tracking.studies import history
from tests.search.publishing.tracking.test_recording import content, search, wait_until, write
from tests.search.tracking_server import TrackingServer

pytestmark = [
    pytest.mark.slow,
]


@pytest.fixture
def events(monkeypatch: pytest.MonkeyPatch) -> list[Event]:
    monkeypatch.setattr(retry_loop, "POLL", 0.05)
    monkeypatch.setattr(retry_loop, "PAUSE", 0.05)
    return history()


@pytest.fixture
def expected(events: list[Event], tmp_path: Path) -> dict[str, object]:
    """What MLflow holds of a study during which nothing happened."""
    uri = f"sqlite:///{tmp_path / 'undisturbed.db'}"
    assert write(uri, events) is None
    return content(uri, events)


def test_a_server_that_is_killed_and_started_again_has_every_run_once(
    events: list[Event], expected: dict[str, object], tmp_path: Path
) -> None:
    with TrackingServer(tmp_path) as server:
        tracker = Recording(server.uri, events[:8])
        wait_until(lambda: len(search(server.uri, events)) > 1)
        server.kill()
        for event in events[8:16]:
            tracker(event)
        time.sleep(1)
        server.start()
        for event in events[16:]:
            tracker(event)
            time.sleep(0.02)
        assert tracker.close() is None
        assert content(server.uri, events) == expected


def test_a_server_that_is_away_for_a_whole_study_gets_it_when_the_study_is_resumed(
    events: list[Event], expected: dict[str, object], tmp_path: Path
) -> None:
    server = TrackingServer(tmp_path)
    tracker = Recording(server.uri, events[:2])
    for event in events[2:]:
        tracker(event)
    message = tracker.close()
    assert message is not None
    assert "resuming the study writes what is missing" in message
    with server:
        for _ in range(2):
            assert write(server.uri, events) is None
            assert content(server.uri, events) == expected


def test_a_server_killed_again_and_again_in_the_midst_of_writing_has_every_run_once(
    events: list[Event], expected: dict[str, object], tmp_path: Path
) -> None:
    server = TrackingServer(tmp_path)
    server.start()
    tracker = Recording(server.uri, events)
    for _ in range(ATTEMPTS):
        time.sleep(0.3)
        server.kill()
        server.start()
    assert tracker.close() is None
    assert content(server.uri, events) == expected
    server.kill()
