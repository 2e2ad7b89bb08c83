"""Every mistake of a user: exit 2, one line that says what was got and what is allowed, nothing written or lost."""

import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from dashboards.cli import main
from search.ledger import Ledger
from search.serial import SerialEngine
from search.study import run_study
from tests.search.toy import ToyWorker, open_toy, toy_driver, toy_study

GOOD = "the\tDET\ncat\tNOUN\n\nit\tPRON\n\n"
STUDY = """\
extends: quickstart
base:
  data:
    corpus: {kind: columns, train: train.tsv, dev: dev.tsv, test: test.tsv}
"""

Written = Callable[[str, str], str]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with a finished study, a study file and its corpus."""
    monkeypatch.chdir(tmp_path)
    folder = open_toy(tmp_path / "done", toy_study(trials=3))
    with Ledger(folder.ledger) as ledger:
        run_study(toy_driver(folder, ledger), SerialEngine(ToyWorker))
    for split in ("train", "dev", "test"):
        (tmp_path / f"{split}.tsv").write_text(GOOD)
    (tmp_path / "study.yaml").write_text(STUDY)
    return tmp_path


def refused(here: Path, capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The one line that the command line answers with; nothing under ``here`` has changed."""
    before = {path: path.read_bytes() for path in sorted(here.rglob("*")) if path.is_file()}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["skipstack", *arguments])
        with pytest.raises(SystemExit) as stopped:
            main()
    out, error = capsys.readouterr()
    assert stopped.value.code == 2, error
    assert out == ""
    assert error.startswith("skipstack: ")
    assert error.count("\n") == 1
    assert error.endswith("\n")
    assert "Traceback" not in error
    assert {path: path.read_bytes() for path in sorted(here.rglob("*")) if path.is_file()} == before
    assert not list(here.glob(".*")), "something half-written was left"
    return error


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["search", "quikstart"], ["'quikstart'", "nearest: 'quickstart'", "wu2017/quick"]),
        (["search", "nothere.yaml"], ["nothere.yaml", "allowed"]),
        (
            ["search", "quickstart", "--corpus", "ud-englsh-ewt"],
            ["'ud-englsh-ewt'", "nearest: 'ud-english-ewt'", "pmb-ccg-en"],
        ),
        (["search", "quickstart", "--corpus", "pmb-ccg-en"], ["pmb-ccg-en", "--data-dir"]),
        (["search", "quickstart", "--corpus", "pmb-ccg-en", "--data-dir", "nowhere"], ["nowhere"]),
        (["search", "quickstart", "--set", "model.stack.dept=3"], ["model.stack.dept", "nearest", "model.stack.depth"]),
        (["search", "quickstart", "--set", "model.stack.depth=deep"], ["model.stack.depth", "'deep'", "allowed"]),
        (
            ["search", "quickstart", "--set", "model.stack.shortcut.gate=sigmoid"],
            ["'sigmoid'", "sigmoid_below", "none"],
        ),
        (["search", "quickstart", "--set", "training.optimiser.kind=adamw"], ["'adamw'", "nearest: 'adam'", "sgd"]),
        (["search", "quickstart", "--set", "model.stack.depth"], ["model.stack.depth", "PATH=VALUE"]),
        (
            ["search", "quickstart", "--set", "axes.model.stack.hiden={choice: [1]}"],
            ["model.stack.hiden", "nearest", "hidden"],
        ),
        (["search", "quickstart", "--trials", "0"], ["--trials", "0", "allowed"]),
        (["search", "quickstart", "--seeds", "two"], ["two"]),
        (["search", "quickstart", "--lanes", "many"], ["many", "auto"]),
        (["search", "quickstart", "--epochs", "-1"], ["-1", "allowed"]),
        (["search", "quickstart", "--engine", "dask"], ["dask", "ray", "serial"]),
        (["search", "quickstart", "--device", "tpu"], ["tpu", "auto", "cuda"]),
        (["search", "quickstart", "--set", "axes.training.epochs={choice: [1, 2]}"], ["training.epochs", "allowed"]),
        (["search", "quickstart", "--set", "search.proposer=grid"], ["learning_rate", "allowed"]),
        (["search", "quickstart", "--tracking-uri", "htp://host"], ["--tracking-uri", "'htp'", "nearest: 'http'"]),
        (["search", "quickstart", "--out", "done"], ["done", "holds a study", "resume"]),
        (["search", "quickstart", "--out", "."], ["not an empty folder", "allowed"]),
        (["search", "quickstart", "--outt", "x"], ["--outt", "--out"]),
        (["search"], ["study", "allowed"]),
        (["serch"], ["serch", "search"]),
        (["resume", "nowhere"], ["nowhere", "no study", "allowed"]),
        (["report", "nowhere"], ["nowhere", "no study", "allowed"]),
        (["report", "done", "--by", "model.stack.dept"], ["nearest: 'model.stack.depth'"]),
        (["report", "done", "--format", "xml"], ["xml", "markdown"]),
        (["report", "done", "--against", "wu2017/table2"], ["unknown table", "nearest: 'wu2017/table-2'"]),
        (["report", "done", "--against", "wu2017/table-2", "--by", "model.stack.depth"], ["--by", "--against"]),
        (["search", "wu2017/gates", "--scale", "smal"], ["--scale", "nearest: 'small'"]),
        (["search", "quickstart", "--scale", "small"], ["quickstart has no scales", "allowed"]),
        (["search", "quickstart", "--set", "search.proposer=one_at_a_time"], ["learning_rate", "allowed"]),
        (["export", "done", "--to", "b", "--trial", "99"], ["99", "allowed", "0"]),
        (["export", "done", "--to", "b", "--trial", "1", "--best", "1"], ["--best", "--trial"]),
        (["export", "done", "--to", "done"], ["done", "exists", "allowed"]),
        (["verify", "nowhere"], ["nowhere", "no bundle", "allowed"]),
        (["verify", "done"], ["done", "allowed"]),
        (["predict", "nowhere"], ["nowhere", "no bundle", "allowed"]),
        (["spaces", "quikstart"], ["nearest: 'quickstart'"]),
        (["spaces", "wu2017/gates", "--scale", "smal"], ["--scale", "nearest: 'small'"]),
        (["data", "check", "pmb-ccg", "--data-dir", "."], ["nearest: 'pmb-ccg-en'"]),
        (["data", "check", "pmb-ccg-en", "--data-dir", "."], ["no folder pmb4_ccg_en"]),
    ],
    ids=" ".join,
)
def test_a_wrong_argument_is_told_in_one_line(
    arguments: list[str], says: list[str], here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    error = refused(here, capsys, *arguments)
    assert all(text in error for text in says), error


@pytest.mark.parametrize(
    ("study", "says"),
    [
        ("extends: quickstart\nbase: [1\n", ["study.yaml:3", "expected"]),
        ("extends: quikstart\n", ["study.yaml:1", "nearest: 'quickstart'"]),
        (
            "extends: quickstart\nbase:\n  model:\n    stak: {depth: 3}\n",
            ["study.yaml:4", "'stak'", "nearest: 'stack'"],
        ),
        ("base:\n  model:\n    stack:\n      depth: -1\n", ["study.yaml:4", "depth", "-1"]),
        ("axes:\n  model.stack.depht: {choice: [1]}\n", ["study.yaml:2", "nearest: 'model.stack.depth'"]),
        ("axes:\n  model.stack.depth: {choice: [1, deep]}\n", ["study.yaml:2", "'deep'", "allowed"]),
        ("axes:\n  model.stack.depth: {chioce: [1]}\n", ["study.yaml:2", "nearest: 'choice'"]),
        ("constraints: [block_on_tpo]\n", ["study.yaml:1", "nearest: 'block_on_top'"]),
        ("search: {proposer: bayes}\n", ["study.yaml:1", "'bayes'", "tpe"]),
        ("about: a\nabout: b\n", ["study.yaml:2", "about"]),
        ("- a list\n", ["study.yaml", "allowed"]),
    ],
)
def test_a_wrong_study_file_is_told_with_its_line(
    study: str, says: list[str], here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "study.yaml").write_text(study)
    error = refused(here, capsys, "search", "study.yaml", "--out", "out")
    assert all(text in error for text in says), error


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("dev.tsv", b"the\tDET\ncat NOUN\n", ["dev.tsv:2", "column"]),
        ("dev.tsv", b"", ["dev.tsv", "empty split"]),
        ("train.tsv", b"the\tDET\n\ncat\t\n", ["train.tsv:3"]),
        ("train.tsv", b"the\tDET\ncaf\xe9\tNOUN\n", ["train.tsv:2", "utf-8"]),
        ("test.tsv", None, ["test.tsv"]),
    ],
)
def test_a_wrong_corpus_file_is_told_with_its_line(
    name: str, content: bytes | None, says: list[str], here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if content is None:
        (here / name).unlink()
    else:
        (here / name).write_bytes(content)
    error = refused(here, capsys, "search", "study.yaml", "--out", "out")
    assert all(text in error for text in says), error


def test_a_damaged_file_of_a_named_corpus_is_told_with_both_digests(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = here / "corpora" / "pmb4_ccg_en"
    folder.mkdir(parents=True)
    for split in ("train", "dev", "test"):
        (folder / f"{split}.conll").write_text("not what it was\n")
    error = refused(here, capsys, "search", "quickstart", "--corpus", "pmb-ccg-en", "--data-dir", "corpora")
    assert "train.conll" in error
    assert "cdbb6035a711" in error


def test_a_damaged_ledger_is_refused_by_whoever_reads_it(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    segment = here / "done" / "ledger" / "000002.jsonl"
    lines = segment.read_bytes().splitlines(keepends=True)
    segment.write_bytes(b"".join([lines[0], lines[1].replace(b"trial", b"trail"), *lines[2:]]))
    for command in ("report", "resume"):
        error = refused(here, capsys, command, "done")
        assert "000002.jsonl:2" in error


def test_a_failed_search_leaves_the_name_of_its_folder_free(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = (here / "dev.tsv").read_bytes()
    (here / "dev.tsv").write_bytes(b"")
    refused(here, capsys, "search", "study.yaml", "--out", "out")
    assert not (here / "out").exists()
    (here / "dev.tsv").write_bytes(good)
    shutil.rmtree(here / "done")
