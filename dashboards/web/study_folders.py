"""The studies that lie below folders, by the names that tell them apart."""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from skipstack.search.record.folder import StudyFolder


def studies_below(folders: Sequence[Path]) -> dict[str, Path]:
    """The folder of each study by its path from its folder, or by its whole path where there are several folders.

    A study that is a folder itself has its own name. Links are not followed, hidden folders are passed over.
    """
    found: dict[str, Path] = {}
    for folder in folders:
        for path in _below(folder):
            own = path.relative_to(folder).as_posix() if path != folder else path.resolve().name
            found[own if len(folders) == 1 and own not in found else str(path)] = path
    return dict(sorted(found.items()))


def all_studies(folders: Sequence[Path], received: Mapping[str, Path]) -> dict[str, Path]:
    """Those below ``folders``, then those that were ``received`` from MLflow, by their addresses."""
    return {**studies_below(folders), **received}


def _below(folder: Path) -> Iterator[Path]:
    for place, inner, _files in os.walk(folder):
        path = Path(place)
        if any(file.suffix in (".jsonl", ".parquet") for file in StudyFolder(path).ledger.glob("*")):
            inner.clear()  # what lies in a study is its own business
            yield path
        else:
            inner[:] = sorted(name for name in inner if not name.startswith("."))
