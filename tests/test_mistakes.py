"""Mistakes that people make, each with the line that they read: exit 2, one line, and nothing is written."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import skipstack
from tests.command_line import refusal
from tests.search.finished import exported
from tests.search.functions import searched
from tests.search.toy import open_toy, run_toy, toy_study

TOKENS = "the\tDET\ncat\tNOUN\n\nit\tPRON\n\n"
CORPUS = "kind: columns, train: train.tsv, dev: dev.tsv, test: test.tsv"
STUDY = f"""\
extends: quickstart
base:
  data: {{corpus: {{{CORPUS}}}}}
  model: {{embedder: {{word_size: 4}}, stack: {{depth: 1, hidden: 4}}}}
  training: {{epochs: 1}}
search: {{trials: 1, seeds: 1, scheduler: none}}
"""


def objective(config: Any, report: Any) -> None:
    report(score=config["x"])


async def later(config: Any) -> float:
    return float(config["x"])


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a corpus, a study file, a study of networks, one of a function, and a bundle."""
    folder = tmp_path_factory.mktemp("mistakes")
    for split in ("train", "dev", "test"):
        (folder / f"{split}.tsv").write_text(TOKENS)
    (folder / "study.yaml").write_text(STUDY)
    (folder / "function.py").write_text("def objective(config):\n    return config['x']\n")
    (folder / "words.txt").write_text("the cat\n")
    run_toy(open_toy(folder / "done", toy_study(trials=3)))
    searched(folder / "called", objective)
    exported(folder / "study.yaml").rename(folder / "bundle")
    return folder


@pytest.fixture
def here(prepared: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(prepared)
    return prepared


def files(folder: Path) -> dict[Path, bytes | None]:
    """The files and folders below ``folder``, with the files' bytes."""
    found = (path for path in folder.rglob("*") if "__pycache__" not in path.parts)
    return {path: path.read_bytes() if path.is_file() else None for path in found}


def refused(folder: Path, *arguments: str) -> str:
    """The line with which a command is refused, which has left all files in ``folder`` as they were."""
    before = files(folder)
    line = refusal(*arguments)
    assert files(folder) == before
    return line.removeprefix("skipstack: ").rstrip("\n")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("extends: quickstart\n\tabout: a tab\n", "mine.yaml:2: broken YAML: got a tab (allowed: blanks to indent"),
        ("about: what: this\n", "mine.yaml:1: broken YAML: got a ': ' too many (allowed: one in a line"),
        ("about: 'never closed\nname: x\n", "mine.yaml:1: broken YAML: a quote is opened here and never closed"),
        ("name: a\n---\nname: b\n", "mine.yaml:2: broken YAML: a second document begins here (allowed: one)"),
        ("about: a\nname: caf\xe9\n", "mine.yaml:2: got the byte 0xe9, allowed: UTF-8 text"),
        ("name: a\ntrials: 4\n", "mine.yaml:2: trials: unknown key 'trials' (nearest: 'search.trials'; allowed: "),
        ("base:\n  training: {learning_rate: 1}\n", "mine.yaml:2: training.learning_rate: unknown key 'learning_rate' "
         "(nearest: 'optimiser.learning_rate'; allowed: epochs, "),
        ("base: {training: {optimiser: {kind: adam, momentum: 0.9}}}\n", "mine.yaml:1: training.optimiser.momentum: "
         "unknown key 'momentum' (nearest: 'momentum of kind sgd'; allowed: kind, "),
        ("base: {model: {head: {kind: CRF}}}\n", "mine.yaml:1: model.head.kind: unknown kind 'CRF' (nearest: 'crf'; "),
        ("base: {data: {corpus: {train: train.tsv}}}\n", "mine.yaml:1: data.corpus.train: got 'train.tsv' for kind "
         "grammar (allowed: an integer from 1; for kind columns or "),
        ("extends: quickstart\nbase: 3\n", "mine.yaml:2: base: got 3 (allowed: a mapping of data, model, training)"),
        ("axes:\n  model:\n    stack:\n      depth: {choice: [1]}\n", "mine.yaml:3: axes: got stack within model "
         "(allowed: dotted paths, as in model.stack"),
        ("axes: {model.stack.depth: {named: {}}}\n", "mine.yaml:1: axes.model.stack.depth.named: got {} (allowed: a "
         "mapping that is not empty, or null)"),
        ("axes:\n  model.stack.depth: {uniform: [1, 3]}\n", "mine.yaml:2: axis model.stack.depth: got uniform, any "
         "number between, for an integer (allowed: randint, lograndint, choice, ordinal)"),
        ("axes:\n  model.stack.dropout: {uniform: [0.5, 0.1]}\n", "mine.yaml:2: axes.model.stack.dropout: got bounds "
         "[0.5, 0.1] (allowed: the lower one first"),
        ("extends: other.yaml\n", "mine.yaml:1: unknown preset 'other.yaml' (allowed: cells, "),
        (f"base: {{data: {{corpus: {{{CORPUS}, word: 1}}}}}}\n", "mine.yaml:1: data.corpus: tag: got column 1, which "
         "has the words (allowed: another column)"),
        (f"base: {{data: {{corpus: {{{CORPUS.replace('train.tsv', repr(''))}}}}}}}\n", "mine.yaml:1: "
         "data.corpus.train: got '' (allowed: the path of a file)"),
    ],
    ids=lambda text: text[:40],
)  # fmt: skip
def test_a_mistake_in_a_study_file(text: str, line: str, here: Path) -> None:
    (here / "mine.yaml").write_bytes(text.encode("latin-1"))
    assert refused(here, "search", "mine.yaml", "--engine", "serial", "--out", "out").startswith(line)


SEARCH = "search quickstart --engine serial --trials 1 --epochs 1 --out out "


@pytest.mark.parametrize(
    ("command", "line"),
    [
        ("search done", "done: a study that was begun (allowed: a study file, or a preset; `skipstack extend done "),
        ("search bundle", "bundle: a folder without a study (allowed: a study file in YAML, or a preset)"),
        ("search function.py", "function.py: got Python (allowed: a study file in YAML, or a preset; a function is "),
        ("search study.yml", "no study file study.yml (nearest: study.yaml; allowed: a YAML file, or a preset: cells"),
        ("search atis", "atis: a corpus (allowed: a study file, or a preset, with --corpus atis)"),
        ("plan study", "unknown study 'study' (nearest: 'study.yaml'; allowed: cells, "),
        (SEARCH + "--proposer TPE", "--proposer: unknown value 'TPE' (nearest: 'tpe'; allowed: grid, "),
        (SEARCH + "--scheduler ahsa", "--scheduler: unknown value 'ahsa' (nearest: 'asha'; allowed: asha, hyperband, "),
        *((f"{command} --scheduler median --set search.objectives=[score,parameters]", "--set search.objectives="
         "[score,parameters]: search: got 2 objectives with median (allowed with several: asha, or none)")
         for command in (SEARCH, "plan quickstart")),
        (SEARCH + "--tracking-uri sqlite:mlflow.db", "--tracking-uri: got sqlite: without // after it (allowed: as in "
         "sqlite:////PATH/mlflow.db)"),
        (SEARCH + "--tracking-uri sqlite:///train.tsv", "--tracking-uri: train.tsv is no SQLite database (allowed: a "),
        (SEARCH + "--tracking-uri http://", "--tracking-uri: got http:// without a host (allowed: as in http://HOST"),
        (SEARCH + "--proposer grid", "the space is infinite: axis training.optimiser.learning_rate has numbers from "
         "0.003 to 0.03, by their logarithm (allowed where all points are tried, as by proposer grid: choice, "),
        (SEARCH + "--lanes 0", "--lanes: got '0' (allowed: 1 or more, or auto)"),
        (SEARCH + "--also function.py", "--also: function.py: got no class (allowed: one class of skipstack.Listener)"),
        (SEARCH + "--also train.tsv", "--also: unknown listener 'train.tsv' (allowed: tensorboard, wandb, FILE.py)"),
        ("extend done --point depth=1,depth=3", "--point depth=1,depth=3: depth is given twice (allowed: once)"),
        ("ablate done --corpus atsi", "unknown corpus 'atsi' (nearest: 'atis'; allowed: grammar, "),
        ("export done --to b.tar.gz", "--to b.tar.gz: got a name for .gz (allowed: a folder, or a name that ends in "),
        ("export done --to b --register a/b", "--register: got 'a/b' (allowed: a name without /, : and \")"),
        ("report called --out r.html", "--out r.html: got a name for html, and text to write (allowed: another name, "
         "or --format html)"),
        ("report mlflow:x --tracking-uri sqlite:///none.db", "mlflow:x: the store has no file none.db (allowed: one "),
        ("draw quickstart --out net.png", "--out net.png: got a name for png, and svg to write (allowed: another name"),
        ("inspect bundle words.txt --picture no/x.svg", "no/x.svg: cannot be written: No such file or directory"),
        ("inspect bundle words.txt --picture x.png", "--picture x.png: got a name for png, and svg to write"),
        ("predict bundle words.txt --code function.py", "--code function.py: got it where all code is skipstack's "),
        ("rerun done 0 --code function.py", "--code function.py: got it where all code is skipstack's "),
        ("export done --to out --code function.py", "--code function.py: got it where all code is skipstack's "),
        ("data describe called", "called: its trials call a function, which reads its own data (allowed: a study of "),
        ("spaces --scale small", "--scale: got small without a study (allowed: after a preset or a study file)"),
        ("compare done called", "called: got "),
        ("log called 99", "called: got trial 99 (nearest: "),
        ("simulate called --scheduler ahsa", "unknown scheduler 'ahsa' (nearest: 'asha'; allowed: "),
        ("verify done", "done: a study, not a bundle (allowed: a folder or .zip that `skipstack export` made, as "),
        ("dashboard train.tsv", "train.tsv: no such folder (allowed: a folder with studies below it, "),
        ("upgrade train.tsv", "train.tsv: no bundle here (allowed: a folder or .zip that `skipstack export` made)"),
    ],
    ids=lambda text: text[:60],
)  # fmt: skip
def test_a_mistake_on_the_command_line(command: str, line: str, here: Path) -> None:
    assert refused(here, *command.split()).startswith(line)


def test_a_corpus_that_is_packed(here: Path) -> None:
    (here / "packed.tsv").write_bytes(b"\x1f\x8b\x08\x00" + bytes(9))
    (here / "packed.yaml").write_text(STUDY.replace("train.tsv", "packed.tsv"))
    line = refused(here, "search", "packed.yaml", "--engine", "serial", "--out", "out")
    assert line.endswith("packed.tsv: got a file packed by gzip (allowed: the text in it, unpacked)")


def test_kernels_of_an_unknown_name(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SKIPSTACK_KERNELS", "fsed")
    before = files(here)
    with pytest.raises(skipstack.UserError, match=r"^SKIPSTACK_KERNELS: unknown kernels 'fsed' \(nearest: 'fused'"):
        skipstack.search("study.yaml", engine="serial", out="out")
    assert files(here) == before


def axes() -> skipstack.Space:
    return skipstack.Space(x=skipstack.uniform(0, 1))


def search(study: Any, function: Any = objective, **options: Any) -> Callable[[], object]:
    return lambda: skipstack.search(study, function, **{"engine": "serial", "trials": 1, "out": "out", **options})


@pytest.mark.parametrize(
    ("call", "line"),
    [
        (search(axes(), None), "objective: got none for axes called x (allowed: the function whose arguments they "),
        (search({"x": skipstack.uniform(0, 1)}), "study: got a mapping of axes (allowed: skipstack.Space({...}) "),
        (search(objective, axes()), "study: got the function objective (allowed: the name of a preset, the path "),
        (search("quickstart"), "quickstart: a preset trains networks (allowed for a function: a space of its "),
        (search(axes(), later), "objective: got the async function later (allowed: a function that returns its score"),
        (search(axes(), dict), "objective: got the class dict (allowed: a function that returns its score"),
        (search(axes(), epochs=1.5), "epochs: got 1.5 (allowed: a whole number)"),
        (search(axes(), direction=["minimize"]), "direction: got ['minimize'] (allowed: maximize, minimize)"),
        (search(axes(), constraints="x < 1"), "constraints: got 'x < 1' (allowed: a list of expressions and functions"),
        (search(axes(), settings=["search.seeds=2"]), 'settings: got ["search.seeds=2"] (allowed: a mapping of values'),
        (search(axes(), also="tensorboard"), "also: got 'tensorboard' (allowed: a list of texts)"),
        (search(axes(), out=3), "out: got 3 (allowed: a path, as text or a Path)"),
        (lambda: skipstack.Space([1]), "Space: got [1] (allowed: a mapping of values by name, or name=value)"),
        (lambda: skipstack.Space(model={"depth": skipstack.randint(1, 2)}), "model: got an axis within a value "
         "(allowed: Space({'model.depth': ...}))"),
        (lambda: skipstack.uniform(0, 1, when=["kind"]), 'uniform: when: got ["kind"] (allowed: axes with lists of '),
        (lambda: skipstack.open(None), "folder: got None (allowed: a path, as text or a Path)"),
        (lambda: skipstack.load("bundle", device="gpu"), "unknown device 'gpu' (nearest: 'cpu'; allowed: auto, cpu, "),
        (lambda: skipstack.load("bundle").predict([[1, 2]]), "got the sentence [1, 2] (allowed: sentences, each a "),
        (lambda: skipstack.open("done").enqueue("depth=3"), "points: got 'depth=3' (allowed: points, each as "),
        (lambda: skipstack.extend("called", objective, trials=-1), "--trials: got -1 (allowed: 0 or more)"),
        (lambda: skipstack.extend("done", choices={"model.stack.depth": 7}), "choices: got "
         '{"model.stack.depth": 7} (allowed: a mapping of lists by axis'),
        (lambda: skipstack.from_optuna("sqlite:///optuna.db", out="o"), "from_optuna: got 'sqlite:///optuna.db' "
         "(allowed: an Optuna study, as optuna.load_study(...) gives it)"),
        (lambda: skipstack.from_wandb("trian.tsv", score="x", space=axes(), out="o"), "cannot read trian.tsv: No such "
         "file or directory (nearest: train.tsv)"),
        (lambda: skipstack.from_wandb("train.tsv", score="x", direction="max", space=axes(), out="o"), "direction: got "
         "'max' (allowed: maximize or minimize)"),
    ],
    ids=lambda each: each[:40] if isinstance(each, str) else "",
)  # fmt: skip
def test_a_mistake_in_python(call: Callable[[], object], line: str, here: Path) -> None:
    before = files(here)
    with pytest.raises(skipstack.UserError) as refused:
        call()
    assert str(refused.value).startswith(line)
    assert len(str(refused.value).splitlines()) == 1
    assert files(here) == before
