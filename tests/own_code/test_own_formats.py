"""Studies of corpora in a format of one's own, from their files to bundles: what reads the corpus runs its code."""

import json
import pickle
import re
import shutil
from pathlib import Path

import pytest

import skipstack
from skipstack.data.basis.errors import UserError
from skipstack.data.basis.user_code.configs import known, loaded
from skipstack.data.basis.user_code.files import read_code
from skipstack.data.corpora.sources import open_source
from skipstack.data.formats.own_reader import OwnFormatCorpus
from skipstack.search.execution.driver.driver import Driver
from skipstack.search.execution.driver.engine import run_study
from skipstack.search.execution.engines.ray.preflight import Preflight
from skipstack.search.execution.engines.serial import SerialEngine
from skipstack.search.execution.workers.worker import TrainingWorker
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.study.record.reading import read_study
from skipstack.search.study.study_files.study_file import load_study, schema
from skipstack.search.study.task import EpochResult, task_of
from skipstack.spaces.paths import trial_paths
from skipstack.spaces.space import Space
from skipstack.spaces.trial import TrialConfig
from tests.command_line import refusal, typed
from tests.own_code.pieces_of import FORMATS, another_process, own_corpus
from tests.search.finished import opened, run

STUDY = """
extends: quickstart
code: [own/formats.py]
base:
  data:
    corpus:
      kind: two_lines
      train: train.txt
      dev: dev.txt
      test: [test.txt]
  model:
    stack: {depth: 1, hidden: 4, composition: 0}
    embedder: {word_size: 4}
  training: {epochs: 2, optimiser: {learning_rate: 0.0001}}
axes:
  model.stack.depth: null
  model.stack.composition: null
  model.stack.shortcut.gate: null
  training.optimiser.learning_rate: {choice: [0.0001, 0.1]}
search: {proposer: grid, trials: 2, seeds: 1, scheduler: none}
"""
TEXT = "the dogs sleep\nDET NOUN VERB\n\n% of two words\ndogs sleep\nNOUN VERB\n\n"
SERIAL = ("--engine", "serial", "--device", "cpu")


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A study file in the working directory, its corpus beside it, and its code in a folder of its own."""
    (tmp_path / "own").mkdir()
    shutil.copy(FORMATS, tmp_path / "own" / "formats.py")
    for split in ("train", "dev", "test"):
        (tmp_path / f"{split}.txt").write_text(TEXT * (20 if split == "train" else 3))
    path = tmp_path / "mine.yaml"
    path.write_text(STUDY)
    monkeypatch.chdir(tmp_path)
    return path


@pytest.fixture
def code(file: Path) -> Path:
    return file.parent / "own" / "formats.py"


@pytest.mark.slow
def test_a_study_is_searched_and_read_and_its_network_exported_and_verified(file: Path, code: Path) -> None:
    searched = typed("search", file, "--out", "runs", *SERIAL)
    assert "mine on train.txt" in searched.out
    assert f"skipstack verify runs-best --code {code}\n" in searched.error
    assert searched.error.count("--code") == 1
    aside = code.rename(file.parent / "aside.py")
    with another_process():
        reading = [("report", "runs"), ("draw", "runs"), ("sync", "runs"), ("data", "describe", "runs")]
        for command in [
            *reading,
            ("export", "runs", "--trial", 1, "--to", "best"),
            ("draw", "best"),
            ("rerun", "runs", 0),
        ]:
            assert typed(*command).code == 0, command
        assert len(typed("predict", "best", stdin=b"the old dogs\n").out.split()) == 6
        assert loaded == {}
        wanted = r"\(allowed: --code FILE, the file of SHA-256 [0-9a-f]{64}\)"
        assert re.search(
            rf"own/formats.py has .*code is run only if you ask for it {wanted}", refusal("verify", "best")
        )
        assert "another file is another study" in refusal("verify", "best", "--code", file)
        assert loaded == {}
        assert "as exported" in typed("verify", "best", "--code", aside).out
    card = (file.parent / "best" / "README.md").read_text()
    assert "in the format two_lines, which own/formats.py reads, of SHA-256 " in card
    with another_process():
        more = ("extend", "runs", "--trials", 1, "--axis", "training.optimiser.learning_rate=0.2", *SERIAL)
        assert "No such file" in refusal(*more)
        assert typed(*more, "--code", aside).code == 0
        assert len(read_study(Path("runs")).trials) == 3


class Interrupted(TrainingWorker):
    """Is killed in the second trial."""

    def run_epoch(self) -> EpochResult | None:
        if self.task.number == 1:
            raise KeyboardInterrupt
        return super().run_epoch()


@pytest.mark.slow
def test_a_study_that_was_killed_goes_on_with_the_very_file_alone(file: Path, code: Path) -> None:
    folder = opened(file)
    with Ledger(folder.ledger) as ledger:
        driver = Driver(folder, ledger, device="cpu", clock=lambda: 0.0)
        with pytest.raises(KeyboardInterrupt):
            run_study(driver, SerialEngine(Interrupted))
    assert [trial.reason for trial in read_study(folder.path).trials.values()] == ["completed", None]
    resume = ("resume", folder.path, *SERIAL)
    with another_process():
        assert "code is run only if you ask for it" in refusal(*resume)
        changed = file.parent / "changed.py"
        changed.write_text(f"{code.read_text()}\n")
        assert re.search(r"got .*changed.py of SHA-256 .*another file is another", refusal(*resume, "--code", changed))
        assert loaded == {}
        assert typed(*resume, "--code", code).code == 0
        assert [trial.reason for trial in read_study(folder.path).trials.values()] == ["completed"] * 2


@pytest.mark.slow
def test_the_library_goes_on_with_code_that_was_moved(file: Path, code: Path) -> None:
    folder = opened(file).path
    moved = code.rename(file.parent / "moved.py")
    with another_process():
        with pytest.raises(UserError, match="code is run only if you ask for it"):
            skipstack.resume(folder, engine="serial", device="cpu")
        with pytest.raises(UserError, match="another file is another study"):
            skipstack.resume(folder, engine="serial", device="cpu", code=[file])
        assert skipstack.resume(folder, engine="serial", device="cpu", code=[moved]).finished
    elsewhere = shutil.copytree(folder, file.parent / "copied")
    choices = {"training.optimiser.learning_rate": [0.2]}
    with another_process():
        with pytest.raises(UserError, match="copied or moved here, and ran code of its own"):
            skipstack.extend(elsewhere, trials=1, choices=choices)
        more = skipstack.extend(elsewhere, trials=1, choices=choices, engine="serial", code=[str(moved)])
        assert len(more.record.trials) == 3
    moved = moved.rename(file.parent / "again.py")
    with another_process():
        with pytest.raises(UserError, match=r"moved\.py: No such file"):
            skipstack.ablate(elsewhere, seeds=2)
        assert skipstack.ablate(elsewhere, seeds=2, code=[moved]).record.ablations


def test_a_changed_reader_has_another_key_and_another_study(file: Path, code: Path) -> None:
    def key() -> str:
        corpus = load_study(file)[0].space.base.data.corpus  # type: ignore[union-attr]
        assert isinstance(corpus, OwnFormatCorpus)
        assert corpus.own.code.sha256 == read_code(code, "own/formats.py").sha256
        return open_source(corpus, data_dir=None, folder=file.parent).key

    before, study = key(), load_study(file)[0].space
    code.write_text(code.read_text() + "\n")
    assert key() != before
    code.write_text(code.read_text().removesuffix("\n"))
    assert key() == before
    code.write_text(code.read_text() + "\n")
    after = load_study(file)[0].space
    points = list(Space(study).enumerate())
    assert points == list(Space(after).enumerate())
    for point in points:
        assert Space(study).config(point).identity != Space(after).config(point).identity


def test_workers_need_no_format(file: Path) -> None:
    folder = opened(file)
    record = run(folder)
    best = record.ranked()[0]
    assert best.config.code == record.study.space.code
    task, asked = task_of(record, folder, best.number, device="cpu"), Preflight.of(folder, record, copies=False)
    assert (task.code, asked.own) == ((), ())
    sent = pickle.dumps(task)
    with another_process():
        assert TrainingWorker.test(pickle.loads(sent)).metrics == best.tested
        assert asked.trouble() is None
        assert loaded == {}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (f"{TEXT}dogs\n\n", "dev.txt:8: got 1 lines, allowed: words and, below, their tags"),
        (f"{TEXT}dogs\nNOUN VERB\n", "dev.txt:9: got 2 tags, allowed: 1, one a word"),
        ("% nothing\n", "dev.txt: got an empty split, allowed: at least one sentence"),
    ],
)
def test_a_mistake_in_a_file_of_the_corpus_is_told_with_its_line(text: str, says: str, file: Path) -> None:
    (file.parent / "dev.txt").write_text(text)
    for command in (("search", file, "--out", "runs", *SERIAL), ("data", "describe", file)):
        assert refusal(*command).endswith(f"{says}\n")
    assert not (file.parent / "runs").exists()


def test_a_reader_that_crashes_is_told_with_the_line_of_the_file_and_its_own(file: Path) -> None:
    file.write_text(STUDY.replace("kind: two_lines", "kind: arrows\n      tags: heads"))
    for split in ("train", "dev", "test"):
        (file.parent / f"{split}.txt").write_text("dogs>2:nsubj sleep>root:0\n")
    said = refusal("data", "describe", file)
    assert re.search(r"train\.txt:1: own/formats\.py:\d+: ValueError: invalid literal for int\(\)", said)
    (file.parent / "train.txt").write_text("dogs>0:root\ndogs>2:nsubj sleep>1:root\n")
    told = "train.txt:2: sentence 2, as arrows of own/formats.py reads it: got 0 words of head 0 (allowed: exactly one)"
    assert refusal("data", "describe", file).endswith(f"{told}\n")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (
            ("kind: two_lines", "kind: two_line"),
            "mine.yaml:7: data.corpus.kind: unknown kind 'two_line' (nearest: ",
        ),
        (
            ("train: train.txt", "trian: train.txt"),
            "mine.yaml:6: data.corpus: 'train' is missing",
        ),
        (("train: train.txt", "comment: ''"), "'train' is missing (allowed: text, or a list of 1 or more, each text)"),
        (
            ("train: train.txt", "train: 3"),
            "mine.yaml:8: data.corpus.train: got 3 for kind two_lines (allowed: text, ",
        ),
        (("kind: two_lines", "tags: lema, kind: two_lines"), "mine.yaml:7: "),
        (
            ("kind: two_lines", "kind: two_lines\n      tags: lema"),
            "unknown value 'lema' (nearest: 'lemma'; allowed: pos, l",
        ),
        (("[test.txt]", "[none.txt]"), "cannot read "),
        (("[own/formats.py]", "[]"), "unknown kind 'two_lines' (nearest: "),
    ],
)
def test_a_mistake_in_the_study_is_told_with_its_line(change: tuple[str, str], says: str, file: Path) -> None:
    assert STUDY.count(change[0]) == 1
    file.write_text(STUDY.replace(*change))
    assert says in refusal("data", "describe", file)


def test_fields_of_a_format_are_axes_and_each_value_is_a_corpus(file: Path) -> None:
    axis = "axes.data.corpus.comment={choice: ['%', '#']}"
    config, folder = load_study(file, overrides=[axis, "axes.training.optimiser.learning_rate=null"])
    (file.parent / "train.txt").write_text(TEXT.replace("% of two words\n", ""))
    keys, names = set(), []
    for point in Space(config.space).enumerate():
        corpus = Space(config.space).config(point).data.corpus  # type: ignore[union-attr]
        names.append(corpus.model_dump(mode="json")["comment"])
        keys.add(open_source(corpus, data_dir=None, folder=folder).key)
    assert names == ["%", "#"]
    assert len(keys) == 2
    with known(config.space.code):
        assert "data.corpus.label_scheme" in trial_paths()
    assert "data.corpus.label_scheme" not in trial_paths()
    assert '"two_lines"' in json.dumps(schema(config.space.code))
    assert '"two_lines"' not in json.dumps(schema())


def test_a_study_is_read_without_its_code(file: Path) -> None:
    space = load_study(file, overrides=["axes.data.corpus.comment={choice: ['%', '#']}"])[0].space
    recorded = json.loads(json.dumps(space.model_dump(mode="json")))
    configs = [Space(space).config(point) for point in Space(space).enumerate()]
    with another_process():
        read = Space(type(space).model_validate(recorded))
        found = [read.config(point) for point in read.enumerate()]
        assert found == configs
        assert [each.identity for each in found] == [each.identity for each in configs]
        assert [TrialConfig.model_validate_json(each.model_dump_json()) for each in configs] == configs


def test_a_layer_that_the_format_does_not_have_is_refused(file: Path) -> None:
    code = file.parent / "own" / "formats.py"
    code.write_text(code.read_text().replace('layers = ("pos", "lemma")', 'layers = ("pos", "lemmas")'))
    with pytest.raises(ValueError, match="layer") as error:
        own_corpus(read_code(code, "formats.py"), "two_lines", tags="lemma")
    assert "unknown layer of two_lines 'lemma' (nearest: 'lemmas'; allowed: pos, lemmas)" in str(error.value)


@pytest.mark.parametrize(
    ("settings", "text", "measure"),
    [
        ({"kind": "stars"}, "*** good\n* so so\n", "accuracy"),
        ({"kind": "names"}, "in [New York]\nin [Rome] again\n", "f1"),
        ({"kind": "arrows", "tags": "heads"}, "dogs>2:nsubj sleep>0:root\n", "las"),
        ({"kind": "next_words"}, "dogs sleep\nthe dogs\n", "perplexity"),
    ],
)
def test_formats_of_every_task_are_trained_on(settings: dict[str, str], text: str, measure: str, file: Path) -> None:
    for split in ("train", "dev", "test"):
        (file.parent / f"{split}.txt").write_text(text * 4)
    corpus = {**settings, **{split: f"{split}.txt" for split in ("train", "dev", "test")}}
    head = ["model.head={kind: biaffine, arc_size: 4, relation_size: 4}"] if measure == "las" else []
    ahead = ["model.stack.directions=forward"] if measure == "perplexity" else []
    folder = opened(file, [*ahead, f"data.corpus={json.dumps(corpus)}", *head, "training.epochs=1", "search.trials=1"])
    record = run(folder)
    assert [(trial.reason, trial.message) for trial in record.trials.values()] == [("completed", "")]
    assert record.measure.name == measure


FORMAT = """
from typing import Literal
from skipstack.own import CorpusFiles, Frozen, OwnFormat


class Mine(OwnFormat):
    layers = ("pos",)

    class Config(CorpusFiles):
        kind: Literal["mine"] = "mine"

    def read(self, file, layer):
        return []
"""


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (
            ("CorpusFiles)", "Frozen)"),
            "mine.py:6: class Mine: its Config lacks train (allowed: a class whose base is C",
        ),
        (
            ('"mine"', '"columns"'),
            "mine.py:6: class Mine: format 'columns' is built in (allowed: a name other than gram",
        ),
        (("def read", "def raed"), "mine.py:6: class Mine lacks read (allowed: a class with every abstract method"),
        (
            ('layers = ("pos",)', "layers = ()"),
            "mine.py:6: class Mine: layers: got [] (allowed: a list of 1 or more, e",
        ),
        (('layers = ("pos",)', 'unit = "wrod"'), "class Mine: unit: unknown value 'wrod' (nearest: 'word'; allowed: w"),
        (('layers = ("pos",)', 'tasks = {"tag": "taging"}'), "tasks.tag: unknown value 'taging' (nearest: 'tagging'; "),
        (('layers = ("pos",)', 'tasks = {"pos": "parsing"}'), "class Mine: tasks: unknown layer 'pos' (allowed: tag)"),
    ],
)
def test_a_format_that_cannot_be_is_told_with_its_line(change: tuple[str, str], says: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(FORMAT)
    assert read_code(path, "mine.py").kinds["format"].keys() == {"mine"}
    path.write_text(FORMAT.replace(*change))
    with pytest.raises(UserError) as error:
        read_code(path, "mine.py")
    assert says in str(error.value)
    assert len(str(error.value).splitlines()) == 1
