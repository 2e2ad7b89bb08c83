"""Rewrites a bundle that an earlier version wrote, so that it stands in today's format.

Formats that nothing writes any more are read only here. Format 3, that of version 0.1.0, had no model card. Up to
format 4 a bundle had one network, trained on train: its provenance had its ``seed`` and its ``epoch``.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from skipstack.data.basis.atomic_files import atomic_file, refused_where_unwritable, temporary_folder_beside
from skipstack.data.basis.errors import UserError
from skipstack.data.basis.printable import visible
from skipstack.search.publishing.bundles.checks import Provenance, validated
from skipstack.search.publishing.bundles.files import (
    CARD,
    FILES,
    LARGEST_MANIFEST,
    LARGEST_TEXT,
    MANIFEST,
    NETWORK_FORMAT,
    Manifest,
    check_sealed,
    pack,
    parsed,
    seal,
    write_json,
)
from skipstack.search.publishing.bundles.sources import ArchiveSource, FolderSource, source_at

EARLIEST: Final = 3
"""The earliest format that is read."""

PROVENANCE: Final = "provenance.json"


def upgrade(path: Path) -> list[str]:
    """Rewrite the bundle at ``path``, a folder or a .zip, if it is of an earlier format. Returns lines on what was done;
    none if it is not of an earlier format.

    Raises UserError if there is no bundle of format ``EARLIEST`` or later, and for a damaged one, which stays as it is.
    """
    with refused_where_unwritable(path), source_at(path) as source:
        manifest = validated(path, MANIFEST, _parsed(path, MANIFEST, source, LARGEST_MANIFEST), Manifest)
        if manifest.format >= NETWORK_FORMAT:
            return []
        if manifest.format < EARLIEST or {*manifest.files, CARD} != {*FILES}:
            raise UserError(f"{path}: no whole bundle of format {EARLIEST} or later: export it anew from its study")
        source.check_names((MANIFEST, *manifest.files))
        with temporary_folder_beside(path) as beside:
            _convert(path, source, manifest, beside)
            if path.is_file():
                with atomic_file(path, fsync=True) as archive:
                    pack(beside, archive)
            else:
                for name in (CARD, PROVENANCE, MANIFEST):  # a kill in between leaves one that is converted again
                    with atomic_file(path / name, fsync=True) as file:
                        (beside / name).rename(file)
    return [f"a bundle of format {NETWORK_FORMAT} now"]


def _convert(path: Path, source: FolderSource | ArchiveSource, manifest: Manifest, to: Path) -> None:
    """Write the files of a bundle into the folder ``to``, in today's format. Raises UserError if one is damaged."""
    value = _parsed(path, PROVENANCE, source, LARGEST_TEXT)
    was_converted = isinstance(value, Mapping) and "seeds" in value  # before a kill
    for name, sealed in manifest.files.items():
        if not (name == PROVENANCE and was_converted):
            check_sealed(path, name, source, sealed, to / name)
    if isinstance(value, Mapping) and {"seed", "epoch"} <= value.keys():
        rest = {key: each for key, each in value.items() if key not in ("seed", "epoch")}
        value = {**rest, "seeds": [value["seed"]], "epochs": [value["epoch"]]}
    provenance = validated(path, PROVENANCE, value, Provenance)
    write_json(to / PROVENANCE, provenance)
    if CARD not in manifest.files:
        named = f"# {visible(provenance.study)}, trial {provenance.trial}"
        made = f"Made by skipstack {visible(provenance.code_version)}, which wrote no card."
        (to / CARD).write_text(f"{named}\n\n{made}\n", encoding="utf-8")
    seal(to)


def _parsed(path: Path, name: str, source: FolderSource | ArchiveSource, most: int) -> object:
    with source.open(name, most) as file:
        return parsed(f"{path / name}", file.read(most + 1))
