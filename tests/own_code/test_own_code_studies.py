"""Studies with own code from their files to bundles: what trains runs it, what reads does not."""

import re
import shutil
from pathlib import Path

import pytest

import skipstack
from skipstack.data.basis.errors import UserError
from skipstack.data.basis.user_code.configs import loaded
from skipstack.search.execution.engines.ray.preflight import Preflight
from skipstack.search.execution.workers.worker import TrainingWorker
from skipstack.search.study.record.reading import read_study
from skipstack.search.study.task import task_of
from tests.command_line import refusal, typed
from tests.own_code.pieces_of import RIGHT, another_process
from tests.search.finished import opened, run, trained

STUDY = """
extends: quickstart
code: [own/right.py]
base:
  data: {corpus: {train: 12, dev: 6, test: 6}}
  model:
    stack: {depth: 3, hidden: 4, composition: 2}
    embedder: {word_size: 4}
  training: {epochs: 1}
axes:
  model.stack.depth: null
  model.stack.composition: null
  training.optimiser.learning_rate: null
  model.stack.shortcut.gate: {choice: [sigmoid_below, {kind: soft_step, slope: 2}]}
  model.head.kind: {choice: [softmax, tempered]}
search: {proposer: grid, trials: 4, seeds: 1, scheduler: none}
"""
PLAIN, SOFT = 0, 3
"""The trials that have nothing of the file, and a gate and a head of it."""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A study file, and its code in a folder beside it."""
    (tmp_path / "own").mkdir()
    shutil.copy(RIGHT, tmp_path / "own" / "right.py")
    path = tmp_path / "mine.yaml"
    path.write_text(STUDY)
    return path


@pytest.mark.slow
def test_a_study_is_searched_and_read_and_its_network_exported_and_verified(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(file.parent)
    assert typed("search", file, "--out", "runs", "--engine", "serial", "--device", "cpu").code == 0
    code = file.parent / "own" / "right.py"
    aside = file.parent / "aside.py"
    code.rename(aside)
    with another_process():
        for command in (("report", "runs"), ("report", "runs", "--format", "json"), ("draw", "runs"), ("sync", "runs")):
            assert typed(*command).code == 0, command
        assert typed("export", "runs", "--trial", PLAIN, "--to", "plain").code == 0
        assert typed("verify", "plain").code == 0
        assert loaded == {}
        assert f"--code {code}: No such file" in refusal("export", "runs", "--trial", SOFT, "--to", "soft")
    with another_process():
        assert typed("export", "runs", "--trial", SOFT, "--to", "soft", "--code", aside).code == 0
    with another_process():
        wanted = r"\(allowed: --code FILE, the file of SHA-256 [0-9a-f]{64}\)"
        for command in ("verify", "predict", "serve", "inspect"):
            assert re.search(
                rf"own/right.py has .*code is run only if you ask for it {wanted}", refusal(command, "soft")
            )
        assert "another file is another study" in refusal("verify", "soft", "--code", file)
        assert typed("draw", "soft").code == 0
        assert loaded == {}
        assert "as exported" in typed("verify", "soft", "--code", aside).out
    with another_process():
        assert len(typed("predict", "soft", "--code", aside, stdin=b"the old dogs\n").out.split()) == 6
    with another_process():
        axis = "model.stack.shortcut.gate={kind: soft_step, slope: 7}"
        more = ("extend", "runs", "--trials", 2, "--axis", axis, "--engine", "serial")
        assert "No such file" in refusal(*more)
        assert typed(*more, "--code", aside).code == 0
    with another_process():
        trials = read_study(Path("runs")).trials
        assert [trial.point["model.stack.shortcut.gate"] for trial in trials.values()][4:] == [
            {"kind": "soft_step", "slope": 7.0}
        ] * 2
        assert "bit for bit" in typed("rerun", "runs", 4).out  # the file that was named last


@pytest.mark.slow
def test_a_study_goes_on_with_the_very_file_alone(file: Path) -> None:
    folder = opened(file).path
    code = file.parent / "own" / "right.py"
    resume = ("resume", folder, "--engine", "serial", "--device", "cpu")
    with another_process():
        assert "code is run only if you ask for it" in refusal(*resume)
        changed = file.parent / "changed.py"
        changed.write_text(f"{code.read_text()}\n")
        assert re.search(r"got .*changed.py of SHA-256 .*another file is another", refusal(*resume, "--code", changed))
        assert loaded == {}
        assert typed(*resume, "--code", code).code == 0
    with another_process():
        assert skipstack.load(skipstack.open(folder).export(folder / "soft", trial=SOFT)).predict([["dogs"]])
    shutil.copytree(folder, file.parent / "copied")
    with another_process():
        assert f"ran code of its own from {code}" in refusal("rerun", file.parent / "copied", SOFT)
        assert loaded == {}


def test_a_worker_elsewhere_gets_the_bytes_and_a_machine_is_asked_whether_it_can_import_them(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = opened(file)
    record = run(folder)
    task, asked = task_of(record, folder, SOFT, device="cpu"), Preflight.of(folder, record, copies=False)
    assert task_of(record, folder, PLAIN, device="cpu").code == ()
    with another_process():
        assert asked.trouble() is None
    with another_process():
        assert TrainingWorker.test(task).metrics == record.trials[SOFT].tested
    monkeypatch.setitem(__import__("sys").modules, "skipstack.models.parts.heads.softmax", None)
    with another_process():
        trouble = asked.trouble()
    assert trouble is not None
    assert re.search(r"own/right.py:\d+: ModuleNotFoundError: ", trouble)


def test_a_changed_file_is_another_study_whose_trials_are_others(file: Path) -> None:
    before = read_study(opened(file).path)
    code = file.parent / "own" / "right.py"
    code.write_text(f"{code.read_text()}\n")
    shutil.move(file.parent / "runs", file.parent / "before")
    after = read_study(opened(file).path)
    for number, point in enumerate(before.space.enumerate()):
        same = before.space.config(point).identity == after.space.config(point).identity
        assert same == (number == PLAIN), point


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("own/right.py", "own/none.py"), "mine.yaml:3: code: no file "),
        (("[own/right.py]", "[own/right.py, own/right.py, ghost]"), "mine.yaml:3: code: unknown code 'ghost'"),
        (
            ("[own/right.py]", "[own/right.py, own/twice.py]"),
            "mine.yaml:3: code: own/right.py and own/twice.py both have",
        ),
        (("[own/right.py]", "[own/wrong.py]"), "mine.yaml:3: own/wrong.py:1: SyntaxError: "),
        (("kind: soft_step, slope: 2", "kind: soft_stp"), "mine.yaml:14: axis model.stack.shortcut.gate: unknown kind"),
        (("[softmax, tempered]", "[softmax, temperd]"), "unknown value 'temperd' (nearest: 'tempered'; "),
    ],
)
def test_a_mistake_is_told_with_its_file_and_line(change: tuple[str, str], says: str, file: Path) -> None:
    (file.parent / "own" / "wrong.py").write_text("def (\n")
    (file.parent / "own" / "twice.py").write_text(f"{RIGHT.read_text()}\n")
    assert STUDY.count(change[0]) == 1
    file.write_text(STUDY.replace(*change))
    assert says in refusal("spaces", file)


def test_an_embedder_and_a_cell_of_ones_own_are_trained(file: Path) -> None:
    settings = ["model.embedder={kind: word_and_capital, input_size: 5}", "model.stack.cell=minimal"]
    record = run(opened(file, [*settings, "axes.model.head.kind=null"]))
    assert {trial.reason for trial in record.trials.values()} == {"completed"}
    assert all(trial.tested for trial in record.ranked()[:1])


def test_an_embedder_of_ones_own_is_none_for_a_language_model(file: Path) -> None:
    settings = ["model.embedder={kind: word_and_capital}", "model.stack.directions=forward"]
    (file.parent / "text.txt").write_text("the old dogs sleep\n" * 6)
    corpus = "data.corpus={kind: running_text, train: text.txt, dev: text.txt, test: text.txt}"
    axes = [f"axes.{path}=null" for path in ("model.head.kind", "model.stack.shortcut.gate")]
    with pytest.raises(UserError, match="got kind word_and_capital for a language model"):
        opened(file, [corpus, *settings, *axes])


def of_pieces_out_of_shape(folder: Path, piece: str) -> Path:
    shutil.copy(RIGHT.with_name("out_of_shape.py"), folder)
    path = folder / "mine.yaml"
    corpus = "{kind: grammar, train: 40, dev: 10, test: 10}"
    path.write_text(
        f"extends: quickstart\ncode: [out_of_shape.py]\nbase: {{data: {{corpus: {corpus}}}, model: {{{piece}}}}}\n"
        "search: {trials: 1, seeds: 1}\n"
    )
    return path


def test_a_head_that_scores_fewer_tags_than_there_are_is_refused(tmp_path: Path) -> None:
    """It was trained and scored before, on memory beside its scores."""
    allowed = r"\(allowed: \(1, 48, \d+\): lanes, features and tags\)"
    with pytest.raises(UserError, match=rf"^model.head: narrow has weights of \(1, 48, 2\) {allowed}$"):
        trained(of_pieces_out_of_shape(tmp_path, "head: {kind: narrow}"))


def test_an_embedder_that_gives_fewer_numbers_than_it_says_fails(tmp_path: Path) -> None:
    """It was trained and scored before, on memory beside its numbers."""
    study = trained(of_pieces_out_of_shape(tmp_path, "embedder: {kind: narrow_input}"))
    (trial,) = read_study(study.path).trials.values()
    assert trial.reason == "failed"
    assert re.search(r"the output of the embedder: got a tensor of \(1, .*, 4\) \(allowed here: .*, 6\)", trial.message)
