"""MLflow holds what the ledger says, once, whatever happens to the process that writes it and to the one that tells it.

Each test has a store of its own; what it has to hold is written by this process from the same history.
"""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from skipstack.data.basis import child_process
from skipstack.data.basis.errors import UserError
from skipstack.search.ledger.events import Event
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.publishing.tracking import tracking_process
from skipstack.search.publishing.tracking.entry import STUDY
from skipstack.search.publishing.tracking.logged_models import BestBundle
from skipstack.search.publishing.tracking.publishing import Publication
from skipstack.search.publishing.tracking.tracking_process import TrackingProcess
from tests.data.basis.test_child_process import ROOT, is_gone
from tests.search.publishing.tracking.studies import history
from tests.search.publishing.tracking.test_recording import content, identity_of, rows, search, wait_until, write

pytestmark = pytest.mark.long

EXPERIMENT = "skipstack/depths"
TOLD = 9
"""Events that were there when the process began."""


@pytest.fixture(scope="module")
def events() -> list[Event]:
    return history()


@pytest.fixture(scope="module")
def expected(events: list[Event], tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    """What a store holds of the study, as this process writes it."""
    uri = f"sqlite:///{tmp_path_factory.mktemp('expected') / 'mlflow.db'}"
    assert write(uri, events) is None
    return content(uri, events)


@pytest.fixture
def study(events: list[Event], tmp_path: Path) -> Path:
    """The folder of the study, whose ledger an earlier driver has begun."""
    append(tmp_path / "study", events[:TOLD])
    return tmp_path / "study"


@pytest.fixture
def uri(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'mlflow.db'}"


@pytest.fixture
def begun_by_its_command(monkeypatch: pytest.MonkeyPatch) -> None:
    """As for users, and not as a fork."""
    monkeypatch.setattr(child_process, "subprocess", subprocess)


@pytest.fixture
def tracker() -> Iterator[TrackingProcess]:
    made = TrackingProcess()
    yield made
    made.end()
    assert is_gone(made.pid)


def append(study: Path, events: list[Event]) -> None:
    """What a driver does."""
    with Ledger(study / "ledger") as ledger:
        for event in events:
            ledger.append(event)


def tell(tracker: TrackingProcess, uri: str, study: Path, events: list[Event]) -> None:
    """All that happened; the first of it is in the past."""
    tracker.record(uri, study, private=True)
    append(study, events[TOLD:])


def test_what_is_told_is_in_the_store_and_what_is_shown_beside_it(
    tracker: TrackingProcess, uri: str, study: Path, events: list[Event], expected: dict[str, object]
) -> None:
    tell(tracker, uri, study, events)
    assert tracker.close() is None
    assert content(uri, events) == expected
    written: list[int] = []

    def write_bundle(to: Path) -> None:
        written.append(os.getpid())
        raise UserError("its weights are gone")

    shown = tracker.publish(
        EXPERIMENT,
        identity_of(events),
        Publication(
            made_of="nothing",
            notes={STUDY: "a note"},
            files={STUDY: {"report.html": b"a report"}},
            best=BestBundle(name="0", trial=0, made_of="nothing", write=write_bundle),
        ),
    )
    assert shown.missing is None
    assert written == [os.getpid()], "who has the weights and the user's code writes the bundle"
    from mlflow import MlflowClient

    (run,) = search(uri, events, " AND tags.`skipstack.kind` = 'study'")
    assert shown.experiment_id == run.info.experiment_id
    assert run.data.tags["mlflow.note.content"] == "a note"
    assert "report.html" in [file.path for file in MlflowClient(uri).list_artifacts(run.info.run_id)]


@pytest.mark.slow
def test_one_that_is_killed_is_told_of_and_the_next_writes_what_is_missing(
    tracker: TrackingProcess, uri: str, study: Path, events: list[Event], expected: dict[str, object], tmp_path: Path
) -> None:
    tracker.record(uri, study, private=True)
    wait_until(lambda: rows(tmp_path / "mlflow.db") > 0)
    os.kill(tracker.pid, signal.SIGKILL)
    append(study, events[TOLD:])
    message = tracker.close()
    assert message is not None
    assert message.startswith(f"MLflow at {uri}: not everything is recorded (its process ended by SIGKILL)")
    assert write(uri, events) is None
    assert content(uri, events) == expected


@pytest.mark.slow
def test_one_that_is_killed_while_it_publishes_leaves_a_report_that_is_not_all_there(
    tracker: TrackingProcess, uri: str, study: Path, events: list[Event]
) -> None:
    tell(tracker, uri, study, events)
    assert tracker.close() is None
    best = BestBundle(name="0", trial=0, made_of="nothing", write=lambda to: os.kill(tracker.pid, signal.SIGKILL))
    shown = tracker.publish(EXPERIMENT, identity_of(events), Publication(made_of="nothing", best=best))
    assert shown.missing == f"MLflow at {uri}: the report is not all there (its process ended by SIGKILL)"


@pytest.mark.slow
def test_a_bundle_that_cannot_be_written_is_one_line(
    tracker: TrackingProcess, uri: str, study: Path, events: list[Event], monkeypatch: pytest.MonkeyPatch
) -> None:
    tell(tracker, uri, study, events)
    assert tracker.close() is None

    def fail(to: Path) -> None:
        raise OSError(28, "No space left on device")

    best = BestBundle(name="0", trial=0, made_of="nothing", write=fail)
    shown = tracker.publish(EXPERIMENT, identity_of(events), Publication(made_of="nothing", best=best))
    assert shown.missing is not None
    assert "the report is not all there (RuntimeError: OSError: [Errno 28] No space left on device)" in shown.missing


@pytest.fixture
def silent() -> Iterator[str]:
    """The address of a server, with a password and a token, that never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield f"http://ann:s3cret-w0rd@127.0.0.1:{listening.getsockname()[1]}/?token=t0ken-t0ken"


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Ctrl-C does what it usually does, whatever started the tests."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_a_store_that_hangs_is_left_alone_after_a_while(
    tracker: TrackingProcess, silent: str, study: Path, events: list[Event], monkeypatch: pytest.MonkeyPatch
) -> None:
    tell(tracker, silent, study, events)
    monkeypatch.setattr(tracking_process, "PATIENCE", 0.5)
    message = tracker.close()
    assert message is not None
    assert "not everything is recorded (no answer)" in message
    assert is_gone(tracker.pid)


@pytest.mark.usefixtures("begun_by_its_command", "interruptible")
def test_no_secret_is_on_a_command_line_and_who_waits_for_a_store_can_be_interrupted(
    tracker: TrackingProcess, silent: str, study: Path, events: list[Event]
) -> None:
    tell(tracker, silent, study, events)
    words = " ".join(psutil.Process(tracker.pid).cmdline())
    assert "python" in words
    assert "s3cret" not in words
    assert "t0ken" not in words
    interrupting = threading.Timer(2.0, signal.raise_signal, [signal.SIGINT])  # in a thread that is not the main one
    started = time.monotonic()
    interrupting.start()
    with pytest.raises(KeyboardInterrupt):
        tracker.close()
    assert time.monotonic() - started < 60, "the store's answer was waited for"
    assert is_gone(tracker.pid)


@pytest.mark.slow
def test_a_store_that_is_away_is_one_line_without_secrets(
    tracker: TrackingProcess, study: Path, events: list[Event]
) -> None:
    tell(tracker, "http://ann:s3cret-w0rd@127.0.0.1:9/?token=t0ken-t0ken", study, events)
    message = tracker.close()
    assert message is not None
    assert message.startswith("MLflow at http://***@127.0.0.1:9/?***: not everything is recorded (")
    assert len(message.splitlines()) == 1
    assert "s3cret" not in message
    assert "t0ken" not in message


@pytest.mark.slow
def test_one_that_nobody_holds_any_more_ends() -> None:
    tracker = TrackingProcess()
    pid = tracker.pid
    del tracker
    wait_until(lambda: is_gone(pid))


DRIVER = """
import sys, time
from pathlib import Path
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.publishing.tracking.tracking_process import TrackingProcess
from tests.search.publishing.tracking.studies import history

uri, study = sys.argv[1], Path(sys.argv[2])
tracker = TrackingProcess()
tracker.record(uri, study, private=True)
print(tracker.pid, flush=True)
with Ledger(study / "ledger") as ledger:
    for event in history()[int(sys.argv[3]):]:
        time.sleep(0.1)
        ledger.append(event)
tracker.close()
time.sleep(1000)
"""


@pytest.mark.slow
@pytest.mark.parametrize("runs", [1, 4, 6])
def test_it_ends_with_a_driver_that_is_killed_and_the_next_writes_what_is_missing(
    runs: int, uri: str, study: Path, events: list[Event], expected: dict[str, object], tmp_path: Path
) -> None:
    own = {**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT / "src"), str(ROOT)))}
    with subprocess.Popen(
        [sys.executable, "-c", DRIVER, uri, study, str(TOLD)], stdout=subprocess.PIPE, text=True, env=own
    ) as it:
        assert it.stdout is not None
        pid = int(it.stdout.readline())
        wait_until(lambda: rows(tmp_path / "mlflow.db") >= runs)
        it.kill()
    wait_until(lambda: is_gone(pid))
    assert write(uri, events) is None
    assert content(uri, events) == expected


SCRIPT = """
import sys
import skipstack

def hill(config, report):
    for epoch in range(1, 3):
        report(score=-(config["x"] - 1) ** 2 * epoch)

space = {"about": "A hill", "base": {"x": 3.0}, "axes": {"x": {"real": [0.0, 4.0]}}, "search": {"proposer": "random"}}
study = skipstack.search(space, hill, trials=2, epochs=2, out="study", engine="serial")
print("over", study.finished, "mlflow" in sys.modules)
"""


@pytest.mark.slow
def test_a_script_in_a_folder_of_any_names_needs_no_main_program_and_loads_no_mlflow(tmp_path: Path) -> None:
    """Where modules of the working directory are found, those of other names of ours and of MLflow's are not taken."""
    for name in ("search", "data", "models"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise SystemExit('the wrong one')")
    (tmp_path / "script.py").write_text(SCRIPT)
    own = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    ran = subprocess.run(
        [sys.executable, "script.py"], cwd=tmp_path, env=own, capture_output=True, text=True, check=True, timeout=300
    )
    assert ran.stdout == "over True False\n"
    assert "MLflow at" not in ran.stderr
    assert rows(tmp_path / "study" / "mlflow.db") == 3
    assert list((tmp_path / "study" / "mlartifacts").rglob("report.html")), "nothing was shown"
