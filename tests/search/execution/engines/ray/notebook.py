"""A notebook, as a program: ``python -m tests.search.execution.engines.ray.notebook FOLDER STEP ...``, each in this one
process.

What a user does with Ray before and after a study has to work as if there had been none, and the study has to leave the
process as it was.
"""

import io
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO

import ray
from ray import tune

import skipstack
from skipstack.data.basis.errors import UserError
from skipstack.search.api.run import Run
from skipstack.search.api.study import Study
from skipstack.search.execution.driver.driver import Reader
from skipstack.search.execution.driver.engine import run_study
from skipstack.search.execution.engines.ray.engine import RayEngine
from skipstack.search.ledger.events import Begun, Event, Reported
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.study.task import EpochResult
from tests.search.execution.engines.ray.surroundings import surroundings
from tests.search.toy import ToyWorker, open_toy, toy_driver, toy_study

SMALL = {"data.corpus.train": 60, "data.corpus.dev": 30, "data.corpus.test": 30, "model.stack.hidden": 8}
TRIALS, EPOCHS = 4, 3


def unchanged(step: Callable[[], None]) -> None:
    """Take a step, after which the process is as before; modules that it is the first to import are let off."""
    before = surroundings()
    step()
    after = surroundings()
    new = {name for name in after if name[0] == "$" and not name.startswith("$MLFLOW_")}
    changed = {
        each: (before.get(each), after.get(each)) for each in {*before, *new} if before.get(each) != after.get(each)
    }
    assert not changed, changed


def study(folder: Path) -> Study:
    return skipstack.search("quickstart", trials=2, epochs=1, seeds=1, settings=SMALL, out=folder)


def a_study(folder: Path) -> None:
    unchanged(lambda: print(f"the study is finished: {study(folder).finished}"))


class MistakenWorker(ToyWorker):
    """Finds that the study cannot run at all."""

    def run_epoch(self) -> EpochResult:
        raise UserError("the corpus has gone (allowed: a corpus that is there)")


def toys(folder: Path, worker: type[ToyWorker], *readers: Reader) -> None:
    """A study of toys on Ray, with the engine by itself."""
    engine = RayEngine(worker, address=None, gpus_per_trial=0)
    opened = open_toy(folder, toy_study(trials=4))
    try:
        with Ledger(opened.ledger) as ledger:
            run_study(toy_driver(opened, ledger, readers=readers), engine)
    finally:
        engine.close()


def a_study_that_fails(folder: Path) -> None:
    def fail() -> None:
        try:
            toys(folder, MistakenWorker)
        except UserError as error:
            print(f"the study fails: {error}")

    unchanged(fail)


def a_study_that_is_interrupted(folder: Path) -> None:
    """By Ctrl-C in the midst of Tune's loop: once a trial reports."""

    def press(event: Event) -> None:
        if isinstance(event, Reported):
            os.kill(os.getpid(), signal.SIGINT)

    def interrupt() -> None:
        try:
            toys(folder, ToyWorker, press)
        except KeyboardInterrupt:
            print("the study is interrupted")

    unchanged(interrupt)


def trained(config: dict[str, Any]) -> None:
    """A trial of the user's own."""
    print(f"trial {config['number']} begins")
    for epoch in range(EPOCHS):
        tune.report({"score": config["number"] + epoch})


class Interrupts(tune.Callback):  # type: ignore[misc]
    """Ctrl-C in the midst of a run: once its first trial has ended."""

    def on_trial_complete(self, iteration: int, trials: list[Any], trial: Any, **_: object) -> None:
        if trial.config["number"] == 0:
            os.kill(os.getpid(), signal.SIGINT)


def tuner(folder: Path, name: str, *callbacks: tune.Callback) -> tune.Tuner:
    return tune.Tuner(
        tune.with_resources(trained, {"cpu": 1}),
        param_space={"number": tune.grid_search(list(range(TRIALS)))},
        tune_config=tune.TuneConfig(max_concurrent_trials=1),
        run_config=tune.RunConfig(name=name, storage_path=str(folder), callbacks=list(callbacks), verbose=0),
    )


def scores(results: tune.ResultGrid) -> list[float]:
    return sorted(result.metrics["score"] for result in results if result.metrics and "score" in result.metrics)


class Recording(io.TextIOBase):
    """Passes on what is printed here, also of workers, and keeps it."""

    def __init__(self, stream: TextIO) -> None:
        self.stream, self.text = stream, ""

    def write(self, text: str) -> int:
        self.text += text
        return self.stream.write(text)

    def flush(self) -> None:
        self.stream.flush()


def wait_for(line: str) -> None:
    """Until a line of a worker is printed here, which Ray brings some time after the worker prints it; once."""
    assert isinstance(sys.stdout, Recording)
    end = time.monotonic() + 120
    while line not in sys.stdout.text:
        assert time.monotonic() < end, f"what a worker prints is not seen: {line}"
        time.sleep(0.1)
    sys.stdout.text = sys.stdout.text.replace(line, "")


def a_run_of_the_users(folder: Path) -> None:
    assert scores(tuner(folder, "run").fit()) == [number + EPOCHS - 1 for number in range(TRIALS)]
    for number in range(TRIALS):
        wait_for(f"trial {number} begins")
    for kept in ("result.json", "progress.csv", "events.out.tfevents.*"):  # what Tune's own loggers write of each trial
        assert len(list((folder / "run").glob(f"*/{kept}"))) == TRIALS, kept
    print("the run is whole")


def an_interrupted_run(folder: Path) -> None:
    first = scores(tuner(folder, "interrupted", Interrupts()).fit())
    assert len(first) < TRIALS
    print("the run is interrupted")


def its_restoration(folder: Path) -> None:
    restored = tune.Tuner.restore(str(folder / "interrupted"), trainable=tune.with_resources(trained, {"cpu": 1}))
    assert len(restored.get_results()) > 0, "it finds its trials"
    assert scores(restored.fit()) == [number + EPOCHS - 1 for number in range(TRIALS)]
    wait_for(f"trial {TRIALS - 1} begins")
    print("the restored run is whole")


@ray.remote(num_cpus=0)
class Counter:
    """Counts, and says so."""

    def __init__(self) -> None:
        self.count = 0

    def add(self) -> int:
        self.count += 1
        print(f"the counter is at {self.count}")
        return self.count


def a_study_on_the_users_own_ray(folder: Path) -> None:
    ray.init(address="local", num_cpus=2, include_dashboard=False)
    context = ray.get_runtime_context()
    counter = Counter.remote()
    assert ray.get(counter.add.remote()) == 1
    before = context.gcs_address, context.get_job_id(), ray.cluster_resources()
    unchanged(lambda: print(f"the study is finished: {study(folder).finished}"))
    assert ray.is_initialized()
    assert (context.gcs_address, context.get_job_id(), ray.cluster_resources()) == before
    assert ray.get(counter.add.remote()) == 2
    wait_for("the counter is at 2")
    left = [group for group in ray.util.placement_group_table().values() if group["state"] != "REMOVED"]
    assert left == [], left
    with socket.create_server(("127.0.0.1", 0)) as another:
        address = f"127.0.0.1:{another.getsockname()[1]}"
        try:
            skipstack.search("quickstart", settings=SMALL, out=folder / "elsewhere", address=address)
        except UserError as error:
            print(f"another cluster: {error}")
    ray.shutdown()


def patient(config: dict[str, Any]) -> float:
    """A trial of a study that waits for a file."""
    while not Path(config["over"]).exists():
        time.sleep(0.1)
    return 1.0


def a_run_during_a_study(folder: Path) -> None:
    """On the user's own Ray: their run begins in another thread once a trial has, and ends before any trial does."""
    ray.init(address="local", num_cpus=4, include_dashboard=False)
    failed: list[BaseException] = []
    space = skipstack.Space(over=skipstack.choice([str(folder / "over"), str(folder / "over-too")]))

    def run() -> None:
        try:
            while not any(isinstance(each, Begun) for each in Ledger(folder / "study" / "ledger").read()):
                time.sleep(0.1)
            a_run_of_the_users(folder)
        except BaseException as error:
            failed.append(error)
            raise
        finally:
            for name in ("over", "over-too"):
                (folder / name).touch()

    theirs = threading.Thread(target=run)
    theirs.start()
    found = skipstack.search(space, patient, trials=2, seeds=1, out=folder / "study")
    theirs.join()
    assert not failed
    print(f"the study and the run are whole: {found.finished}")
    ray.shutdown()


STEPS = {
    step.__name__: step
    for step in (
        a_study,
        a_study_that_fails,
        a_study_that_is_interrupted,
        a_run_of_the_users,
        an_interrupted_run,
        its_restoration,
        a_study_on_the_users_own_ray,
        a_run_during_a_study,
    )
}

if __name__ == "__main__":
    Run.publish = lambda *_: {}  # type: ignore[method-assign, assignment]  # as in tests/conftest.py
    sys.stdout = Recording(sys.stdout)
    for place, name in enumerate(sys.argv[2:]):
        own = Path(sys.argv[1]) / ("runs" if "run" in name or "rest" in name else str(place))
        STEPS[name](own)
