"""Caches the frames of a long ledger as Parquet files in the study's folder.

The folder ``frames/`` holds one file per frame, and ``about.json`` with a digest of each file and a stamp. The stamp is
a hash of the ledger and of the version of the frames. The frames are computed again if a digest or the stamp differs.
This happens if the ledger has grown, or if a file is incomplete or comes from another study or version.
"""

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from hashlib import file_digest, sha256  # SHA-256 is fast, since processors have instructions for it
from io import BytesIO
from pathlib import Path
from typing import Any, Final

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from skipstack.data.basis.atomic_files import write_atomically
from skipstack.search.analysis.frames.columns import COLUMNS

VERSION: Final = 7
"""The version of the frames. Increase it whenever a code change makes the same events yield different rows or facts."""

ABOUT: Final = "about.json"


@dataclass(frozen=True, slots=True)
class CachedFrames:
    """The frames cached in ``folder``; a frame is read when it is requested.

    ``digests``: the digest of each frame's file by the frame's name. ``about``: facts about the study, stored as JSON.
    """

    folder: Path
    digests: Mapping[str, str]
    about: Mapping[str, Any]

    def frame(self, name: str) -> pd.DataFrame | None:
        """Return the frame called ``name``; None if its file is missing or its digest differs from the stored one."""
        try:
            content = (self.folder / f"{name}.parquet").read_bytes()
        except OSError:
            return None
        return from_parquet(name, content) if _digest(content) == self.digests.get(name) else None


def stamp(files: tuple[Path, ...]) -> str:
    """Return a hash of the ledger's ``files``, of ``VERSION``, of ``COLUMNS`` and of the version of pandas.

    Raises OSError if a file cannot be read.
    """
    digest = sha256(repr((VERSION, pd.__version__, sorted(COLUMNS.items()))).encode())
    for file in files:
        with file.open("rb") as opened:
            digest.update(file_digest(opened, "sha256").digest())
    return digest.hexdigest()


def cached_frames(folder: Path, known_by: str) -> CachedFrames | None:
    """Return the frames cached in ``folder`` if their stamp is ``known_by``; otherwise None."""
    try:
        about = json.loads((folder / ABOUT).read_bytes())
        return CachedFrames(folder, about["digests"], about["about"]) if about["stamp"] == known_by else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def cache_frames(
    folder: Path, known_by: str, frames: Mapping[str, Callable[[], pd.DataFrame]], about: Mapping[str, Any]
) -> None:
    """Cache ``frames`` in ``folder``, which is created if needed.

    ``known_by``: the stamp. ``frames``: functions that compute the frames, by name. ``about``: facts about the study.
    If the folder is a symbolic link, nothing is cached. If the folder cannot be written, for example because the disk
    is full, the cache stays incomplete and no error is raised.
    """
    if folder.is_symlink():  # its target may lie outside of the study's folder
        return
    with suppress(OSError):
        folder.mkdir(exist_ok=True)
        digests = {}
        for name, frame in frames.items():
            content = as_parquet(frame())
            digests[name] = _digest(content)
            write_atomically(folder / f"{name}.parquet", content)
        about_them = {"stamp": known_by, "digests": digests, "about": about}
        write_atomically(folder / ABOUT, json.dumps(about_them).encode())


def as_parquet(frame: pd.DataFrame) -> bytes:
    """Return the frame as the bytes of a Parquet file; an index with a name becomes a column."""
    named = frame.reset_index() if frame.index.name else frame
    # Only columns of text are dictionary-encoded: numbers seldom repeat.
    texts = [str(name) for name in named if pd.api.types.is_string_dtype(named[name])]
    file = BytesIO()
    pq.write_table(pa.Table.from_pandas(named, preserve_index=False), file, compression="zstd", use_dictionary=texts)
    return file.getvalue()


def from_parquet(name: str, content: bytes) -> pd.DataFrame:
    """Return the frame called ``name`` from the bytes that ``as_parquet`` returned for it."""
    frame: pd.DataFrame = pq.read_table(pa.BufferReader(content), use_threads=False).to_pandas()
    return frame.set_index("trial") if name in ("trials", "reached") else frame


def _digest(content: bytes) -> str:
    return sha256(content).hexdigest()
