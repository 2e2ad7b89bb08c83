"""Rewrites bundles of earlier versions in the current format.

Only this module reads formats that are no longer written. Bundles of format 3, written by version 0.1.0, have no model
card. Bundles of formats 3 and 4 hold one network, which was trained on the training split. Their provenance has the
fields ``seed`` and ``epoch``.
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
"""The earliest format that can be read."""

PROVENANCE: Final = "provenance.json"


def upgrade(path: Path) -> list[str]:
    """Rewrite the bundle (a folder or a .zip file) at ``path`` if it has an earlier format. Returns a line on each
    change.

    Raises UserError if there is no bundle, or if the bundle is damaged. A damaged bundle is left unchanged.
    """
    with source_at(path) as source, refused_where_unwritable(path):
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
                for name in (CARD, PROVENANCE, MANIFEST):  # the manifest is last: a killed upgrade starts again
                    with atomic_file(path / name, fsync=True) as file:
                        (beside / name).rename(file)
    return [f"a bundle of format {NETWORK_FORMAT} now"]


def _convert(path: Path, source: FolderSource | ArchiveSource, manifest: Manifest, to: Path) -> None:
    """Write a bundle's files into the folder ``to``, in the current format. Raises UserError if a file is damaged."""
    value = _parsed(path, PROVENANCE, source, LARGEST_TEXT)
    was_converted = isinstance(value, Mapping) and "seeds" in value  # an upgrade that was killed had converted it
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
