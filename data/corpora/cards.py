"""Cards of named corpora: their files, digests, format and licence, known without having the files."""

from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import Field, PositiveInt, field_validator, model_validator

from skipstack.data.basis.errors import UserError, unknown
from skipstack.data.basis.frozen import Frozen
from skipstack.data.corpora.division import Division, HeldOut
from skipstack.data.corpora.origins import Catalogue, Origin, Sha256, Text
from skipstack.data.formats.files import joint_of
from skipstack.data.formats.formats import BuiltInFormat
from skipstack.data.formats.sentences import SPLITS


class FileCard(Frozen):
    """A file by its name, and the SHA-256 of its bytes."""

    name: Text
    sha256: Sha256

    @property
    def files(self) -> tuple[Self, ...]:
        """The file itself."""
        return (self,)

    @property
    def names(self) -> tuple[str, ...]:
        """The one name."""
        return (self.name,)


class FileListCard(Frozen):
    """Several files in order, each with the SHA-256 of its bytes."""

    files: Annotated[tuple[FileCard, ...], Field(min_length=1)]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the files, in order."""
        return tuple(file.name for file in self.files)

    @property
    def sha256(self) -> str:
        """The joint digest (``data.formats.files.joint_of``)."""
        return joint_of((file.sha256, file.name) for file in self.files)


class FilesCard(Frozen):
    """Files numbered ``first`` to ``last``, and one SHA-256 for all (``data.formats.files.joint_sha256``).

    ``name`` has the number in braces, in Python's format syntax: ``wsj_{:04}.dp``.
    """

    name: Text
    first: int
    last: int
    sha256: Sha256

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the files, in order."""
        return tuple(self.name.format(number) for number in range(self.first, self.last + 1))


class SectionsCard(Frozen):
    """The sections of a corpus that cannot be distributed: no digest is known, only where its files are.

    The files of section 2 are ``<root>/02/wsj_02NN<suffix>``, in lower or in upper case, under the first of ``roots``
    that exists. Every section must have a file.
    """

    roots: tuple[Text, ...]
    suffix: str
    numbers: tuple[int, ...]


Files = FileCard | FileListCard | FilesCard | SectionsCard


class Card(Frozen):
    """The facts about a corpus, known without having it.

    ``place``: its position in lists of corpora. ``files`` has the files of each existing split; ``division`` says how
    the others are taken from train. ``format`` says how they are read, as in a study file, but without ``train``,
    ``dev`` and ``test``; ``tags``: the names of its layers of tags, the default first; empty: as the format calls
    them. ``open``: whether its licence allows everybody any use. ``obtain``: why skipstack may not or cannot fetch it,
    and who has it.
    """

    name: Text
    place: PositiveInt
    about: Text
    folder: Text
    files: dict[Annotated[str, Field(pattern="^(train|dev|test)$")], Files]
    format: Annotated[BuiltInFormat, Field(discriminator="kind")]
    tags: tuple[Text, ...] = ()
    licence: Text
    open: bool = False
    origin: Origin
    obtain: Text | None = None
    division: Division | None = None

    @field_validator("format", mode="before")
    @classmethod
    def _reads_files_of_the_card(cls, said: Any) -> Any:
        return {**dict.fromkeys(SPLITS, "of the card"), **said} if isinstance(said, Mapping) else said

    @model_validator(mode="after")
    def _says_how_it_is_had(self) -> Self:
        if isinstance(self.origin, Catalogue) and self.obtain is None:
            raise ValueError("obtain: got nothing for a corpus that is sold (allowed: who has it)")
        return self

    @property
    def verified(self) -> bool:
        """Whether the content of the files is checked; if not, only that every section exists."""
        return not any(isinstance(files, SectionsCard) for files in self.files.values())

    @property
    def layers(self) -> tuple[str, ...]:
        """The layers of tags that can be learned, the default first."""
        return self.tags or self.format.layers

    def layer(self, name: str | None) -> str:
        """The layer called ``name``, the default for None. Raises UserError for an unknown name."""
        if name is None:
            return self.layers[0]
        if name not in self.layers:
            raise UserError(unknown(f"layer of {self.name}", name, self.layers))
        return name

    def divided(self, held_out: float | None) -> Division | None:
        """The division that takes missing splits from train; ``held_out`` is the share of train that becomes dev, if
        dev is drawn.

        Raises UserError for a share if dev is not drawn.
        """
        if held_out is None:
            return self.division
        if not isinstance(self.division, HeldOut):
            raise UserError(f"held_out: got {held_out}, but {self.name} has a dev split of its own (allowed: null)")
        return HeldOut(share=held_out)
