"""Random ablations of any options that go together, killed, interrupted or on a full disk at random moments, and then
resumed: each ends as one that nothing stopped.

Reports are read at any moment, and readers that follow an ablation end where a reader of the whole ledger begins.
"""

import math
import random
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, get_args

import numpy as np
import pytest

from skipstack.dashboards.commands.running import INTERRUPTED, finish
from skipstack.dashboards.formats.rendering import Format, render
from skipstack.dashboards.reports.confirmation.ablated_report import ablated_report
from skipstack.dashboards.reports.confirmation.ablation_plan import ablation_page
from skipstack.dashboards.reports.confirmation.reports import confirmed_tables, first_shown, one_report
from skipstack.dashboards.reports.study_report import study_report
from skipstack.data.basis.errors import UserError
from skipstack.data.basis.frozen import canonical_json, identity
from skipstack.search.analysis.ablation.families import place_in_family
from skipstack.search.analysis.ablation.options import AblationOptions
from skipstack.search.analysis.confirmation.confirmed import confirmed_scores
from skipstack.search.analysis.confirmation.forecast import forecast
from skipstack.search.analysis.confirmation.studies import compare_studies
from skipstack.search.analysis.study_frames import study_frames
from skipstack.search.analysis.verdict.of_study import of_table
from skipstack.search.api import ablation, asking, run
from skipstack.search.api import options as run_options
from skipstack.search.api.ablation import prepare_ablation
from skipstack.search.api.options import Execution
from skipstack.search.execution.workers.reporting import Objective, Report
from skipstack.search.ledger.events import CorpusPrepared, Event, Proposed, Reported
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.ledger.sentences import SentenceCounts
from skipstack.search.study.config import SEEDS_OF_A_SEARCH, StudyConfig
from skipstack.search.study.preparation import needs
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.record.reading import last_ablation, read_study
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.search.study.record.whole_ablations import whole_ablations
from skipstack.search.study.task import EpochResult, Measured, TrialTask
from tests.search.chaos import essence, numbered
from tests.search.followed import Followed
from tests.search.functions import Config, open_function, run_function
from tests.search.killing import Disk, Killed
from tests.search.toy import ToyWorker, open_toy, run_toy, toy_study

LIVES: Final = 12
"""After so many, an ablation meets no failures."""

SCHEDULERS: Final[tuple[dict[str, Any], ...]] = (
    {"kind": "none"},
    {"kind": "asha", "grace": 1, "reduction": 2},
    {"kind": "asha", "grace": 1, "reduction": 2, "variant": "promotion"},
)

DEPTH, HIDDEN, BATCH = "model.stack.depth", "model.stack.hidden", "training.batch_size"
RATE, KIND, MOMENTUM = (f"training.optimiser.{name}" for name in ("learning_rate", "kind", "momentum"))

OF_NETWORKS: Final[tuple[dict[str, Any], ...]] = (
    {DEPTH: {"choice": [1, 2, 3]}, RATE: {"choice": [0.001, 0.01]}, HIDDEN: {"choice": [8, 16]}},
    {DEPTH: {"choice": [1, 2]}, RATE: {"named": {"low": 0.001, "high": 0.01}}},
    {KIND: {"choice": ["adam", "sgd"]}, MOMENTUM: {"choice": [0.5, 0.9]}, DEPTH: {"choice": [1, 3]}},
    {BATCH: {"choice": [1, 2]}, HIDDEN: {"choice": [8, 16]}, DEPTH: {"choice": [1, 2, 3], "when": {HIDDEN: [16]}}},
)

OF_FUNCTIONS: Final[tuple[dict[str, Any], ...]] = (
    {"kind": {"choice": ["a", "b"]}, "dropout": {"choice": [0.0, 0.5]}, "size": {"choice": [1, 2]}},
    {"kind": {"choice": ["a", "b"]}, "dropout": {"choice": [0.1, 0.5], "when": {"kind": ["b"]}}},
    {
        "dropout": {"choice": [0.0, 0.1]},
        "size": {"choice": [1, 2], "when": {"dropout": [0.1]}},
        "wide": {"choice": [0, 1]},
    },
)


@dataclass(frozen=True)
class Planted:
    """Scores and faults, each of which depends on the config, the seed and the epoch alone. ``noise``: how far seeds
    lie apart. ``faults``: how often a trial of an ablation fails, diverges or cannot be measured on test.
    """

    seed: int
    noise: float
    faults: float
    reports_test: bool

    def score(self, values: object, seed: int, epoch: int, split: str) -> float:
        fit, chance = (random.Random(f"{self.seed} {each}") for each in (values, (values, seed, epoch, split)))
        return 0.3 + 0.4 * fit.random() + 0.1 * (1 - 0.5**epoch) + self.noise * chance.gauss(0, 1)

    def happens(self, fault: str, values: object, seed: int) -> bool:
        """Whether a fault happens. The trials of a search have none, so that each search has a best config."""
        of_ablation = seed >= SEEDS_OF_A_SEARCH
        return of_ablation and random.Random(f"{self.seed} {fault} {values} {seed}").random() < self.faults

    def function(self) -> Objective:
        """A function with these scores."""

        def planted(config: Config, report: Report) -> None:
            seed = config["seed"]
            values = canonical_json({name: value for name, value in config.items() if name != "seed"})
            for epoch in range(1, 3):
                if self.happens("raises", (values, epoch), seed):
                    raise RuntimeError("out of luck")
                told = {"test": self.score(values, seed, epoch, "test")} if self.reports_test else {}
                diverged = self.happens("diverges", (values, epoch), seed)
                report(score=math.nan if diverged else self.score(values, seed, epoch, "dev"), **told)

        return planted

    def worker(self) -> type[ToyWorker]:
        """Workers of networks with these scores, which train nothing."""
        planted = self

        class Worker(ToyWorker):
            def run_epoch(self) -> EpochResult:
                result, task = super().run_epoch(), self.task
                where = (task.config.identity, result.epoch)
                if planted.happens("raises", where, task.seeds[0]):
                    raise RuntimeError("out of luck")
                lanes = tuple(planted.score(task.config.identity, seed, result.epoch, "dev") for seed in task.seeds)
                diverged = planted.happens("diverges", where, task.seeds[0])
                score = math.nan if diverged else sum(lanes) / len(lanes)
                return replace(result, score=score, metrics={"dev_accuracy": lanes})

            @classmethod
            def test(cls, task: TrialTask) -> Measured:
                if planted.happens("has no test", task.config.identity, task.seeds[0]):
                    raise RuntimeError("no test")
                right = [planted.score(task.config.identity, seed, 2, "test") for seed in task.seeds]
                counts = np.array(
                    [[[min(max(round(20 * each) + place % 2, 0), 20), 20] for place in range(6)] for each in right]
                )
                accuracies = tuple((counts[..., 0].sum(axis=1) / 120).tolist())
                sentences = SentenceCounts.of(counts, ("correct", "tags"))
                return Measured(metrics={"test_accuracy": accuracies}, sentences=sentences)

        return Worker


@dataclass(frozen=True)
class Searched:
    """A finished search, and another one with the same base. ``function``: None if they train networks."""

    path: Path
    beside: Path
    axes: Mapping[str, Any]
    function: Objective | None


def searched(folder: Path, planted: Planted, draw: random.Random) -> Searched:
    """Two searches in ``folder``, over axes of which the second has some."""
    networks = draw.random() < 0.5
    axes = draw.choice(OF_NETWORKS if networks else OF_FUNCTIONS)
    search: dict[str, Any] = {
        "proposer": draw.choice(["random", "random", "tpe", "grid", "evolution"]),
        "scheduler": draw.choice(SCHEDULERS),
        "seeds": draw.choice([1, 2]),
        "trials": draw.choice([5, 8]),
    }
    fewer = {path: axis for path, axis in axes.items() if path != list(axes)[-1]}
    function = None if networks else planted.function()
    if function is None:
        tree = toy_study(8, epochs=2).model_dump(mode="json")
        optimiser = draw.choice([{"kind": "adam"}, {"kind": "sgd", "momentum": 0.5}])
        tree["space"]["base"]["training"] |= {"optimiser": {"learning_rate": 0.01, **optimiser}}
        tree["search"] |= search
        for name, varied in (("study", axes), ("other", fewer)):
            tree["space"]["axes"] = varied
            run_toy(open_toy(folder / name, StudyConfig.model_validate(tree)), worker=planted.worker())
    else:
        base = {path: axis["choice"][0] for path, axis in axes.items()}
        for name, varied in (("study", axes), ("other", fewer)):
            study = {"base": base, "axes": varied, "search": search}
            run_function(open_function(folder / name, function, study, epochs=2), function)
    return Searched(folder / "study", folder / "other", axes, function)


def drawn(draw: random.Random, study: Searched) -> tuple[AblationOptions, list[Path]]:
    """Any options of an ablation, and searches whose best configs become rows."""
    axes = list(study.axes)
    some = [",".join(draw.sample(axes, draw.choice([1, 2]))) for _ in range(draw.choice([0, 0, 1, 2]))]
    given: dict[str, Any] = {
        "seeds": draw.choice([1, 2, 3]),
        "top": draw.choice([1, 1, 2]),
        "parts": draw.random() < 0.7,
        "without": some,
        "family": draw.choice(["", "paper"]),
    }
    if draw.random() < 0.5:
        given["seeds"] = draw.choice([2, 3])
        given |= {"until_decided": True, "at_most": given["seeds"] + draw.choice([1, 2])}
    if draw.random() < 0.5:
        tuned = draw.choice([(), *((axis,) for axis in axes), tuple(draw.sample(axes, 2))])
        given |= {"retune": draw.choice([1, 2, 3]), "retune_axes": tuned}
    else:
        given["path"] = draw.random() < 0.5
        if study.function is None:
            given["corpus"] = draw.choice([(), (), ("own",), ("atis",), ("own", "atis")])
    return AblationOptions(**given), [study.beside] if draw.random() < 0.4 else []


def allowed(draw: random.Random, study: Searched) -> tuple[AblationOptions, list[Path]] | None:
    """Options that go together and with the study, and are shown before it begins; None if the base is the best."""
    while True:
        options, beside = drawn(draw, study)
        try:
            ready = prepare_ablation(study.path, options, beside=beside, data_dir=None)
        except UserError as error:
            if not str(error).startswith("--"):
                raise
            continue
        if ready is None:
            return None
        expected = forecast(ready.record, ready.planned, ready.first, StudyFolder(study.path))
        ablation_page(ready.planned, expected, ready.record.measure)
        return options, beside


def read(path: Path, draw: random.Random) -> None:
    """Read the study as it is now: most often its tables of rows alone, which are there sooner."""
    form = draw.choice([form for form in get_args(Format) if form != "html"])
    if draw.random() < 0.1:
        frames = study_frames(path)
        confirmed_scores(frames.record, frames.record.best.config)
        report = study_report(frames)
    elif tables := confirmed_tables(read_study(path)):
        report = one_report([ablated_report(*table) for table in tables], first_shown(tables))
    else:
        return
    render(report, form, full=draw.random() < 0.5)


class Ablating:
    """Runs an ablation of the study in ``path`` with the commands that a user types."""

    def __init__(self, study: Searched, path: Path, draw: random.Random, disk: Disk) -> None:
        self._study, self._path, self._draw, self._disk = study, path, draw, disk
        self._before = max(read_study(path).ablations, default=0)
        self._interrupts = 0.0

    def whole(self, options: AblationOptions, beside: list[Path]) -> None:
        """Run it without an interruption."""
        self._live(options, beside)

    def stopped(self, options: AblationOptions, beside: list[Path]) -> None:
        """Run it in many lives."""
        draw = self._draw
        for life in range(LIVES + 1):
            what = draw.choice(["is interrupted", "is killed", "full disk"]) if life < LIVES else "whole"
            self._interrupts = 0.03 if what == "is interrupted" else 0.0
            if what in ("is killed", "full disk"):
                self._disk.fail(draw.randrange(1, draw.choice([20, 200])), kills=what == "is killed", draw=draw)
            try:
                if self._live(options, beside):
                    return
            except (Killed, OSError, KeyboardInterrupt):
                pass
            finally:
                self._disk.mend()
            self._meanwhile()
        raise AssertionError("it has no end")

    def _live(self, options: AblationOptions, beside: list[Path]) -> bool:
        """Type the command, or resume it; return whether it came to its end."""
        execution = Execution(engine="serial", device="cpu", function=self._study.function, watch=self._watch)
        last = last_ablation(self._path)
        if last is not None and last.number > self._before:
            return finish(run.resume(self._path, execution)) != INTERRUPTED
        ready = prepare_ablation(self._path, options, beside=beside, data_dir=None)
        assert ready is not None
        return finish(run.ablate(ready, execution)) != INTERRUPTED

    @contextmanager
    def _watch(self, before: StudyRecord, folder: StudyFolder) -> Iterator[Any]:
        followed = Followed(folder, before)

        def happened(event: Event) -> None:
            followed(event)
            if followed.gauges is None:  # the first event may be that the ablation is resumed
                followed.measure(lambda: before)
            if self._draw.random() < 0.02:
                with self._disk.of_another_process():
                    read(self._path, self._draw)
            if self._draw.random() < self._interrupts:
                raise KeyboardInterrupt

        yield happened
        with self._disk.of_another_process():
            followed.compare()

    def _meanwhile(self) -> None:
        """What a user does between two lives."""
        if self._draw.random() < 0.3:
            read(self._path, self._draw)
        if self._draw.random() < 0.2:
            asking.noted(self._path, "odd", trial=self._draw.choice([None, 0]))
        if self._draw.random() < 0.1:
            asking.renamed(self._path, "renamed")


def content(path: Path) -> list[str]:
    """What the ablations of a study are, but for times."""
    record = read_study(path)
    events = (each for each in essence(Ledger(path / "ledger").read()) if each["ablation"] is not None)
    parts = (
        (own.study, own.plan and own.plan.model_copy(update={"time": 0.0}), *own.corpora)
        for own in record.ablations.values()
    )
    tables = [(own, table) for own, table in confirmed_tables(record) if own.plan is not None]
    rows = ((table.ablation, table.rows, of_table(own, table)) for own, table in tables)
    return [*map(repr, events), *map(repr, parts), *map(repr, rows)]


def check(path: Path, options: AblationOptions, parts: Mapping[int, StudyRecord]) -> None:
    """What holds for the last ablation of a study. ``parts``: all of its parts, by number."""
    record = read_study(path)
    events = numbered(Ledger(path / "ledger").read())
    reported = Counter((of, event.trial, event.epoch) for of, event in events if isinstance(event, Reported))
    trained = Counter(
        (event.config_identity, seed) for _, event in events if isinstance(event, Proposed) for seed in event.seeds
    )
    assert set(reported.values()) == set(trained.values()) == {1}, "nothing is trained twice"
    seeds = [
        {seed for trial in each.trials.values() for seed in trial.seeds}
        for each in (record, *record.ablations.values())
    ]
    assert len(set.union(*seeds)) == sum(map(len, seeds)), "each part has seeds of its own"
    arms = [each for each in parts.values() if each.plan is not None and each.plan.arm is not None]
    whole = whole_ablations(record)[next(number for number, each in parts.items() if each.compares)]
    assert whole.plan is not None
    assert (len(arms) > 1) == (options.retune is not None)
    assert all(len(each.trials) <= (options.retune or 0) for each in arms)
    numbers = {len(trial.seeds) for trial in whole.trials.values()}
    assert numbers <= set(whole.plan.looks or {options.seeds})


@pytest.mark.first(2)
@pytest.mark.parametrize("seed", range(60))
def test_an_ablation_that_is_stopped_at_any_moment_ends_as_one_that_is_not(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = random.Random(seed)
    planted = Planted(seed, draw.choice([0.0, 0.001, 0.05]), draw.choice([0.0, 0.0, 0.03]), draw.random() < 0.7)
    study = searched(tmp_path / "searched", planted, draw)
    monkeypatch.setattr(run, "is_installed", lambda name: False)  # MLflow takes seconds to start
    monkeypatch.setattr(run_options, "TrainingWorkers", lambda shared: planted.worker())
    monkeypatch.setattr(ablation, "prepared", without_files)
    disk = Disk(monkeypatch)
    paths = [Path(shutil.copytree(study.path, tmp_path / name / "study")) for name in ("whole", "stopped")]
    for _ in range(draw.choice([1, 1, 2])):
        if (asked := allowed(draw, study)) is None:
            return
        options, beside = asked
        place = place_in_family(options.family, paths[0])
        before = read_study(paths[0]).ablations
        Ablating(study, paths[0], draw, disk).whole(options, beside)
        Ablating(study, paths[1], draw, disk).stopped(options, beside)
        found = content(paths[0])
        assert content(paths[1]) == found
        read(paths[1], draw)
        if draw.random() < 0.2:
            compare_studies({path.parent.name: read_study(path) for path in paths})
        for path in paths:
            parts = {number: each for number, each in read_study(path).ablations.items() if number not in before}
            check(path, options, parts)
            assert not options.family or place_in_family(options.family, path) == place + 1


def without_files(
    study: StudyConfig, folder: StudyFolder, *, ready: Mapping[str, Any], **_: Any
) -> list[CorpusPrepared]:
    """Stands for the preparation of corpora: what is recorded of those that are not ready."""
    own = next(iter(ready.values()), None)
    names = [identity(needed.corpus) for needed in needs(study.space)]
    return [own.model_copy(update={"corpus": name, "fingerprint": name}) for name in names if name not in ready]
