"""Finds the files of named corpora under the data directory, and checks those whose digests are on a card."""

import os
import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from skipstack.data.basis.errors import AbsentCorpusError, UserError
from skipstack.data.corpora.cards import Card, FileCard, FileListCard, FilesCard, SectionsCard
from skipstack.data.corpora.data_folder import data_folder
from skipstack.data.formats.files import SourceFile, joint_sha256


def read_files(card: Card, split: str, data_dir: Path | None) -> tuple[SourceFile, ...]:
    """Read the files of a split, and check their digests if the card has digests.

    Raises UserError if a file is missing or differs from the card, AbsentCorpusError if the corpus has no folder.
    """
    folder = data_folder(data_dir) / card.folder
    if not os.path.isdir(folder):
        raise AbsentCorpusError(f"corpus {card.name!r} got no folder {folder} ({remedy(card, data_dir)})")
    files = card.files[split]
    if isinstance(files, SectionsCard):
        return tuple(SourceFile.read(path) for path in _in_sections(folder, files))
    try:
        found = tuple(SourceFile.read(folder / name) for name in files.names)
        check_digest(files, found)
    except UserError as error:
        raise UserError(f"{error} ({remedy(card, data_dir)})") from error
    return found


def remedy(card: Card, data_dir: Path | None) -> str:
    """The advice in error messages about missing or wrong files of a corpus."""
    if card.obtain is not None:
        return f"{card.obtain}; allowed: --data-dir DIR, where DIR holds {card.folder}/"
    where, elsewhere = ([], ", or --data-dir DIR") if data_dir is None else (["--data-dir", str(data_dir)], "")
    return f"allowed: `{shlex.join(['skipstack', 'data', 'fetch', card.name, *where])}` first{elsewhere}"


def check_digest(card: FileCard | FileListCard | FilesCard, files: Sequence[SourceFile]) -> None:
    """Raise UserError if a digest of the files differs from the card's."""
    if isinstance(card, FilesCard):
        _check(f"{files[0].path.parent}: one of {card.names[0]} to {card.names[-1]}", joint_sha256(files), card.sha256)
        return
    for one, file in zip(card.files, files, strict=True):
        _check(str(file.path), file.sha256, one.sha256)


def _check(what: str, got: str, expected: str) -> None:
    if got != expected:
        raise UserError(f"{what} is damaged or another version: got sha256 {got[:12]}, expected {expected[:12]}")


def _in_sections(folder: Path, sections: SectionsCard) -> Iterator[Path]:
    root = next((folder / root for root in sections.roots if os.path.isdir(folder / root)), None)
    if root is None:
        raise UserError(f"{folder}: got no folder {sections.roots[0]}, allowed: a folder for each section in it")
    for number in sections.numbers:
        name = re.compile(rf"wsj_{number:02}\d\d{re.escape(sections.suffix)}", re.IGNORECASE)
        section = root / f"{number:02}"
        paths = sorted(path for path in section.glob("*") if name.fullmatch(path.name))
        if not paths:
            raise UserError(
                f"{section}: got no file wsj_{number:02}NN{sections.suffix}, allowed: one or more a section"
            )
        yield from paths


def check(card: Card, data_dir: Path | None) -> tuple[Path, ...]:
    """Read all files of a corpus, and check them as ``read_files`` does. Returns their paths."""
    return tuple(file.path for split in card.files for file in read_files(card, split, data_dir))
