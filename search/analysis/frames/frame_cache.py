"""Frames that were made of a long ledger are kept as Parquet in the study's folder: reading them takes no time.

``frames/`` holds a file a frame and ``about.json``, which has the digest of each, of the ledger that they were made of,
and of how they were made. Where one of these is another, nothing is taken from there: a ledger that has grown, the
frames of another study, of another version or of a half-written file are made anew. A folder that cannot be written
keeps nothing.
"""

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from hashlib import file_digest, sha256  # for which processors have instructions
from io import BytesIO
from pathlib import Path
from typing import Any, Final

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from skipstack.data.basis.atomic_files import write_atomically
from skipstack.search.analysis.frames.columns import COLUMNS

VERSION: Final = 3
"""Of what the frames of a ledger are. To be raised where the same events give other rows."""

ABOUT: Final = "about.json"


@dataclass(frozen=True, slots=True)
class CachedFrames:
    """Frames in a folder, and ``about`` them: what their maker noted."""

    folder: Path
    digests: Mapping[str, str]
    about: Mapping[str, Any]

    def frame(self, name: str) -> pd.DataFrame | None:
        """One of them; None where its file is not the one that was written."""
        try:
            content = (self.folder / f"{name}.parquet").read_bytes()
        except OSError:
            return None
        return from_parquet(name, content) if _digest(content) == self.digests.get(name) else None


def stamp(files: tuple[Path, ...]) -> str:
    """What frames of a ledger in these files are known by. Raises OSError where one cannot be read."""
    digest = sha256(repr((VERSION, pd.__version__, sorted(COLUMNS.items()))).encode())
    for file in files:
        with file.open("rb") as opened:
            digest.update(file_digest(opened, "sha256").digest())
    return digest.hexdigest()


def cached_frames(folder: Path, known_by: str) -> CachedFrames | None:
    """The frames in ``folder`` that are known by this stamp; None where there are none."""
    try:
        about = json.loads((folder / ABOUT).read_bytes())
        return CachedFrames(folder, about["digests"], about["about"]) if about["stamp"] == known_by else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def cache_frames(
    folder: Path, known_by: str, frames: Mapping[str, Callable[[], pd.DataFrame]], about: Mapping[str, Any]
) -> None:
    """Keep ``frames`` in ``folder``, if they can be: a full disk, or a folder that cannot be written, keeps none."""
    if folder.is_symlink():  # leads elsewhere, which is none of the study's business
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
    texts = [str(name) for name in named if named[name].dtype == "str"]  # numbers seldom repeat
    file = BytesIO()
    pq.write_table(pa.Table.from_pandas(named, preserve_index=False), file, compression="zstd", use_dictionary=texts)
    return file.getvalue()


def from_parquet(name: str, content: bytes) -> pd.DataFrame:
    """The frame of this name that ``as_parquet`` wrote."""
    frame: pd.DataFrame = pq.read_table(pa.BufferReader(content), use_threads=False).to_pandas()
    return frame.set_index("trial") if name in ("trials", "reached") else frame


def _digest(content: bytes) -> str:
    return sha256(content).hexdigest()
