"""A study run before the user's eyes: ledger, tracking, progress and engine put together."""

import time
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Literal

from skipstack.dashboards.progress.progress import Progress
from skipstack.dashboards.report.printing import print_report, say
from skipstack.dashboards.report.sheet import named
from skipstack.search.ablation.ablation import ablation
from skipstack.search.code_version import code_version
from skipstack.search.engines.serial import SerialEngine
from skipstack.search.ledger.events import FAULTS, Event, VectorsPrepared
from skipstack.search.ledger.ledger import Ledger, Past
from skipstack.search.planning.plan import Meter
from skipstack.search.study.driver import Driver
from skipstack.search.study.engine import Engine
from skipstack.search.study.faults import StudyInterruptedError
from skipstack.search.study.interruption import terminated_as_interrupted
from skipstack.search.study.records.folder import StudyFolder
from skipstack.search.study.records.study_record import StudyRecord
from skipstack.search.study.retention import Retention
from skipstack.search.study.study import run_study
from skipstack.search.study.warm_start import summary
from skipstack.search.tracking.tracking import Tracker
from skipstack.search.trials.deferred import DeferredWorker
from skipstack.spaces.trial import TrialConfig

EngineName = Literal["ray", "serial"]

FAILED_TRIALS = 3
"""The exit code of a study that finished although faults ended some of its trials."""


INTERRUPTED = 130
"""The exit code of a study that can be resumed."""


def start_engine(
    name: EngineName, *, address: str | None, gpus_per_trial: float | Literal["auto"], device: str
) -> Engine:
    """The engine that trains with our networks. Raises UserError where it cannot start."""
    if name == "serial":
        from skipstack.models.device import (
            choose_device,  # torch takes seconds to import: first the user's mistakes are told
        )
        from skipstack.search.trials.worker import TrainingWorker

        choose_device(device)
        return SerialEngine(TrainingWorker)
    from skipstack.search.engines.ray_tune import RayEngine  # and so does ray; torch is loaded where trials are trained

    memory = None
    if gpus_per_trial == "auto":
        from skipstack.search.planning.measuring import memory_of

        memory = memory_of
    return RayEngine(DeferredWorker, address=address, gpus_per_trial=gpus_per_trial, memory=memory)


def check_machines(engine: Engine, folder: StudyFolder, record: Callable[[], StudyRecord]) -> None:
    """Raises UserError where a machine of the engine cannot train the study; the engine is closed then.

    ``record`` reads the study, which takes time, where there are machines to ask.
    """
    try:
        engine.preflight(folder, record)
    except BaseException:
        engine.close()
        raise


def run(
    folder: StudyFolder,
    engine: Engine,
    *,
    tracking_uri: str | None,
    device: str,
    again: bool,
    first: Sequence[Event] = (),
) -> int:
    """Run a study to its end and print its report; ``again`` where an earlier driver began it. The exit code.

    ``first``: what the ledger is told before anything else.
    """
    with Ledger(folder.ledger) as ledger:
        if first:
            ledger.append(*first)
        before = StudyRecord()
        count = parameter_counter(lambda: driver.record, folder)
        driver = Driver(folder, ledger, device=device, clock=time.time, rehearse=[before.apply], parameters=count)
        if ledger.cut:
            say(ledger.cut)
        for corpus in before.corpora.values():
            for name, vectors in corpus.vectors.items():
                say(reach(name, vectors))
        for earlier in before.warm_starts:
            say(summary(earlier))
        tracker = _tracker(folder, Past(folder.ledger, driver.past), tracking_uri)
        retention = Retention(folder, lambda: driver.record)
        try:
            with terminated_as_interrupted(), Progress(before, clock=time.time) as progress:
                driver.listen(tracker, progress, retention)
                if again:
                    driver.resumed(code_version())
                run_study(driver, engine)
        except KeyboardInterrupt:
            say(
                f"interrupted; nothing is lost: `skipstack resume {folder.path}` goes on; with --enough it begins no "
                "further trial"
            )
            raise
        except StudyInterruptedError as cause:
            say(f"skipstack: {cause}; nothing is lost: `skipstack resume {folder.path}` goes on")
            return INTERRUPTED
        finally:
            engine.close()
            for missing in (tracker.close(), retention.close()):
                if missing:
                    say(missing)
    return finish(folder.path, driver.record, tracking_uri)


def parameter_counter(record: Callable[[], StudyRecord], folder: StudyFolder) -> Callable[[TrialConfig], int | None]:
    """Counts the parameters of a config's network; None of one that cannot be built, and the worker says why.

    ``record``: the driver's, which is asked for once something is counted.
    """

    @cache
    def meter() -> Meter:
        from skipstack.search.planning.measuring import TrainingMeter

        return TrainingMeter(record(), folder, "cpu")

    def count(config: TrialConfig) -> int | None:
        try:
            return meter().parameters(config)
        except (RuntimeError, MemoryError):
            return None

    return count


def catch_up(folder: StudyFolder, tracking_uri: str | None) -> None:
    """Write what MLflow lacks of a study that is finished."""
    missing = _tracker(folder, Ledger(folder.ledger).read(), tracking_uri).close()
    if missing:
        say(missing)


def _tracker(folder: StudyFolder, past: Iterable[Event], tracking_uri: str | None) -> Tracker:
    """By default it writes into a file in the study's folder."""
    uri = tracking_uri or f"sqlite:///{folder.runs_database.resolve()}"
    return Tracker(uri, past, private=tracking_uri is None)


def reach(name: str, vectors: VectorsPrepared) -> str:
    """How far pretrained vectors reach, in one line: ``data.vectors glove.txt: 74.9% of 8,120 words, ...``."""
    words = f"{vectors.covered_words / max(vectors.words, 1):.1%} of {vectors.words:,} words"
    tokens = f"{vectors.covered_tokens / max(vectors.tokens, 1):.1%} of {vectors.tokens:,} train tokens"
    cut = "" if vectors.cut_line is None else f"; line {vectors.cut_line}, its last, is cut off and left out"
    return f"data.vectors {name}: {words} and {tokens} have a vector{cut}"


def finish(path: Path, record: StudyRecord, tracking_uri: str | None) -> int:
    """Print the report, and what to type next. The exit code."""
    print_report(ablation(record))
    database = f"sqlite:///{StudyFolder(path).runs_database}"
    say("next:")
    for command in (
        f"skipstack report {path} --format markdown",
        f"skipstack export {path} --best 1 --to {path}-best",
        f"skipstack verify {path}-best",
        f"echo 'Words of a sentence' | skipstack predict {path}-best",
        *([f"mlflow ui --backend-store-uri {database}"] if tracking_uri is None else []),
    ):
        say(f"  {command}")
    faulty = [trial for trial in record.trials.values() if trial.reason in FAULTS]
    for trial in faulty:
        say(f"trial {trial.number} {named(trial.reason or '')}: {trial.message}")
    return FAILED_TRIALS if faulty else 0
