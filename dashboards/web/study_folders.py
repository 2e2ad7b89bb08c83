"""Finds the studies below folders, under unambiguous names."""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from skipstack.search.study.record.folder import StudyFolder


def studies_below(folders: Sequence[Path]) -> dict[str, Path]:
    """The folder of each study, by its path from the given folder, or by its whole path if several are given.

    A given folder that is a study itself is named after itself. Links are not followed, hidden folders are passed over.
    """
    found: dict[str, Path] = {}
    for folder in folders:
        for path in _below(folder):
            own = path.relative_to(folder).as_posix() if path != folder else path.resolve().name
            found[own if len(folders) == 1 and own not in found else str(path)] = path
    return dict(sorted(found.items()))


def all_studies(folders: Sequence[Path], received: Mapping[str, Path]) -> dict[str, Path]:
    """The studies below ``folders``, then those ``received`` from MLflow, by their addresses."""
    return {**studies_below(folders), **received}


def _below(folder: Path) -> Iterator[Path]:
    for place, inner, _files in os.walk(folder):
        path = Path(place)
        if any(file.suffix in (".jsonl", ".gz") for file in StudyFolder(path).ledger.glob("*")):
            inner.clear()  # do not look for studies inside a study
            yield path
        else:
            inner[:] = sorted(name for name in inner if not name.startswith("."))
