"""Fetches named corpora from the sources on their cards, or from a mirror, into the data directory."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final
from zipfile import ZipFile

from skipstack.data.basis.atomic_files import write_atomically
from skipstack.data.basis.errors import UserError
from skipstack.data.basis.redaction import without_secrets
from skipstack.data.corpora.card_files import check, check_digest
from skipstack.data.corpora.cards import Card, FileCard, FileListCard, SectionsCard
from skipstack.data.corpora.downloads import Download, Watch, download
from skipstack.data.corpora.origins import Archive, Repository
from skipstack.data.formats.files import SourceFile

MIRROR: Final = "SKIPSTACK_DATA_MIRROR"
"""The environment variable that names a mirror: the address of a copy of a data directory, on any web server."""


def downloads(card: Card, mirror: str | None) -> list[Download]:
    """List the files to download for a corpus, or its single archive. ``mirror``: an address in place of the card's.

    Raises UserError for a mirror with an invalid address, and for a corpus that cannot be fetched.
    """
    if mirror is not None and not mirror.startswith(("http://", "https://")):
        raise UserError(f"{MIRROR}: got {without_secrets(mirror)!r} (allowed: an address, http://... or https://...)")
    unknown = not card.verified or not isinstance(card.origin, Repository)
    if unknown or (card.obtain is not None and mirror is None):
        raise UserError(
            f"{card.name} cannot be fetched: {card.obtain} (allowed: its files in {card.folder}/ of the data directory)"
        )
    assert isinstance(card.origin, Repository)
    archive = card.origin.archive
    each = [files for files in card.files.values() if isinstance(files, FileCard | FileListCard)]
    wanted = [file for files in each for file in files.files] if archive is None else [archive]
    return [Download(file.name, _address(card, card.origin, file, mirror), file.sha256) for file in wanted]


def fetch(card: Card, data_dir: Path, *, accepted: bool, mirror: str | None, watch: Watch) -> Iterator[Path]:
    """Download the files of a corpus, or its archive, under ``data_dir``. Yields each path once the file is complete.

    Files that exist with the right digest are not downloaded again. ``accepted``: whether the user has accepted a
    licence that is not open. ``mirror``: as in ``downloads``. ``watch``: the progress callback. The call raises
    UserError as ``downloads`` does, and if the licence was not accepted. The iteration raises UserError as
    ``downloads.download`` does, and if the files differ from the card.
    """
    wanted = downloads(card, mirror)
    if not (card.open or accepted):
        raise UserError(f"{card.name}: its licence is not open: {card.licence} (allowed: --accept-licence, if you may)")
    return _fetched(card, wanted, data_dir, watch)


def _fetched(card: Card, wanted: Sequence[Download], data_dir: Path, watch: Watch) -> Iterator[Path]:
    for each in wanted:
        path = download(each, data_dir / card.folder, watch)
        if isinstance(card.origin, Repository) and card.origin.archive is not None:
            _unpack(card, path)
        yield path
    check(card, data_dir)


def _address(card: Card, origin: Repository, file: FileCard | Archive, mirror: str | None) -> str:
    return origin.url(file.name) if mirror is None else f"{mirror.rstrip('/')}/{card.folder}/{file.name}"


def _unpack(card: Card, archive: Path) -> None:
    """Check the digests of an archive's files, then extract them beside the archive. Each is written atomically."""
    with ZipFile(archive) as opened:
        members = {Path(member).name: member for member in opened.namelist()}
        for files in card.files.values():
            assert not isinstance(files, SectionsCard), "whose digests are not known"
            found = [SourceFile(archive.parent / name, opened.read(members[name])) for name in files.names]
            check_digest(files, found)
            for file in found:
                write_atomically(file.path, file.content)
