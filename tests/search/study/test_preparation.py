"""What a study needs is found in its space and stored; a study with vectors, tags cut off, runs from file to bundle."""

import json
import shlex
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import save_file
from typer.testing import CliRunner

from skipstack.dashboards.cli import app
from skipstack.dashboards.commands.next_steps import next_steps
from skipstack.data.basis.errors import UserError
from skipstack.data.corpora.config import NamedCorpus
from skipstack.data.corpora.synthetic.grammar import GrammarCorpus
from skipstack.data.store.stored import open_store
from skipstack.models.training.checkpoint import read_tensors
from skipstack.search.api.options import Execution
from skipstack.search.api.run import Run
from skipstack.search.ledger.events import CorpusPrepared, VectorsPrepared, from_json
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.publishing.bundles.bundle import load_bundle
from skipstack.search.publishing.bundles.corpus_folders import folders_of
from skipstack.search.publishing.bundles.export import export_bundle, verify_bundle
from skipstack.search.publishing.tracking.runs import ExpectedRuns
from skipstack.search.study.preparation import needs, vectors_coverage
from skipstack.search.study.record.folder import BEST, StudyFolder
from skipstack.search.study.record.reading import read_study
from skipstack.spaces.config import SpaceConfig
from skipstack.spaces.space import Space
from tests.command_line import refusal
from tests.search.finished import opened, run, trained

STUDY = """
base:
  data:
    corpus: {kind: word_pos_supertag, train: [one.txt, two.txt], dev: dev.txt, test: dev.txt}
    minimum_tag_count: 2
    vectors: glove.txt
  model:
    embedder: {word_size: 3, affix_characters: 1, word_vectors: frozen}
    stack: {depth: 1, hidden: 4}
  training: {epochs: 2, batch_size: 4, optimiser: {kind: adam, learning_rate: 0.05}}
axes:
  data.vectors: {choice: [null, glove.txt]}
search: {proposer: grid, trials: 2, seeds: 2, scheduler: none}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A study file, its corpus and its vectors. Of train's tags N (4), V (3), R (1) the last is rare."""
    (tmp_path / "study.yaml").write_text(STUDY)
    (tmp_path / "one.txt").write_text("cats|NN|N run|VB|V\ndogs|NN|N run|VB|V\n")
    (tmp_path / "two.txt").write_text("cats|NN|N and|CC|R dogs|NN|N sleep|VB|V\n")
    (tmp_path / "dev.txt").write_text("dogs|NN|N and|CC|R cats|NN|N sleep|VB|V\n")
    (tmp_path / "glove.txt").write_text("cats 1 2 3\ndogs 2 2 2\nzebras 0 0 1\nrun 5 5 5\ndogs 9 9 9\nslee 1")
    return tmp_path


def test_the_vectors_of_a_study_are_stored_beside_its_corpus_and_their_coverage_is_told(folder: Path) -> None:
    record = read_study(opened(folder / "study.yaml").path)
    (corpus,) = record.corpora.values()
    vectors = corpus.vectors["glove.txt"]
    told = (vectors.size, vectors.covered_words, vectors.words, vectors.covered_tokens, vectors.tokens)
    assert told == (3, 3, 5, 6, 8)
    assert (vectors.cut_line, vectors.repeated) == (6, 1)
    assert vectors_coverage("glove.txt", vectors) == (
        "data.vectors glove.txt: 60.0% of 5 words and 75.0% of 8 train tokens have a vector; "
        "line 6, its last, is cut off and left out; 1 line has a word of an earlier line and is left out"
    )


def test_a_study_goes_on_with_the_vectors_it_began_with(folder: Path) -> None:
    """The files are gone before the first trial; what is frozen is in the weights, in every lane."""
    study = opened(folder / "study.yaml")
    (folder / "glove.txt").unlink()
    (folder / "one.txt").unlink()
    record = run(study)
    assert [trial.reason for trial in record.trials.values()] == ["completed", "completed"]
    by_vectors = {trial.config.data.vectors: trial.number for trial in record.trials.values()}
    weights, _ = read_tensors(study.trial(by_vectors["glove.txt"]) / BEST)
    words = weights["embedder.words.table"]
    expected = torch.tensor([[1.0, 2, 3], [2, 2, 2], [5, 5, 5]])
    for lane in words:
        assert all(any(torch.equal(row, vector) for row in lane) for vector in expected)
    plain, _ = read_tensors(study.trial(by_vectors[None]) / BEST)
    assert not any(torch.equal(row, expected[0]) for row in plain["embedder.words.table"][0])


def test_vectors_and_rare_tags_survive_in_a_bundle(folder: Path) -> None:
    study = opened(folder / "study.yaml", ["axes.data.vectors=null"])
    record = run(study)
    bundle = export_bundle(record, study, record.trials[0], folder / "bundle", "cpu")
    (corpus,) = record.corpora.values()
    assert json.loads((bundle / "tags.json").read_text()) == ["N", "V", "RARE"]
    provenance = json.loads((bundle / "provenance.json").read_text())
    assert provenance["vectors_sha256"] == corpus.vectors["glove.txt"].sha256
    shutil.rmtree(study.path)
    (folder / "glove.txt").unlink()
    _, measured = verify_bundle(bundle, data_dir=folder, device="cpu")
    assert measured["dev"]["total"] == 4
    assert measured["dev"]["correct"] <= 3, "a rare tag is never right"


def with_vectors_of_tokens(folder: Path, size: int = 4) -> list[str]:
    """Overrides with which networks read nothing but vectors that name the tag: the words are not read."""
    tags = {"train": "N V N V N R N V", "dev": "N R N V", "test": "N R N V"}
    rows = {
        split: np.eye(size, dtype=np.float32)[["NVR".index(tag) for tag in own.split()]] for split, own in tags.items()
    }
    save_file(rows, folder / "tokens.safetensors")
    nothing = [f"model.embedder.{each}=0" for each in ("word_size", "capital_size", "affix_characters")]
    return [
        "data.vectors={kind: tokens, path: tokens.safetensors}",
        f"model.embedder.vector_size={size}",
        "training.epochs=60",
        *nothing,
    ]


@pytest.mark.slow
def test_vectors_of_tokens_are_read_in_training_in_test_and_from_a_bundle_of_a_corpus_but_not_of_text(
    folder: Path,
) -> None:
    study = opened(folder / "study.yaml", with_vectors_of_tokens(folder))
    record = run(study)
    (corpus,) = record.corpora.values()
    vectors = corpus.vectors["tokens.safetensors"]
    assert (vectors.kind, vectors.size) == ("tokens", 4)
    told = "data.vectors tokens.safetensors: a vector of 4 numbers for each token"
    assert vectors_coverage("tokens.safetensors", vectors) == told
    assert record.trials[0].score == 0.75, "a rare tag is never right"
    bundle = export_bundle(record, study, record.trials[0], folder / "bundle", "cpu")
    shutil.rmtree(study.path)
    assert verify_bundle(bundle, data_dir=folder, device="cpu")[1]["test"]["correct"] == 3
    with pytest.raises(UserError, match=r"reads a vector for each token .* which text has not"):
        load_bundle(bundle, torch.device("cpu")).predict([["cats", "run"]])
    assert "which text has not" in refusal("serve", bundle, "--device", "cpu")


@pytest.mark.parametrize(
    ("override", "told"),
    [
        ("model.embedder.vector_size=5", r"vector_size: got 5 with data.vectors tokens.safetensors \(allowed: 4, the "),
        (
            "data.vectors=glove.txt",
            r"vector_size: got 4 without vectors of tokens \(allowed: 0, or data.vectors of kind",
        ),
        (
            "data.corpus.train=two.txt",
            r"tokens.safetensors: train: got 8 vectors, allowed: 4, one for each token of train",
        ),
        (
            "data.corpus={kind: word_pos_supertag, train: [two.txt, two.txt, two.txt, two.txt], dev: dev.txt, "
            "held_out_test: 0.5}",
            r"data.vectors: got vectors of tokens of two.txt, .* whose test is drawn from train \(allowed",
        ),
    ],
)
def test_vectors_of_tokens_that_do_not_fit_are_told_before_anything_is_written(
    folder: Path, override: str, told: str
) -> None:
    with pytest.raises(UserError, match=told):
        opened(folder / "study.yaml", [*with_vectors_of_tokens(folder), override])
    assert not (folder / "runs").exists()


def test_a_corpus_in_two_folders_is_verified_by_the_command_that_its_study_prints(
    folder: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    elsewhere = tmp_path_factory.mktemp("else where")
    (folder / "dev.txt").rename(elsewhere / "dev.txt")
    own = STUDY.replace("dev: dev.txt", f"dev: '{elsewhere}/d*.txt'").replace(
        "test: dev.txt", f"test: {elsewhere}/dev.txt"
    )
    (folder / "study.yaml").write_text(own)
    study = opened(folder / "study.yaml", ["axes.data.vectors=null", "data.vectors=null"])
    record = run(study)
    bundle = export_bundle(record, study, record.ranked()[0], Path(f"{study.path}-best"), "cpu")
    with pytest.raises(UserError, match=r"dev: got .*outside of .*--data-dir, which may be given more than once"):
        verify_bundle(bundle, data_dir=folder, device="cpu")
    finished = Run(study, Execution(engine="serial"), None, resuming=False, corpus_folder=folder)
    lines = next_steps(study.path, record, private_runs=True, data=finished.folders(record))
    (command,) = (line for line in lines if "skipstack verify" in line)
    done = CliRunner().invoke(app, shlex.split(command)[1:])
    assert (done.exit_code, done.stdout.count("as exported")) == (0, 2), done.output
    corpus = record.trials[0].config.data.corpus
    assert folders_of(corpus, data_dir=None, corpus_folder=folder) == [folder, elsewhere]
    alike = corpus.model_copy(update={"dev": "dev.txt", "test": "dev.txt"})
    monkeypatch.chdir(folder)
    assert folders_of(alike, data_dir=None, corpus_folder=folder) == [], "where verify looks on its own"
    assert folders_of(GrammarCorpus(), data_dir=None, corpus_folder=elsewhere) == []
    assert folders_of(NamedCorpus(name="atis"), data_dir=elsewhere, corpus_folder=folder) == [elsewhere]


@pytest.mark.parametrize("name", ["/etc", "../../etc", "..", ".", "", "a/b", "a\0"])
def test_a_ledger_of_others_leads_to_no_store_outside_of_its_study(name: str, tmp_path: Path) -> None:
    corpus = {"time": 1.0, "corpus": "c", "fingerprint": "f", "store": name, "baseline_dev": 0.1, "baseline_test": 0.1}
    vectors = dict.fromkeys(("size", "covered_words", "words", "covered_tokens", "tokens"), 1)
    study = StudyFolder(tmp_path)
    with pytest.raises(UserError, match=r"ledger: got the store .* \(allowed: a name in .*corpora\)"):
        study.stored(CorpusPrepared.model_validate(corpus))
    with pytest.raises(UserError, match=r"ledger: got the store"):
        study.stored(VectorsPrepared.model_validate({"sha256": "s", "store": name, **vectors}))


def test_the_runs_say_which_vectors_a_trial_starts_from(folder: Path) -> None:
    study = trained(folder / "study.yaml")
    runs = ExpectedRuns()
    with Ledger(study.ledger) as ledger:
        for event in ledger.read():
            runs.apply(event)
    (corpus,) = runs.record.corpora.values()
    for number, trial in runs.record.trials.items():
        expected = None if trial.config.data.vectors is None else corpus.vectors["glove.txt"].sha256
        assert runs.pending[None, number].tags.get("skipstack.vectors_sha256") == expected


@pytest.mark.parametrize(
    ("overrides", "told"),
    [
        (["model.embedder.word_size=4"], r"model.embedder.word_size: got 4 with data.vectors glove.txt \(allowed: 3, "),
        (["axes.model.embedder.word_size={choice: [3, 5]}"], r"word_size: got 5 with data.vectors glove.txt"),
        (
            ["axes.model.embedder.kind={choice: [tokens, feature_maps]}"],
            r"word_size: got 50 with data.vectors glove.txt",
        ),
        (["data.vectors=none.txt"], r"cannot read .*none.txt: No such file"),
        (["data.scheme=bioes"], r"data.scheme: got bioes, but the corpus has no label scheme \(allowed: null\)"),
        (["axes.data.scheme={choice: [null, bio]}"], r"data.scheme: got bio, but the corpus has no label scheme"),
        (["model.head={kind: crf, constrained: true}"], r"model.head.constrained: got true for tags without a label"),
        (
            [
                "axes.model.head.kind={choice: [softmax, crf]}",
                "axes.model.head.constrained={choice: [true], when: {model.head.kind: [crf]}}",
            ],
            r"got true for tags",
        ),
        (["data.vocabulary.word_classes=[city]"], r"data.vocabulary.word_classes: the corpus has no slots"),
        (["data.minimum_tag_count=9"], r"data.minimum_tag_count: got 9 \(allowed: 1 to 4, or no tag stays\)"),
    ],
)
def test_what_cannot_run_is_told_before_anything_is_written(folder: Path, overrides: list[str], told: str) -> None:
    with pytest.raises(UserError, match=told):
        opened(folder / "study.yaml", overrides)
    assert not (folder / "runs").exists()


def test_a_network_without_word_vectors_may_meet_vectors(folder: Path) -> None:
    study = opened(folder / "study.yaml", ["model.embedder.word_size=0"])
    assert [trial.reason for trial in run(study).trials.values()] == ["completed", "completed"]


def test_every_corpus_with_every_vectors_that_meet_it_is_needed() -> None:
    corpora = [GrammarCorpus(seed=seed).model_dump() for seed in (1, 2)]
    axes: dict[str, Any] = {
        "model.stack.depth": {"choice": [1, 3]},
        "data.corpus": {"choice": corpora},
        "data.vectors": {"choice": [None, "a", "b"], "when": {"model.stack.depth": [3]}},
        "model.embedder.word_size": {"choice": [50, 100], "when": {"data.vectors": ["b"]}},
        "training.optimiser.learning_rate": {"log": [0.01, 0.1]},
    }
    base = {"model": {"stack": {"kind": "recurrent", "depth": 3}}}
    first, second, third = needs(SpaceConfig.model_validate({"base": base, "axes": axes}))
    assert (first.corpus, first.vectors) == (GrammarCorpus(), {}), "the base's, which no trial of the space reads"
    for seed, needed in ((1, second), (2, third)):
        assert needed.corpus == GrammarCorpus(seed=seed)
        assert needed.vectors == {"a": {100}, "b": {50, 100}}


def test_a_space_without_vectors_does_not_look_at_word_sizes() -> None:
    axes = {"model.embedder.word_size": {"choice": [8, 16]}, "training.optimiser.learning_rate": {"log": [0.01, 0.1]}}
    config = SpaceConfig.model_validate({"base": {}, "axes": axes})
    assert Space(config).count() is None
    assert [(needed.corpus, needed.vectors) for needed in needs(config)] == [(GrammarCorpus(), {})]


def test_ledgers_from_before_there_were_vectors_are_read() -> None:
    text = (
        '[{"time":1.0,"kind":"corpus_prepared","corpus":"c","fingerprint":"f","store":"s",'
        '"baseline_dev":0.5,"baseline_test":0.5}]'
    )
    (event,) = from_json(text)
    assert event.vectors == {}  # type: ignore[union-attr]
    assert event.measure == "accuracy"  # type: ignore[union-attr]


def test_a_stored_corpus_does_not_depend_on_vectors_or_cut_off(folder: Path) -> None:
    study = opened(folder / "study.yaml")
    (corpus,) = read_study(study.path).corpora.values()
    assert open_store(study.stored(corpus)).tags == ("N", "R", "V")
    assert isinstance(corpus.vectors["glove.txt"], VectorsPrepared)
