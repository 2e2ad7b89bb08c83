"""Bundles: what is exported is what was trained, verifies exactly, tags text alone, and is data only."""

import random
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from skipstack.data.basis.errors import UserError
from skipstack.data.corpora.config import NamedCorpus
from skipstack.data.corpora.named import find_card
from skipstack.data.store.stored import open_store
from skipstack.data.tasks.measures import MEASURES
from skipstack.models.training.checkpoint import write_tensors
from skipstack.search.analysis.confirmation.confirmed import Confirmed
from skipstack.search.publishing.bundles import export
from skipstack.search.publishing.bundles.bundle import load_bundle
from skipstack.search.publishing.bundles.card import model_card
from skipstack.search.publishing.bundles.export import (
    Recipe,
    chosen_trials,
    export_bundle,
    export_bundles,
    verify_bundle,
)
from skipstack.search.publishing.bundles.files import CARD, read_files, seal
from skipstack.search.study.record.folder import LOG, StudyFolder
from skipstack.search.study.record.study_record import StudyRecord
from tests.command_line import refusal
from tests.search.finished import exported, opened, resealed, run

CPU = torch.device("cpu")
SETTINGS = [
    "data.corpus.train=80",
    "data.corpus.dev=30",
    "data.corpus.test=30",
    "model.stack.hidden=8",
    "search.scheduler=none",
    "search.trials=2",
    "training.epochs=2",
]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[StudyRecord, StudyFolder]:
    file = tmp_path_factory.mktemp("study") / "small.yaml"
    file.write_text("extends: quickstart")
    folder = opened(file, SETTINGS)
    return run(folder), folder


@pytest.fixture
def study(trained: tuple[StudyRecord, StudyFolder]) -> StudyRecord:
    return trained[0]


@pytest.fixture
def bundle(trained: tuple[StudyRecord, StudyFolder], tmp_path: Path) -> Path:
    study, folder = trained
    return export_bundle(study, folder, study.ranked()[0], tmp_path / "bundle", "cpu")


def test_a_bundle_counts_on_the_test_split_what_the_study_measured_for_its_lane(
    study: StudyRecord, bundle: Path
) -> None:
    trial = study.ranked()[0]
    loaded = load_bundle(bundle, CPU)
    lane = trial.seeds.index(loaded.provenance["seeds"][0])
    counts = loaded.metrics["test"]
    assert counts["correct"] / counts["total"] == trial.tested["test_accuracy"][lane]
    assert trial.best is not None
    assert trial.best.metrics["dev_accuracy"][lane] == max(trial.best.metrics["dev_accuracy"])
    assert loaded.config == trial.config


def test_a_bundle_has_nothing_of_a_log(trained: tuple[StudyRecord, StudyFolder], tmp_path: Path) -> None:
    study, folder = trained
    trial = study.ranked()[0]
    folder.log(trial.number).write_text("what nobody else should read\n")
    bundle = export_bundle(study, folder, trial, tmp_path / "bundle", "cpu")
    files = [path for path in bundle.rglob("*") if path.is_file()]
    assert files
    assert [path for path in files if path.name == LOG or b"nobody else" in path.read_bytes()] == []


def test_verifying_gives_the_exported_counts_again(bundle: Path) -> None:
    assert verify_bundle(bundle, data_dir=None, device="cpu")[1] == load_bundle(bundle, CPU).metrics


def test_a_bundle_cuts_the_texts_that_it_classifies_as_its_study_did(tmp_path: Path) -> None:
    (tmp_path / "study.yaml").write_text("""
base:
  data:
    corpus: {kind: numbers, train: 30, dev: 20, test: 20, length: 11}
    vocabulary: {digits_to_nine: false}
    longest: 3
  model:
    embedder: {word_size: 8, capital_size: 0, affix_characters: 0, dropout: 0}
    stack: {depth: 1, hidden: 8}
    initial_scale: 3.0
  training: {epochs: 1, batch_size: 4}
search: {trials: 1, seeds: 1, scheduler: none}
""")
    bundle = load_bundle(exported(tmp_path / "study.yaml"), CPU)
    draw = random.Random(0)
    texts = [draw.choices(bundle.vocabulary.words, k=8) for _ in range(40)]
    cut = bundle.predict([text[:3] for text in texts])
    assert len({sentence.tags for sentence in cut}) > 1
    assert [sentence.tags for sentence in bundle.predict(texts)] == [sentence.tags for sentence in cut]
    assert [list(sentence.words) for sentence in bundle.predict(texts)] == texts


def test_verifying_refuses_other_weights_and_another_count(bundle: Path, tmp_path: Path) -> None:
    other = shutil.copytree(bundle, tmp_path / "other")
    weights = load_file(other / "weights.safetensors")
    weights["head.bias"] += torch.linspace(-5, 5, weights["head.bias"].numel()).view_as(weights["head.bias"])
    save_file(weights, other / "weights.safetensors", {"notes": "{}"})
    seal(other)
    with pytest.raises(UserError, match="its metrics say"):
        verify_bundle(other, data_dir=None, device="cpu")
    resealed(bundle, "metrics.json", "test.correct", load_bundle(bundle, CPU).metrics["test"]["correct"] + 1)
    with pytest.raises(UserError, match="its metrics say"):
        verify_bundle(bundle, data_dir=None, device="cpu")


def test_verifying_refuses_another_corpus(bundle: Path) -> None:
    resealed(bundle, "config.json", "data.corpus.seed", 99)
    with pytest.raises(UserError, match="which it was trained on"):
        verify_bundle(bundle, data_dir=None, device="cpu")


def test_tagging_text_gives_the_tags_of_the_evaluation(trained: tuple[StudyRecord, StudyFolder], bundle: Path) -> None:
    """Every test sentence, typed as text, gets as many tags right as the metrics say."""
    loaded = load_bundle(bundle, CPU)
    study, folder = trained
    stored = open_store(folder.stored(study.corpus_of(loaded.config)))
    test = stored.splits["test"]
    bounds = list(zip(test.offsets_S1[:-1].tolist(), test.offsets_S1[1:].tolist(), strict=True))
    sentences = [[stored.forms[form] for form in test.forms_N[start:stop]] for start, stop in bounds]
    right = 0
    for (start, stop), (words, tags) in zip(bounds, loaded.tag(sentences), strict=True):
        assert len(words) == len(tags) == stop - start
        gold = [stored.tags[tag] if tag >= 0 else None for tag in test.tags_L[start:stop]]
        right += sum(tag == truth for tag, truth in zip(tags, gold, strict=True))
    assert right == loaded.metrics["test"]["correct"]


def test_an_empty_line_has_no_tags_and_unknown_words_have_some(bundle: Path) -> None:
    loaded = load_bundle(bundle, CPU)
    tagged = list(loaded.tag([[], ["zzz", "Ünïcode-42"], []]))
    assert [len(tags) for _, tags in tagged] == [0, 2, 0]
    assert list(loaded.tag([])) == []
    assert list(loaded.tag([[]])) == [([], [])]


@pytest.mark.slow
def test_predict_loads_neither_ray_nor_mlflow_nor_optuna(bundle: Path) -> None:
    code = (
        "import sys; from skipstack.dashboards.cli import main; sys.argv = ['skipstack', 'predict', sys.argv[1]]\n"
        "try: main()\n"
        "except SystemExit as end: assert not end.code, end.code\n"
        "loaded = {'ray', 'mlflow', 'optuna'} & set(sys.modules)\n"
        "assert not loaded, loaded"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code, str(bundle)], input="a b c\n\nd\n", capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    lines = ran.stdout.split("\n")
    assert [line.split("\t")[0] for line in lines] == ["a", "b", "c", "", "", "d", "", ""]


def test_the_best_and_a_trial_by_number_can_be_chosen(study: StudyRecord) -> None:
    assert chosen_trials(study, best=2, trial=None) == study.ranked()
    assert chosen_trials(study, best=None, trial=1) == [study.trials[1]]
    with pytest.raises(UserError, match=r"allowed: 0, 1"):
        chosen_trials(study, best=None, trial=7)


def test_a_bundle_is_json_and_safetensors_and_nothing_else(bundle: Path) -> None:
    assert sorted(path.name for path in bundle.iterdir()) == [
        "README.md",
        "config.json",
        "manifest.json",
        "metrics.json",
        "provenance.json",
        "tags.json",
        "vocabulary.json",
        "weights.safetensors",
    ]
    assert not list(bundle.parent.glob(".*"))


def test_the_model_card_says_what_was_measured_and_confirmed_and_on_what(
    trained: tuple[StudyRecord, StudyFolder], bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study, folder = trained
    card = (bundle / CARD).read_text()
    counts = load_bundle(bundle, CPU).metrics["test"]
    assert f"- test: {counts['correct']} of {counts['total']} tokens right" in card
    assert f"chosen on dev out of {len(study.ranked())} with a score" in card
    assert "- generated by skipstack: agreement\n- licence: none is needed\n" in card
    assert "Nothing of this config is confirmed" in card
    best = study.ranked()[0]
    figure = Confirmed(corpus="agreement", value=0.8125, half=0.0125, seeds=5)
    monkeypatch.setattr(export, "confirmed_scores", lambda record, config: [figure])
    told = export_bundle(study, folder, best, tmp_path / "told", "cpu")
    assert (
        "on the test split of agreement: accuracy 81.25 ± 1.25, the mean of 5 fresh seeds" in (told / CARD).read_text()
    )
    assert "Nothing of this config" not in (told / CARD).read_text()


def test_an_ensemble_holds_all_seeds_and_verifies_and_of_equal_ones_predicts_what_one_does(
    trained: tuple[StudyRecord, StudyFolder], bundle: Path, tmp_path: Path
) -> None:
    study, folder = trained
    best = study.ranked()[0]
    path = export_bundle(study, folder, best, tmp_path / "all.zip", "cpu", recipe=Recipe(ensemble=True))
    ensemble = load_bundle(path, CPU)
    assert ensemble.provenance["seeds"] == best.seeds
    assert verify_bundle(path, data_dir=None, device="cpu")[1] == ensemble.metrics
    card = read_files(path)[CARD].decode()
    assert "It is an ensemble of these 2 networks, which decide as one: the mean of their likelihoods does." in card
    assert "counts of the networks of all seeds of its trial" in card
    assert "an ensemble has several networks" in refusal("inspect", path, stdin=b"a b\n")
    one = load_bundle(bundle, CPU)
    weights = load_file(bundle / "weights.safetensors")
    twice = {name: torch.cat([weight, weight]) for name, weight in weights.items()}
    write_tensors(bundle / "weights.safetensors", twice, {})
    seal(bundle)
    with pytest.raises(UserError, match="the weights do not fit the config"):
        load_bundle(bundle, CPU)
    resealed(bundle, "provenance.json", "epochs", one.provenance["epochs"] * 2)
    with pytest.raises(UserError, match=r"got epochs of 2 networks, allowed: of 1"):
        load_bundle(bundle, CPU)
    resealed(bundle, "provenance.json", "seeds", one.provenance["seeds"] * 2)
    assert verify_bundle(bundle, data_dir=None, device="cpu")[1] == one.metrics


def test_an_ensemble_of_one_seed_is_refused(
    trained: tuple[StudyRecord, StudyFolder], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study, folder = trained
    monkeypatch.setattr(study.trials[0], "seeds", (0,))
    with pytest.raises(UserError, match=r"--ensemble: trial 0 has one seed \(allowed: a trial of two seeds or more\)"):
        export_bundles(study, folder, study.ranked(), tmp_path / "b", "cpu", recipe=Recipe(ensemble=True))
    assert not (tmp_path / "b").exists()


@pytest.mark.parametrize(("name", "says"), [("ccgbank", "- origin: "), ("pmb-ccg-en", "- licence: ")])
def test_the_model_card_names_the_licence_of_a_named_corpus(bundle: Path, name: str, says: str) -> None:
    loaded = load_bundle(bundle, CPU)
    data = loaded.config.data.model_copy(update={"corpus": NamedCorpus(name=name)})
    named = replace(loaded, config=loaded.config.model_copy(update={"data": data}))
    card = model_card(named, MEASURES["accuracy"], scored=1, searched=[0.5], confirmed=())
    assert f"- name: {name} (" in card
    assert f"{says}{getattr(find_card(name), says[2:-2])}\n" in card


def test_of_several_bundles_none_is_written_where_weights_are_gone(
    trained: tuple[StudyRecord, StudyFolder], tmp_path: Path
) -> None:
    study, folder = trained
    first, last = (trial.number for trial in study.ranked())
    shutil.copytree(folder.trial(first), (copied := StudyFolder(tmp_path / "study")).trial(first))
    with pytest.raises(UserError, match=rf"trial {last}: its weights were not kept \(allowed: trials {first};"):
        export_bundles(study, copied, study.ranked(), tmp_path / "bundles", "cpu")
    assert not (tmp_path / "bundles").exists()
