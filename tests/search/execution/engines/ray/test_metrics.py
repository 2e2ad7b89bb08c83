"""What those see who watch a cluster: the metrics of a study against its ledger, and the board that asks for them."""

import json
import re
import time
from collections import Counter
from contextlib import closing, nullcontext
from pathlib import Path
from types import SimpleNamespace
from urllib.request import urlopen

import pytest

from skipstack.data.health.health import Health, SplitHealth
from skipstack.search.execution.driver.driver import Driver
from skipstack.search.execution.driver.engine import run_study
from skipstack.search.execution.engines.ray import metrics
from skipstack.search.execution.engines.ray.metrics import METRICS, Metric, StudyGauges
from skipstack.search.execution.engines.serial import SerialEngine
from skipstack.search.ledger.events import Decided, Event, Reported
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.study.config import StudyConfig
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.record.reading import read_study
from skipstack.search.study.record.requests import Request, Requests
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.search.study.task import Workers
from tests.search.execution.driver.test_one_network import of_gates
from tests.search.toy import FailingWorker, KeepingWorker, open_toy, toy_driver, toy_study

BOARD = Path(__file__).resolve().parents[5] / "search" / "cluster" / "grafana.json"

Values = dict[tuple[str, str | None], float]
"""By metric and by the value of its label."""


class Kept:
    """What was put, as who collects metrics would have it."""

    def __init__(self) -> None:
        self.values: Values = {}

    def put(self, metric: Metric, value: float, label: str | None) -> None:
        assert (label is None) == (metric.label is None)
        assert value > 0 or not metric.counts, "Ray refuses to count nothing"
        before = self.values.get((metric.name, label), 0.0) if metric.counts else 0.0
        self.values[metric.name, label] = before + value


def expected(folder: StudyFolder, events: list[Event]) -> Values:
    """Of a study that is over, of whose events a driver wrote these."""
    record = read_study(folder.path)
    ends = Counter(str(trial.reason) for trial in record.trials.values())
    rungs = {(event.trial, event.rung) for event in Ledger(folder.ledger).read() if isinstance(event, Decided)}
    values: Values = {("skipstack_trials", state): count for state, count in ends.items()}
    values |= {
        ("skipstack_rung_trials", str(rung)): count
        for rung, count in Counter(rung for _, rung in rungs if rung is not None).items()
    }
    best = record.ranked()[0].score
    assert best is not None
    values |= {("skipstack_best_score", None): best, ("skipstack_queue", None): 0}
    if trained := reports_of_trained(record, events):
        values["skipstack_epochs_total", None] = len(trained)
    return values


def reports_of_trained(record: StudyRecord, events: list[Event]) -> list[Reported]:
    return [each for each in events if isinstance(each, Reported) and record.trials[each.trial].reused is None]


def shown(values: Values) -> Values:
    return {key: value for key, value in values.items() if value or key[0] == "skipstack_queue"}


def promoting() -> StudyConfig:
    study = toy_study(9, proposer="random")
    scheduler = study.search.scheduler.model_copy(update={"variant": "promotion"})
    return study.model_copy(update={"search": study.search.model_copy(update={"scheduler": scheduler})})


@pytest.mark.parametrize(
    ("study", "worker"),
    [
        (toy_study(9, proposer="random"), FailingWorker),
        (promoting(), FailingWorker),
        (of_gates(scheduler="none"), KeepingWorker),  # one of its four trials is reused
    ],
    ids=["asha", "promotions", "reused"],
)
def test_the_metrics_of_a_study_are_those_of_its_ledger(
    study: StudyConfig, worker: Workers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    health = Health.model_construct(splits={"train": SplitHealth.model_construct(tokens=7)})
    prepared = StudyRecord.corpus_of
    monkeypatch.setattr(
        StudyRecord, "corpus_of", lambda record, config: prepared(record, config).model_copy(update={"health": health})
    )
    folder = open_toy(tmp_path / "study", study)
    kept = Kept()
    with Ledger(folder.ledger) as ledger:
        driver = toy_driver(folder, ledger)
        gauges = StudyGauges(lambda: driver.record, kept.put)
        driver.listen(gauges)
        assert kept.values["skipstack_queue", None] == driver.record.study.search.trials
        run_study(driver, SerialEngine(worker))
    events = Ledger(folder.ledger).read()
    seeds = sum(len(event.metrics["train_loss"]) for event in reports_of_trained(driver.record, events))
    assert seeds
    assert shown(kept.values) == expected(folder, events) | {("skipstack_tokens_total", None): 7 * seeds}
    again = Kept()  # a driver that takes the study up begins with what is there, and counts from then on
    StudyGauges(lambda: driver.record, again.put)
    assert shown(again.values) | {("skipstack_queue", None): 0} == expected(folder, [])


def test_the_board_asks_for_what_is_published_and_for_all_of_it() -> None:
    board = json.loads(BOARD.read_text())
    asked = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    labels = {f"ray_{metric.name}": metric.label for metric in METRICS}
    assert {name for each in asked for name in re.findall(r"ray_\w+", each)} == set(labels)
    for each in asked:
        (name,) = re.findall(r"ray_\w+", each)
        by = re.findall(r"by \((\w+)\)", each)
        assert set(by) == {labels[name] or "study"}
        assert 'study=~"$study"' in each
    (study,) = (each for each in board["templating"]["list"] if each["name"] == "study")
    assert study["query"]["query"] == "label_values(ray_skipstack_trials, study)"


def test_an_engine_that_runs_again_counts_each_event_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Here on a cluster that is not there, with the trials of an engine without Ray."""
    from skipstack.search.execution.engines.ray import engine as module

    kept = Kept()

    class Published:
        def __init__(self, study: str) -> None:
            self.put, self.repeat = kept.put, lambda: None

    def looped(driver: Driver, *_: object, **__: object) -> SimpleNamespace:
        SerialEngine(KeepingWorker).run(driver)
        return SimpleNamespace(finished=True)

    monkeypatch.setattr(metrics, "_Published", Published)
    monkeypatch.setattr(module, "StudyLoop", looped)
    monkeypatch.setattr(module, "borrowed", nullcontext)
    monkeypatch.setattr(module, "joined", nullcontext)
    monkeypatch.setattr(module, "machines", lambda: {"id": ("host", {"CPU": 2.0, "GPU": 0.0})})
    monkeypatch.setattr(module, "resources", lambda: [{"CPU": 2.0, "GPU": 0.0}])
    folder = open_toy(tmp_path / "study", toy_study(3))
    with (
        Ledger(folder.ledger) as ledger,
        closing(module.RayEngine(KeepingWorker, address=None, gpus_per_trial=0)) as run,
    ):
        driver = toy_driver(folder, ledger)
        run.run(driver)
        point = {"model.stack.depth": 3, "training.optimiser.learning_rate": 0.0125}
        Requests(folder.asked).ask(Request(points=(point,)))
        assert driver.take_asked()
        run.run(driver)
        driver.finished()
    assert len(driver.record.trials) == 4
    epochs = sum(isinstance(event, Reported) for event in Ledger(folder.ledger).read())
    assert kept.values["skipstack_epochs_total", None] == epochs


@pytest.mark.cluster
def test_a_prometheus_reads_from_ray_what_the_ledger_says_also_long_after_it_changed(tmp_path: Path) -> None:
    pytest.importorskip("prometheus_client", reason="Ray's agent is part of ray[default], which is not installed")
    import ray

    from skipstack.search.execution.engines.ray.engine import RayEngine

    folder = open_toy(tmp_path / "study", toy_study(6))
    engine = RayEngine(FailingWorker, address=None, gpus_per_trial=0)
    try:
        with Ledger(folder.ledger) as ledger:
            run_study(toy_driver(folder, ledger), engine)
        wanted = expected(folder, Ledger(folder.ledger).read())
        (node,) = ray.nodes()
        place = f"http://{node['NodeManagerAddress']}:{node['MetricsExportPort']}/metrics"
        for least in (0.0, 45.0):  # Ray reports every 10 s, and forgets what it was not told for 20 s
            time.sleep(least)
            end, found = time.monotonic() + 120, Values()
            while found != wanted and time.monotonic() < end:
                time.sleep(0.5)
                with urlopen(place, timeout=10) as answer:
                    found = shown(scraped(answer.read().decode()))
            assert found == wanted
    finally:
        engine.close()


def scraped(text: str) -> Values:
    """What a page of metrics says of the study, under the names that they have here."""
    values: Values = {}
    for name, labels, value in re.findall(r"^ray_(skipstack_\w+)\{(.*)\} (\S+)$", text, flags=re.MULTILINE):
        of = dict(re.findall(r'(\w+)="([^"]*)"', labels))
        assert of["study"] == "toy"
        (label,) = (metric.label for metric in METRICS if metric.name == name)
        values[name, None if label is None else of[label]] = float(value)
    return values
