"""Finds the studies below folders, and gives them unambiguous names."""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from skipstack.search.study.record.folder import StudyFolder


def studies_below(folders: Sequence[Path]) -> dict[str, Path]:
    """The folder of each study below ``folders``, by the study's name.

    With a single folder, the name is the path relative to this folder, or the folder's own name if the folder is a
    study. With several folders, the name is the whole path. Links are not followed, and hidden folders are skipped.
    """
    found: dict[str, Path] = {}
    for folder in folders:
        for path in _below(folder):
            own = path.relative_to(folder).as_posix() if path != folder else path.resolve().name
            found[own if len(folders) == 1 and own not in found else str(path)] = path
    return dict(sorted(found.items()))


def all_studies(folders: Sequence[Path], received: Mapping[str, Path]) -> dict[str, Path]:
    """The studies below ``folders``, and those ``received`` from MLflow, by name or MLflow address."""
    return {**studies_below(folders), **received}


def _below(folder: Path) -> Iterator[Path]:
    for place, inner, _files in os.walk(folder):
        path = Path(place)
        if any(file.suffix in (".jsonl", ".gz") for file in StudyFolder(path).ledger.glob("*")):
            inner.clear()  # do not look for studies inside a study
            yield path
        else:
            inner[:] = sorted(name for name in inner if not name.startswith("."))
