"""What is kept of a study to make its page anew: its ledger, without who ran it and where, and its commands.

It is a ledger like any other, so that ``skipstack report`` reads it. A number that somebody alters in it does not pass
the ledger's checksums. The commands that made the study stand beside it, as a shell script.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from skipstack.data.basis.atomic_files import write_atomically
from skipstack.search.ledger.events import (
    Ablated,
    Begun,
    CorpusPrepared,
    Event,
    Interrupted,
    Placed,
    Reported,
    Resumed,
    Retried,
    Started,
    StudyOpened,
    Untested,
    Used,
    WarmStarted,
)
from skipstack.search.ledger.ledger import Ledger
from skipstack.search.ledger.lines import SUFFIX
from skipstack.search.study.record.folder import StudyFolder
from tests.benchmarks.schedulers.recording import as_one_file

UNKEPT = (Placed, Started, Begun, Used, Retried, Untested, Interrupted, Resumed)
"""What a study went through, which no result depends on."""


@dataclass(frozen=True)
class Kept:
    """The ``file`` of a study's ledger."""

    file: Path

    @property
    def script(self) -> Path:
        return self.file.with_name(self.file.name.removesuffix(SUFFIX) + ".sh")

    @property
    def commands(self) -> str:
        """The commands that made it, a line each."""
        return self.script.read_text()

    def restored(self, folder: Path) -> Path:
        """The study in ``folder``, a new one."""
        ledger = StudyFolder(folder).ledger
        ledger.mkdir(parents=True)
        (ledger / "000001.jsonl.gz").write_bytes(self.file.read_bytes())
        return folder

    @cached_property
    def events(self) -> list[Event]:
        with TemporaryDirectory() as folder:
            return Ledger(StudyFolder(self.restored(Path(folder) / "study")).ledger).read()

    @property
    def version(self) -> str:
        """The version of skipstack that ran it."""
        return next(release(event) for event in self.events if isinstance(event, StudyOpened))


def keep(study: Path, kept: Kept, commands: str) -> None:
    """Write what is kept of a study, which these ``commands`` made."""
    kept.file.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(kept.file, as_one_file(thinned(Ledger(StudyFolder.existing(study).ledger).read())))
    kept.script.write_text(commands)


def thinned(events: Iterable[Event]) -> Iterator[Event]:
    """The events that results depend on, without folders and descriptions of corpora."""
    for event in events:
        match event:
            case Ablated():
                yield from (event.model_copy(update={"event": inner}) for inner in thinned([event.event]))
            case CorpusPrepared():
                yield event.model_copy(update={"health": None, "store": "", "vectors": {}})
            case WarmStarted():
                yield event.model_copy(update={"study": Path(event.study).name})
            case Reported():
                yield event.model_copy(update={"seconds": round(event.seconds, 3)})
            case _ if not isinstance(event, UNKEPT):
                yield event


def without_times(events: Iterable[Event]) -> Iterator[Event]:
    """The same with all times at 0: what two runs of one study on one machine have alike, bit for bit."""
    for event in events:
        alike: dict[str, Any] = {"time": 0.0}
        if isinstance(event, Reported):
            alike |= {"seconds": 0.0}
        if isinstance(event, Ablated):
            alike |= {"event": next(without_times([event.event]))}
        yield event.model_copy(update=alike)


def release(opened: StudyOpened) -> str:
    """The version of skipstack that began a study, without the digest of its code."""
    return opened.code_version.partition("+")[0]
