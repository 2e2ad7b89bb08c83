"""MLflow holds what the ledger says, once, whatever happens to the writer or to the store.

The store is one sqlite file for the whole module, since making one takes seconds: each test tells a
study of its own, apart from the others by the time it was opened.
"""

import itertools
import math
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import skipstack
from skipstack.search.ledger.events import Event, Noted, Proposed, Renamed, StudyOpened
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.publishing.tracking import recording, retry_loop, writer
from skipstack.search.publishing.tracking.entry import USER_NOTE
from skipstack.search.publishing.tracking.private_store import lay_tables
from skipstack.search.publishing.tracking.runs import study_id
from skipstack.search.study.config import StudyConfig
from skipstack.search.study.record.study_record import StudyRecord
from skipstack.spaces.trial import TrialConfig
from tests.search.publishing.tracking import agreement
from tests.search.publishing.tracking.here import Recording
from tests.search.publishing.tracking.studies import DEPTH, SPACE, STUDY, ablated, history, opened, proposed, reported

KILLED = pytest.mark.filterwarnings("ignore:Exception in thread recording:pytest.PytestUnhandledThreadExceptionWarning")
OPENED = itertools.count(100)
LARGEST = sys.float_info.max


@pytest.fixture(scope="module")
def uri(tmp_path_factory: pytest.TempPathFactory) -> str:
    """With tables, since tests read while the first run is written."""
    database = tmp_path_factory.mktemp("mlflow") / "mlflow.db"
    lay_tables(database)
    return f"sqlite:///{database}"


@pytest.fixture
def events() -> list[Event]:
    """A study that the store does not have."""
    return [*opened(time=float(next(OPENED))), *history()[2:]]


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry_loop, "POLL", 0.002)
    monkeypatch.setattr(retry_loop, "PAUSE", 0.002)


def identity_of(events: Sequence[Event]) -> str:
    assert isinstance(events[0], StudyOpened)
    return study_id(events[0])


def write(uri: str, events: Sequence[Event], *, compare: bool = False) -> str | None:
    return Recording(uri, events, private=True, compare=compare).close()


def search(uri: str, events: Sequence[Event], more: str = "") -> list[Any]:
    """The study's runs, as a user finds them."""
    from mlflow import MlflowClient

    client = MlflowClient(uri)
    experiment = client.get_experiment_by_name("skipstack/depths")
    if experiment is None:
        return []
    ours = f"tags.`skipstack.study` = '{identity_of(events)}'{more}"
    return list(client.search_runs([experiment.experiment_id], ours, max_results=1000))


def curve(uri: str, run: Any, key: str) -> list[tuple[int, float, int]]:
    from mlflow import MlflowClient

    return sorted((m.step, m.value, m.timestamp) for m in MlflowClient(uri).get_metric_history(run.info.run_id, key))


def content(uri: str, events: Sequence[Event]) -> dict[str, Any]:
    """Everything that MLflow holds of a study, by run name; NaN as text, so that it equals itself."""
    found: dict[str, Any] = {}
    for run in search(uri, events):
        assert run.info.run_name not in found, "two runs for one trial"
        tags = {
            key: value
            for key, value in run.data.tags.items()
            if key not in ("mlflow.parentRunId", "skipstack.study", writer.MARK)
        }
        curves = {key: repr(curve(uri, run, key)) for key in sorted(run.data.metrics)}
        times = (run.info.start_time - (run.info.run_name == "depths") * run.info.start_time, run.info.end_time)
        read = [each.dataset.digest for each in run.inputs.dataset_inputs]
        found[run.info.run_name] = (run.info.status, times, tags, run.data.params, curves, read)
    return found


def config_of(event: Proposed) -> TrialConfig:
    return SPACE.config(event.point)


def test_the_ledger_and_mlflow_agree_number_for_number(uri: str, events: list[Event], tmp_path: Path) -> None:
    with Ledger(tmp_path / "ledger") as ledger:
        for event in events:
            ledger.append(event)
    told = Ledger(tmp_path / "ledger").read()
    assert write(uri, told) is None
    from mlflow import MlflowClient

    runs = {run.data.tags.get("skipstack.trial"): run for run in search(uri, told)}
    assert len(runs) == len(search(uri, told)) == 1 + 5

    for event in told:
        if isinstance(event, Proposed):
            flat = {path: str(value) for path, value in config_of(event).flatten().items()}
            axes = {"axis.depth": str(event.point[DEPTH])}
            assert runs[str(event.trial)].data.params == flat | axes
    expected, found = agreement.told(told), agreement.held(MlflowClient(uri), runs)
    assert repr(sorted(found.items(), key=str)) == repr(sorted(expected.items(), key=str))  # NaN equals itself as text
    leading = {0: ((1, 0.375, 1003), (2, 0.625, 1006)), 1: ((1, 0.1875, 1004),), 4: ((1, 0.875, 1011),)}
    for trial, points in leading.items():
        assert found[str(trial), "best_score"] == [(step, score, 1000 * time) for step, score, time in points]
    assert [value for _, value, _ in found[None, "best_score"]] == [0.1875, 0.1875, 0.625, 0.625, 0.875]
    tested = [(step, value) for trial in "04" for step, value, _ in found[trial, "test_accuracy"]]
    assert tested == [(2, 0.5), (1, 0.625)]  # at the epochs of the highest scores, the earliest of equals


def test_search_runs_puts_the_best_first_and_trials_without_a_score_last(uri: str, events: list[Event]) -> None:
    events.insert(-1, reported(2, 2, (1.0, 1.0), 1006.5))  # of the trial that then diverged
    diverged = next(event for event in events if getattr(event, "reason", "") == "diverged")
    events.remove(diverged)
    assert write(uri, [*events[:-1], diverged, events[-1]]) is None
    from mlflow import MlflowClient

    client = MlflowClient(uri)
    experiment = client.get_experiment_by_name("skipstack/depths")
    assert experiment is not None
    ours = f"tags.`skipstack.study` = '{identity_of(events)}' AND tags.`skipstack.kind` = 'trial'"
    found = client.search_runs([experiment.experiment_id], ours, order_by=["metrics.best_score DESC"])
    ranked = [trial.number for trial in StudyRecord.of(history()).ranked()]
    assert [int(run.data.tags["skipstack.trial"]) for run in found][: len(ranked)] == ranked == [4, 0, 1]
    assert [found[place].data.metrics["best_score"] for place in range(3)] == [0.875, 0.625, 0.1875]


def test_a_run_names_its_corpus_and_has_its_config_as_a_file(uri: str, events: list[Event], tmp_path: Path) -> None:
    assert write(uri, events) is None
    from mlflow import MlflowClient

    client = MlflowClient(uri)
    for run in search(uri, events):
        (read,) = run.inputs.dataset_inputs
        assert (read.dataset.name, read.dataset.digest) == ("grammar", "f1f2")
        assert run.info.artifact_uri.startswith(Path(uri.removeprefix("sqlite:///")).parent.as_uri())
        (name,) = (file.path for file in client.list_artifacts(run.info.run_id))
        written = Path(client.download_artifacts(run.info.run_id, name, str(tmp_path))).read_text()
        number = run.data.tags.get("skipstack.trial")
        if number is None:
            assert StudyConfig.model_validate_json(written) == STUDY
        else:
            assert TrialConfig.model_validate_json(written) == SPACE.config({DEPTH: int(number) + 1})


@pytest.mark.slow
def test_artifacts_that_cannot_be_written_keep_no_number_back(
    uri: str, events: list[Event], monkeypatch: pytest.MonkeyPatch
) -> None:
    write(uri, events)
    again = [*opened(time=float(next(OPENED))), *events[2:]]

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError("no such bucket")

    with monkeypatch.context() as patch:
        patch.setattr(writer, "put", refuse)
        message = write(uri, again)
    assert message is not None
    assert "(its artifacts: PermissionError: no such bucket)" in message
    found, expected = content(uri, again), content(uri, events)
    for _, _, tags, *_ in expected.values():
        assert tags.pop(writer.TEXTS)
    assert {name: run[:-1] for name, run in found.items()} == {name: run[:-1] for name, run in expected.items()}
    assert not any(run.inputs.dataset_inputs for run in search(uri, again))
    assert write(uri, again) is None
    assert content(uri, again) == content(uri, events), "made up for later"


@pytest.mark.slow
def test_runs_of_an_earlier_version_get_what_it_did_not_write(uri: str, events: list[Event]) -> None:
    write(uri, events)
    from mlflow import MlflowClient

    client, (trial,) = MlflowClient(uri), search(uri, events, " AND tags.`skipstack.trial` = '0'")
    expected = content(uri, events)
    with sqlite3.connect(uri.removeprefix("sqlite:///")) as store:
        for table, column, like in (
            ("params", "key", "axis.%"),
            ("metrics", "key", "best_%"),
            ("latest_metrics", "key", "best_%"),
            ("tags", "key", "skipstack.selected"),
        ):
            store.execute(
                f"delete from {table} where run_uuid = ? and {column} like ?",
                (trial.info.run_id, like),
            )
        store.execute("delete from inputs where destination_id = ?", (trial.info.run_id,))
        store.execute("delete from tags where key = ?", (writer.MARK,))
    store.close()
    assert content(uri, events) != expected
    assert write(uri, events) is None
    assert content(uri, events) == expected
    assert client.get_run(trial.info.run_id).inputs.dataset_inputs


@pytest.mark.slow
def test_a_study_that_went_on_is_finished_however_few_events_are_read_at_a_time(
    uri: str, events: list[Event], monkeypatch: pytest.MonkeyPatch
) -> None:
    write(uri, events)
    expected = content(uri, events)
    monkeypatch.setattr(recording, "BATCH", 1)
    assert write(uri, events, compare=True) is None
    assert content(uri, events) == expected


@pytest.mark.slow
def test_of_what_the_mark_covers_no_run_is_asked_for_but_to_compare(
    uri: str, events: list[Event], monkeypatch: pytest.MonkeyPatch
) -> None:
    from mlflow import MlflowClient

    *most, last = events
    write(uri, most)
    client, (trial,) = MlflowClient(uri), search(uri, events, " AND tags.`skipstack.trial` = '0'")
    client.delete_tag(trial.info.run_id, "skipstack.rung")
    read: list[int] = []

    def counted(*arguments: Any, **options: Any) -> Any:
        found = whole(*arguments, **options)
        read.append(len(found))
        return found

    whole = MlflowClient.search_runs
    monkeypatch.setattr(MlflowClient, "search_runs", counted)
    assert write(uri, most) is None
    assert read == [1], "the study's own, which has the mark"
    assert write(uri, events) is None
    (again,) = search(uri, events, " AND tags.`skipstack.trial` = '0'")
    assert "skipstack.rung" not in again.data.tags
    assert (
        search(uri, events, " AND tags.`skipstack.kind` = 'study'")[0]
        .data.tags[writer.MARK]
        .startswith(f"{len(events)} events, ")
    ), last
    assert write(uri, events, compare=True) is None
    (again,) = search(uri, events, " AND tags.`skipstack.trial` = '0'")
    assert "skipstack.rung" in again.data.tags


def test_search_runs_finds_a_study_and_its_trials_and_the_page_nests_them(uri: str, events: list[Event]) -> None:
    renamed = STUDY.model_copy(update={"name": "depths, ablation 1"})
    write(uri, [*events, *ablated([*opened(renamed), *history()[2:]])])
    write(uri, opened(time=float(next(OPENED))))
    (study,) = search(uri, events, " AND tags.`skipstack.kind` = 'study'")
    trials = search(uri, events, " AND tags.`skipstack.kind` = 'trial'")
    assert study.info.run_name == "depths"
    assert sorted(run.info.run_name for run in trials) == [f"trial {number}" for number in range(5)]
    assert {run.data.tags["mlflow.parentRunId"] for run in trials} == {study.info.run_id}
    assert len(search(uri, events, " AND tags.`skipstack.end_reason` = 'completed'")) == 2 + 2
    good = search(uri, events, " AND metrics.test_accuracy > 0.6 AND params.`model.stack.depth` = '5'")
    assert sorted(run.info.run_name for run in good) == ["base + depth 5", "trial 4"]
    (ablation,) = search(uri, events, " AND tags.`skipstack.kind` = 'ablation'")
    assert ablation.info.run_name == "depths, ablation 1"
    assert ablation.data.tags["mlflow.parentRunId"] == study.info.run_id
    again = search(uri, events, " AND tags.`skipstack.kind` = 'ablation_trial'")
    assert sorted(run.info.run_name for run in again) == [f"base + depth {depth}" for depth in (1, 2, 3, 4, 5)]
    assert {run.data.tags["mlflow.parentRunId"] for run in again} == {ablation.info.run_id}


def test_nan_stays_nan_and_an_infinite_value_is_the_largest_float_of_its_sign(uri: str) -> None:
    events = [*opened(time=float(next(OPENED))), *proposed(0, 1002.0)]
    events += [reported(0, epoch, (value, value), 1002.0 + epoch) for epoch, value in enumerate(EDGES, start=1)]
    assert write(uri, events) is None
    (trial,) = search(uri, events, " AND tags.`skipstack.kind` = 'trial'")
    values = [value for _, value, _ in curve(uri, trial, "dev_accuracy/seed_0")]
    assert math.isnan(values[0])
    assert values[1:] == [LARGEST, -LARGEST, 5e-324, 0.1]
    assert write(uri, events) is None
    assert len(curve(uri, trial, "dev_accuracy/seed_0")) == len(EDGES)


EDGES = (math.nan, math.inf, -math.inf, 5e-324, 0.1)


@pytest.mark.slow
def test_it_does_not_matter_how_the_events_are_gathered(uri: str, events: list[Event], hasty: None) -> None:
    later = [*opened(time=float(next(OPENED))), *history()[2:]]
    tracker = Recording(uri, events[:1], private=True)
    for event in events[1:]:
        tracker(event)
        time.sleep(0.01)
    assert tracker.close() is None
    assert write(uri, later) is None
    assert content(uri, events) == content(uri, later)


def test_a_note_on_a_trial_that_has_ended_replaces_the_one_before(uri: str, events: list[Event]) -> None:
    for number, text in enumerate(["noisy", "seed 1 alone", ""]):
        events.append(Noted(time=3000.0 + number, trial=0, text=text))
        assert write(uri, events) is None
        (trial,) = search(uri, events, " AND tags.`skipstack.trial` = '0'")
        assert trial.data.tags[USER_NOTE] == text


def test_sync_shows_the_last_title_whichever_the_store_has(uri: str, events: list[Event]) -> None:
    for number, title in enumerate(["Depths of May", "Depths of June", "depths"]):
        events.append(Renamed(time=3000.0 + number, title=title))
        assert write(uri, events, compare=True) is None
        (study,) = search(uri, events, " AND tags.`skipstack.kind` = 'study'")
        assert study.info.run_name == title


def test_writing_a_study_again_writes_nothing(uri: str, events: list[Event], monkeypatch: pytest.MonkeyPatch) -> None:
    events += ablated([*opened(STUDY.model_copy(update={"name": "depths, ablation 1"})), *history()[2:]])
    write(uri, events)
    calls = Calls(monkeypatch)
    assert write(uri, events) is None
    assert calls.count == 0


@pytest.mark.slow
def test_writing_a_study_of_a_function_again_writes_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    skipstack.search(skipstack.Space(x=skipstack.choice(1, 2)), double, engine="serial", seeds=1, out=tmp_path / "two")
    events = Ledger(tmp_path / "two" / "ledger").read()
    calls, files = Calls(monkeypatch), list[object]()
    monkeypatch.setattr(writer, "put", lambda *file: files.append(file))
    recording = Recording(f"sqlite:///{tmp_path / 'two' / 'mlflow.db'}", events, folder=tmp_path / "two", private=True)
    assert recording.close() is None
    assert (calls.count, files) == (0, [])


def double(config: dict[str, int]) -> int:
    return 2 * config["x"]


class Killed(SystemExit):
    """Ends a thread at once and without a word."""


@dataclass
class Call:
    """One writing call: ``half`` carries a part of it out, ``whole`` all of it."""

    number: int
    name: str
    whole: Callable[[], Any]
    half: Callable[[], Any]


class Calls:
    """Stands between the tracker and MLflow's writing calls, counts them, and may interfere."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, interfere: Callable[[Call], Any] = lambda call: call.whole()
    ) -> None:
        from mlflow import MlflowClient

        self.count = 0
        for name in ("create_run", "log_inputs", "log_batch", "update_run", "set_terminated"):
            monkeypatch.setattr(MlflowClient, name, self._wrapped(name, getattr(MlflowClient, name), interfere))

    def _wrapped(self, name: str, original: Callable[..., Any], interfere: Callable[[Call], Any]) -> Callable[..., Any]:
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            if name == "log_batch" and not any(kwargs.values()):
                return None
            self.count += 1
            half = {key: value[: len(value) // 2] for key, value in kwargs.items() if isinstance(value, list)}
            return interfere(
                Call(
                    self.count,
                    name,
                    lambda: original(*args, **kwargs),
                    lambda: original(*args, **(half or kwargs)),
                )
            )

        return wrapped


@pytest.mark.slow
@KILLED
@pytest.mark.parametrize(
    "done", ["half", *(pytest.param(each, marks=pytest.mark.slow) for each in ("nothing", "whole"))]
)
def test_a_writer_killed_at_any_call_leaves_what_the_next_one_completes(
    uri: str, events: list[Event], done: str, monkeypatch: pytest.MonkeyPatch, hasty: None
) -> None:
    events = [event for event in events if getattr(event, "trial", 0) in (0, 2)]
    write(uri, events)
    expected = content(uri, events)
    fatal = 0

    def die(call: Call) -> Any:
        if call.number == fatal:
            {"nothing": lambda: None, "half": call.half, "whole": call.whole}[done]()
            raise Killed
        return call.whole()

    for fatal in itertools.count(1):
        with monkeypatch.context() as patch:
            again = [*opened(time=float(next(OPENED))), *events[2:]]
            calls = Calls(patch, die)
            told = again if fatal % 2 else again[:-4]
            if Recording(uri, told, private=True).close() is None:
                break
        assert calls.count == fatal
        assert write(uri, again) is None
        assert content(uri, again) == expected
    assert fatal > 3 * 3, "three runs were made, filled and ended"


@pytest.mark.slow
def test_a_store_that_fails_now_and_then_ends_with_the_same_runs(
    uri: str, events: list[Event], monkeypatch: pytest.MonkeyPatch, hasty: None
) -> None:
    write(uri, events)
    again = [*opened(time=float(next(OPENED))), *events[2:]]

    def fail(call: Call) -> Any:
        if call.number % 3 == 0:
            [lambda: None, call.half, call.whole][call.number // 3 % 3]()
            raise ConnectionError("gone")
        return call.whole()

    with monkeypatch.context() as patch:
        Calls(patch, fail)
        tracker = Recording(uri, again[:9], private=True)
        for event in again[9:]:
            tracker(event)
            time.sleep(0.01)
        assert tracker.close() is None
    assert content(uri, again) == content(uri, events)


@pytest.mark.slow
def test_a_request_that_was_given_up_and_carried_out_late_makes_no_second_run(
    uri: str, events: list[Event], monkeypatch: pytest.MonkeyPatch, hasty: None
) -> None:
    write(uri, events)
    again = [*opened(time=float(next(OPENED))), *events[2:]]
    late: list[Call] = []

    def delay(call: Call) -> Any:
        if call.name == "create_run" and not late:
            late.append(call)
            raise TimeoutError("no answer in time")
        if call.name == "set_terminated" and len(late) == 1:
            late.append(call)
            late[0].whole()
        return call.whole()

    with monkeypatch.context() as patch:
        Calls(patch, delay)
        assert write(uri, again) is None
    assert len(late) == 2
    assert content(uri, again) == content(uri, events)


@pytest.mark.slow
def test_one_run_that_the_store_refuses_does_not_keep_the_others_from_being_written(
    uri: str, events: list[Event], monkeypatch: pytest.MonkeyPatch, hasty: None
) -> None:
    write(uri, events)
    again = [*opened(time=float(next(OPENED))), *events[2:]]
    from mlflow import MlflowClient

    original = MlflowClient.log_batch

    def refuse(self: Any, run_id: str, *args: Any, **kwargs: Any) -> None:
        if self.get_run(run_id).info.run_name == "trial 1":
            raise ValueError("not this one")
        original(self, run_id, *args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(MlflowClient, "log_batch", refuse)
        message = write(uri, again)
    assert message is not None
    assert "(ValueError: not this one)" in message
    found, expected = content(uri, again), content(uri, events)
    assert found.pop("trial 1") != expected.pop("trial 1")
    assert found == expected


@pytest.mark.slow
def test_a_run_that_the_user_deleted_stays_deleted_and_the_study_goes_on(
    uri: str, events: list[Event], hasty: None
) -> None:
    from mlflow import MlflowClient

    tracker = Recording(uri, events[:7], private=True)
    wait_until(lambda: len(search(uri, events)) == 3)
    (gone,) = search(uri, events, " AND tags.`skipstack.trial` = '0'")
    MlflowClient(uri).delete_run(gone.info.run_id)
    for event in events[7:]:
        tracker(event)
    assert tracker.close() is None
    assert set(content(uri, events)) == {"depths", "trial 1", "trial 2", "trial 3", "trial 4"}


@pytest.mark.slow
def test_the_run_of_a_study_or_of_an_ablation_that_was_deleted_comes_back_above_its_trials(
    uri: str, events: list[Event], monkeypatch: pytest.MonkeyPatch
) -> None:
    from mlflow import MlflowClient

    events += ablated([*opened(STUDY.model_copy(update={"name": "depths, ablation 1"})), *history()[2:]])
    assert write(uri, events) is None
    before = content(uri, events)
    for kind in ("study", "ablation"):
        (gone,) = search(uri, events, f" AND tags.`skipstack.kind` = '{kind}'")
        MlflowClient(uri).delete_run(gone.info.run_id)
    assert write(uri, events) is None
    assert content(uri, events).keys() == before.keys()
    for above, below in (("study", "trial"), ("study", "ablation"), ("ablation", "ablation_trial")):
        (parent,) = search(uri, events, f" AND tags.`skipstack.kind` = '{above}'")
        runs = search(uri, events, f" AND tags.`skipstack.kind` = '{below}'")
        assert {run.data.tags["mlflow.parentRunId"] for run in runs} == {parent.info.run_id}
    calls = Calls(monkeypatch)
    assert write(uri, events, compare=True) is None
    assert calls.count == 0


def test_a_server_that_is_away_is_reported_in_one_line_and_its_secrets_stay_secret(
    events: list[Event], hasty: None, capfd: pytest.CaptureFixture[str]
) -> None:
    tracker = Recording("http://ann:s3cret@127.0.0.1:9/?token=t0ken", events[:2])
    for event in events[2:]:
        tracker(event)
    message = tracker.close()
    assert message is not None
    assert message.startswith("MLflow at http://***@127.0.0.1:9/?***: not everything is recorded (")
    assert message.endswith("); resuming the study writes what is missing")
    assert "\n" not in message
    written = "".join([message, *capfd.readouterr()])
    assert "s3cret" not in written
    assert "t0ken" not in written


def test_a_tracker_that_heard_nothing_asks_no_store() -> None:
    assert Recording("http://127.0.0.1:9", []).close() is None


@pytest.mark.slow
@pytest.mark.parametrize("runs", [1, 3, 6])
def test_a_process_killed_while_it_writes_leaves_what_the_next_one_completes(
    uri: str, events: list[Event], runs: int, tmp_path: Path
) -> None:
    path = tmp_path / "mlflow.db"
    child = subprocess.Popen([sys.executable, "-c", CHILD, f"sqlite:///{path}", str(events[0].time)])
    try:
        wait_until(lambda: rows(path) >= runs)
    finally:
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
    assert write(f"sqlite:///{path}", events) is None
    assert write(uri, events) is None
    assert content(f"sqlite:///{path}", events) == content(uri, events)


CHILD = """
import sys, time
from skipstack.search.publishing.tracking import retry_loop
from skipstack.search.study.config import StudyConfig
from tests.search.publishing.tracking.here import Recording
from tests.search.publishing.tracking.studies import history, opened
retry_loop.POLL = retry_loop.PAUSE = 0.002
tracker = Recording(sys.argv[1], opened(time=float(sys.argv[2])), private=True)
for event in history()[2:]:
    time.sleep(0.05)
    tracker(event)
time.sleep(60)
"""


def rows(path: Path) -> int:
    if not path.exists():
        return 0
    try:
        with sqlite3.connect(path) as connection:
            return int(connection.execute("select count(*) from runs").fetchone()[0])
    except sqlite3.OperationalError:  # the table is not made yet, or is being written
        return 0
    finally:
        connection.close()


def wait_until(there: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not there():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.005)


@pytest.mark.slow
def test_a_deleted_experiment_is_named_with_the_command_that_restores_it(
    uri: str, events: list[Event], hasty: None
) -> None:
    from mlflow import MlflowClient

    client = MlflowClient(uri)
    assert write(uri, events[:7]) is None
    (experiment,) = {run.info.experiment_id for run in search(uri, events)}
    client.delete_experiment(experiment)
    message = write(uri, events)
    assert message is not None
    assert f"`mlflow experiments restore --experiment-id {experiment}`" in message
    assert "\n" not in message
    client.restore_experiment(experiment)
    assert write(uri, events) is None, "what it advises works"
    assert len(content(uri, events)) == 1 + 5
