"""A study run before the user's eyes: ledger, tracking, progress and engine put together."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from dashboards.printing import print_report, say
from dashboards.progress import Progress
from search.ablation import ablation
from search.code_version import code_version
from search.deferred import DeferredWorker
from search.driver import Driver
from search.events import Event, VectorsPrepared
from search.folder import StudyFolder
from search.interruption import terminated_as_interrupted
from search.ledger import Ledger, Past
from search.records import StudyRecord
from search.serial import Engine, SerialEngine
from search.study import discard_checkpoints, run_study
from search.tracking import Tracker

EngineName = Literal["ray", "serial"]

FAILED_TRIALS = 3
"""The exit code of a study that finished although some of its trials failed."""


def start_engine(name: EngineName, *, address: str | None, gpus_per_trial: float, device: str) -> Engine:
    """The engine that trains with our networks. Raises UserError where it cannot start."""
    if name == "serial":
        from models.device import choose_device  # torch takes seconds to import: first the user's mistakes are told
        from search.worker import TrainingWorker

        choose_device(device)
        return SerialEngine(TrainingWorker)
    from search.engine import RayEngine  # and so does ray; torch is loaded where trials are trained

    return RayEngine(DeferredWorker, address=address, gpus_per_trial=gpus_per_trial)


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
        driver = Driver(folder, ledger, device=device, clock=time.time, rehearse=[before.apply])
        if ledger.cut:
            say(ledger.cut)
        for corpus in before.corpora.values():
            for name, vectors in corpus.vectors.items():
                say(reach(name, vectors))
        uri = tracking_uri or f"sqlite:///{folder.runs_database.resolve()}"
        tracker = Tracker(uri, Past(folder.ledger, driver.past), private=tracking_uri is None)
        try:
            with terminated_as_interrupted(), Progress(before, clock=time.time) as progress:
                driver.listen(tracker, progress, discard_checkpoints(folder))
                if again:
                    driver.resumed(code_version())
                run_study(driver, engine)
        except KeyboardInterrupt:
            say(f"interrupted; nothing is lost: `skipstack resume {folder.path}` goes on")
            raise
        finally:
            engine.close()
            missing = tracker.close()
            if missing:
                say(missing)
    return finish(folder.path, driver.record, tracking_uri)


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
    failed = [trial for trial in record.trials.values() if trial.reason == "failed"]
    for trial in failed:
        say(f"trial {trial.number} failed: {trial.message}")
    return FAILED_TRIALS if failed else 0
