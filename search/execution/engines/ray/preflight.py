"""The checks of a machine: every machine of a cluster must pass them before it may train a trial."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from skipstack.data.basis.errors import UserError
from skipstack.data.basis.user_code.configs import CodeSource, Part, sources
from skipstack.data.basis.user_code.files import load_sent
from skipstack.data.store.stored import open_store
from skipstack.data.store.vectors import open_vectors
from skipstack.search.execution.engines.ray.copying.mark import Mark, unwritable
from skipstack.search.execution.engines.ray.copying.scratch import trouble
from skipstack.search.study.code_version import code_version
from skipstack.search.study.record.folder import StudyFolder
from skipstack.search.study.record.study_record import StudyRecord

DRIVERS: Final[frozenset[Part]] = frozenset({"format", "proposer", "scheduler"})
"""The types of users' components that only the driver needs."""


@dataclass(frozen=True, slots=True)
class Preflight:
    """Checks whether a machine can train a study. It is sent to the machine and called there. ``mark``: shows whether a
    machine sees the folder of the study's trials. ``copies``: whether files are copied to machines that do not see this
    folder. ``corpora``: the paths and fingerprints of the corpora. ``vectors``: the paths and SHA-256 digests of the
    pretrained vectors. ``code``: the version of the driver's code. ``own``: the files of users' code that the study
    needs. Files that only the driver needs are left out: workers read prepared corpora, and decide nothing.
    """

    mark: Mark
    copies: bool
    corpora: tuple[tuple[Path, str], ...]
    vectors: tuple[tuple[Path, str], ...]
    code: str
    own: tuple[CodeSource, ...]

    @classmethod
    def of(cls, folder: StudyFolder, record: StudyRecord, *, copies: bool) -> "Preflight":
        """Write the mark of a study into its folder, and return the study's preflight."""
        prepared = record.corpora.values()
        return cls(
            mark=Mark.made(folder.trials),
            copies=copies,
            corpora=tuple((folder.stored(each).resolve(), each.fingerprint) for each in prepared),
            vectors=tuple(
                (folder.stored(vectors).resolve(), vectors.sha256)
                for each in prepared
                for vectors in each.vectors.values()
            ),
            code=code_version(),
            own=sources([file for file in record.study.space.code if file.kinds.keys() - DRIVERS]),
        )

    def answer(self) -> "Answer":
        """Check whether this machine sees the study's folder, and whether it can train."""
        return Answer(self.mark.unseen() is None, self.trouble())

    def trouble(self) -> str | None:
        """Check this machine, and return the reason, in one line, why it cannot train; None if it can."""
        if (found := self._code() or self._own()) is not None:
            return found
        if (unseen := self.mark.unseen()) is None:
            return self._data() or unwritable(self.mark.trials)
        if self.copies:
            return trouble()
        return (
            f"{unseen} (allowed: a folder that all machines share, or to start the study on a machine of "
            "the cluster: then its files are copied)"
        )

    def _code(self) -> str | None:
        own = code_version()
        if own == self.code:
            return None
        return (
            f"its code is {own} (allowed: {self.code}, which the driver runs: the same release, or checkout, on all "
            "machines)"
        )

    def _own(self) -> str | None:
        """Import the users' code that the study needs, and return the error if this fails, otherwise None."""
        try:
            load_sent(self.own)
        except UserError as error:
            return str(error)
        return None

    def _data(self) -> str | None:
        try:
            found = [(path, open_store(path).fingerprint, wanted) for path, wanted in self.corpora]
            found += [(path, open_vectors(path).sha256, wanted) for path, wanted in self.vectors]
        except UserError as error:
            return str(error)
        for path, own, wanted in found:
            if own != wanted:
                return f"{path} holds {own} (allowed: {wanted}, as the study was prepared)"
        return None


@dataclass(frozen=True, slots=True)
class Answer:
    """A machine's answer: whether it sees the study's folder, and why it cannot train (None if it can)."""

    sees: bool
    trouble: str | None


def unseeing(blind: int, machines: int) -> str | None:
    """A line for the user if ``blind`` of ``machines`` machines do not see the study's folder; None if all do."""
    if not blind:
        return None
    return f"{blind} of {machines} machines do not see the study's folder: files are copied"


def first_trouble(found: Sequence[tuple[str, str | None]]) -> str | None:
    """A line for the user about machines that cannot train; None if all can. ``found``: the name of each machine, and
    the reason why it cannot train (None if it can).
    """
    troubles = [(machine, trouble) for machine, trouble in found if trouble is not None]
    if not troubles:
        return None
    (machine, trouble), *others = troubles
    if "No module named 'skipstack'" in trouble:
        release = code_version().partition("+")[0]
        trouble = f"skipstack is not installed there (allowed: pip install skipstack=={release})"
    more = f"; {len(others)} more of {len(found)} machines cannot train either" if others else ""
    return f"machine {machine}: {trouble}{more}"
