"""What every machine of a cluster must be able to do before it may train a trial."""

import os
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from skipstack.data.basis.code_files import load_sent
from skipstack.data.basis.errors import UserError, one_line
from skipstack.data.basis.own_code import CodeSource, sources
from skipstack.data.store.stored import open_store
from skipstack.data.store.vectors import open_vectors
from skipstack.search.code_version import code_version
from skipstack.search.record.folder import StudyFolder
from skipstack.search.record.study_record import StudyRecord

MARK = ".preflight"
"""Among the trials: a word that a machine reads there only if it sees the very folder that the driver sees."""


@dataclass(frozen=True, slots=True)
class Preflight:
    """What a machine is asked, as it travels there.

    ``trials``: the folder that trials write into, which has the ``mark``; ``corpora``: the stores, with the fingerprint
    that their content has; ``vectors``: likewise; ``code``: the version of the driver's code; ``own``: the files of
    the study's own code, but for those of formats alone, since workers read prepared corpora.
    """

    trials: Path
    mark: str
    corpora: tuple[tuple[Path, str], ...]
    vectors: tuple[tuple[Path, str], ...]
    code: str
    own: tuple[CodeSource, ...]

    @classmethod
    def of(cls, folder: StudyFolder, record: StudyRecord) -> "Preflight":
        """The preflight of a study, whose folder gets its mark."""
        prepared = record.corpora.values()
        folder.trials.mkdir(parents=True, exist_ok=True)
        mark = secrets.token_hex(8)
        (folder.trials / MARK).write_text(mark)
        return cls(
            trials=folder.trials.resolve(),
            mark=mark,
            corpora=tuple((folder.corpus(each).resolve(), each.fingerprint) for each in prepared),
            vectors=tuple(
                (folder.vectors(vectors).resolve(), vectors.sha256)
                for each in prepared
                for vectors in each.vectors.values()
            ),
            code=code_version(),
            own=sources([file for file in record.study.space.code if file.kinds.keys() - {"format"}]),
        )

    def trouble(self) -> str | None:
        """What this machine cannot do, in one line; None where it can train."""
        for problem in (self._code, self._own, self._reading, self._data, self._writing):
            if (found := problem()) is not None:
                return found
        return None

    def _code(self) -> str | None:
        own = code_version()
        return None if own == self.code else f"its code is {own} (allowed: {self.code}, which the driver runs)"

    def _own(self) -> str | None:
        """Whether the study's own code can be imported, which may ask for what is not installed."""
        try:
            load_sent(self.own)
        except UserError as error:
            return str(error)
        return None

    def _reading(self) -> str | None:
        """Whether the folder is there, and is the driver's and no copy."""
        try:
            found = (self.trials / MARK).read_text()
        except OSError as error:
            return f"{self.trials} cannot be read ({one_line(error)}; allowed: a folder that all machines share)"
        if found != self.mark:
            return f"{self.trials} is another folder there (allowed: a folder that all machines share)"
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

    def _writing(self) -> str | None:
        beside = self.trials / f"{MARK}.{secrets.token_hex(8)}"
        try:
            beside.write_text(str(os.getpid()))
            beside.unlink()
        except OSError as error:
            return f"{self.trials} cannot be written ({one_line(error)})"
        return None


def first_trouble(found: Sequence[tuple[str, str | None]]) -> str | None:
    """One line about the machines that cannot train, of those named with what they said."""
    troubles = [(machine, trouble) for machine, trouble in found if trouble is not None]
    if not troubles:
        return None
    (machine, trouble), *others = troubles
    more = f"; {len(others)} more of {len(found)} machines cannot train either" if others else ""
    return f"machine {machine}: {trouble}{more}"
