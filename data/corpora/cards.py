"""What is known about a named corpus without having it: its files, their digests, its format and licence."""

from collections.abc import Mapping
from dataclasses import dataclass

from skipstack.data.basis.errors import UserError, unknown
from skipstack.data.corpora.division import Division, HeldOut
from skipstack.data.formats.format import (
    Format,
)


@dataclass(frozen=True, slots=True)
class FileCard:
    """A file by its name, and the SHA-256 of its bytes."""

    name: str
    sha256: str


@dataclass(frozen=True, slots=True)
class FilesCard:
    """Several files in their order, and one SHA-256 for all of them (``data.formats.files.joint_sha256``)."""

    names: tuple[str, ...]
    sha256: str


@dataclass(frozen=True, slots=True)
class SectionsCard:
    """The sections of a corpus that only its owners have: no digest is known, but where its files lie.

    Those of section 2 are ``<root>/02/wsj_02NN<suffix>``, in lower or in upper case, under the first of ``roots``
    that is there. Every section must have a file.
    """

    roots: tuple[str, ...]
    suffix: str
    numbers: tuple[int, ...]


Files = FileCard | FilesCard | SectionsCard


@dataclass(frozen=True, slots=True)
class Card:
    """What is known about a corpus without having it.

    ``files`` has the files of each split that there is; ``division`` says how the others are taken from train.
    """

    name: str
    about: str
    folder: str
    files: Mapping[str, Files]
    format: Format
    licence: str
    origin: str
    division: Division | None = None

    @property
    def verified(self) -> bool:
        """Whether what the files hold is checked; if not, only that every section is there."""
        return not any(isinstance(files, SectionsCard) for files in self.files.values())

    @property
    def layers(self) -> tuple[str, ...]:
        """The layers of tags that may be learnt, the default first."""
        return tuple(self.format.layers)

    def layer(self, name: str | None) -> str:
        """The layer called ``name``, the default for None. Raises UserError where there is none of that name."""
        if name is None:
            return self.layers[0]
        if name not in self.layers:
            raise UserError(unknown(f"layer of {self.name}", name, self.layers))
        return name

    def divided(self, held_out: float | None) -> Division | None:
        """How missing splits are taken from train, where ``held_out`` is the share that becomes dev if it is drawn.

        Raises UserError for a share where dev is not drawn.
        """
        if held_out is None:
            return self.division
        if not isinstance(self.division, HeldOut):
            raise UserError(f"held_out: got {held_out}, but {self.name} has a dev split of its own (allowed: null)")
        return HeldOut(held_out)
