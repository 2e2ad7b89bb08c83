"""From a study to a recording of it: what `skipstack simulate` reads of its ledger, and nothing else.

python -m tests.benchmarks.schedulers.recording STUDY FOLDER

No word of the corpus is in it, nor who ran the study, when and where. It is a ledger like any other.
"""

import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from skipstack.search.ledger.events import CorpusPrepared, Ended, Event, Finished, Proposed, Reported, StudyOpened
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.ledger.lines import compacted
from skipstack.search.ledger.segments import Segments
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.record.reading import read_study


def thinned(events: Sequence[Event], measure: str) -> Iterator[Event]:
    """The study, its corpora without what they are made of, and of each trial its point, its dev scores and its end.

    Times count from the beginning. Trials that have not ended are left out.
    """
    begun, over = events[0].time, {event.trial for event in events if isinstance(event, Ended)}
    for event in events:
        if isinstance(event, Proposed | Reported) and event.trial not in over:
            continue
        match event:
            case StudyOpened() | Proposed() | Ended() | Finished():
                kept: Event = event
            case CorpusPrepared():
                kept = event.model_copy(update={"health": None, "warnings": (), "vectors": {}})
            case Reported():
                scores = {name: values for name, values in event.metrics.items() if name == f"dev_{measure}"}
                kept = event.model_copy(update={"metrics": scores, "seconds": round(event.seconds, 4)})
            case _:
                continue
        yield kept.model_copy(update={"time": round(event.time - begun, 3)})


def record(study: Path, folder: Path) -> None:
    """Write the recording of a study into a new folder, in one file."""
    measure = read_study(study).measure.name
    ledger = StudyFolder(folder).ledger
    ledger.mkdir(parents=True)
    events = Ledger(StudyFolder.existing(study).ledger).read()
    (ledger / "000001.jsonl.gz").write_bytes(as_one_file(thinned(events, measure)))


def as_one_file(events: Iterable[Event]) -> bytes:
    """A ledger of these events, as the only file of its folder."""
    with TemporaryDirectory() as folder:
        with Ledger(Path(folder)) as ledger:
            for event in events:
                ledger.append(event)
        return compacted(Segments(Path(folder)).lines())


if __name__ == "__main__":
    record(Path(sys.argv[1]), Path(sys.argv[2]))
