"""Passwords and tokens through the command line: in no file of the study, in nothing that is printed."""

import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from skipstack.dashboards.cli import main
from skipstack.search.api.options import Execution
from skipstack.search.execution.engines.serial import SerialEngine
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.study.task import EpochResult
from tests.search.toy import ToyWorker

PASSWORD, TOKEN, QUERY = "c0rrect-h0rse", "b4ttery-st4ple", "qu3ry-v4lue"
SECRETS = (PASSWORD, TOKEN, QUERY, "YW5uOmMwcnJlY3QtaDByc2U")
"""The last is the base64 text that a server gets of ``ann:PASSWORD``."""

QUICK = ("--engine", "serial", "--set", "data.corpus.train=20", "--set", "data.corpus.dev=10", "--trials", "2")


class TellTale(ToyWorker):
    """Fails with an error that quotes where it wanted to write, and with what."""

    uri = ""

    def run_epoch(self) -> EpochResult:
        if self.task.number == 1:
            raise ConnectionError(f"cannot write to {self.uri} with the token {TOKEN}")
        return super().run_epoch()


class Server(BaseHTTPRequestHandler):
    """Refuses everything, and says back whatever it was sent."""

    def do_GET(self) -> None:
        body = f"refused {self.path} {self.headers.get('Authorization')} {TOKEN}".encode()
        self.send_response(500)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET

    def log_message(self, *args: object) -> None:
        """Quietly."""


@pytest.fixture
def address() -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), Server)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(autouse=True)
def quickly(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_TRACKING_TOKEN", TOKEN)
    monkeypatch.setattr(Execution, "start", lambda *_: SerialEngine(TellTale))


def typed(capfd: pytest.CaptureFixture[str], *arguments: str) -> tuple[object, str]:
    """The exit code, and all that was printed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["skipstack", *arguments])
        with pytest.raises(SystemExit) as stopped:
            main()
    return stopped.value.code, "".join(capfd.readouterr())


def nowhere(printed: str, folder: Path) -> None:
    files = [path for path in folder.rglob("*") if path.is_file()]
    for secret in SECRETS:
        assert secret not in printed
        assert [path for path in files if secret.encode() in path.read_bytes()] == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "served",
    [pytest.param(True, id="refusing server"), pytest.param(False, id="no server", marks=pytest.mark.slow)],
)
def test_a_study_that_is_tracked_elsewhere_leaves_no_trace_of_its_password(
    served: bool, address: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    uri = f"http://ann:{PASSWORD}@{address if served else '127.0.0.1:9'}/mlflow?key={QUERY}"
    TellTale.uri = uri
    code, printed = typed(capfd, "search", "quickstart", *QUICK, "--out", "study", "--tracking-uri", uri)
    assert code == 3, printed
    assert "trial 1 failed: ConnectionError: cannot write to http://***@" in printed
    assert "not everything is recorded" in printed
    nowhere(printed, tmp_path)
    failed = [event for event in Ledger(tmp_path / "study" / "ledger").read() if event.kind == "ended"][1]
    assert failed.message.endswith("with the token ***")
    code, printed = typed(capfd, "resume", "study", "--tracking-uri", uri)
    assert code == 3
    nowhere(printed, tmp_path)


@pytest.mark.slow
def test_its_own_runs_in_mlflow_have_no_secrets_either(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    TellTale.uri = f"https://ann:{PASSWORD}@host"
    code, printed = typed(capfd, "search", "quickstart", *QUICK, "--out", "study")
    assert code == 3, printed
    assert (tmp_path / "study" / "mlflow.db").exists(), printed
    nowhere(printed, tmp_path)


@pytest.mark.parametrize(
    "arguments",
    [
        ("search", f"https://ann:{PASSWORD}@host/study"),
        ("search", "quickstart", f"https://ann:{PASSWORD}@host/study"),
        ("search", "quickstart", "--tracking-uri", f"htp://ann:{PASSWORD}@host"),
        ("search", "quickstart", "--tracking-uri", f"ann:{PASSWORD}@host"),
        ("search", "quickstart", "--tracking-url", f"https://ann:{PASSWORD}@host"),
        ("search", "quickstart", "--warm-start", f"https://ann:{PASSWORD}@host"),
        ("report", f"s3://ann:{PASSWORD}@bucket/study"),
        ("resume", f"s3://ann:{PASSWORD}@bucket/study", "--tracking-uri", f"https://ann:{PASSWORD}@host"),
        ("verify", f"https://host/bundle?token={TOKEN}"),
    ],
    ids=lambda arguments: " ".join(arguments[:3]).replace(PASSWORD, "PASSWORD").replace(TOKEN, "TOKEN"),
)
def test_a_mistake_in_an_address_is_told_without_its_password(
    arguments: tuple[str, ...], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    code, printed = typed(capfd, *arguments)
    assert code == 2
    assert printed.count("\n") == 1
    nowhere(printed, tmp_path)


def test_a_defect_of_ours_is_told_whole_but_for_the_password(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    def broken(*arguments: object, **options: object) -> None:
        raise KeyError(f"https://ann:{PASSWORD}@host")

    monkeypatch.setattr("skipstack.search.study.study_files.study_file.load_study", broken)
    code, printed = typed(capfd, "search", "quickstart")
    assert code == 1
    assert "Traceback" in printed
    assert "KeyError: 'https://***@host'" in printed
    nowhere(printed, tmp_path)
