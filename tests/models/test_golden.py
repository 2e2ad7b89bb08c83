"""Golden curves: the loss of the first 20 steps of every preset's base, made small, as it was when last agreed upon.

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

import pytest
import torch

from skipstack.data.corpora.config import DataConfig
from skipstack.data.corpora.synthetic.grammar import GrammarCorpus
from skipstack.data.corpora.synthetic.numbers import NumbersCorpus
from skipstack.data.store.prepared import prepare
from skipstack.data.store.stored import open_store
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
    preset: str, folder: Path, precision: str = "float64", device: str = "cpu", graphs: Graphs | None = None
) -> Training:
    """Of a preset's base, made small, before its first step."""
    config = small(load_study(preset)[0].space.base, precision)
    corpus = _corpus(config)
    stored = open_store(store(corpus, root=folder, data_dir=None, folder=folder))
    return Training(
        model=config.model,
        training=config.training,
        corpus=prepare(stored, DataConfig(vocabulary=config.data.vocabulary), LONGEST_AFFIX),
        lanes=[Lane(seed=seed) for seed in LANES],
        order_seed=0,
        device=torch.device(device),
        graphs=graphs,
    )


def curve(preset: str, folder: Path) -> list[list[float]]:
    """The mean loss a tag before each step, lane by lane."""
    run = training(preset, folder)
    run.pretrain()
    run.model.train()
    losses = [run.step(batch) for batch in islice(_batches(run), STEPS)]
    return torch.stack([loss_R / tags_R for loss_R, tags_R in losses], dim=1).tolist()


def _batches(run: Training) -> Iterator[Any]:
    for run.epoch in count():
        yield from run.batches()


@pytest.mark.first(9)
@pytest.mark.parametrize("preset", presets())
def test_the_first_steps_of_every_presets_base_are_as_agreed(preset: str, tmp_path: Path) -> None:
    golden = json.loads(CURVES.read_text())
    assert preset in golden, f"no golden curve of {preset}: write it with `{COMMAND}`"
    ours, agreed = (torch.tensor(values, dtype=torch.float64) for values in (curve(preset, tmp_path), golden[preset]))
    assert ours.shape == agreed.shape == (len(LANES), STEPS)
    moved = ~((ours - agreed).abs() <= TOLERANCE).all(dim=0)  # a loss that is no number has moved
    step = int(moved.int().argmax())
    assert not moved.any(), (
        f"{preset} trains otherwise than agreed from step {step} on: {ours[:, step].tolist()} in place of "
        f"{agreed[:, step].tolist()}; if that is meant, write the curves anew with `{COMMAND}`"
    )


def test_there_is_no_curve_of_a_preset_that_is_gone() -> None:
    gone = set(json.loads(CURVES.read_text())) - set(presets())
    assert not gone, f"golden curves of {sorted(gone)}: no such preset; write the curves anew with `{COMMAND}`"


def test_a_curve_goes_down_and_its_lanes_differ(tmp_path: Path) -> None:
    first, second = curve("quickstart", tmp_path)
    assert first != second
    assert sum(first[-5:]) < sum(first[:5])


def main() -> None:
    """Write the curves of all presets."""
    with TemporaryDirectory() as folder:
        curves = {preset: curve(preset, Path(folder)) for preset in presets()}
    lines = [f"{json.dumps(preset)}: {json.dumps(values)}" for preset, values in curves.items()]
    CURVES.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    print(f"{CURVES}: {len(curves)} curves of {STEPS} steps")


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
