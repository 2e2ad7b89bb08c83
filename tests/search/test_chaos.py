"""A study ends as if nothing had happened, after random kills, stops and full disks at random moments.

Each test draws new moments, and prints the seed if it fails. Only processes that the test started are killed, by id.
The kinds of faults are spread over three studies of each test, so that none takes longer than twenty minutes.
"""

import os
import subprocess
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from skipstack.search.api.study import exploration_of
from skipstack.search.ledger.events import Decided, Reported
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.publishing.tracking.entry import ROW
from skipstack.search.strategy.schedulers.scheduler import Decision
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.record.reading import read_study
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.search.study.record.trial_record import TrialRecord
from tests.search.changed import scheduler_of
from tests.search.chaos import SMALL, Chaos, Trouble, alone, essence, finish, numbered, reports, runs, skipstack
from tests.search.hosts import missing
from tests.search.tracking_server import TrackingServer
from tests.search.unshared import check_as_alone, made
from tests.search.unshared_chaos import UnsharedChaos

pytestmark = pytest.mark.filterwarnings("default:.*:ResourceWarning")

NEW = ("moved", "stderr", "hangup", "address_space")
CACHES = ("full_cache", "torn_cache")
ENOUGH = 17
"""The minimum number of faults in each of the three studies of a test, so that together they have fifty."""

SERIAL: tuple[Sequence[Trouble], ...] = (
    ("driver", "driver", "weights", "tracking"),
    ("driver", "disk", *CACHES),
    ("driver", *NEW),
)
ON_RAY: tuple[Sequence[Trouble], ...] = (
    ("worker", "worker", "driver", "raylet", "weights"),
    ("worker", "driver", "tracking", *CACHES),
    ("worker", "driver", *NEW),
)
UNSHARED: tuple[Sequence[Trouble], ...] = (
    ("worker", "driver", "raylet", "host", "taken_back", "cluster"),
    ("worker", "driver", "tracking", "weights", "server", "stopped", "unplugged"),
    ("worker", "driver", "disk", "full_scratch", "lost_scratch", *NEW),
)
SEARCH = ("quickstart", *SMALL)
GRID = (
    *("quickstart", *SMALL, "--seeds", "1", "--set", "search.proposer=grid", "--set", "search.scheduler=none"),
    *("--set", "axes.training.optimiser.learning_rate=null", "--set", "axes.model.stack.composition=null"),
)


def seed() -> int:
    return int.from_bytes(os.urandom(4), "big")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Mount a file system of 24 MB."""
    with mounted(tmp_path / "small", megabytes=24) as folder:
        yield folder


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[Path]:
    """The folder of compiled code, on a separate disk."""
    with mounted(tmp_path / "cache", megabytes=64) as folder:
        yield folder


@contextmanager
def mounted(folder: Path, *, megabytes: int) -> Iterator[Path]:
    """Mount a small file system. The test is skipped if none can be mounted."""
    folder.mkdir(exist_ok=True)
    size = f"size={megabytes}m"
    found = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", size, "tmpfs", str(folder)], capture_output=True, text=True, check=False
    )
    if found.returncode != 0:
        pytest.skip(f"no small disk can be mounted here ({found.stderr.strip()})")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def check_as_uninterrupted(chaos: Chaos, whole: Path) -> None:
    """Check that trials, decisions, best config and runs are those of the study in ``whole``."""
    expected = Ledger(StudyFolder(whole).ledger).read()
    assert essence(chaos.events()) == essence(expected), f"{chaos}"
    ours, theirs = read_study(chaos.folder), read_study(whole)
    assert [each.config.identity for each in ours.ranked()] == [each.config.identity for each in theirs.ranked()]
    assert chaos.tracking is not None
    assert runs(chaos.tracking.store) == runs(f"sqlite:///{whole / 'mlflow.db'}"), f"{chaos}"


def check_on_ray(chaos: Chaos, scratch: Path) -> StudyRecord:
    """Check, in the search and in its ablations, that curves are bit for bit those of solo runs, that decisions are
    those of a replay, and that no event is lost or repeated.
    """
    record = read_study(chaos.folder)
    written = runs(chaos.tracking.store if chaos.tracking else f"sqlite:///{chaos.folder / 'mlflow.db'}")
    studies: dict[int | None, StudyRecord] = {None: record, **record.ablations}
    trials: dict[tuple[int | None, int | None], TrialRecord] = {}
    for ablation, own in studies.items():
        assert own.finished, f"{chaos}"
        assert {trial.reason for trial in own.trials.values()} <= {"completed", "stopped"}, f"{chaos}"
        events = [event for of, event in numbered(chaos.events()) if of == ablation]
        told = reports(events)
        for trial in own.trials.values():
            assert [epoch for epoch, _, _ in told[trial.number]] == list(range(1, len(trial.reports) + 1)), f"{chaos}"
            assert told[trial.number] == alone(
                own, StudyFolder(chaos.folder, ablation), trial, scratch / str(ablation)
            ), f"{chaos}"
        judge = scheduler_of(own.study.search, own.study.space.base.training.epochs, frozenset({0}))
        decided = [event for event in events if isinstance(event, Decided)]
        for report, decision in zip([each for each in events if isinstance(each, Reported)], decided, strict=True):
            assert judge.report(report.trial, report.epoch, report.score) == Decision(decision.decision, decision.rung)
        trials |= {(ablation, each): own.trials[each] for each in own.trials}
    trained = {key: run for name, run in written.items() if (key := trained_in(run[1])) is not None}
    assert set(trained) == {*((ablation, None) for ablation in studies), *trials}, f"{chaos}"
    for key, trial in trials.items():
        assert trained[key][3]["score"] == [(each.epoch, repr(each.score)) for each in trial.reports], f"{chaos}"
    assert {status for status, *_ in written.values()} == {"FINISHED"}
    return record


def trained_in(tags: Mapping[str, str]) -> tuple[int | None, int | None] | None:
    """Return the ablation and the trial of a run; None for a row of an ablation that another run has trained."""
    of = [None if (number := tags.get(f"skipstack.{name}")) is None else int(number) for name in ("ablation", "trial")]
    return None if tags["skipstack.kind"] == ROW else (of[0], of[1])


@pytest.fixture
def earlier(tmp_path: Path) -> Path:
    """A study from which other studies start warm."""
    size = ("--trials", "4", "--epochs", "6", "--seed", "3")
    finish(skipstack("search", *SEARCH, *size, "--engine", "serial", "--out", str(tmp_path / "earlier")))
    return tmp_path / "earlier"


def commands(earlier: Path, *, trials: int, more: int, epochs: int, seeds: int = 2) -> list[tuple[str, ...]]:
    """Return the commands of a search with a warm start, an extension, and an ablation."""
    size = ("--trials", str(trials), "--epochs", str(epochs), "--seed", "5", "--warm-start", str(earlier))
    return [("search", *SEARCH, *size), ("extend", "--trials", str(more)), ("ablate", "--seeds", str(seeds), "--path")]


def drawn(chaos: Chaos, count: int, *kinds: Trouble) -> list[Trouble]:
    """Draw ``count`` faults, spread over the commands, with equal frequencies of the kinds. The last fault of each
    command is a kill while the ledger is compacted.
    """
    found: list[Trouble] = []
    for number in range(len(chaos.commands)):
        own = -(-count // len(chaos.commands)) if number + 1 < len(chaos.commands) else count - len(found)
        found += [kinds[(int(each) + len(found)) % len(kinds)] for each in chaos.draw.permutation(own - 1)]
        found += ["compaction"]
    return found


def check_enough_happened(chaos: Chaos, kinds: Sequence[Trouble]) -> None:
    """Check that enough faults happened. Some of the drawn faults find no moment: an extension without a better trial
    measures nothing on test, and an ablation ends soon.
    """
    happened = [said.split()[0] for said in chaos.told]
    assert len(happened) >= ENOUGH, f"the study is too short: {chaos}"
    assert {"test", "compaction", *kinds} <= set(happened), f"{chaos}"


def named(kinds: Sequence[Trouble]) -> str:
    """Return the name of a case of a test."""
    return "-".join(dict.fromkeys(kinds))


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("kinds", SERIAL, ids=named)
def test_troubles_change_nothing_in_a_serial_study(
    kinds: Sequence[Trouble], small_disk: Path, cache: Path, earlier: Path, tmp_path: Path
) -> None:
    stages = commands(earlier, trials=12, more=8, epochs=6)
    (search, *first), *others = stages
    whole = tmp_path / "whole"
    finish(skipstack(search, *first, "--engine", "serial", "--out", str(whole)))
    for command, *rest in others:
        finish(skipstack(command, str(whole), *rest))
    with TrackingServer(tmp_path) as server:
        chaos = Chaos(small_disk / "study", stages, seed(), tracking=server, cache=cache)
        chaos.run(drawn(chaos, 33, *kinds))
    check_enough_happened(chaos, kinds)
    check_as_uninterrupted(chaos, whole)


@pytest.mark.cluster
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("kinds", ON_RAY, ids=named)
def test_troubles_change_no_curve_and_no_decision_of_a_study_on_ray(
    kinds: Sequence[Trouble], cache: Path, earlier: Path, tmp_path: Path
) -> None:
    with TrackingServer(tmp_path) as server:
        stages = commands(earlier, trials=10, more=6, epochs=8)
        chaos = Chaos(tmp_path / "study", stages, seed(), engine="ray", tracking=server, cache=cache)
        chaos.run(drawn(chaos, 24, *kinds))
        check_enough_happened(chaos, kinds)
        record = check_on_ray(chaos, tmp_path / "alone")
    assert record.warm_starts


@pytest.mark.cluster
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("kinds", UNSHARED, ids=named)
def test_troubles_lose_and_double_nothing_where_no_disk_is_shared(
    kinds: Sequence[Trouble], earlier: Path, tmp_path: Path
) -> None:
    """Faults of the cache of compiled code are left to the other tests, since each machine has its own cache anyway."""
    if (reason := missing()) is not None:
        pytest.skip(reason)
    (search, *others), begun = commands(earlier, trials=40, more=30, epochs=8, seeds=6), time.monotonic()
    stages = [(*search, "--set", "data.corpus.train=1200"), *others]  # long enough for unplugging hosts
    with (
        made(tmp_path) as cluster,
        TrackingServer(tmp_path, host=cluster.hosts.address(254)) as server,
        mounted(cluster.disk, megabytes=48),
    ):
        chaos = UnsharedChaos(cluster.disk / "study", stages, seed(), engine="ray", tracking=server, cluster=cluster)
        chaos.run(drawn(chaos, 30, *kinds))
        happened = Counter(said.split()[0] for said in chaos.told)
        print(f"seed {chaos.seed}, {time.monotonic() - begun:.0f} s: {sum(happened.values())} troubles, {happened}")
        for host in chaos.training:
            cluster.hosts.await_ray(host)
        cluster.check_nothing_stays(chaos.training)
        check_enough_happened(chaos, kinds)
        check_on_ray(chaos, tmp_path / "alone")
        check_as_alone(chaos.folder, tmp_path / "once more", chaos.torn)


@pytest.mark.cluster
@pytest.mark.timeout(3600)
def test_a_grid_on_ray_amid_kills_ends_in_the_table_of_an_uninterrupted_serial_one(tmp_path: Path) -> None:
    size = ("--trials", "12", "--epochs", "3")
    whole = skipstack("search", *GRID, *size, "--engine", "serial", "--out", str(tmp_path / "whole"))
    finish(whole)
    chaos = Chaos(tmp_path / "study", [("search", *GRID, *size)], seed(), engine="ray")
    chaos.run(["worker", "driver", "raylet", "worker", "worker"])
    record = check_on_ray(chaos, tmp_path / "alone")
    tables = [exploration_of(each) for each in (record, read_study(tmp_path / "whole"))]
    ours, theirs = ([(row.value, row.selected, row.dev, row.test) for row in table.rows] for table in tables)
    assert ours == theirs
