"""Trains a trial again on the training split and dev, up to its best epoch or for a given number of epochs. Nothing is
selected by the result.
"""

from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from skipstack.data.basis.errors import UserError
from skipstack.data.basis.saying import Say
from skipstack.data.store.joining import with_dev_in_train
from skipstack.data.store.prepared import PreparedCorpus, prepare
from skipstack.data.store.stored import StoredCorpus, open_store
from skipstack.data.store.token_vectors import with_token_vectors
from skipstack.data.store.vectors import open_vectors
from skipstack.models.configs.inputs import LONGEST_AFFIX
from skipstack.models.ground.device import choose_device
from skipstack.models.layers.lanes import Lane
from skipstack.models.training.loop import Training
from skipstack.search.execution.workers.worker import stored_in
from skipstack.search.publishing.bundles.members import Members, course_of, reports_of
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.search.study.record.trial_record import TrialRecord
from skipstack.search.study.task import TrialTask, trial_task
from skipstack.spaces.trial import TrialConfig, as_network


def retrained(
    record: StudyRecord,
    folder: StudyFolder,
    trial: TrialRecord,
    seeds: Sequence[int],
    *,
    epochs: int | None = None,
    device: str,
    tell: Say,
) -> Members:
    """Train ``seeds`` of a trial again on the training split and dev, and return the final weights. ``epochs``: the
    number of epochs; None trains each seed up to its best epoch in the study.

    The learning rates are those that the study recorded for the seed. A schedule that depends on dev scores cannot be
    applied, since dev is trained on. The study does not change. ``tell``: receives a line for each epoch. Raises
    UserError if the study recorded fewer than ``epochs`` epochs of a seed, if the network cannot be trained on dev, if
    the vocabulary has no capacity for the words of both splits, and if a seed diverges.
    """
    torch.set_num_threads(1)  # so that sums are computed in the same order on every machine
    rates = [_rates(trial, seed, epochs) for seed in seeds]
    task = trial_task(record, folder, trial.config, number=trial.number, seeds=tuple(seeds), device=device)
    corpus = _corpus(task, tell)
    weights = [_trained(task, corpus, seed, own, tell) for seed, own in zip(seeds, rates, strict=True)]
    return Members(
        weights_R={name: torch.cat([each[name] for each in weights]) for name in weights[0]},
        seeds=tuple(seeds),
        epochs=tuple(map(len, rates)),
        corpus=corpus,
        trained_on="train and dev",
    )


def both_splits(stored: StoredCorpus, config: TrialConfig, vectors: Path | None = None) -> PreparedCorpus:
    """Prepare a corpus for training on the training split and dev together. Raises UserError if that is impossible.

    ``vectors``: the folder of the stored vectors; None if the network has none.
    """
    found = None if vectors is None else open_vectors(vectors)
    joined = with_dev_in_train(with_token_vectors(stored, found))
    return prepare(joined, config.data, LONGEST_AFFIX, vectors=found)


def _corpus(task: TrialTask, tell: Say) -> PreparedCorpus:
    stored = open_store(stored_in(task))
    try:
        corpus = both_splits(stored, as_network(task.config), task.vectors)
    except UserError as error:
        raise UserError(f"--retrain: trial {task.number}: {error}") from None
    train, dev = (len(stored.splits[split].lengths_S) for split in ("train", "dev"))
    if left_out := train + dev - len(corpus.stored.splits["train"].lengths_S):
        tell(f"{left_out} of {dev} sentences of dev have a label that train lacks, and are left out")
    return corpus


def _rates(trial: TrialRecord, seed: int, epochs: int | None) -> list[float]:
    """Return the learning rates that the study recorded for a seed's first ``epochs`` epochs; None means up to the
    seed's best epoch. Raises UserError if the study recorded fewer epochs.
    """
    reports = course_of(trial, seed) if epochs is None else reports_of(trial, seed)
    if epochs is not None and not 1 <= epochs <= len(reports):
        raise UserError(
            f"--epochs: got {epochs} (allowed: 1 to {len(reports)}, the epochs of trial {trial.number} whose learning "
            "rates the study recorded)"
        )
    return [report.metrics["learning_rate"][(report.seeds or trial.seeds).index(seed)] for report in reports[:epochs]]


def _trained(
    task: TrialTask, corpus: PreparedCorpus, seed: int, rates: Sequence[float], tell: Say
) -> dict[str, Tensor]:
    training = Training(
        model=as_network(task.config).model,
        training=as_network(task.config).training,
        corpus=corpus,
        lanes=[Lane(seed=seed)],
        order_seed=task.order_seed,
        device=choose_device(task.device),
    )
    for epoch, rate in enumerate(rates, start=1):
        training.learning_rate_R = torch.tensor([rate], dtype=torch.float64)
        [loss] = training.train_epoch().tolist()
        tell(f"trial {task.number}, seed {seed}: epoch {epoch} of {len(rates)} on train and dev, loss {loss:.4f}")
    weights = training.model.state_dict()
    if not all(bool(torch.isfinite(weight).all()) for weight in weights.values()):
        raise UserError(
            f"--retrain: trial {task.number}: seed {seed} diverges on train and dev (allowed: another, by --trial N)"
        )
    return weights
