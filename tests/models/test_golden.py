"""Golden curves: the loss of the first 20 steps of every preset's base, and of networks of pieces that no base has, all
made small, as it was when last agreed upon.

A change that is meant to leave the networks alone leaves the curves alone. One that is meant to change them writes
them anew, to be looked at in the diff:

    python -m tests.models.test_golden
"""

import json
from collections.abc import Iterator
from itertools import count, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.numpy import save_file

from skipstack.data.corpora.config import DataConfig
from skipstack.data.corpora.synthetic.grammar import GrammarCorpus
from skipstack.data.corpora.synthetic.numbers import NumbersCorpus
from skipstack.data.store.prepared import prepare
from skipstack.data.store.stored import StoredCorpus, open_store
from skipstack.data.store.token_vectors import store_token_vectors
from skipstack.data.store.vectors import open_vectors
from skipstack.data.store.writing import store
from skipstack.models.configs.inputs import LONGEST_AFFIX
from skipstack.models.layers.lanes import Lane
from skipstack.models.training.graphs import Graphs
from skipstack.models.training.loop import Training
from skipstack.search.study.study_files.document import presets
from skipstack.search.study.study_files.study_file import load_study
from skipstack.spaces.trial import TrialConfig

CURVES = Path(__file__).with_name("golden.json")
COMMAND = "python -m tests.models.test_golden"
STEPS, LANES, TOLERANCE = 20, (0, 1), 1e-9
LARGEST = {
    ("model", "stack", "hidden"): 16,
    ("model", "stack", "label_size"): 16,
    ("model", "head", "arc_size"): 16,
    ("model", "head", "relation_size"): 8,
    ("model", "embedder", "word_size"): 16,
    ("model", "embedder", "maps"): 12,
    ("training", "batch_size"): 4,
    ("training", "pretraining", "word_epochs"): 1,
    ("training", "pretraining", "label_epochs"): 1,
}
GRAMMAR, NUMBERS = GrammarCorpus(train=40, dev=5, test=5), NumbersCorpus(train=40, dev=5, test=5)
"""The grammar stands for every preset's corpus but numbers: curves need no data. No cut-off falls on its tags."""
VECTORS = {"data.vectors": {"kind": "tokens", "path": "vectors"}, "model.embedder.vector_size": 8}
PIECES: dict[str, tuple[str, dict[str, Any]]] = {
    "GRU layers, residual, layer normalisation": (
        "tagger",
        {
            "model.stack": {"depth": 3, "cell": "gru", "residual": True, "normalisation": "layer", "dropout": 0.5},
            "training.optimiser": {"kind": "adamw", "learning_rate": 0.003},
            "training.schedule": {"kind": "cosine", "warmup": 0.5},
        },
    ),
    "shortcuts, residual, RMS normalisation": (
        "wu2017/default",
        {"model.stack.residual": True, "model.stack.normalisation": "rms", "model.stack.join": "each_layer"},
    ),
    "both_gated, updated": (
        "wu2017/default",
        {"model.stack.shortcut": {"topology": "both_gated", "cell_output": "updated"}, "model.initial_scale": 1.0},
    ),
    "vectors of tokens beside words": ("tagger", {**VECTORS, "model.embedder.window": 3}),
    "vectors of tokens alone": ("tagger", {**VECTORS, "model.embedder.word_size": 0, "model.embedder.spelling": None}),
}
"""Networks of pieces that no preset's base has, by name: a preset, and what is set in it."""
TREES = GrammarCorpus(tags="heads", train=40, dev=5, test=5)
"""The same for parsers."""


def small(base: TrialConfig, precision: str = "float64") -> TrialConfig:
    """The same network, recipe and vocabulary in a few thousand weights."""
    tree: Any = base.model_dump(mode="json")
    for (*parents, name), largest in LARGEST.items():
        inner = tree
        for parent in parents:
            inner = inner[parent] or {}
        if name in inner:  # not every kind of stack has every size, nor every recipe pretraining
            inner[name] = min(inner[name], largest)
    tree["training"]["precision"] = precision
    tree["data"]["vocabulary"]["word_classes"] = []  # of slots, which the grammar has not
    tree["model"]["embedder"].pop("class_size", None)
    return TrialConfig.model_validate(tree)


def _corpus(config: TrialConfig) -> GrammarCorpus | NumbersCorpus:
    if isinstance(config.data.corpus, NumbersCorpus):
        return NUMBERS
    return TREES if config.model.head.kind == "biaffine" else GRAMMAR


def training(
    name: str, folder: Path, precision: str = "float64", device: str = "cpu", graphs: Graphs | None = None
) -> Training:
    """Of a preset's base, or of a network of ``PIECES``, made small, before its first step."""
    preset, overrides = PIECES.get(name, (name, {}))
    config = small(load_study(preset, overrides=overrides)[0].space.base, precision)
    corpus = _corpus(config)
    stored = open_store(store(corpus, root=folder, data_dir=None, folder=folder))
    vectors = None if config.data.vectors is None else _vectors(stored, folder)
    return Training(
        model=config.model,
        training=config.training,
        corpus=prepare(stored, DataConfig(vocabulary=config.data.vocabulary), LONGEST_AFFIX, vectors),
        lanes=[Lane(seed=seed) for seed in LANES],
        order_seed=0,
        device=torch.device(device),
        graphs=graphs,
    )


def _vectors(stored: StoredCorpus, folder: Path) -> Any:
    """A vector of random numbers for each token."""
    random = np.random.default_rng(0)
    values = {name: random.standard_normal((len(split.forms_N), 8)) for name, split in stored.splits.items()}
    save_file(values, folder / "vectors.safetensors")
    return open_vectors(store_token_vectors(folder / "vectors.safetensors", stored, root=folder))


def curve(name: str, folder: Path) -> list[list[float]]:
    """The mean loss a tag before each step, lane by lane."""
    run = training(name, folder)
    run.pretrain()
    run.model.train()
    losses = [run.step(batch) for batch in islice(_batches(run), STEPS)]
    return torch.stack([loss_R / tags_R for loss_R, tags_R in losses], dim=1).tolist()


def _batches(run: Training) -> Iterator[Any]:
    for run.epoch in count():
        yield from run.batches()


@pytest.mark.first(9)
@pytest.mark.parametrize("name", [*PIECES, *presets()])
def test_the_first_steps_are_as_agreed(name: str, tmp_path: Path) -> None:
    golden = json.loads(CURVES.read_text())
    assert name in golden, f"no golden curve of {name}: write it with `{COMMAND}`"
    ours, agreed = (torch.tensor(values, dtype=torch.float64) for values in (curve(name, tmp_path), golden[name]))
    assert ours.shape == agreed.shape == (len(LANES), STEPS)
    moved = ~((ours - agreed).abs() <= TOLERANCE).all(dim=0)  # a loss that is no number has moved
    step = int(moved.int().argmax())
    assert not moved.any(), (
        f"{name} trains otherwise than agreed from step {step} on: {ours[:, step].tolist()} in place of "
        f"{agreed[:, step].tolist()}; if that is meant, write the curves anew with `{COMMAND}`"
    )


def test_there_is_no_curve_of_a_network_that_is_gone() -> None:
    gone = set(json.loads(CURVES.read_text())) - {*PIECES, *presets()}
    assert not gone, f"golden curves of {sorted(gone)}: no such network; write the curves anew with `{COMMAND}`"


def test_a_curve_goes_down_and_its_lanes_differ(tmp_path: Path) -> None:
    first, second = curve("quickstart", tmp_path)
    assert first != second
    assert sum(first[-5:]) < sum(first[:5])


def main() -> None:
    """Write all curves."""
    curves = {}
    for name in (*PIECES, *presets()):
        with TemporaryDirectory() as folder:
            curves[name] = curve(name, Path(folder))
    lines = [f"{json.dumps(name)}: {json.dumps(values)}" for name, values in curves.items()]
    CURVES.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    print(f"{CURVES}: {len(curves)} curves of {STEPS} steps")


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
