"""Programs of torch.export: torch alone loads them, and they tag what the bundle tags, at any length that they take."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from skipstack.data.basis.errors import UserError
from skipstack.data.store.prepared import prepare
from skipstack.data.store.stored import Split, StoredCorpus, offsets_of
from skipstack.models.configs.inputs import LONGEST_AFFIX
from skipstack.models.layers.lanes import Lane
from skipstack.models.networks.build import Sizes, build
from skipstack.models.networks.model import Network
from skipstack.models.views.program import Inputs, Program
from skipstack.search.publishing.bundles import programs
from skipstack.search.publishing.bundles.bundle import Bundle, load_bundle
from skipstack.search.publishing.bundles.export import export_bundle
from skipstack.search.publishing.bundles.programs import NOTES, _compared, check_program, write_program
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.record.reading import read_study
from skipstack.spaces.trial import TrialConfig
from tests.command_line import refusal, typed
from tests.search.finished import trained

CPU = torch.device("cpu")
STUDY = """\
base:
  data: {corpus: {kind: agreement, train: 40, dev: 20, test: 20}}
  model:
    embedder: {word_size: 6, capital_size: 0, affix_characters: 0, dropout: 0}
    stack: {depth: 2, hidden: 5}
    initial_scale: 1.0
  training: {epochs: 1, batch_size: 8, optimiser: {kind: adam, learning_rate: 0.02}}
search: {trials: 1, seeds: 2, scheduler: none}
"""
NETWORKS = {
    "any length": ("model.stack.composition=2", "model.stack.depth=3", "model.stack.shortcut.topology=both_gated"),
    "GRU": ("model.stack.cell=gru",),
    "minLSTM": ("model.stack.cell=min_lstm",),
    "characters": ("model.embedder.spelling.kind=cnn",),
    "chain": ("model.head.kind=crf",),
    "skips": ("model.stack.skip.kind=dynamic",),
    "feedback": (),
    "parser": (
        "data.corpus={kind: grammar, tags: heads, train: 40, dev: 20, test: 20}",
        "model.head={kind: biaffine, decoder: greedy, arc_size: 5, relation_size: 4}",
    ),
}
STACK = "{depth: 2, hidden: 5}"


def study(folder: Path, *settings: str, stack: str = STACK) -> StudyFolder:
    (folder / "study.yaml").write_text(STUDY.replace(STACK, stack))
    return trained(folder / "study.yaml", settings)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> StudyFolder:
    return study(tmp_path_factory.mktemp("study"))


def test_what_can_be_no_program_is_refused_before_anything_is_written(plain: StudyFolder, tmp_path: Path) -> None:
    to, there = tmp_path / "bundle", tmp_path / "there.pt2"
    there.touch()
    export = ("export", plain.path, "--to", to, "--device", "cpu", "--torch-export")
    assert "got tagger (allowed: a new file whose name ends in .pt2)" in refusal(*export, tmp_path / "tagger")
    assert "there.pt2: exists (allowed: a new file)" in refusal(*export, there)
    assert "got several models for one file" in refusal(*export, tmp_path / "new.pt2", "--best", "2")
    config = read_study(plain.path).trials[0].config
    parser = config.model_copy(
        update={"model": config.model.model_validate({**config.model.model_dump(), "head": {"kind": "biaffine"}})}
    )
    with pytest.raises(UserError, match=r"--torch-export: the best tree is computed outside of torch \(allowed: "):
        check_program(parser, tmp_path / "new.pt2")
    assert list(tmp_path.iterdir()) == [there]


class OddTogether(Program):
    """Decides otherwise where it reads several sentences."""

    def forward(self, **inputs: Tensor) -> Inputs:  # type: ignore[override]
        found = super().forward(**inputs)
        return {**found, "tags_UB": found["tags_UB"] + int(len(inputs["lengths_B"]) > 1)}


def test_tokens_that_differ_are_told_with_the_tokens_of_their_batch(plain: StudyFolder, tmp_path: Path) -> None:
    record = read_study(plain.path)
    bundle = load_bundle(export_bundle(record, plain, record.trials[0], tmp_path / "bundle", "cpu"), CPU)
    program: Any = SimpleNamespace(module=lambda: OddTogether(bundle.model))
    words = list(bundle.vocabulary.words)
    with pytest.raises(UserError, match=r"the program decides otherwise on 7 of 7 tokens$"):
        _compared(bundle, program, [words[:3], words[:4]], None)


class Unexported:
    """Stands for torch's exporter, which takes many seconds: keeps its example, and runs the network itself."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(programs, "exported", self.exported)
        monkeypatch.setattr(torch.export, "save", lambda _, file, **__: file.touch())

    def exported(self, network: Network, inputs: Inputs, *, any_length: bool) -> Any:
        self.inputs, self.any_length = inputs, any_length
        return SimpleNamespace(module=lambda: Program(network))


def untrained(task: str, length: int, config: dict[str, Any]) -> tuple[Bundle, StoredCorpus]:
    """A network with initial weights, and its corpus: sentences of ``length`` random words, one of a language model."""
    rng, count = np.random.default_rng(0), 1 if task == "language_modelling" else 4
    lengths_S = np.full(count, length, dtype=np.int32)
    tags_S = np.ones_like(lengths_S) if task == "classification" else lengths_S

    def split() -> Split:
        forms_N = rng.integers(1, 9, lengths_S.sum()).astype(np.int32)
        tags_L = rng.integers(0, 2, tags_S.sum()).astype(np.int32)
        return Split(forms_N, tags_L, lengths_S, offsets_of(lengths_S), offsets_of(tags_S))

    splits = {name: split() for name in ("train", "dev", "test")}
    counts_F = np.bincount(splits["train"].forms_N, minlength=9).astype(np.int64)
    stored = StoredCorpus("0" * 16, ("", *"abcdefgh"), counts_F, ("a", "b"), splits, task=task)
    tokens = {"word_size": 4, "capital_size": 0, "affix_characters": 0, "window": 0}
    model = {"embedder": tokens, "initial_scale": 3.0, **config.pop("model")}
    trial = TrialConfig.model_validate({"model": model, **config})
    corpus = prepare(stored, trial.data, LONGEST_AFFIX)
    sizes = Sizes.of_corpus(corpus)
    network, _ = build(trial.model, sizes=sizes, lanes=[Lane(seed=1)], dtype=torch.float32, device=CPU)
    provenance = {"task": task, "scheme": None}
    return Bundle(Path(), trial, corpus.vocabulary, stored.tags, network.eval(), {}, provenance, "", CPU), stored


def test_texts_are_compared_as_they_are_cut_for_the_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Unexported(monkeypatch)
    stack = {"depth": 1, "hidden": 4, "cell": "feedforward", "pooling": "mean"}
    bundle, corpus = untrained("classification", 7, {"data": {"longest": 5}, "model": {"stack": stack}})
    texts = [list("abcdefg"), list("hgfedcb"), list("abababa")]
    uncut, cut = (bundle.model.read(*bundle.read(each))[0] for each in (texts, [text[:5] for text in texts]))
    assert not torch.allclose(uncut, cut)
    found = write_program(bundle, corpus, tmp_path / "classifier.pt2")
    assert (found.sentences, found.largest_difference) == (10, 0.0)


LAYER = {"depth": 1, "hidden": 4, "cell": "feedforward"}
AHEAD = {**LAYER, "directions": "forward"}


@pytest.mark.parametrize(
    ("task", "config", "length", "shape"),
    [
        ("tagging", {"model": {"stack": LAYER}}, None, (4096, 10)),
        (
            "classification",
            {"data": {"longest": 4999}, "model": {"stack": {**LAYER, "pooling": "mean"}}},
            None,
            (4096, 10),
        ),
        ("language_modelling", {"model": {"stack": AHEAD}}, None, (35, 4)),
        ("language_modelling", {"training": {"window": 4999}, "model": {"stack": AHEAD}}, None, (4096, 4)),
        (
            "language_modelling",
            {"training": {"window": 9}, "model": {"stack": {**AHEAD, "cell": "lstm", "skip": {"kind": "fixed"}}}},
            9,
            (9, 4),
        ),
    ],
    ids=["tagger", "classifier", "language model", "wide window", "language model that skips"],
)
def test_no_compared_text_is_longer_than_those_of_the_program(
    task: str,
    config: dict[str, Any],
    length: int | None,
    shape: tuple[int, int],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In the splits of a language model, which are one text each, and with sentences of 5,000 tokens."""
    exporter = Unexported(monkeypatch)
    found = write_program(*untrained(task, 5000, config), tmp_path / "program.pt2")
    assert tuple(exporter.inputs["forms_TB"].shape) == shape
    assert exporter.any_length == (length is None)
    assert found.sentences == shape[1]


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [each if each in ("chain", "parser") else pytest.param(each, marks=pytest.mark.slow) for each in NETWORKS]
)
def test_a_program_tags_what_its_bundle_tags(name: str, tmp_path: Path) -> None:
    folder = study(tmp_path, *NETWORKS[name], stack="{kind: feedback, hidden: 5}" if name == "feedback" else STACK)
    to, file = tmp_path / "bundle", tmp_path / "tagger.pt2"
    ensemble = ["--ensemble"] if name == "chain" else []
    answer = typed("export", folder.path, "--to", to, "--torch-export", file, "--device", "cpu", *ensemble)
    assert answer.code == 0, answer
    assert answer.out == f"{to}\n{file}\n"
    extra = {NOTES: ""}
    program = torch.export.load(file, extra_files=extra).module()
    notes = json.loads(extra[NOTES])
    assert (notes["length"] is None) == (name not in ("chain", "skips", "feedback"))
    assert notes["compared"]["largest_difference"] < 1e-4
    bundle = load_bundle(to, CPU)
    words = bundle.vocabulary.words
    longest = 30 if notes["length"] is None else notes["length"]
    texts = [[words[(place * place + start) % len(words)] for place in range(longest - start)] for start in range(4)]
    for batch in (texts, texts[:1], [texts[0][:1]]):
        found = program(**bundle.program_inputs(batch, notes["length"]))
        for place, sentence in enumerate(bundle.predict(batch)):
            ours = {key: values[: len(sentence.words), place].tolist() for key, values in found.items()}
            assert tuple(bundle.tags[tag] for tag in ours["tags_UB"]) == sentence.tags
            assert sentence.heads is None or tuple(ours["heads_TB"]) == sentence.heads
