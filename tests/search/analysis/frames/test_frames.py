"""Each frame against the events of its ledger, gone through one by one."""

import json
import math
import shutil
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import numpy as np
import pandas as pd
import pytest

from skipstack.dashboards.charts.axes import ordered
from skipstack.data.basis.errors import UserError
from skipstack.search.analysis import study_frames as reading
from skipstack.search.analysis.frames.columns import COLUMNS
from skipstack.search.analysis.frames.frame_cache import ABOUT, as_parquet, from_parquet
from skipstack.search.analysis.frames.trials import trials
from skipstack.search.analysis.study_frames import MADE, StudyFrames, study_frames
from skipstack.search.ledger import events as happened
from skipstack.search.ledger.events import Decided, Ended, Event, Extended, Proposed, Reported
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.ledger.lines import Line
from skipstack.search.ledger.segments import Segments
from skipstack.search.study.record.study_record import StudyRecord
from tests.formats.before_files import STUDIES, copied
from tests.search import made_up
from tests.search.changed import searched
from tests.search.toy import FailingWorker, open_toy, run_toy, toy_study

ALL = (*MADE, "usage", "events")


def toy(path: Path, **search: Any) -> Path:
    """A study whose trials are toys: some fail, some diverge, some are stopped."""
    folder = open_toy(path, searched(toy_study(trials=9, proposer="random"), **{"seeds": 3, **search}))
    run_toy(folder, worker=FailingWorker)
    return path


@pytest.fixture(
    scope="module", params=[*STUDIES, "asha toys", "racing toys"], ids=lambda name: str(name).replace(" ", "-")
)
def study(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Studies of the version before, of all measures and schedulers, and toys, one whose seeds race."""
    if request.param == "asha toys":
        return toy(tmp_path_factory.mktemp("toys") / "study")
    if request.param == "racing toys":
        racing = {"kind": "asha", "grace": 1, "reduction": 2, "resource": "seeds"}
        return toy(tmp_path_factory.mktemp("racing") / "study", scheduler=racing, seeds=4)
    return copied(request.param, tmp_path_factory.mktemp("before"))


def told(path: Path) -> list[Event]:
    return Ledger(path / "ledger").read()


def of(path: Path, kind: type[Any]) -> Iterator[tuple[int, Any]]:
    """The events of one kind, with their numbers."""
    return ((number, event) for number, event in enumerate(told(path)) if isinstance(event, kind))


@pytest.mark.first(3)
def test_every_frame_has_its_columns_and_stays_what_it_is_in_parquet(study: Path, tmp_path: Path) -> None:
    frames = study_frames(study)
    further = {
        "trials": set(frames.space.domains),
        "curves": {name for _, event in of(study, Reported) for name in event.metrics} - {f"dev_{frames.measure.name}"},
        "sentences": set(frames.measure.counted),
    }
    frames.to_parquet(tmp_path)
    for name in ALL:
        frame = getattr(frames, name)
        plain = frame.reset_index() if name == "trials" else frame
        dtypes = {column.name: str(pd.Series([], dtype=column.dtype).dtype) for column in COLUMNS[name]}
        assert {key: str(dtype) for key, dtype in plain.dtypes.items() if key in dtypes} == dtypes
        assert list(plain.columns)[: len(dtypes)] == list(dtypes)
        assert set(plain.columns) - dtypes.keys() == further.get(name, set())
        pd.testing.assert_frame_equal(from_parquet(name, as_parquet(frame)), frame)
        pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / f"{name}.parquet"), plain)


def test_an_ordinal_of_texts_keeps_its_order(tmp_path: Path) -> None:
    """Also in Parquet, where a filter sees fewer of its values than there are."""
    gates = ["sigmoid_below", "none"]
    config = made_up.study({made_up.DEPTH: {"ordinal": [1, 3]}, made_up.GATE: {"ordinal": gates}}, composition=2)
    frame = trials(StudyRecord.of([*made_up.history(config)]))
    again = from_parquet("trials", as_parquet(frame[frame[made_up.GATE] == "none"]))
    for found in (frame, again):
        assert found[made_up.GATE].dtype == pd.CategoricalDtype(gates, ordered=True)
        assert found[made_up.DEPTH].dtype == "Int64"
    assert ordered(frame[made_up.GATE]) == gates
    assert ordered(again[made_up.GATE]) == ["none"]


def test_curves_are_the_reports(study: Path) -> None:
    frames, record = study_frames(study), StudyRecord.of(told(study))
    dev = f"dev_{frames.measure.name}"
    rows = []
    for number, event in of(study, Reported):
        seeds = event.seeds or record.trials[event.trial].seeds
        for place, seed in enumerate(seeds):
            metrics = {"dev" if name == dev else name: lanes[place] for name, lanes in event.metrics.items()}
            base = {"trial": event.trial, "epoch": event.epoch, "seed": seed, "score": event.score}
            rows.append({**base, "seconds": event.seconds, "event": number, **metrics})
    rows.sort(key=lambda row: (row["trial"], row["event"]))
    found = frames.curves
    expected = pd.DataFrame(rows)
    assert set(found.columns) == set(expected.columns)
    pd.testing.assert_frame_equal(found, expected[found.columns], check_exact=True)


def test_trials_and_seeds_are_what_their_events_say(study: Path) -> None:
    """Where seeds race, each group has its own best epoch, and the trial's score is the mean over the seeds."""
    frames, record = study_frames(study), StudyRecord.of(told(study))
    events, sign = told(study), record.measure.score(1.0)
    assert list(frames.trials.index) == [event.trial for _, event in of(study, Proposed)]
    for number, row in frames.trials.iterrows():
        trial = record.trials[int(str(number))]
        seeds = frames.seeds[frames.seeds["trial"] == number]
        proposed = events[row["proposed_event"]]
        assert isinstance(proposed, Proposed)
        assert (proposed.trial, json.loads(row["point"])) == (number, proposed.point)
        ended = [place for place, event in of(study, Ended) if event.trial == number]
        assert ended == ([] if pd.isna(row["ended_event"]) else [row["ended_event"]])
        assert row["state"] == (trial.reason or ("paused" if trial.paused else "running"))
        reports = [event for _, event in of(study, Reported) if event.trial == number]
        assert row["epochs"] == (0 if row["reused"] else len(reports))
        assert row["seconds"] == pytest.approx(sum(event.seconds for event in reports))
        assert (row["seeds"], len(seeds)) == (len(trial.seeds), 0 if math.isnan(row["score"]) else len(trial.seeds))
        for name, frame in (("dev", seeds["dev"]), ("test", seeds["test"])):
            known = [value for value in frame if not math.isnan(value)]
            assert row[name] == pytest.approx(fmean(known) if known else math.nan, nan_ok=True)
            spread = stdev(known) if len(known) > 1 else math.nan
            assert row[f"{name}_deviation"] == pytest.approx(spread, nan_ok=True)
        assert row["score"] == pytest.approx(sign * row["dev"], nan_ok=True)
        for seed in seeds.itertuples():
            report, group = events[seed.best_event], record.trials[number].seeds
            assert isinstance(report, Reported)
            group = report.seeds or trial.seeds
            alike = [event for event in reports if event.seeds == report.seeds and math.isfinite(event.score)]
            assert report == max(alike, key=lambda event: event.score)
            assert (seed.best_epoch, seed.dev) == (
                report.epoch,
                report.metrics[f"dev_{frames.measure.name}"][group.index(seed.seed)],
            )
            if not pd.isna(seed.tested_event):
                tested = events[seed.tested_event]
                assert isinstance(tested, happened.Tested)
                values = tested.metrics[f"test_{frames.measure.name}"]
                assert seed.test == values[trial.seeds.index(seed.seed)]
        if len(seeds):
            assert row["best_event"] == seeds["best_event"].iloc[0]


def test_sentences_sum_to_what_seeds_reach_on_test(tmp_path: Path) -> None:
    frames = study_frames(toy(tmp_path / "study"))
    sums = frames.sentences.groupby(["trial", "seed"])[["correct", "tags"]].sum()
    tested = frames.seeds.dropna(subset=["test"]).set_index(["trial", "seed"])
    assert len(sums) == len(tested) > 0
    reached = frames.measure.of_counts(sums.to_numpy())
    assert dict(zip(sums.index, reached, strict=True)) == tested["test"].to_dict()
    assert (sums["tags"] == 100).all()
    counted = frames.sentences.groupby(["trial", "seed"])["sentence"].agg(list)
    assert set(map(tuple, counted)) == {(0, 1, 2, 3)}
    assert set(frames.sentences["event"]) == set(tested["tested_event"])


def test_events_are_the_ledger(study: Path) -> None:
    frame = study_frames(study).events
    plain = [event.model_dump(mode="json") for event in told(study)]
    assert frame["event"].tolist() == list(range(len(plain)))
    assert frame["kind"].tolist() == [event["kind"] for event in plain]
    trials = [event.get("trial") for event in plain]
    assert frame["trial"].astype(object).where(frame["trial"].notna(), None).tolist() == trials
    for text, event in zip(frame["json"], plain, strict=True):
        if event["kind"] != "study_opened":  # whose form was another one before
            said = json.loads(text)
            assert said.items() <= event.items()
            assert all(not value for key, value in event.items() if key not in said)


@pytest.mark.parametrize("name", ["events", "usage"])
def test_a_compaction_while_a_ledger_is_read_changes_no_frame(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another driver compacts once the files to read are known, and before they are opened."""
    path = toy(tmp_path / "study")
    wanted, frames = getattr(study_frames(path), name), study_frames(path)
    lines, drivers = Segments.lines, [Ledger(path / "ledger", worth_compacting=1)]

    def overtaken(segments: Segments) -> Iterator[Line]:
        found = lines(segments)
        if drivers:
            with drivers.pop():
                pass
        return found

    monkeypatch.setattr(Segments, "lines", overtaken)
    pd.testing.assert_frame_equal(getattr(frames, name), wanted)
    assert not drivers


def test_a_ledger_that_cannot_be_read_leaves_no_folder_of_frames(tmp_path: Path) -> None:
    path = toy(tmp_path / "study")
    frames, segment = study_frames(path), path / "ledger" / "000001.jsonl"
    segment.write_bytes(b"?" + segment.read_bytes())
    with pytest.raises(UserError, match=r"000001\.jsonl:1: damaged"):
        frames.to_parquet(tmp_path / "frames")
    assert not (tmp_path / "frames").exists()


# --- kept in the study's folder ---------------------------------------------------------------------------------------


@pytest.fixture
def long(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every ledger is long enough."""
    monkeypatch.setattr(reading, "LONG", 0)


def same(found: StudyFrames, wanted: StudyFrames) -> None:
    for name in (*ALL, "reached"):
        pd.testing.assert_frame_equal(getattr(found, name), getattr(wanted, name), check_exact=True)
    assert (found.study, found.corpora, found.base, found.finished) == (
        wanted.study,
        wanted.corpora,
        wanted.base,
        wanted.finished,
    )
    assert (found.measure, found.baseline) == (wanted.measure, wanted.baseline)


def unread(monkeypatch: pytest.MonkeyPatch) -> None:
    """From here on no ledger is read."""

    def refuse(path: Path) -> StudyRecord:
        raise AssertionError(path)

    monkeypatch.setattr(reading, "read_study", refuse)


def test_a_short_ledger_leaves_nothing_in_its_folder(tmp_path: Path) -> None:
    path = copied("asha", tmp_path)
    study_frames(path)
    assert not (path / "frames").exists()


@pytest.mark.first(3)
@pytest.mark.usefixtures("long")
def test_frames_that_were_kept_are_those_of_the_ledger(
    study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = Path(shutil.copytree(study, tmp_path / "study"))
    wanted = StudyFrames.of(StudyRecord.of(told(path)), path)
    same(study_frames(path), wanted)
    unread(monkeypatch)
    same(study_frames(path), wanted)


@pytest.mark.usefixtures("long")
def test_a_ledger_that_has_grown_and_the_frames_of_another_are_not_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = toy(tmp_path / "one"), toy(tmp_path / "other", seed=5)
    earlier = study_frames(one)
    study_frames(other)
    with Ledger(one / "ledger") as ledger:
        ledger.append(Extended(time=9.0, trials=3))
    grown = study_frames(one)
    assert (earlier.finished, grown.finished) == (True, False)
    assert grown.study.search.trials == earlier.study.search.trials + 3
    for file in (one / "frames").iterdir():
        file.write_bytes((other / "frames" / file.name).read_bytes())
    same(study_frames(one), grown)
    unread(monkeypatch)
    assert len(earlier.events) == len(grown.events) - 1, "what was read stays as it was"


@pytest.mark.first(2)
@pytest.mark.usefixtures("long")
@pytest.mark.parametrize("damage", ["cut", "flipped", "gone", "no json", "unwritable", "symbolic link", "full disk"])
def test_what_is_damaged_or_cannot_be_kept_costs_time_and_nothing_else(
    damage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = toy(tmp_path / "study")
    wanted = StudyFrames.of(StudyRecord.of(told(path)), path)
    kept = path / "frames"
    if damage == "symbolic link":
        (tmp_path / "elsewhere").mkdir()
        kept.symlink_to(tmp_path / "elsewhere")
    elif damage == "unwritable":
        kept.write_text("a file")
    elif damage == "full disk":

        def full(*_: object) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("os.replace", full)
    else:
        study_frames(path)
    file = kept / "curves.parquet"
    match damage:
        case "cut":
            file.write_bytes(file.read_bytes()[:-9])
        case "flipped":
            content = bytearray(file.read_bytes())
            content[len(content) // 2] ^= 1
            file.write_bytes(content)
        case "gone":
            file.unlink()
        case "no json":
            (kept / ABOUT).write_text('{"stamp":')
        case _:
            pass
    same(study_frames(path), wanted)
    same(study_frames(path), wanted)
    if damage == "symbolic link":
        assert not list((tmp_path / "elsewhere").iterdir())
    if damage == "full disk":
        assert not list(kept.iterdir())


def test_a_study_of_many_seeds_and_metrics_is_framed_row_by_row(tmp_path: Path) -> None:
    """Seeds that were added, and metrics that came later, leave NaN where there were none."""
    config = made_up.study(trials=3, scheduler={"kind": "none"})
    events = [
        *made_up.opening(config),
        *(made_up.proposed(config, number, {made_up.DEPTH: 1, made_up.RATE: 0.01}) for number in (0, 1)),
        made_up.reported(0, 1, 0.5, 0.75),
        made_up.reported(1, 1, 0.5, 0.25).model_copy(update={"metrics": {"dev_accuracy": (0.5, 0.25), "new": (1.0,)}}),
        Decided(time=0.0, trial=1, epoch=1, decision="continue", rung=None),
        made_up.reported(0, 2, math.nan, 0.75),
    ]
    frames = StudyFrames.of(StudyRecord.of(events), tmp_path)
    found = frames.curves[["trial", "epoch", "seed", "dev", "new", "event"]].to_numpy(dtype=float)
    nan = math.nan
    expected = [
        [0, 1, 0, 0.5, nan, 4],
        [0, 1, 1, 0.75, nan, 4],
        [0, 2, 0, nan, nan, 7],
        [0, 2, 1, 0.75, nan, 7],
        [1, 1, 0, 0.5, 1.0, 5],
        [1, 1, 1, 0.25, nan, 5],
    ]
    assert np.array_equal(found, np.array(expected), equal_nan=True)
    assert frames.trials["best_event"].tolist() == [4, 5]


def test_no_study_is_no_frames(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no study here"):
        study_frames(tmp_path)
