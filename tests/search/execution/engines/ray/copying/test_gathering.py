"""What trials have left on a machine is sent while they train, whole files alone."""

from pathlib import Path

from skipstack.data.basis.atomic_files import atomic_file
from skipstack.search.execution.engines.ray.copying.study import gathered
from skipstack.search.study.record.folder import BEST, CHECKPOINT
from tests.search.execution.engines.ray.copying.machines import Cluster, left, machine
from tests.search.execution.engines.ray.copying.test_copying_workers import LeavingWorker, toy_task


def test_all_that_trials_have_left_here_is_sent_but_for_what_is_half_written(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, seconds=1.0)
    with machine(tmp_path / "other") as other:
        gathered(cluster.unseen.word, cluster.server)
        workers = cluster.workers(LeavingWorker)
        training = workers(toy_task(cluster))
        for _ in range(3):
            training.run_epoch()
        with (
            workers.placed(toy_task(cluster), trains=False) as (reading, _),
            atomic_file(folder_of(other) / BEST) as half,
        ):
            half.write_text("half")
            (reading.folder / BEST).write_text("not of a trial that trains")
            gathered(cluster.unseen.word, cluster.server)
        arrived = cluster.study.trial(0)
        assert (arrived / CHECKPOINT).read_text() == "epoch 3"
        assert sorted(path.name for path in arrived.iterdir()) == ["attempt", BEST, CHECKPOINT]
        training.close()
        assert left(other) == []


def test_a_trial_that_another_machine_has_taken_over_is_left_alone(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path, seconds=1.0)
    with machine(tmp_path / "other"):
        training = cluster.workers(LeavingWorker)(toy_task(cluster))
        for _ in range(2):
            training.run_epoch()
        cluster.server.begin(0, 2)
        gathered(cluster.unseen.word, cluster.server)
        training.close()
    assert (cluster.study.trial(0) / CHECKPOINT).read_text() == "epoch 1"


def folder_of(other: Path) -> Path:
    """The only trial that trains on a machine."""
    (folder,) = other.glob("*/trials/000000-*")
    return folder
