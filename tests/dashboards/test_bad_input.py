"""Every mistake of a user: exit 2, one line that says what was got and what is allowed, nothing written or lost."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from skipstack.search.study.study_files.study_file import load_study
from tests.command_line import refusal
from tests.search.toy import open_toy, run_toy, toy_study
from tests.splits import read_splits

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
    run_toy(open_toy(tmp_path / "done", toy_study(trials=3)))
    for split in ("train", "dev", "test"):
        (tmp_path / f"{split}.tsv").write_text(GOOD)
    (tmp_path / "study.yaml").write_text(STUDY)
    return tmp_path


def refused(here: Path, *arguments: str) -> str:
    """The one line that the command line answers with; nothing under ``here`` has changed."""
    before = {path: path.read_bytes() for path in sorted(here.rglob("*")) if path.is_file()}
    error = refusal(*arguments)
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
        (["search", "quickstart", "--corpus", "pmb-ccg-en"], ["pmb4_ccg_en", "`skipstack data fetch pmb-ccg-en`"]),
        (["search", "quickstart", "--corpus", "pmb-ccg-en", "--data-dir", "nowhere"], ["nowhere"]),
        (["search", "quickstart", "--set", "model.stack.dept=3"], ["model.stack.dept", "nearest", "model.stack.depth"]),
        (
            ["search", "quickstart", "--set", "model.stack.shortcut.gate=sigmoid"],
            ["'sigmoid'", "sigmoid_below", "none"],
        ),
        (["search", "quickstart", "--trials", "0"], ["--trials", "0", "allowed"]),
        (["search", "quickstart", "--hours", "0"], ["--hours 0", "allowed"]),
        (["search", "quickstart", "--hours", "-2"], ["--hours -2", "allowed"]),
        (["search", "quickstart", "--hours", "nan"], ["--hours nan", "allowed"]),
        (["search", "quickstart", "--hours", "two"], ["--hours", "'two'"]),
        (["plan", "quickstart", "--hours", "0"], ["--hours 0", "allowed"]),
        (["search", "quickstart", "--set", "search.hour=2"], ["search.hour", "nearest", "search.hours"]),
        (["search", "quickstart", "--concurrent", "0"], ["--concurrent: got '0'", "1 or more, or auto"]),
        (["search", "quickstart", "--concurrent", "1.5"], ["--concurrent: got '1.5'", "1 or more, or auto"]),
        (["search", "quickstart", "--concurent", "2"], ["--concurent", "--concurrent"]),
        (["search", "quickstart", "--cpus-per-trial", "0"], ["--cpus-per-trial: got 0", "1 or more"]),
        (["search", "quickstart", "--cpus-per-trial", "0.5"], ["--cpus-per-trial", "'0.5'", "whole number"]),
        (["resume", "done", "--hours", "0"], ["--hours: got 0", "allowed"]),
        (["resume", "done", "--hours", "many"], ["--hours", "'many'"]),
        (["resume", "done", "--hours", "9"], ["--hours: all 3 trials of the study have ended", "`skipstack extend`"]),
        (["resume", "done", "--hours", "9", "--enough"], ["--enough and --hours", "one of them"]),
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
        (["resume", "./dome"], ["dome: no study here (nearest: done; allowed: "]),
        (["report", "nowhere"], ["nowhere", "no study", "allowed"]),
        (["report", "done", "--by", "model.stack.dept"], ["nearest: 'model.stack.depth'"]),
        (["report", "done", "--format", "xml"], ["xml", "markdown"]),
        (["report", "done", "--against", "wu2017/table2"], ["unknown table", "nearest: 'wu2017/table-2'"]),
        (["report", "done", "--against", "wu2017/table-2", "--by", "model.stack.depth"], ["--by", "--against"]),
        (["search", "wu2017/gates", "--scale", "smal"], ["--scale", "nearest: 'small'"]),
        (["search", "quickstart", "--scale", "small"], ["quickstart has no scales", "allowed"]),
        (["search", "quickstart", "--set", "search.proposer=one_at_a_time"], ["learning_rate", "allowed"]),
        (["plan", "quikstart"], ["'quikstart'", "nearest: 'quickstart'"]),
        (["plan", "nothere.yaml"], ["nothere.yaml", "allowed"]),
        (["plan", "quickstart", "--trials", "0"], ["--trials", "0", "allowed"]),
        (["plan", "quickstart", "--gpus-per-trial", "-1"], ["--gpus-per-trial", "allowed"]),
        (["search", "quickstart", "--gpus-per-trial", "1.5"], ["--gpus-per-trial", "'1.5'", "whole GPUs"]),
        (["plan", "quickstart", "--device", "tpu"], ["tpu", "auto", "cuda"]),
        (["plan", "quickstart", "--format", "xml"], ["xml", "json"]),
        (["plan", "quickstart", "--set", "axes.training.epochs={choice: [1, 2]}"], ["training.epochs", "allowed"]),
        (["plan", "quickstart", "--set", "search.proposer=grid"], ["learning_rate", "allowed"]),
        (
            ["plan", "quickstart", "--set", "search.median={}"],
            ["search.median", "search.scheduler: {kind: median}"],
        ),
        (["simulate", "nowhere"], ["nowhere", "no study", "allowed"]),
        (["simulate", "done", "--scheduler", "ahsa"], ["unknown scheduler 'ahsa'", "nearest: 'asha'", "median"]),
        (["simulate", "done", "--workers", "0"], ["--workers: got 0", "1 to 10000"]),
        (["simulate", "done", "--workers", "10001"], ["--workers: got 10001", "1 to 10000"]),
        (["simulate", "done", "--trials", "0"], ["--trials", "got 0", "1 or more"]),
        (["simulate", "done", "--seed", "-2"], ["--seed", "got -2", "0 or more"]),
        (["simulate", "done", "--reduction", "1"], ["--reduction: got 1", "2 or more"]),
        (["simulate", "done", "--proposer", "bayes"], ["bayes", "tpe"]),
        (["export", "done", "--to", "b", "--trial", "99"], ["99", "allowed", "0"]),
        (["export", "done", "--to", "b", "--trial", "1", "--best", "1"], ["--best", "--trial"]),
        (["export", "done", "--to", "b", "--best", "0"], ["--best: got 0 (allowed: 1 or more)"]),
        (["export", "done", "--to", "b", "--best", "9"], ["--best 9: got 3 trials with a score (allowed: 1 to 3)"]),
        (["export", "done", "--to", "done"], ["done", "exists", "allowed"]),
        (["export", "done", "--to", "b", "--register", 'my "own"'], ['my "own"', 'a name without /, : and "']),
        (["verify", "nowhere"], ["nowhere", "no bundle", "allowed"]),
        (["verify", "done"], ["done", "allowed"]),
        (["predict", "nowhere"], ["nowhere", "no bundle", "allowed"]),
        (["serve", "nowhere", "--port", "65536"], ["--port: got 65536 (allowed: 1 to 65535)"]),
        (["spaces", "quikstart"], ["nearest: 'quickstart'"]),
        (
            ["search", "quickstart", "--engine", "ry"],
            ["--engine: unknown value 'ry' (nearest: 'ray'; allowed: ray, serial)"],
        ),
        (
            ["search", "quickstart", "--proposer", "gpp"],
            ["--proposer: unknown value 'gpp'", "nearest: 'gp'", "evolution"],
        ),
        (["spaces", "wu2017/gates", "--scale", "smal"], ["--scale", "nearest: 'small'"]),
        (["data", "check", "pmb-ccg", "--data-dir", "."], ["nearest: 'pmb-ccg-en'"]),
        (["data", "fetch", "pmb"], ["nearest: 'pmb-ccg-en'"]),
        (["data", "check", "pmb-ccg-en", "--data-dir", "."], ["no folder pmb4_ccg_en", "pmb-ccg-en --data-dir .`"]),
    ],
    ids=" ".join,
)
def test_a_wrong_argument_is_told_in_one_line(arguments: list[str], says: list[str], here: Path) -> None:
    error = refused(here, *arguments).replace("'STUDY'", "'study'")  # as older versions of Typer print it
    assert all(text in error for text in says), error


@pytest.mark.parametrize(
    ("study", "says"),
    [
        (
            "extends: quickstart\nbase:\n  model:\n    stak: {depth: 3}\n",
            ["study.yaml:4", "'stak'", "nearest: 'stack'"],
        ),
        ("base:\n  model:\n    stack:\n      depth: -1\n", ["study.yaml:4", "depth", "-1"]),
        ("axes:\n  model.stack.depth: {choice: [1, deep]}\n", ["study.yaml:2", "'deep'", "allowed"]),
        ("about: a\nabout: b\n", ["study.yaml:2", "about"]),
        ("- a list\n", ["study.yaml", "allowed"]),
    ],
)
def test_a_wrong_study_file_is_told_with_its_line(study: str, says: list[str], here: Path) -> None:
    (here / "study.yaml").write_text(study)
    error = refused(here, "search", "study.yaml", "--out", "out")
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
    name: str, content: bytes | None, says: list[str], here: Path
) -> None:
    if content is None:
        (here / name).unlink()
    else:
        (here / name).write_bytes(content)
    error = refused(here, "search", "study.yaml", "--out", "out")
    assert all(text in error for text in says), error


BIO = b"to\tO\nnew\tB-city\nyork\tI-city\n\n"
TAGGED = "[中国/ns 人民/n]nt 好/a\n"
IDENTIFIED = "1998/m 中国/ns\n"
OWN_KINDS = {
    # what the study says of the corpus, and a file that is right
    "columns": ("kind: columns, scheme: bio", BIO),
    "word_tag": ("kind: word_tag, unit: character, separator: /, brackets: true", TAGGED.encode()),
    "identified": ("kind: word_tag, unit: character, separator: /, identified: true", IDENTIFIED.encode()),
    "gbk": ("kind: word_tag, unit: character, separator: /, brackets: true, encoding: gbk", TAGGED.encode("gbk")),
    "segmented": ("kind: segmented", "中国 人民\n".encode()),
    "labelled_text": ("kind: labelled_text", b"good\ta fine film\nbad\tno fun\n"),
    "word_pos_supertag": ("kind: word_pos_supertag", b"it|PRP|NP\n"),
    "treebank_pos": ("kind: treebank_pos", b"it/PRP ./.\n"),
    "ccgbank_auto": ("kind: ccgbank_auto", b"ID=1\n(<L NP PRP PRP it NP>)\n"),
    "records": ("kind: records", b'{"tokens": ["it"], "ner_tags": ["O"]}\n'),
    "spans": ("kind: spans, spans: label", b'{"text": "it", "label": [[0, 2, "X"]]}\n'),
}


@pytest.mark.first(8)
@pytest.mark.parametrize("split", ["train", "test"])
@pytest.mark.parametrize(
    ("kind", "added", "says"),
    [
        ("columns", "中国\tO\n".encode("gbk"), "5: got the byte 0xd6, allowed: utf-8 text"),
        ("columns", b"a\tX-city\n", "5: got the tag 'X-city', allowed in bio: O, B-type, I-type"),
        ("columns", b"a\tO-city\n", "5: got the tag 'O-city', allowed in bio: O, B-type, I-type"),
        ("columns", b"a\tB-\n", "5: got the tag 'B-', allowed in bio: O, B-type, I-type"),
        ("word_tag", TAGGED.encode("gbk"), "2: got the byte 0xd6, allowed: utf-8 text"),
        ("word_tag", "中国/n 人民\n".encode(), "2: got '人民', allowed: word/TAG"),
        ("identified", b"1998/m\n", "2: got '1998/m' alone, allowed: words after the id of a line"),
        ("gbk", b"\xff/n\n", "2: got the byte 0xff, allowed: gbk text"),
        ("segmented", "中国\n".encode("gbk"), "2: got the byte 0xd6, allowed: utf-8 text"),
        ("labelled_text", "好\t电影\n".encode("gbk"), "3: got the byte 0xba, allowed: utf-8 text"),
        ("labelled_text", b"a film\n", "3: got 1 column, allowed: 2 separated by tabs"),
        ("word_pos_supertag", b"cat|NN\n", "2: got 'cat|NN', allowed: word|pos|category"),
        ("treebank_pos", b"cat NN\n", "2: got 'cat', allowed: word/TAG, [ and ]"),
        ("records", b'{"tokens": ["it"]}\n', "2: unknown key 'ner_tags' (allowed: tokens)"),
        (
            "spans",
            b'{"text": "it", "label": [[0, 1, "X"]]}\n',
            "2: got the span 'i' (0 to 1), which cuts the token 'it'",
        ),
        ("ccgbank_auto", b"ID=2\n(<L NP PRP PRP it NP>) )\n", "4: got a ) too early, at column 24, allowed: all"),
    ],
)
def test_what_is_wrong_in_a_file_of_any_kind_is_told_with_its_line(
    kind: str, added: bytes, says: str, split: str, here: Path
) -> None:
    options, right = OWN_KINDS[kind]
    paths = ", ".join(f"{name}: {name}.tsv" for name in ("train", "dev", "test"))
    (here / "study.yaml").write_text(f"extends: quickstart\nbase: {{data: {{corpus: {{{options}, {paths}}}}}}}\n")
    for name in ("train", "dev", "test"):
        (here / f"{name}.tsv").write_bytes(right + added if name == split else right)
    assert f"{split}.tsv:{says}" in refused(here, "search", "study.yaml", "--out", "out")
    (here / f"{split}.tsv").write_bytes(right)
    corpus = load_study(here / "study.yaml")[0].space.base.data.corpus
    assert read_splits(corpus, data_dir=None, folder=here), "it was this line and nothing else"


@pytest.mark.parametrize("encoding", ["gbk2", "base64", ""])
def test_an_encoding_that_is_none_is_told_with_the_line_of_the_study(encoding: str, here: Path) -> None:
    (here / "study.yaml").write_text(STUDY.replace("test.tsv", f"test.tsv, encoding: '{encoding}'"))
    error = refused(here, "search", "study.yaml", "--out", "out")
    assert f"study.yaml:4: data.corpus.encoding: unknown encoding '{encoding}' (allowed: a text encoding" in error


def test_a_wrong_line_of_a_named_corpus_without_digests_is_told_with_its_file(here: Path) -> None:
    for section in range(25):
        folder = here / "corpora" / "treebank_3" / "tagged/pos/wsj" / f"{section:02}"
        folder.mkdir(parents=True)
        (folder / f"wsj_{section:02}00.pos").write_bytes(b"it/PRP ./.\n" if section != 20 else b"it/PRP\nis\n")
    arguments = ("search", "quickstart", "--corpus", "wsj", "--data-dir", "corpora", "--out", "out")
    assert "20/wsj_2000.pos:2: got 'is', allowed: word/TAG, [ and ]" in refused(here, *arguments)
    (folder.parent / "20" / "wsj_2000.pos").write_bytes(b"caf\xe9/NN ./.\n")
    assert "20/wsj_2000.pos:1: got the byte 0xe9, allowed: utf-8 text" in refused(here, *arguments)


def test_a_named_corpus_in_another_encoding_is_another_file(here: Path) -> None:
    """Its digest is checked before a byte of it is read as text."""
    folder = here / "corpora" / "pku_199801"
    folder.mkdir(parents=True)
    (folder / "199801.txt").write_text(TAGGED, encoding="utf-8")
    error = refused(here, "search", "quickstart", "--corpus", "pku-199801", "--data-dir", "corpora")
    assert "199801.txt is damaged or another version: got sha256 " in error
    assert "expected 1e2574641b92" in error


def test_a_damaged_file_of_a_named_corpus_is_told_with_both_digests(here: Path) -> None:
    folder = here / "corpora" / "pmb4_ccg_en"
    folder.mkdir(parents=True)
    for split in ("train", "dev", "test"):
        (folder / f"{split}.conll").write_text("not what it was\n")
    error = refused(here, "search", "quickstart", "--corpus", "pmb-ccg-en", "--data-dir", "corpora")
    assert "train.conll" in error
    assert "cdbb6035a711" in error


def test_a_damaged_ledger_is_refused_by_whoever_reads_it(here: Path) -> None:
    segment = here / "done" / "ledger" / "000002.jsonl"
    lines = segment.read_bytes().splitlines(keepends=True)
    segment.write_bytes(b"".join([lines[0], lines[1].replace(b"trial", b"trail"), *lines[2:]]))
    for command in ("report", "resume", "simulate"):
        error = refused(here, command, "done")
        assert "000002.jsonl:2" in error


def test_a_failed_search_leaves_the_name_of_its_folder_free(here: Path) -> None:
    good = (here / "dev.tsv").read_bytes()
    (here / "dev.tsv").write_bytes(b"")
    refused(here, "search", "study.yaml", "--out", "out")
    assert not (here / "out").exists()
    (here / "dev.tsv").write_bytes(good)
    shutil.rmtree(here / "done")
