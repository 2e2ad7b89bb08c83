"""A study file that `search` refuses is refused in the same line by each command that reads it; nothing is written."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.command_line import refusal, typed

COMMANDS = {
    "spaces": lambda study: ["spaces", study],
    "plan": lambda study: ["plan", study],
    "draw": lambda study: ["draw", study],
}
COLUMNS = "kind: columns, train: train.tsv, dev: dev.tsv, test: test.tsv"


def study(corpus: str = COLUMNS, below: str = "") -> str:
    return f"extends: quickstart\nbase:\n  data:\n    corpus: {{{corpus}}}\n{below}"


WRONG: dict[str, tuple[str, str]] = {
    # the study file, and a part of the line
    "a column that the files lack": (study(f"{COLUMNS}, tag: 5"), "the tag is in column 5"),
    "no dev split": (
        study("kind: columns, train: train.tsv, test: test.tsv"),
        "dev: got nothing (allowed: files, or held_out",
    ),
    "a missing file": (study(COLUMNS.replace("dev.tsv", "gone.tsv")), "gone.tsv"),
    "an empty split": (study(COLUMNS.replace("dev.tsv", "empty.tsv")), "empty split"),
    "tags outside the scheme": (study(f"{COLUMNS}, scheme: bio"), "allowed in bio"),
    "a scheme for tags without one": (study(COLUMNS, "    scheme: bioes\n"), "data.scheme: got bioes"),
    "a head for trees": (study(COLUMNS, "  model: {head: {kind: biaffine}}\n"), "model.head.kind: got biaffine"),
    "a head for trees on an axis": (
        study(COLUMNS, "axes: {model.head.kind: {choice: [softmax, biaffine]}}\n"),
        "model.head.kind: got biaffine",
    ),
    "missing vectors": (study(COLUMNS, "    vectors: glove.txt\n"), "glove.txt"),
    "a corpus of another measure": (
        study(COLUMNS, "axes: {data.corpus: {choice: [{kind: grammar}, {kind: echo}]}}\n"),
        "one kind in a study",
    ),
    "an unknown corpus": (study("kind: named, name: ud-englsh-ewt"), "nearest: 'ud-english-ewt'"),
    "a preset that is none": ("extends: quikstart\n", "nearest: 'quickstart'"),
    "an unknown key": ("extends: quickstart\nserch: {trials: 3}\n", "nearest: 'search'"),
    "an unknown field": (study(COLUMNS, "  model: {stak: {depth: 3}}\n"), "nearest: 'stack'"),
    "an unknown axis": (study(COLUMNS, "axes: {model.stack.dept: {choice: [1]}}\n"), "nearest: 'model.stack.depth'"),
    "an unknown constraint": (study(COLUMNS, "constraints: [one_papr]\n"), "nearest: 'one_paper'"),
    "an objective that is none": (study(COLUMNS, "search: {objectives: [score, f1]}\n"), "'f1'"),
    "a rung that stops no trial": (
        study(COLUMNS, "search: {scheduler: {kind: asha, reduction: 1}}\n"),
        "search.scheduler",
    ),
    "a continuous axis in a grid": (study(COLUMNS, "search: {proposer: grid}\n"), "learning_rate"),
    "epochs as an axis": (study(COLUMNS, "axes: {training.epochs: {choice: [1, 2]}}\n"), "'training.epochs'"),
    "no earlier study": (study(COLUMNS, "search: {warm_start: [earlier]}\n"), "earlier"),
    "missing code": (study(COLUMNS, "code: [mine.py]\n"), "mine.py"),
    "broken YAML": ("extends: [quickstart\n", "broken YAML"),
    "an empty file": ("", "study.yaml: got an empty file (allowed: a mapping of name, about, extends, "),
    "only comments": (
        "# extends: quickstart\n\n",
        "study.yaml: got an empty file (allowed: a mapping of name, about, ",
    ),
    "null": ("# nothing\nnull\n", "study.yaml:2: got null (allowed: a mapping of name, about, "),
    "an empty mapping": ("{}\n", "study.yaml:1: got an empty mapping (allowed: a mapping of name, about, "),
    "a list": ("- quickstart\n", "allowed: a mapping of name, about, extends, "),
    "a text": ("quickstart\n", "allowed: a mapping of name, about, extends, "),
    "a number": ("3\n", "allowed: a mapping of name, about, extends, "),
    "false": ("false\n", "allowed: a mapping of name, about, extends, "),
}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with a corpus of two tags, and no named corpus."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SKIPSTACK_DATA_DIR", str(tmp_path / "no-corpora"))
    for split in ("train", "dev", "test"):
        (tmp_path / f"{split}.tsv").write_text("the\tDET\ncat\tNOUN\n\nit\tNOUN\n\n")
    (tmp_path / "empty.tsv").write_text("\n")
    return tmp_path


def searched(name: str) -> str:
    return refusal("search", name, "--engine", "serial", "--out", "out")


@pytest.mark.first(3)
@pytest.mark.parametrize("wrong", WRONG)
def test_each_command_refuses_in_the_line_of_search(wrong: str, here: Path) -> None:
    text, says = WRONG[wrong]
    (here / "study.yaml").write_text(text)
    before = sorted(here.rglob("*"))
    line = searched("study.yaml")
    assert says in line
    assert {name: refusal(*command("study.yaml")) for name, command in COMMANDS.items()} == dict.fromkeys(
        COMMANDS, line
    )
    assert sorted(here.rglob("*")) == before


@pytest.mark.parametrize("name", ["gone.yaml", "quikstart"])
def test_a_study_that_is_not_there_is_refused_in_the_line_of_search(name: str, here: Path) -> None:
    line = searched(name)
    assert {refusal(*command(name)) for command in COMMANDS.values()} == {line}


@pytest.mark.first(1)
@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_what_search_would_train_is_not_refused(command: Callable[[str], list[str]], here: Path) -> None:
    """The counterpart: a right file is answered, and so is a study whose named corpus is not on this machine yet."""
    (here / "study.yaml").write_text(study())
    assert typed(*command("study.yaml")).code == 0
    (here / "study.yaml").write_text(study("kind: named, name: pmb-ccg-en"))
    assert "`skipstack data fetch pmb-ccg-en`" in searched("study.yaml")
    assert typed(*command("study.yaml")).code == 0
