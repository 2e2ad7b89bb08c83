"""Random damage to everything that is read: told in one line, or without any effect on the result.

Damage may describe another study or corpus that is as valid as the first; then it is another result. Whether it
does is asked of what was read: configs, fingerprints, events.
"""

import random
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from safetensors.torch import load_file

from skipstack.data.basis.errors import UserError
from skipstack.data.tasks.measures import MEASURES
from skipstack.search.api import run as running
from skipstack.search.api.options import Execution
from skipstack.search.execution.engines.serial import SerialEngine
from skipstack.search.ledger.events import Metrics
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.publishing.bundles.files import FILES, MANIFEST, seal
from skipstack.search.study.record.reading import read_study
from skipstack.search.study.study_files.study_file import load_study
from skipstack.search.study.task import EpochResult, Measured, TrialTask
from tests.command_line import Answer, typed
from tests.dashboards.fuzzing import Nobody, damage
from tests.search.finished import opened, run
from tests.search.toy import ToyWorker

STUDY = """\
# A study of every kind of axis.
about: "Does depth help, and do gates? Größe zählt."
extends: quickstart
base:
  data:
    corpus: {kind: columns, train: train.tsv, dev: dev.tsv, test: test.tsv, word: 0, tag: 1}
    vocabulary: {minimum_count: 1}
  model:
    stack: {depth: 3, hidden: 8, composition: 2}
  training: {epochs: 2}
axes:
  model.stack.depth: {choice: [1, 3]}
  model.stack.shortcut.gate:
    choice: [none, sigmoid_below]
    when: {model.stack.depth: [3]}
  model.stack.composition: null
  training.optimiser.learning_rate: {log: [0.003, 0.03]}
  model.embedder:
    named:
      words only: {kind: tokens, word_size: 8, capital_size: 0, affix_characters: 0}
      characters only: {kind: tokens, word_size: 0, capital_size: 0, affix_characters: 3}
constraints: [block_on_top]
search:
  proposer: random
  trials: 3
  seeds: 2
  scheduler: {kind: asha, grace: 1, reduction: 2}
scales:
  tiny:
    base: {model: {stack: {hidden: 4}}}
    search: {trials: 2}
"""
COLUMNS = "die\tDET\nKatze\tNOUN\nschläft\tVERB\n\nes\tPRON\nbellt\tVERB\n\n猫\tNOUN\n\n"
CONLLU = "# text = it barks\n1\tit\t_\tPRON\tPRP\t_\t2\tnsubj\t_\t_\n2\tbarks\t_\tVERB\tVBZ\t_\t0\troot\t_\t_\n\n"
CORPORA = {
    # what a study says of the corpus, and a file that is right
    "columns": ("kind: columns", COLUMNS),
    "spans": ("kind: columns, scheme: bio", "nach\tO\nNew\tB-city\nYork\tI-city\n\n"),
    "conllu": ("kind: conllu, tags: upos", CONLLU),
    "word_tag": ("kind: word_tag, unit: character, separator: /, brackets: true", "[中国/ns 人民/n]nt 好/a\n"),
    "segmented": ("kind: segmented", "中国 人民\n好\n"),
    "labelled_text": ("kind: labelled_text", "good\ta fine film\nbad\tno fun\n"),
    "labelled_files": ("kind: labelled_files, label: name, text: line", "a fine film\nno fun\n"),
    "running_text": ("kind: running_text", "a cat sleeps\na cat\na dog sleeps\n"),
    "supertags": ("kind: word_pos_supertag", "it|PRP|NP barks|VBZ|S\\NP\n"),
    "treebank": ("kind: treebank_pos", "[ it/PRP ]\nbarks/VBZ ./.\n"),
    "slots and labels": ("kind: word_tag, separator: ':', scheme: bio, label_after: <=>", "to:O york:B-city <=> go\n"),
    "names": ("kind: conll2012", "#begin document (a); part 0\na 0 0 Ann NNP * - - - s (PERSON) -\n"),
    "records": ("kind: records, scheme: bio", '{"tokens": ["to", "york"], "ner_tags": ["O", "B-city"]}\n'),
    "offsets": ("kind: spans", '{"text": "to york", "spans": [{"start": 3, "end": 7, "label": "city"}]}\n'),
    "derivations": ("kind: ccgbank_auto", "ID=1 PARSER=GOLD\n(<L NP PRP PRP it NP>)\n"),
}


class AnyWorker(ToyWorker):
    """A toy that measures its accuracy by every measure there is."""

    def run_epoch(self) -> EpochResult:
        result = super().run_epoch()
        return replace(result, metrics=alike("dev", result.metrics))

    @classmethod
    def test(cls, task: TrialTask) -> Measured:
        return Measured(metrics=alike("test", super().test(task).metrics))


def alike(split: str, metrics: Metrics) -> Metrics:
    return {**metrics, **{f"{split}_{measure}": metrics[f"{split}_accuracy"] for measure in MEASURES}}


@pytest.fixture
def toys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Studies whose trials are toys, tracked by nobody."""
    monkeypatch.setattr(Execution, "start", lambda *_: SerialEngine(AnyWorker))
    monkeypatch.setattr(running, "TrackingProcess", Nobody)


def copies(original: Path, folder: Path, damages: int, seed: int) -> Iterator[tuple[Path, random.Random]]:
    """As many fresh copies of a folder, each with its own stream of chance."""
    for number in range(damages):
        copy = folder / f"copy-{number}"
        shutil.copytree(original, copy, symlinks=True)
        yield copy, random.Random(f"{seed} {number}")
        shutil.rmtree(copy)


def fuzz_studies(damages: int, folder: Path, seed: int) -> None:
    original = folder / "original"
    original.mkdir()
    (original / "study.yaml").write_text(STUDY)
    for split in ("train", "dev", "test"):
        (original / f"{split}.tsv").write_text(COLUMNS)
    commands = [[], ["--scale", "tiny"]]
    right = [typed("spaces", str(original / "study.yaml"), *each) for each in commands]
    configs = [load_study(original / "study.yaml", scale=scale)[0].model_dump_json() for scale in (None, "tiny")]
    for copy, draw in copies(original, folder, damages, seed):
        path = copy / "study.yaml"
        done = damage([path], draw)
        scale = draw.randrange(2)
        answer = typed("spaces", str(path), *commands[scale])
        if answer.code == 0 and load_study(path, scale=(None, "tiny")[scale])[0].model_dump_json() == configs[scale]:
            assert answer.out == right[scale].out.replace(str(original), str(copy)), done
        missing = re.search(r"cannot read (.*?): No such file", answer.error)
        if answer.code == 2 and missing:  # a file of another name is not there
            assert Path(missing[1]).is_relative_to(copy), (done, answer)
            assert not Path(missing[1]).exists(), (done, answer)
        elif answer.code == 2:
            assert "study.yaml" in answer.error or "--scale" in answer.error, (done, answer)
            with pytest.raises(UserError):
                load_study(path, scale=(None, "tiny")[scale])


def fuzz_corpora(damages: int, folder: Path, seed: int) -> None:
    whole: dict[str, tuple[Answer, str]] = {}
    for number in range(damages):
        draw = random.Random(f"{seed} {number}")
        kind = draw.choice(list(CORPORA))
        said, text = CORPORA[kind]
        if kind not in whole:
            written(folder / _named(kind), said, text)
            whole[kind] = searched(folder / _named(kind))
            assert whole[kind][0].code == 0, whole[kind]
        copy = folder / f"copy-{number}"
        written(copy, said, text)
        files = [copy / f"{split}.tsv" for split in ("train", "dev", "test")]
        before = {path: path.read_bytes() for path in files}
        done = damage(files, draw)
        answer, fingerprint = searched(copy)
        if answer.code != 0:
            assert answer.code == 2, (done, answer)
            assert not (copy / "runs").exists(), "something half-written was left"
            assert ".tsv" in answer.error or "split" in answer.error or "train" in answer.error, (done, answer)
        elif fingerprint == whole[kind][1]:
            assert told(answer, copy) == told(whole[kind][0], folder / _named(kind)), done
        else:
            assert {path: path.read_bytes() for path in files} != before
        shutil.rmtree(copy)


def written(folder: Path, said: str, text: str) -> None:
    folder.mkdir()
    paths = ", ".join(f"{split}: {split}.tsv" for split in ("train", "dev", "test"))
    for split in ("train", "dev", "test"):
        (folder / f"{split}.tsv").write_text(text)
    model = "model: {stack: {kind: recurrent, directions: forward}}"  # which is good for all of them
    corpus = f"base: {{data: {{corpus: {{{said}, {paths}}}}}, {model}, training: {{epochs: 1}}}}\n"
    (folder / "study.yaml").write_text(f"extends: quickstart\n{corpus}search: {{trials: 1, scheduler: none}}\n")


def _named(kind: str) -> str:
    """The name of a folder, without blanks: a shell needs quotes around these, which ``told`` would keep."""
    return kind.replace(" ", "-")


def searched(folder: Path) -> tuple[Answer, str]:
    """A study of the corpus, and the fingerprint of what it read."""
    answer = typed("search", str(folder / "study.yaml"), "--engine", "serial", "--out", str(folder / "runs"))
    prints = (
        "".join(each.fingerprint for each in read_study(folder / "runs").corpora.values()) if answer.code == 0 else ""
    )
    return answer, prints


def told(answer: Answer, folder: Path) -> str:
    """What an answer says of a study in ``folder``, without the folder, by which its lines are broken otherwise."""
    return "".join(answer.out.split()).replace(str(folder), "")


def fuzz_ledgers(damages: int, folder: Path, seed: int) -> None:
    study = folder / "study.yaml"
    study.write_text(STUDY.replace("proposer: random", "proposer: tpe").replace("trials: 3", "trials: 5"))
    for split in ("train", "dev", "test"):
        (folder / f"{split}.tsv").write_text(COLUMNS)
    original = folder / "original"
    begun = opened(study)
    shutil.move(begun.path, original)
    right = typed("resume", str(original), "--engine", "serial")
    whole = Ledger(original / "ledger").read()
    reports = [["report", "--format", "json"], ["report"], ["simulate", "--extrapolate"]]
    expected = [told(typed(command, str(original), *rest), original) for command, *rest in reports]
    for copy, draw in copies(original, folder, damages, seed):
        done = damage(sorted((copy / "ledger").glob("*.jsonl")), draw)
        try:
            events = Ledger(copy / "ledger").read()
        except UserError:
            for command, *rest in [*reports, ["resume", "--engine", "serial"]]:
                assert typed(command, str(copy), *rest).code == 2, done
            continue
        assert events == whole[: len(events)], done
        for (command, *rest), out in zip(reports, expected, strict=True):
            answer = typed(command, str(copy), *rest)
            assert answer.code == 2 or len(events) < len(whole) or told(answer, copy) == out, (done, answer)
        if not events:
            assert typed("resume", str(copy), "--engine", "serial").code == 2, done
            continue
        resumed = typed("resume", str(copy), "--engine", "serial")
        found = resumed.code, told(resumed, copy)
        assert found in ((right.code, told(right, original)), (2, "")), (done, resumed)
        if resumed.code == 0:
            assert told(typed("report", str(copy)), copy) == expected[1], done


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a finished study of one small network, ``runs``, and its ``bundle``."""
    folder = tmp_path_factory.mktemp("trained")
    for split in ("train", "dev", "test"):
        (folder / f"{split}.tsv").write_text(COLUMNS * 2)
    text = STUDY.split("axes:")[0] + "search: {trials: 1, seeds: 1, scheduler: none}\n"
    (folder / "study.yaml").write_text(text.replace("epochs: 2", "epochs: 1"))
    run(opened(folder / "study.yaml"))
    assert typed("export", str(folder / "runs"), "--to", str(folder / "bundle")).code == 0
    assert typed("export", str(folder / "runs"), "--to", str(folder / "bundle.zip")).code == 0
    return folder


def fuzz_stores(damages: int, folder: Path, seed: int, trained: Path) -> None:
    """The prepared corpus and the weights of a trial, of which a bundle is made."""
    sealed = (trained / "bundle" / MANIFEST).read_bytes()
    for copy, draw in copies(trained / "runs", folder, damages, seed):
        files = [path for part in ("corpora", "trials") for path in sorted((copy / part).rglob("*")) if path.is_file()]
        done = damage(files, draw)
        answer = typed("export", str(copy), "--to", str(folder / "out"))
        if answer.code == 0:
            assert (folder / "out" / MANIFEST).read_bytes() == sealed, done
            shutil.rmtree(folder / "out")
        else:
            assert answer.error.count("\n") == 1, (done, answer)
        assert sorted(path.name for path in folder.iterdir()) == [copy.name], "something half-written was left"


def fuzz_bundles(damages: int, folder: Path, seed: int, trained: Path) -> None:
    text = "die Katze bellt\n猫\n".encode()
    commands = [["predict"], ["inspect", "--format", "json"], ["verify", "--data-dir", str(trained)]]
    right = [typed(command, str(trained / "bundle"), *rest, stdin=text) for command, *rest in commands]
    assert [each.code for each in right] == [0, 0, 0]
    for copy, draw in copies(trained / "bundle", folder, damages, seed):
        bundle, files = copy, sorted(copy.iterdir())
        if draw.random() < 0.3:
            bundle = copy / "bundle.zip"
            shutil.copy(trained / "bundle.zip", bundle)
            files = [bundle]
        done = damage(files, draw)
        sealed = bundle is copy and draw.random() < 0.5 and all((copy / name).exists() for name in FILES)
        if sealed:
            seal(copy)  # as someone would who means harm: then another result is another bundle's
        (command, *rest), expected = draw.choice(list(zip(commands, right, strict=True)))
        answer = typed(command, str(bundle), *rest, stdin=text)
        if answer.code == 0:
            assert sealed or answer.out == expected.out, done
        else:
            assert answer.code == 2
            assert answer.error.count("\n") == 1, (done, answer)


Fuzz = Callable[[int, Path, int], None]
OF_TOYS: dict[str, tuple[Fuzz, int]] = {
    "studies": (fuzz_studies, 25),
    "corpora": (fuzz_corpora, 25),
    "ledgers": (fuzz_ledgers, 16),
}


@pytest.mark.slow
@pytest.mark.parametrize("subject", OF_TOYS)
def test_damage_to_what_a_study_reads_is_told_or_has_no_effect(subject: str, tmp_path: Path, toys: None) -> None:
    fuzz, damages = OF_TOYS[subject]
    fuzz(damages, tmp_path, 0)


def test_damage_to_stores_and_weights_is_told_or_has_no_effect(tmp_path: Path, trained: Path) -> None:
    fuzz_stores(16, tmp_path, 0, trained)


def test_damage_to_bundles_is_told_or_has_no_effect(tmp_path: Path, trained: Path) -> None:
    fuzz_bundles(20, tmp_path, 0, trained)


@pytest.mark.slow
@pytest.mark.parametrize("subject", OF_TOYS)
def test_much_damage_to_what_a_study_reads(subject: str, tmp_path: Path, toys: None) -> None:
    OF_TOYS[subject][0](200, tmp_path, 1)


@pytest.mark.slow
@pytest.mark.parametrize("fuzz", [fuzz_stores, fuzz_bundles])
def test_much_damage_to_stores_and_bundles(
    fuzz: Callable[[int, Path, int, Path], None], tmp_path: Path, trained: Path
) -> None:
    fuzz(200, tmp_path, 1, trained)


def test_a_damaged_weight_is_no_weight_like_any_other(tmp_path: Path, trained: Path) -> None:
    """What the fuzzing rests on: the last byte of a file of weights is part of a weight."""
    weights = next((trained / "runs").rglob("best.safetensors"))
    copy = tmp_path / "best.safetensors"
    content = weights.read_bytes()
    copy.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    before, after = load_file(weights), load_file(copy)
    assert sum(not bool((before[name] == after[name]).all()) for name in before) == 1
