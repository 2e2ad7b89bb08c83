"""Ablations that share one error budget."""

import errno
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from skipstack.search.analysis.ablation.experiment import Experiment, arm_of
from skipstack.search.analysis.ablation.families import parts_of, place_in_family
from skipstack.search.analysis.confirmation.ablated import ablated
from skipstack.search.analysis.confirmation.rounds import next_part
from skipstack.search.ledger.sentences import SentenceCounts
from skipstack.search.study.record.reading import read_study
from skipstack.search.study.record.whole_ablations import whole_ablations
from skipstack.search.study.task import Measured, TrialTask
from tests.search.analysis.ablation.toys import PlantedWorker, beginning, grid_search, made, run_ablation
from tests.search.toy import ToyWorker

AXES: dict[str, object] = {
    "model.stack.depth": {"choice": [1, 3]},
    "training.optimiser.learning_rate": {"choice": [0.001, 0.01]},
}


def test_shares_of_a_family_add_up_to_one() -> None:
    shares = [1 / parts_of(place) for place in range(1, 2001)]
    assert sum(shares) == pytest.approx(1, abs=1e-3)
    assert sum(shares) < 1
    assert shares == sorted(shares, reverse=True)


def test_each_ablation_of_a_family_takes_the_next_place_also_in_another_study_beside_it(tmp_path: Path) -> None:
    one, other = (grid_search(tmp_path / name, AXES) for name in ("one", "other"))
    elsewhere = grid_search(tmp_path / "elsewhere" / "third", AXES)
    for place, path in enumerate((one, other, one), 1):
        assert place_in_family("paper", path) == place
        planned = made(path, seeds=3, family="paper", place=place)
        run_ablation(path, planned.number, beginning(path, planned), worker=PlantedWorker)
    assert place_in_family("paper", other) == 4
    assert place_in_family("another", other) == 1
    assert place_in_family("paper", elsewhere) == 1
    assert place_in_family("paper", elsewhere, [one]) == 3


def test_a_folder_beside_the_study_that_nobody_else_may_read_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study, private = grid_search(tmp_path / "study", AXES), tmp_path / "private"
    private.mkdir()
    stat = os.stat

    def refusing(path: Any, **options: Any) -> os.stat_result:
        """As the kernel does, but for root, who may read everything."""
        if isinstance(path, str | Path) and private in Path(path).parents:
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return stat(path, **options)

    monkeypatch.setattr(os, "stat", refusing)
    assert place_in_family("paper", study) == 1


def test_the_parts_of_one_ablation_count_once(tmp_path: Path) -> None:
    class Open(ToyWorker):
        @classmethod
        def test(cls, task: TrialTask) -> Measured:
            """With one layer, two of a hundred tags more are right, or four: too few seeds to mark it at once."""
            more = [2 * (1 + seed % 2) if task.config.model.stack.depth == 1 else 0 for seed in task.seeds]
            counts = np.array([[[60 + each, 100]] * 4 for each in more])
            accuracies = tuple((counts[..., 0].sum(axis=1) / 400).tolist())
            sentences = SentenceCounts.of(counts, ("correct", "tags"))
            return Measured(metrics={"test_accuracy": accuracies}, sentences=sentences)

    path = grid_search(tmp_path / "study", AXES)
    planned = made(path, seeds=2, retune=2, until_decided=True, at_most=6, family="paper")
    following: Experiment | None = arm_of(read_study(path), planned.plan, 0, time=2.0)
    while following is not None:
        plan = following.plan
        run_ablation(path, following.number, beginning(path, following), worker=Open)
        assert place_in_family("paper", path) == 2
        following = next_part(read_study(path), time=2.0)
    assert plan.continues is not None, "its last part is a round of seeds"


@pytest.mark.slow
def test_p_values_and_intervals_are_those_of_the_share(tmp_path: Path) -> None:
    path = grid_search(tmp_path / "study", AXES)
    for place in (1, 3):
        planned = made(path, seeds=3, family="paper", place=place)
        run_ablation(path, planned.number, beginning(path, planned), worker=PlantedWorker)
        found = whole_ablations(read_study(path))[planned.number]
        assert found.plan is not None
        alone = found.plan.model_copy(update={"family": ""})
        rows = ablated(found).rows
        found.plan = alone
        for row, plain in zip(rows, ablated(found).rows, strict=True):
            if row.is_reference:
                continue
            assert plain.p is not None
            assert row.p == pytest.approx(min(1.0, plain.p * place * (place + 1)))
            assert row.marked == (row.p is not None and row.p < 0.05)
            assert row.corrected is not None
            assert plain.corrected is not None
            assert row.corrected[0] < plain.corrected[0] < plain.corrected[1] < row.corrected[1]
            assert row.marked == (not row.corrected[0] <= 0 <= row.corrected[1])
