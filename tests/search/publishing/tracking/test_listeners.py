"""What hears a study beside MLflow: against the events by hand, and the files as TensorBoard and W&B read them."""

import math
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from skipstack.data.basis.errors import UserError
from skipstack.search.ledger.events import Ended, Event, Reported
from skipstack.search.ledger.events import Tested as Measured
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.publishing.tracking.listeners.delivery import Delivery, ListenerProcess
from skipstack.search.publishing.tracking.listeners.named import check
from skipstack.search.study.record.folder import StudyFolder
from tests.pages import GUIDE, Page
from tests.search.publishing.tracking.studies import DEPTH, SEEDS, ablated, history

OWN = """
import skipstack

class Lines(skipstack.Listener):
    def __init__(self, study):
        super().__init__(study)
        self.file = study.folder / "heard.txt"
        self.file.write_text("")

    def say(self, *said):
        with self.file.open("a") as lines:
            print(self.now, *said, sep="|", file=lines)

    def reported(self, trial, epoch, metrics):
        self.say("reported", trial.name, dict(trial.values), list(trial.seeds), epoch, sorted(metrics.items()))

    def tested(self, trial, metrics):
        self.say("tested", trial.name, sorted(metrics.items()))

    def ended(self, trial, reason, score):
        self.say("ended", trial.name, reason, score)

    def close(self):
        self.say("closed")
"""


def written(folder: Path, events: Sequence[Event]) -> Path:
    folder.mkdir(exist_ok=True)
    with Ledger(StudyFolder(folder).ledger) as ledger:
        ledger.append(*events)
    return folder


def by_hand(events: Sequence[Event], of: str = "") -> Iterator[str]:
    """What a listener is to hear of these events."""
    best = {0: 0.625, 1: 0.1875, 4: 0.875}
    for event in events:
        match event:
            case Reported(trial=number):
                values = f"{{{DEPTH!r}: {number + 1}}}|{list(SEEDS)}"
                metrics = sorted(event.metrics.items())
                yield f"{event.time}|reported|{of}trial {number}|{values}|{event.epoch}|{metrics}"
            case Measured(trial=number):
                yield f"{event.time}|tested|{of}trial {number}|{sorted(event.metrics.items())}"
            case Ended(trial=number):
                yield f"{event.time}|ended|{of}trial {number}|{event.reason}|{best.get(number)}"
            case _:
                pass


def test_a_listener_hears_every_event_once_in_order_and_again_from_the_beginning(tmp_path: Path) -> None:
    own = tmp_path / "lines.py"
    own.write_text(OWN)
    first, rest = history()[:15], history()[15:]
    folder = written(tmp_path / "study", first)
    telling = Delivery([str(own)], folder)
    telling.tell()
    assert (folder / "heard.txt").read_text().splitlines() == [*by_hand(first)]
    written(folder, [*rest, *ablated(history())])
    telling.tell()
    telling.tell()
    whole = [*by_hand(history()), *by_hand(history(), of="ablation 1, ")]
    assert (folder / "heard.txt").read_text().splitlines() == whole
    assert telling.close() == []
    again = ListenerProcess([str(own)], folder)
    assert again.close() == []
    *heard, closed = (folder / "heard.txt").read_text().splitlines()
    assert (heard, closed.partition("|")[2]) == (whole, "closed")


def scalars(run: Path) -> Iterator[tuple[str, int, float, float]]:
    """The scalars of a run by name, step and time; read as the format says: length, its sum, an event, its sum."""
    from tensorboardX.proto.event_pb2 import Event as Written

    for file in run.glob("events*"):
        content, place = file.read_bytes(), 0
        while place < len(content):
            (length,) = struct.unpack_from("<Q", content, place)
            event = Written.FromString(content[place + 12 : place + 12 + length])
            place += 16 + length
            for value in event.summary.value:
                if value.WhichOneof("value") == "simple_value":
                    yield value.tag, event.step, event.wall_time, value.simple_value


def test_tensorboard_has_each_metric_of_each_seed(tmp_path: Path) -> None:
    events = history()
    folder = written(tmp_path / "study", events)
    for _ in range(2):  # the second writes it anew
        telling = Delivery(["tensorboard"], folder)
        telling.tell()
        assert telling.close() == []
    for number in range(5):
        for place, seed in enumerate(SEEDS):
            expected = [
                (name, event.epoch if isinstance(event, Reported) else 0, event.time, values[place])
                for event in events
                if isinstance(event, Reported | Measured) and event.trial == number
                for name, values in event.metrics.items()
            ]
            found = sorted(scalars(folder / "tensorboard" / f"trial {number}" / f"seed {seed}"))
            assert [each[:3] for each in found] == [each[:3] for each in sorted(expected)]
            assert [each[3] for each in found] == pytest.approx([each[3] for each in sorted(expected)], nan_ok=True)


def records(content: bytes) -> Iterator[bytes]:
    """The records of a file of W&B, which is a log of LevelDB: blocks of 32 KiB, in which each piece has its sum, its
    length and its kind: whole, first, middle or last.
    """
    place, pieces = 7, b""
    while place < len(content):
        if (left := -place % 32768) < 7 and left:
            place += left
        _, length, kind = struct.unpack_from("<IHB", content, place)
        pieces += content[place + 7 : place + 7 + length]
        place += 7 + length
        if kind in (1, 4):
            yield pieces
            pieces = b""


@pytest.mark.slow
def test_wandb_has_each_metric_of_each_seed_offline(tmp_path: Path) -> None:
    pytest.importorskip("wandb", reason="a package of one's own choice")
    from wandb.proto.wandb_internal_pb2 import Record

    folder = written(tmp_path / "study", history())
    listening = ListenerProcess(["wandb"], folder)
    assert listening.close() == []
    steps: dict[str, list[tuple[str, str]]] = {}
    for file in folder.glob("wandb/offline-run-*/*.wandb"):
        for data in records(file.read_bytes()):
            for item in Record.FromString(data).history.item:
                name = item.key or ".".join(item.nested_key)
                if not name.startswith("_"):
                    steps.setdefault(file.stem.partition("-")[2].partition("-")[2], []).append((name, item.value_json))
    told = [event for event in history() if isinstance(event, Reported)]
    for place, seed in enumerate(SEEDS):
        of_first = [
            (name, values[place]) for event in told if event.trial == 0 for name, values in event.metrics.items()
        ]
        found = [(name, float(text)) for name, text in steps[f"trial-0-{seed}"] if name != "epoch"]
        assert sorted(found) == sorted(of_first)


BROKEN = OWN.replace("with self.file", 'raise RuntimeError("no room")\n        with self.file')


def test_a_listener_that_raises_is_told_and_the_others_go_on(tmp_path: Path) -> None:
    own = tmp_path / "broken.py"
    own.write_text(BROKEN)
    folder = written(tmp_path / "study", history())
    telling = Delivery([str(own), "tensorboard"], folder)
    telling.tell()
    (line,) = telling.close()
    assert line.startswith(f"--also {own}: broken.py:11: RuntimeError: no room")
    assert any(not math.isnan(each[3]) for each in scalars(folder / "tensorboard" / "trial 0" / "seed 0"))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "tensorbord",
            r"--also: unknown listener 'tensorbord' \(nearest: 'tensorboard'; allowed: tensorboard, wandb, FI",
        ),
        ("nowhere.py", r"--also: nowhere.py: no such file"),
    ],
)
def test_what_nobody_knows_is_refused_before_anything_runs(name: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        check([name])


def test_a_file_without_a_listener_is_told(tmp_path: Path) -> None:
    own = tmp_path / "empty.py"
    own.write_text("import skipstack\nfrom skipstack import Listener\n")
    telling = Delivery([str(own)], written(tmp_path / "study", history()))
    telling.tell()
    assert telling.close() == [
        f"--also {own}: {own}: got 0 classes of Listener (allowed: one); `skipstack sync` tells it again"
    ]


def test_the_reader_of_the_guide_prints_what_it_hears(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own = tmp_path / "mine.py"
    own.write_text(Page(GUIDE / "tracking.md").files["mine.py"])
    telling = Delivery([str(own)], written(tmp_path / "study", history()))
    telling.tell()
    assert telling.close() == []
    lines = capsys.readouterr().out.splitlines()
    told = [event for event in history() if isinstance(event, Reported | Ended)]
    assert [line.split()[1] for line in lines] == [str(event.trial) for event in told]
    assert lines[-1] == "trial 4 completed 0.875"
