"""``skipstack dashboard`` as a command: its mistakes in one line, and a server on this machine that Ctrl-C ends."""

import re
import signal
import socket
import subprocess
import urllib.request
from pathlib import Path

import pytest

from skipstack.dashboards.web.serving import HOST, listening
from skipstack.dashboards.web.study_folders import studies_below
from skipstack.data.basis.errors import UserError
from tests.command_line import refusal
from tests.dashboards.web.browsing import command, started
from tests.dashboards.web.shown import write
from tests.search.made_up import opening, study


def test_studies_are_found_below_folders_and_not_below_studies(tmp_path: Path) -> None:
    for name in ("one", "deep/er/two", "one/trials/no", ".hidden/no"):
        (tmp_path / name / "ledger").mkdir(parents=True)
        (tmp_path / name / "ledger" / "000001.jsonl").touch()
    (tmp_path / "code" / "ledger").mkdir(parents=True)
    assert list(studies_below([tmp_path]).values()) == [tmp_path / "deep/er/two", tmp_path / "one"]
    assert list(studies_below([tmp_path / "one"]).values()) == [tmp_path / "one"]
    assert list(studies_below([tmp_path / "one", tmp_path / "deep"]).values()) == [
        tmp_path / "deep/er/two",
        tmp_path / "one",
    ]


def test_a_study_has_one_name_whatever_folders_are_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("runs/one", "other/two"):
        (tmp_path / name / "ledger").mkdir(parents=True)
        (tmp_path / name / "ledger" / "000001.jsonl").touch()
    monkeypatch.chdir(tmp_path)
    named = [{*studies_below([*map(Path, each)])} for each in (["runs"], ["."], [tmp_path], ["runs/one", "other"])]
    assert named == [{"runs/one"}, *3 * [{"runs/one", "other/two"}]]
    monkeypatch.chdir(tmp_path / "runs")
    assert {*studies_below([Path(), Path("../other"), tmp_path])} == {"one", str(tmp_path / "other/two")}
    monkeypatch.chdir("one")
    assert {*studies_below([Path()])} == {str(tmp_path / "runs/one")}


def test_mistakes_are_told_in_a_line_before_anything_is_served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server((HOST, 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(UserError, match=f"--port {port}: cannot be had"):
            listening(port)
        with listening(None) as other:
            assert other.getsockname()[0] == HOST
    monkeypatch.chdir(tmp_path)
    assert refusal("dashboard", "no").startswith("skipstack: no: no such folder (allowed: ")


def test_it_serves_this_machine_until_it_is_interrupted_and_changes_no_study(tmp_path: Path) -> None:
    folder = write(tmp_path / "runs" / "study", opening(study()))
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    with started(tmp_path, "dashboard", errors=subprocess.PIPE) as server:
        assert server.stdout is not None
        address = server.stdout.readline().strip()
        try:
            assert address.startswith(f"http://{HOST}:")
            with urllib.request.urlopen(address, timeout=60) as answer:
                assert b"<h1>1 study</h1>" in answer.read()
        finally:
            server.send_signal(signal.SIGINT)
        rest, errors = server.communicate(timeout=60)
    assert (server.returncode, rest.strip()) == (0, "")
    assert re.fullmatch(rf"to change something .*: {address}/\?token=\S{{43}}\n", errors)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


@pytest.mark.slow
def test_a_folder_without_studies_is_served_too_and_its_page_says_so(tmp_path: Path) -> None:
    with command(tmp_path, "dashboard") as server:
        assert server.stdout is not None
        with urllib.request.urlopen(server.stdout.readline().strip(), timeout=60) as answer:
            assert b"No studies yet" in answer.read()
