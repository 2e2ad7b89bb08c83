"""Finds the studies below folders, and names them so that an address still leads to its study another day."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from skipstack.search.study.record.folder import StudyFolder


def studies_below(folders: Sequence[Path]) -> dict[str, Path]:
    """The folder of each study below ``folders``, by the study's name. Links are not followed, and hidden folders are
    skipped.

    The name is the path from the current folder. A study that is not below the current folder is named by its absolute
    path. Bytes that are not UTF-8 are escaped, since pages and addresses are UTF-8.
    """
    return dict(sorted((_name(path), path) for folder in folders for path in _below(folder)))


def _name(path: Path) -> str:
    whole, here = Path(os.path.abspath(path)), Path.cwd()
    named = whole.relative_to(here) if here in whole.parents else whole
    return os.fsencode(named).decode(errors="backslashreplace")


def _below(folder: Path) -> Iterator[Path]:
    for place, inner, _files in os.walk(folder):
        path = Path(place)
        if any(file.suffix in (".jsonl", ".gz") for file in StudyFolder(path).ledger.glob("*")):
            inner.clear()  # do not look for studies inside a study
            yield path
        else:
            inner[:] = sorted(name for name in inner if not name.startswith("."))
