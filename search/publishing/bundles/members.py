"""Reads a trial's trained networks for export into a bundle."""

from dataclasses import dataclass

from skipstack.data.store.prepared import PreparedCorpus
from skipstack.models.training.checkpoint import Tensors
from skipstack.search.execution.workers.worker import best_weights, evaluated_corpus
from skipstack.search.ledger.events import Reported
from skipstack.search.publishing.bundles.checks import TrainedOn
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.record.seed_races import best_of
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.search.study.record.trial_record import TrialRecord
from skipstack.spaces.trial import as_network


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Members:
    """Trained networks of one config, to be exported into one bundle. Each is a lane (one seed's copy of the network).

    ``weights_R``: the weights by name, with the lanes as the first axis R. ``seeds``: the seed of each lane.
    ``epochs``: the number of epochs after which each lane's weights were saved. ``corpus``: the training corpus with
    its vocabulary. ``trained_on``: the splits used for training.
    """

    weights_R: Tensors
    seeds: tuple[int, ...]
    epochs: tuple[int, ...]
    corpus: PreparedCorpus
    trained_on: TrainedOn


def left_by(record: StudyRecord, folder: StudyFolder, trial: TrialRecord, *, ensemble: bool) -> Members:
    """Read the networks that a trial saved at its best epoch. ``ensemble``: whether to read all lanes, or only the lane
    with the best dev score. Raises UserError as ``best_weights`` does.
    """
    config, score_R = as_network(trial.config), list(trial.dev.values())
    lanes = range(len(score_R)) if ensemble else [score_R.index(max(score_R))]
    weights_R = best_weights(folder.trial(trial.number), trial.weights_identity, trial.weights_epoch)
    seeds = tuple(trial.seeds[lane] for lane in lanes)
    return Members(
        weights_R={name: weight[list(lanes)] for name, weight in weights_R.items()},
        seeds=seeds,
        epochs=tuple(course_of(trial, seed)[-1].epoch for seed in seeds),
        corpus=evaluated_corpus(
            folder.stored(record.corpus_of(config)),
            config.data,
            None if (vectors := record.vectors_of(config)) is None else folder.stored(vectors),
        ),
        trained_on="train",
    )


def course_of(trial: TrialRecord, seed: int) -> list[Reported]:
    """Return the reports of a seed up to its best epoch. The trial must have a score. If seeds race, seeds that were
    trained together form a group, and each group has its own best epoch.
    """
    own = reports_of(trial, seed)
    best = best_of(own)
    assert best is not None, "seeds that count in a score have a best epoch"
    return [report for report in own if report.epoch <= best.epoch]


def reports_of(trial: TrialRecord, seed: int) -> list[Reported]:
    """Return all reports of a seed: those of its group, if seeds race."""
    return next(group for seeds, group in trial.groups.items() if seed in seeds)
