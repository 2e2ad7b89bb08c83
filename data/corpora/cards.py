"""Cards of named corpora. A card has what is known of a corpus without its files: names, digests, format, licence."""

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
    """A single file: its name, and the SHA-256 of its bytes."""

    name: Text
    sha256: Sha256

    @property
    def files(self) -> tuple[Self, ...]:
        """The file itself, as a tuple."""
        return (self,)

    @property
    def names(self) -> tuple[str, ...]:
        """The name of the file, as a tuple."""
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
        """The joint SHA-256 of the files (``data.formats.files.joint_of``)."""
        return joint_of((file.sha256, file.name) for file in self.files)


class FilesCard(Frozen):
    """Files numbered ``first`` to ``last``, with one joint SHA-256 (``data.formats.files.joint_sha256``).

    ``name``: the pattern of the files' names in Python's format syntax, such as ``wsj_{:04}.dp``.
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
    """Sections of a corpus that cannot be distributed. The locations of the files are known, but not their digests.

    ``numbers``: the sections. Every section must have a file. ``roots``: possible folders of the sections; the first
    that exists is used. The files of section 2 are ``<root>/02/wsj_02NN<suffix>``, in lower or upper case.
    """

    roots: tuple[Text, ...]
    suffix: str
    numbers: tuple[int, ...]


Files = FileCard | FileListCard | FilesCard | SectionsCard


class Card(Frozen):
    """The facts about a corpus, for use without having its files.

    ``place``: the position of the corpus in lists. ``about``: a description. ``folder``: its folder in the data
    directory. ``files``: the files of each split that has files. ``format``: how the files are read, as in a study
    file, but without ``train``, ``dev`` and ``test``. ``tags``: the names of the layers of tags, the default first. If
    empty, the format's layers are used. ``licence``: a description of the licence. ``open``: whether the licence allows
    everybody any use. ``origin``: the source of the corpus. ``obtain``: why skipstack does not fetch the corpus, and
    who has it. None if skipstack fetches it. ``division``: how splits without files are taken from the training split.
    None if every split has files.
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
        """Whether the files are checked by their digests. If not, only the existence of every section is checked."""
        return not any(isinstance(files, SectionsCard) for files in self.files.values())

    @property
    def layers(self) -> tuple[str, ...]:
        """The layers of tags that can be learned, the default first."""
        return self.tags or self.format.layers

    def layer(self, name: str | None) -> str:
        """The layer called ``name``; None means the default. Raises UserError for an unknown name."""
        if name is None:
            return self.layers[0]
        if name not in self.layers:
            raise UserError(unknown(f"layer of {self.name}", name, self.layers))
        return name

    def divided(self, held_out: float | None) -> Division | None:
        """The division that takes the splits without files from the training split. None if every split has files.

        ``held_out``: the share of the training split to draw as dev. None means the division on the card. Raises
        UserError for a share if the corpus does not draw dev at random.
        """
        if held_out is None:
            return self.division
        if not isinstance(self.division, HeldOut):
            raise UserError(f"held_out: got {held_out}, but {self.name} has a dev split of its own (allowed: null)")
        return HeldOut(share=held_out)
