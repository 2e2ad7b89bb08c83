"""Races: what a trial reaches whose seeds were trained in groups, worked out by hand."""

import math

import pytest

from skipstack.search.ledger.events import Ended, Event, Reported
from skipstack.search.study.record.seed_races import best_of_groups, groups, joined
from tests.search.made_up import DEPTH, proposed, record_of, study

EPOCHS = 6


def report(seeds: tuple[int, ...], epoch: int, *accuracies: float, score: float | None = None) -> Reported:
    own = sum(accuracies) / len(accuracies) if score is None else score
    metrics = {"dev_accuracy": accuracies, "train_loss": accuracies}
    return Reported(
        time=epoch, trial=0, epoch=epoch, score=own, metrics=metrics, seconds=float(len(seeds)), seeds=seeds
    )


def curve(seeds: tuple[int, ...], peak: int, height: float) -> list[Reported]:
    """All epochs; at ``peak`` each seed is at ``height``, 0.1 below elsewhere."""
    low = height - 0.1
    return [report(seeds, epoch, *[height if epoch == peak else low] * len(seeds)) for epoch in range(1, EPOCHS + 1)]


def test_each_group_counts_at_its_own_best_epoch_and_by_its_seeds() -> None:
    reports = curve((0,), 2, 0.9) + curve((1, 2, 3), 5, 0.5)
    assert [len(group) for group in groups(reports)] == [EPOCHS, EPOCHS]
    best = best_of_groups(reports, EPOCHS)
    assert best is not None
    assert best.score == pytest.approx((0.9 + 3 * 0.5) / 4)
    assert (best.epoch, best.seeds) == (2, (0, 1, 2, 3))
    assert best.metrics["dev_accuracy"] == (0.9, 0.5, 0.5, 0.5)
    assert (best.time, best.seconds) == (5, 4.0)


@pytest.mark.parametrize("told", range(1, 2 * EPOCHS + 1))
def test_a_group_counts_once_it_is_whole(told: int) -> None:
    config = study({DEPTH: {"choice": [1, 3]}}, seeds=3)
    reports = curve((0,), 2, 0.5) + curve((1, 2), 3, 0.9)
    record = record_of(config, proposed(config, 0, {DEPTH: 3}, seeds=(0,)), *reports[:told])
    trial = record.trials[0]
    whole = told == 2 * EPOCHS
    assert trial.seeds == ((0, 1, 2) if whole else (0,))
    assert trial.score == pytest.approx((0.5 + 2 * 0.9) / 3 if whole else (0.4 if told < 2 else 0.5))
    assert list(trial.dev) == list(trial.seeds)


def test_a_trial_of_more_seeds_stands_before_one_that_lost_to_others_at_fewer() -> None:
    config = study({DEPTH: {"choice": [1, 3]}}, seeds=3)
    events: list[Event] = [proposed(config, 0, {DEPTH: 3}, seeds=(0,)), proposed(config, 1, {DEPTH: 1}, seeds=(0,))]
    events += curve((0,), 2, 0.5) + curve((1, 2), 3, 0.6)
    events += [each.model_copy(update={"trial": 1}) for each in curve((0,), 2, 0.8)]
    assert [trial.number for trial in record_of(config, *events).ranked()] == [0, 1]


def test_further_seeds_that_diverge_leave_the_trial_without_a_score() -> None:
    config = study({DEPTH: {"choice": [1, 3]}}, seeds=3)
    bad = report((1, 2), 1, 0.5, 0.5, score=math.nan)
    ended = Ended(time=9.0, trial=0, reason="diverged")
    record = record_of(config, proposed(config, 0, {DEPTH: 3}, seeds=(0,)), *curve((0,), 2, 0.5), bad, ended)
    assert record.trials[0].score is None


def test_a_single_group_is_itself() -> None:
    (only,) = [report((0, 1), 1, 0.5, 0.7)]
    assert joined([only]) is only
    assert best_of_groups([], EPOCHS) is None
