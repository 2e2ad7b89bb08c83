"""The files of named corpora, found under the data directory and checked by their digests."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import assert_never

from skipstack.data.basis.errors import UserError
from skipstack.data.corpora.cards import Card, FileCard, FilesCard, SectionsCard
from skipstack.data.formats.files import SourceFile, joint_sha256


def read_files(card: Card, split: str, data_dir: Path | None) -> tuple[SourceFile, ...]:
    """The files of a split, their bytes checked. Raises UserError where one is missing or is not as on the card."""
    if data_dir is None:
        raise UserError(
            f"corpus {card.name!r} got no data directory, allowed: --data-dir DIR, where DIR holds {card.folder}/"
        )
    folder = data_dir / card.folder
    if not folder.is_dir():
        raise UserError(f"corpus {card.name!r} got no folder {folder} (its files come from {card.origin})")
    match card.files[split]:
        case FileCard(name=name, sha256=sha256):
            file = SourceFile.read(folder / name)
            _check_digest(str(file.path), file.sha256, sha256)
            return (file,)
        case FilesCard(names=names, sha256=sha256):
            files = tuple(SourceFile.read(folder / name) for name in names)
            _check_digest(f"{folder}: one of {names[0]} to {names[-1]}", joint_sha256(files), sha256)
            return files
        case SectionsCard() as sections:
            return tuple(SourceFile.read(path) for path in _in_sections(folder, sections))
        case _ as never:
            assert_never(never)


def _check_digest(what: str, got: str, expected: str) -> None:
    if got != expected:
        raise UserError(f"{what} is damaged or another version: got sha256 {got[:12]}, expected {expected[:12]}")


def _in_sections(folder: Path, sections: SectionsCard) -> Iterator[Path]:
    root = next((folder / root for root in sections.roots if (folder / root).is_dir()), None)
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
    """The paths of all files, split by split, each read and found right. Raises UserError as ``read_files`` does."""
    return tuple(file.path for split in card.files for file in read_files(card, split, data_dir))
