"""The worker: what it keeps on disk, and that a new one goes on exactly where the last one was."""

import errno
import math
import shutil
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from statistics import fmean

import numpy as np
import pytest
import torch

from skipstack.data.corpora.synthetic.grammar import GrammarCorpus
from skipstack.data.store.stored import open_store
from skipstack.data.store.writing import store
from skipstack.data.tasks.accuracy import Accuracy
from skipstack.models.networks.model import Tokens
from skipstack.models.training import captured
from skipstack.models.training.checkpoint import read_tensors, write_tensors
from skipstack.models.training.together import Together
from skipstack.search.execution.driver.faults import (
    DiskLostError,
    Fault,
    OutOfSpaceError,
    TimeOverError,
    WeightsLostError,
)
from skipstack.search.execution.driver.measuring_on_test import Measurement, measured
from skipstack.search.execution.workers import worker as training_worker
from skipstack.search.execution.workers.attempts import ATTEMPT, SupersededError
from skipstack.search.execution.workers.metered import MeteredWorkers
from skipstack.search.execution.workers.worker import TrainingWorker, lane_groups
from skipstack.search.study.record.folder import BEST, CHECKPOINT, GROUP
from skipstack.search.study.task import EpochResult, TrialTask
from skipstack.spaces.trial import TrialConfig
from tests.models.kernels.chosen import chosen
from tests.models.training.standin import ReplayedOnCpu

CONFIG = TrialConfig.model_validate(
    {
        "data": {"corpus": {"kind": "grammar", "train": 60, "dev": 30, "test": 30}},
        "model": {
            "embedder": {"kind": "tokens", "word_size": 8, "affix_characters": 1, "window": 1},
            "stack": {"kind": "recurrent", "depth": 2, "hidden": 6},
            "initial_scale": 1.0,
        },
        "training": {"epochs": 4, "batch_size": 8, "optimiser": {"kind": "adam", "learning_rate": 0.02}},
    }
)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    assert isinstance(CONFIG.data.corpus, GrammarCorpus)
    root = tmp_path_factory.mktemp("corpora")
    return store(CONFIG.data.corpus, root=root, data_dir=None, folder=root)


def task(
    corpus: Path, folder: Path, *, config: TrialConfig = CONFIG, reported: int = 0, lanes: int | str = "auto"
) -> TrialTask:
    return TrialTask(
        number=0,
        config=config,
        seeds=(0, 1, 2),
        order_seed=3,
        lanes=lanes,  # type: ignore[arg-type]
        corpus=corpus,
        folder=folder,
        device="cpu",
        reported=reported,
    )


def told(result: EpochResult) -> tuple[object, ...]:
    return result.epoch, result.score, result.metrics


def curve(corpus: Path, folder: Path, epochs: int) -> list[tuple[object, ...]]:
    worker = TrainingWorker(task(corpus, folder))
    return [told(worker.run_epoch()) for _ in range(epochs)]


@pytest.mark.slow
def test_captured_steps_are_trained_where_the_device_says_so(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(captured, "WARM", 1)
    graphs = list[ReplayedOnCpu]()
    monkeypatch.setattr(training_worker, "choose_device", lambda _: torch.device("cpu"))
    monkeypatch.setattr(training_worker, "CudaGraphs", lambda _: graphs.append(ReplayedOnCpu()) or graphs[-1])
    with chosen("reference"):
        whole = curve(corpus, tmp_path / "plain", 3)
        worker = TrainingWorker(replace(task(corpus, tmp_path / "captured"), device="cuda-graphs"))
        assert [told(worker.run_epoch()) for _ in range(3)] == whole
    assert [each.replays > 0 for each in graphs] == [True]


def test_a_worker_that_cannot_read_its_checkpoint_leaves_the_program_to_the_others(
    corpus: Path, tmp_path: Path
) -> None:
    together, broken = Together(), task(corpus, tmp_path / "broken")
    (broken.folder / CHECKPOINT).mkdir(parents=True)
    with pytest.raises(IsADirectoryError):
        TrainingWorker(broken, together)
    (part,) = TrainingWorker(task(corpus, tmp_path / "whole"), together).parts
    assert together.company(part) == [part]


@pytest.mark.first(1)
@pytest.mark.parametrize("reported", [0, 1, 2, 3])
def test_a_new_worker_goes_on_where_the_ledger_is_whatever_the_last_one_left(
    reported: int, corpus: Path, tmp_path: Path
) -> None:
    """The last worker trained three epochs; the ledger has heard of ``reported`` of them."""
    whole = curve(corpus, tmp_path / "whole", 4)
    curve(corpus, tmp_path / "killed", 3)
    worker = TrainingWorker(task(corpus, tmp_path / "killed", reported=reported))
    assert [told(worker.run_epoch()) for _ in range(4 - reported)] == whole[reported:]
    best, notes = read_tensors(tmp_path / "killed" / BEST)
    expected, expected_notes = read_tensors(tmp_path / "whole" / BEST)
    assert notes == expected_notes
    assert all(torch.equal(best[name], expected[name]) for name in expected)


def test_an_epoch_that_was_trained_but_not_reported_is_not_trained_again(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = curve(corpus, tmp_path, 2)
    worker = TrainingWorker(task(corpus, tmp_path, reported=1))
    monkeypatch.setattr(worker, "_train_epoch", lambda: pytest.fail("trained"))
    assert told(worker.run_epoch()) == whole[1]


def test_a_checkpoint_of_another_trial_is_not_taken_up(corpus: Path, tmp_path: Path) -> None:
    curve(corpus, tmp_path, 2)
    other = CONFIG.model_copy(update={"model": CONFIG.model.model_copy(update={"initial_scale": 0.5})})
    fresh = TrainingWorker(task(corpus, tmp_path / "fresh", config=other)).run_epoch()
    assert told(TrainingWorker(task(corpus, tmp_path, config=other)).run_epoch()) == told(fresh)


def test_the_best_weights_are_those_of_the_best_epoch(corpus: Path, tmp_path: Path) -> None:
    results = curve(corpus, tmp_path, 4)
    best = max(results, key=lambda result: (result[1], -int(str(result[0]))))
    _, notes = read_tensors(tmp_path / BEST)
    assert (notes["epoch"], notes["score"]) == best[:2]


def test_lanes_trained_together_or_one_by_one_give_the_same_scores(corpus: Path, tmp_path: Path) -> None:
    results = [
        TrainingWorker(task(corpus, tmp_path / str(lanes), lanes=lanes, config=double(CONFIG))).run_epoch()
        for lanes in (1, 2, 3)
    ]
    for name, values in results[0].metrics.items():
        for other in results[1:]:
            assert all(math.isclose(a, b, abs_tol=1e-10) for a, b in zip(values, other.metrics[name], strict=True))
    assert results[0].score == fmean(results[0].metrics["dev_accuracy"])


@pytest.mark.first(1)
@pytest.mark.parametrize(("there", "here"), [(3, 1), (2, 3), (1, 2)])
def test_lanes_trained_together_go_on_one_by_one_and_the_other_way_round(
    there: int, here: int, corpus: Path, tmp_path: Path
) -> None:
    """As where a trial of a wide network moves from a GPU to a CPU."""
    config = double(CONFIG)
    whole = TrainingWorker(task(corpus, tmp_path / "whole", config=config))
    expected = [whole.run_epoch() for _ in range(3)][2]
    first = TrainingWorker(task(corpus, tmp_path / "moved", config=config, lanes=there))
    for _ in range(2):
        first.run_epoch()
    second = TrainingWorker(task(corpus, tmp_path / "moved", config=config, lanes=here, reported=2))
    assert [group.epoch for group in second.groups] == [2] * -(-3 // here)
    moved = second.run_epoch()
    for name, values in moved.metrics.items():
        assert all(math.isclose(a, b, abs_tol=1e-9) for a, b in zip(values, expected.metrics[name], strict=True)), name


def test_groups_hold_every_seed_once_in_order(corpus: Path, tmp_path: Path) -> None:
    cpu = torch.device("cpu")
    assert lane_groups(task(corpus, tmp_path), cpu) == [(0, 1, 2)]
    assert lane_groups(task(corpus, tmp_path, lanes=2), cpu) == [(0, 1), (2,)]
    stack = CONFIG.model.stack.model_copy(update={"hidden": 465})
    wide = CONFIG.model_copy(update={"model": CONFIG.model.model_copy(update={"stack": stack})})
    assert lane_groups(task(corpus, tmp_path, config=wide), cpu) == [(0,), (1,), (2,)]
    assert lane_groups(task(corpus, tmp_path, config=wide), torch.device("cuda")) == [(0, 1, 2)]


@pytest.mark.slow
def test_further_seeds_are_trained_as_they_would_be_alone_and_their_best_weights_stand_beside_the_earlier_ones(
    corpus: Path, tmp_path: Path
) -> None:
    def group(name: str, seeds: tuple[int, ...], earlier: tuple[int, ...] = (), reported: int = 0) -> TrialTask:
        own = task(corpus, tmp_path / name, config=double(CONFIG), reported=reported)
        return replace(own, seeds=seeds, earlier=earlier)

    def trained(name: str, seeds: tuple[int, ...], earlier: tuple[int, ...] = ()) -> list[tuple[object, ...]]:
        worker = TrainingWorker(group(name, seeds, earlier))
        return [told(worker.run_epoch()) for _ in range(4)]

    trained("race", (0,))
    first, _ = read_tensors(tmp_path / "race" / BEST)
    further = trained("race", (1, 2), (0,))
    assert further == trained("alone", (1, 2))
    alone, _ = read_tensors(tmp_path / "alone" / BEST)
    # A driver that was killed asks for the last epoch again: nothing is joined twice.
    TrainingWorker(group("race", (1, 2), (0,), reported=3)).run_epoch()
    both, _ = read_tensors(tmp_path / "race" / BEST)
    for name, tensor in both.items():
        assert torch.equal(tensor, torch.cat([first[name], alone[name]]))
    # Weights that are lost are trained again, group after group, by the last epoch that each reported.
    for path in (tmp_path / "race" / BEST, tmp_path / "race" / CHECKPOINT):
        path.unlink()
    shutil.rmtree(tmp_path / "race" / GROUP.format(1))
    with pytest.raises(WeightsLostError, match="no such file"):
        TrainingWorker.test(group("race", (0, 1, 2)))
    again = (group("race", (0,), reported=3), group("race", (1, 2), (0,), reported=3))
    found = measured(TrainingWorker, Measurement(group("race", (0, 1, 2)), again))
    assert not isinstance(found, Fault)
    assert read_tensors(tmp_path / "race" / BEST)[0].keys() == both.keys()
    assert all(torch.equal(tensor, both[name]) for name, tensor in read_tensors(tmp_path / "race" / BEST)[0].items())
    alone = TrainingWorker.test(group("alone", (1, 2)))
    assert found.metrics["test_accuracy"][1:] == alone.metrics["test_accuracy"]


def test_a_loss_that_is_no_number_leaves_the_epoch_without_a_score(corpus: Path, tmp_path: Path) -> None:
    training = CONFIG.training.model_validate(
        {"epochs": 4, "batch_size": 8, "optimiser": {"kind": "sgd", "learning_rate": 1e39}}
    )
    worker = TrainingWorker(task(corpus, tmp_path, config=CONFIG.model_copy(update={"training": training})))
    result = worker.run_epoch()
    assert math.isnan(result.score)
    assert all(0 <= accuracy <= 1 for accuracy in result.metrics["dev_accuracy"])
    assert not (tmp_path / BEST).exists()
    assert (tmp_path / CHECKPOINT).exists()


def test_the_test_split_is_measured_with_the_best_weights_lane_by_lane(corpus: Path, tmp_path: Path) -> None:
    worker = TrainingWorker(task(corpus, tmp_path, config=double(CONFIG)))
    worker.run_epoch()
    fused = worker.groups[0].evaluate("test")
    found = TrainingWorker.test(task(corpus, tmp_path, config=double(CONFIG)))
    metrics = found.metrics
    assert metrics["test_accuracy"] == fused.accuracy
    assert all(math.isclose(a, b, abs_tol=1e-12) for a, b in zip(metrics["test_loss"], fused.loss, strict=True))
    # Each sentence read alone, its tags counted one by one.
    assert found.sentences is not None
    counts = found.sentences.array(("correct", "tags"))
    assert Accuracy().of_counts(counts.sum(axis=1)).tolist() == list(metrics["test_accuracy"])
    stored, model = open_store(corpus), worker.groups[0].model.eval()
    split = stored.splits["test"]
    for number, (start, stop) in enumerate(pairwise(split.offsets_S1.tolist())):
        forms = torch.as_tensor(split.forms_N[start:stop].astype(np.int64)).view(1, -1, 1).expand(3, -1, -1)
        tokens = Tokens(forms, torch.full((3, 1), stop - start))
        for lane, tags in enumerate(model.decode(tokens, worker.groups[0].lexicon).tags_RUB[..., 0].tolist()):
            gold = split.tags_L[start:stop].tolist()
            right = sum(one == other != -1 for one, other in zip(tags, gold, strict=True))
            assert counts[lane, number].tolist() == [right, stop - start]


def double(config: TrialConfig) -> TrialConfig:
    return TrialConfig.model_validate(
        {**config.model_dump(), "training": {**config.training.model_dump(), "precision": "float64"}}
    )


def test_an_epoch_that_lasts_longer_than_the_time_that_is_left_is_given_up(corpus: Path, tmp_path: Path) -> None:
    worker = TrainingWorker(replace(task(corpus, tmp_path), time_left=1e-6))
    with pytest.raises(TimeOverError, match=r"search.time_limit"):
        worker.run_epoch()
    assert not (tmp_path / CHECKPOINT).exists()
    assert told(TrainingWorker(replace(task(corpus, tmp_path), time_left=600.0)).run_epoch())[0] == 1


def test_epochs_that_the_ledger_has_are_trained_again_whatever_time_is_left(corpus: Path, tmp_path: Path) -> None:
    """The checkpoint is lost; what the trial used for these epochs was counted already."""
    whole = curve(corpus, tmp_path / "whole", 3)
    worker = TrainingWorker(replace(task(corpus, tmp_path, reported=2), time_left=1e-6))
    with pytest.raises(TimeOverError):
        worker.run_epoch()
    assert worker.groups[0].epoch == 2
    worker = TrainingWorker(replace(task(corpus, tmp_path, reported=2), time_left=600.0))
    assert told(worker.run_epoch()) == whole[2]


def test_a_disk_that_is_full_leaves_the_epoch_before_and_says_so_in_one_line(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = curve(corpus, tmp_path / "whole", 3)
    worker = TrainingWorker(task(corpus, tmp_path / "full"))
    worker.run_epoch()
    before = {path.name: path.read_bytes() for path in (tmp_path / "full").iterdir()}

    def half(path: Path, data: bytes) -> int:
        with path.open("wb") as file:
            file.write(data[: len(data) // 2])
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", half)
        with pytest.raises(OutOfSpaceError, match=r"safetensors: not written, the disk is full") as raised:
            worker.run_epoch()
    assert "\n" not in str(raised.value)
    assert {path.name: path.read_bytes() for path in (tmp_path / "full").iterdir()} == before
    again = TrainingWorker(replace(task(corpus, tmp_path / "full", reported=1), attempt=2))
    assert [told(again.run_epoch()) for _ in range(2)] == whole[1:]


def test_a_file_of_its_own_that_cannot_be_written_for_whatever_reason_is_not_the_trials_fault(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def denied(path: Path, data: bytes) -> int:
        raise PermissionError(errno.EACCES, "Permission denied")

    worker = TrainingWorker(task(corpus, tmp_path))
    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", denied)
        with pytest.raises(DiskLostError, match=r"safetensors: cannot be written: PermissionError: .* denied"):
            worker.run_epoch()


def test_a_disk_that_takes_half_of_the_number_of_an_attempt_stops_no_later_attempt(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = Path.write_bytes

    def doubled(path: Path, data: bytes) -> int:
        """What is in a file's buffer is written again when the file is closed."""
        if "attempt" in path.name:
            write(path, data[:1] + data)
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(path, data)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", doubled)
        patch.setattr(Path, "write_text", lambda path, text: doubled(path, text.encode()))
        with pytest.raises(OutOfSpaceError):
            TrainingWorker(task(corpus, tmp_path)).run_epoch()
    TrainingWorker(replace(task(corpus, tmp_path), attempt=2)).run_epoch()
    assert (tmp_path / ATTEMPT).read_text() == "2\n"
    assert not list(tmp_path.glob(".*"))


def test_a_worker_that_was_given_up_on_writes_nothing_once_another_has_begun(corpus: Path, tmp_path: Path) -> None:
    late = TrainingWorker(task(corpus, tmp_path))
    late.run_epoch()
    torn = tmp_path / f".{BEST}.1234"
    torn.write_bytes(b"torn")
    new = TrainingWorker(replace(task(corpus, tmp_path, reported=1), attempt=2))
    new.run_epoch()
    new.run_epoch()
    assert not torn.exists()
    files = {path: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(SupersededError, match="attempt 1 was given up, 2 has begun"):
        late.run_epoch()
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == files


def test_a_checkpoint_that_is_no_longer_whole_costs_time_and_nothing_else(corpus: Path, tmp_path: Path) -> None:
    whole = curve(corpus, tmp_path, 4)
    (tmp_path / CHECKPOINT).write_bytes((tmp_path / CHECKPOINT).read_bytes()[:100])
    assert told(TrainingWorker(replace(task(corpus, tmp_path, reported=3), attempt=2)).run_epoch()) == whole[3]


def test_a_checkpoint_without_the_best_weights_that_it_speaks_of_is_not_taken_up(corpus: Path, tmp_path: Path) -> None:
    """A power cut took a rename away, of two that no disk was asked to keep in order."""
    whole = curve(corpus, tmp_path, 4)
    kept, notes = read_tensors(tmp_path / BEST)
    for lost in (None, write_tensors):
        if lost is None:
            (tmp_path / BEST).unlink()
        else:
            lost(tmp_path / BEST, kept, {**notes, "epoch": 1, "score": 0.0})
        assert told(TrainingWorker(replace(task(corpus, tmp_path, reported=3), attempt=2)).run_epoch()) == whole[3]
        again, told_again = read_tensors(tmp_path / BEST)
        assert told_again == notes
        assert all(torch.equal(again[name], tensor) for name, tensor in kept.items())


def test_a_worker_that_measures_itself_trains_number_for_number_as_one_that_does_not(
    corpus: Path, tmp_path: Path
) -> None:
    plain, metered = (
        TrainingWorker(task(corpus, tmp_path / "plain")),
        MeteredWorkers(TrainingWorker)(task(corpus, tmp_path / "metered")),
    )
    one, other = plain.run_epoch(), metered.run_epoch()
    assert (one.epoch, one.score, one.metrics) == (other.epoch, other.score, other.metrics)
    assert one.usage is None
    assert other.usage is not None
