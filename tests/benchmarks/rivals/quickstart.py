"""A trial of the quickstart as a script would train it: so scripts differ from us in what surrounds training alone."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import fmean

import torch

from skipstack.data.store.prepared import prepare
from skipstack.data.store.stored import open_store
from skipstack.data.store.writing import store
from skipstack.models.configs.inputs import LONGEST_AFFIX
from skipstack.models.layers.lanes import Lane
from skipstack.models.training.loop import Training
from skipstack.search.study.study_files.study_file import load_study
from skipstack.spaces.space import Space

SEEDS, EPOCHS, GRACE, REDUCTION = (0, 1), 6, 2, 2
DEPTHS, COMPOSITIONS, GATES, RATES = (1, 3, 5), (0, 2), ("none", "sigmoid_below"), (0.003, 0.03)


def prepared(folder: Path) -> Path:
    """The folder of the corpus, written once before the trials."""
    corpus = load_study("quickstart")[0].space.base.data.corpus
    return store(corpus, root=folder, data_dir=None, folder=folder)


def scores(parameters: Mapping[str, object], corpus: Path) -> Iterator[float]:
    """The mean dev score of the seeds after each epoch."""
    torch.set_num_threads(1)
    config = Space(load_study("quickstart")[0].space).config(
        {
            "model.stack.depth": parameters["depth"],
            **({"model.stack.composition": parameters["composition"]} if "composition" in parameters else {}),
            **({"model.stack.shortcut.gate": parameters["gate"]} if "gate" in parameters else {}),
            "training.optimiser.learning_rate": parameters["learning_rate"],
        }
    )
    run = Training(
        model=config.model,
        training=config.training,
        corpus=prepare(open_store(corpus), config.data, LONGEST_AFFIX),
        lanes=[Lane(seed=seed) for seed in SEEDS],
        order_seed=0,
        device=torch.device("cpu"),
    )
    for _ in range(EPOCHS):
        yield fmean(run.run_epoch().dev_score)
