"""A trial trained again on train and dev is what training on one file of both gives, whatever its schedule saw."""

import os
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load

from skipstack.data.formats.columns import ColumnCorpus
from skipstack.data.store.prepared import prepare
from skipstack.data.store.stored import open_store
from skipstack.data.store.writing import store
from skipstack.models.configs.inputs import LONGEST_AFFIX
from skipstack.models.configs.training import Decay
from skipstack.models.layers.lanes import Lane
from skipstack.models.training.loop import Training
from skipstack.search.publishing.bundles.bundle import load_bundle
from skipstack.search.publishing.bundles.export import Recipe, export_bundles
from skipstack.search.publishing.bundles.files import CARD, WEIGHTS
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.record.reading import read_study
from tests.command_line import refusal, typed
from tests.search.finished import trained

CPU = torch.device("cpu")
STUDY = """\
base:
  data: {corpus: {kind: columns, train: train.tsv, dev: dev.tsv, test: test.tsv}}
  model:
    embedder: {word_size: 8, capital_size: 0, affix_characters: 0, dropout: 0}
    stack: {depth: 1, hidden: 8}
    initial_scale: 1.0
  training:
    epochs: 5
    batch_size: 4
    optimiser: {kind: adam, learning_rate: 0.005}
    schedule: {kind: halving, tolerance: 1000}
search: {trials: 1, seeds: 2, first_seed: 3, scheduler: none}
"""
HALVED = Decay(factor=0.5, after=2)
"""What a tolerance of everything comes to: there is a change to compare from the second epoch on."""
WORDS = "abcdefghijkl"
UNKNOWN = "a\tX\nb\tA\n\n"
"""A sentence of dev with a tag that train lacks."""


def drawn(sentences: int, seed: int) -> str:
    """Words with tags, of which one in four comes from the word before."""
    draw, text = random.Random(seed), ""
    for _ in range(sentences):
        words = [draw.randrange(12) for _ in range(draw.randint(2, 6))]
        tags = [
            "AB"[(word % 4 == 0 and before % 2) or word % 2] for before, word in zip([0, *words], words, strict=False)
        ]
        text += "".join(f"{WORDS[word]}\t{tag}\n" for word, tag in zip(words, tags, strict=True)) + "\n"
    return text


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> StudyFolder:
    folder = tmp_path_factory.mktemp("study")
    train, dev = drawn(30, 1), drawn(12, 2)
    for name, text in {"train": train, "dev": dev + UNKNOWN, "test": drawn(12, 3), "both": train + dev}.items():
        (folder / f"{name}.tsv").write_text(text)
    (folder / "study.yaml").write_text(STUDY)
    return trained(folder / "study.yaml")


@pytest.fixture(scope="module")
def retrained(study: StudyFolder) -> Path:
    answer = typed("export", study.path, "--retrain", "--to", study.path.parent / "retrained", "--device", "cpu")
    assert answer.code == 0, answer
    assert answer.error.startswith("1 of 13 sentences of dev have a label that train lacks, and are left out\n")
    assert "trial 0, seed 3: epoch 1 of " in answer.error
    return study.path.parent / "retrained"


def test_it_is_what_training_on_both_files_gives(study: StudyFolder, retrained: Path, tmp_path: Path) -> None:
    trial, twin = read_study(study.path).trials[0], twin_of(study, tmp_path)
    assert trial.best is not None
    epochs = trial.best.epoch
    assert epochs > 2, "or no rate was ever halved"
    rates = [twin.run_epoch().learning_rate[0] for _ in range(epochs)]
    assert rates[-1] < rates[0]
    ours, theirs = load((retrained / WEIGHTS).read_bytes()), twin.model.state_dict()
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)
    bundle = load_bundle(retrained, CPU)
    assert bundle.provenance["seeds"] == (3,)
    assert bundle.provenance["epochs"] == (epochs,)
    evaluation = twin.evaluate("test")
    assert bundle.metrics == {"test": {"correct": evaluation.correct[0], "total": evaluation.total}}


def twin_of(study: StudyFolder, root: Path) -> Training:
    """The whole loop with a schedule that needs no dev, from a file that train and dev stand in."""
    config = read_study(study.path).trials[0].config
    own = ColumnCorpus(train="both.tsv", dev="dev.tsv", test="test.tsv")
    stored = open_store(store(own, root=root, data_dir=None, folder=study.path.parent))
    return Training(
        model=config.model,
        training=config.training.model_copy(update={"schedule": HALVED}),
        corpus=prepare(stored, config.data, LONGEST_AFFIX),
        lanes=[Lane(seed=3)],
        order_seed=0,
        device=CPU,
    )


def test_it_trains_for_as_many_epochs_as_are_asked_for(study: StudyFolder, tmp_path: Path) -> None:
    best = read_study(study.path).trials[0].best
    assert best is not None
    for epochs in {1, 5, best.epoch}:
        to, twin = tmp_path / f"{epochs}", twin_of(study, tmp_path)
        for _ in range(epochs):
            twin.run_epoch()
        answer = typed("export", study.path, "--retrain", "--epochs", epochs, "--to", to, "--device", "cpu")
        assert answer.code == 0, answer
        ours, theirs = load((to / WEIGHTS).read_bytes()), twin.model.state_dict()
        assert all(torch.equal(ours[name], theirs[name]) for name in theirs)
        assert load_bundle(to, CPU).provenance["epochs"] == (epochs,)
        assert f"for as many\nepochs as the export asked for ({epochs}) and at their" in (to / CARD).read_text()


@pytest.mark.parametrize("epochs", [0, -1, 6])
def test_epochs_that_the_study_did_not_record_are_refused(study: StudyFolder, epochs: int, tmp_path: Path) -> None:
    says = refusal("export", study.path, "--retrain", "--epochs", epochs, "--to", tmp_path / "to", "--device", "cpu")
    assert says.startswith(f"skipstack: --epochs: got {epochs} (allowed: 1 to 5, the epochs of trial 0 whose ")
    assert not list(tmp_path.iterdir())


def test_epochs_without_a_retraining_are_refused(study: StudyFolder, tmp_path: Path) -> None:
    says = refusal("export", study.path, "--epochs", 3, "--to", tmp_path / "to")
    assert says == "skipstack: --epochs: got 3 without --retrain (allowed: with it)\n"


def test_each_member_of_a_retrained_ensemble_is_what_its_seed_gives_alone(
    study: StudyFolder, retrained: Path, tmp_path: Path
) -> None:
    to = tmp_path / "all"
    answer = typed("export", study.path, "--retrain", "--ensemble", "--to", to, "--device", "cpu")
    assert answer.code == 0, answer
    alone, together = (load((path / WEIGHTS).read_bytes()) for path in (retrained, to))
    assert all(torch.equal(together[name][:1], alone[name]) for name in alone)
    assert not any(torch.equal(together[name][1:], alone[name]) for name in alone)
    assert load_bundle(to, CPU).provenance["seeds"] == (3, 4)
    assert "The networks were trained again on train and dev together" in (to / CARD).read_text()


def test_it_verifies_and_predicts_and_says_what_it_is(study: StudyFolder, retrained: Path) -> None:
    test, folder = load_bundle(retrained, CPU).metrics["test"], study.path.parent
    verified = typed("verify", retrained, "--data-dir", folder, "--device", "cpu")
    share = test["correct"] / test["total"]
    assert verified.out == f"test: {test['correct']} of {test['total']} tokens right ({share:.2%}), as exported\n"
    predicted = typed("predict", retrained, "--device", "cpu", stdin=b"a b\n")
    assert re.fullmatch("a\t[AB]\nb\t[AB]\n\n", predicted.out)
    card, (trial,) = (retrained / CARD).read_text(), read_study(study.path).trials.values()
    assert "\n- learnt from: train and dev\n" in card
    assert f"the trial reached accuracy {100 * (trial.score or 0):.2f} there, the mean of its 2 seeds" in card
    assert "- dev: " not in card


@pytest.mark.slow
def test_another_process_writes_the_same_bundle(study: StudyFolder, retrained: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "skipstack.dashboards.cli"]
    code = f"import sys; sys.argv[0] = 'skipstack'; from {command[-1]} import main; main()"
    arguments = [
        "export",
        str(study.path),
        "--trial",
        "0",
        "--retrain",
        "--to",
        str(tmp_path / "other"),
        "--device",
        "cpu",
    ]
    environment = {**os.environ, "PYTHONHASHSEED": "7"}
    subprocess.run([sys.executable, "-c", code, *arguments], env=environment, capture_output=True, check=True)
    for file in retrained.iterdir():
        assert (tmp_path / "other" / file.name).read_bytes() == file.read_bytes(), file.name


def test_an_interruption_leaves_nothing(study: StudyFolder, tmp_path: Path) -> None:
    def interrupted(line: str) -> None:
        if "epoch 2" in line:
            raise KeyboardInterrupt

    record = read_study(study.path)
    with pytest.raises(KeyboardInterrupt):
        export_bundles(
            record,
            study,
            [record.best],
            tmp_path / "bundle",
            "cpu",
            recipe=Recipe(retrain=True, tell=interrupted),
        )
    assert not list(tmp_path.iterdir())
    assert read_study(study.path).events == record.events


def test_what_cannot_be_retrained_is_refused_in_a_line(study: StudyFolder, tmp_path: Path) -> None:
    folder = study.path.parent / "unlike"
    folder.mkdir()
    for name in ("train", "test"):
        (folder / f"{name}.tsv").write_text((study.path.parent / f"{name}.tsv").read_text())
    (folder / "dev.tsv").write_text(UNKNOWN)
    (folder / "study.yaml").write_text(STUDY.replace("seeds: 2", "seeds: 1").replace("epochs: 5", "epochs: 1"))
    unlike = trained(folder / "study.yaml")
    to = tmp_path / "bundle"
    says = refusal("export", unlike.path, "--retrain", "--to", to, "--device", "cpu")
    assert says.startswith(
        "skipstack: --retrain: trial 0: dev: each of its sentences has a tag that train lacks (allowed"
    )
    assert "--optuna excludes" in refusal("export", study.path, "--retrain", "--optuna", "sqlite:///x.db")
    assert not to.exists()
