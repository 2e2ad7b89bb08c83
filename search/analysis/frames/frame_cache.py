"""Caches the frames of a long ledger as Parquet files in the study's folder.

``frames/`` holds one file per frame and ``about.json`` with a digest of each file, and a stamp of the ledger and the
code that computed them. If a digest or the stamp differs, frames are computed again: the ledger has grown, or the files
are of another study, another version or half written. If the folder cannot be written, nothing is cached.
"""

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from hashlib import file_digest, sha256  # processors have instructions for it
from io import BytesIO
from pathlib import Path
from typing import Any, Final

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from skipstack.data.basis.atomic_files import write_atomically
from skipstack.search.analysis.frames.columns import COLUMNS

VERSION: Final = 4
"""The version of the frames, to be raised whenever the same events give other rows."""

ABOUT: Final = "about.json"


@dataclass(frozen=True, slots=True)
class CachedFrames:
    """Cached frames in a folder, and ``about``: the notes stored with them."""

    folder: Path
    digests: Mapping[str, str]
    about: Mapping[str, Any]

    def frame(self, name: str) -> pd.DataFrame | None:
        """The frame with this name; None if its file is missing or has another digest."""
        try:
            content = (self.folder / f"{name}.parquet").read_bytes()
        except OSError:
            return None
        return from_parquet(name, content) if _digest(content) == self.digests.get(name) else None


def stamp(files: tuple[Path, ...]) -> str:
    """A hash of the ledger in these files and of the frames' version. Raises OSError if a file cannot be read."""
    digest = sha256(repr((VERSION, pd.__version__, sorted(COLUMNS.items()))).encode())
    for file in files:
        with file.open("rb") as opened:
            digest.update(file_digest(opened, "sha256").digest())
    return digest.hexdigest()


def cached_frames(folder: Path, known_by: str) -> CachedFrames | None:
    """The cached frames in ``folder`` with this stamp; None if there are none."""
    try:
        about = json.loads((folder / ABOUT).read_bytes())
        return CachedFrames(folder, about["digests"], about["about"]) if about["stamp"] == known_by else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def cache_frames(
    folder: Path, known_by: str, frames: Mapping[str, Callable[[], pd.DataFrame]], about: Mapping[str, Any]
) -> None:
    """Cache ``frames`` in ``folder``; does nothing if the disk is full or the folder cannot be written."""
    if folder.is_symlink():  # would write outside of the study's folder
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
    """The Parquet file of a frame, its index as a column."""
    named = frame.reset_index() if frame.index.name else frame
    texts = [str(name) for name in named if pd.api.types.is_string_dtype(named[name])]  # numbers seldom repeat
    file = BytesIO()
    pq.write_table(pa.Table.from_pandas(named, preserve_index=False), file, compression="zstd", use_dictionary=texts)
    return file.getvalue()


def from_parquet(name: str, content: bytes) -> pd.DataFrame:
    """The frame with this name, as written by ``as_parquet``."""
    frame: pd.DataFrame = pq.read_table(pa.BufferReader(content), use_threads=False).to_pandas()
    return frame.set_index("trial") if name in ("trials", "reached") else frame


def _digest(content: bytes) -> str:
    return sha256(content).hexdigest()
