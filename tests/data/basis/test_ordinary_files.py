"""What is no ordinary file is told at once: a pipe nobody writes into, an endless device, a folder, a socket."""

import os
import socket
from pathlib import Path

import pytest

from skipstack.data.basis.ordinary_files import content
from tests.command_line import refusal

STUDY = """\
extends: quickstart
base:
  data:
    corpus: {kind: columns, train: TRAIN, dev: dev.tsv, test: dev.tsv}
"""


def test_files_are_read_and_everything_else_is_refused(tmp_path: Path) -> None:
    (file := tmp_path / "file").write_bytes(b"\0content")
    (link := tmp_path / "link").symlink_to(file)
    os.mkfifo(pipe := tmp_path / "pipe")
    assert content(file) == content(link) == b"\0content"
    for other in (pipe, tmp_path, Path("/dev/zero"), Path("/dev/null"), tmp_path / "none"):
        with pytest.raises(OSError, match=r"."):
            content(other)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "socket"))
        with pytest.raises(OSError, match=r"."):
            content(tmp_path / "socket")


def test_a_corpus_that_is_no_file_is_told_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe.tsv")
    (tmp_path / "dev.tsv").write_text("a\tX\n\n")
    for train in ("/dev/zero", "pipe.tsv", "."):
        (tmp_path / "study.yaml").write_text(STUDY.replace("TRAIN", train))
        for command in (["search", "study.yaml", "--engine", "serial"], ["data", "describe", "study.yaml"]):
            assert "cannot read " in refusal(*command)


def test_a_segment_that_is_no_file_is_told_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "ledger").mkdir()
    for name in ("000001.jsonl", "000001.jsonl.gz"):
        os.mkfifo(tmp_path / "ledger" / name)
        for command in ("report", "resume"):
            assert "no ordinary file" in refusal(command, tmp_path)
        (tmp_path / "ledger" / name).unlink()


def test_as_many_trials_as_no_study_has_are_told_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for command in ("plan", "search"):
        assert "1000000000000000000000" in refusal(command, "quickstart", "--trials", str(10**21))
