"""The sources of named corpora: a public repository at a commit, or a catalogue that sells them."""

from typing import Annotated
from urllib.parse import quote

from pydantic import Field

from skipstack.data.basis.frozen import Frozen

Text = Annotated[str, Field(min_length=1)]
Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]

RAW = "https://raw.githubusercontent.com"
"""GitHub's address of the raw files of a commit; it supports byte ranges."""


class Archive(Frozen):
    """A ZIP file that contains the files, each by its name, in any folder."""

    name: Text
    sha256: Sha256


class Repository(Frozen):
    """A repository on GitHub, at a commit, whose ``folder`` has the files, or an ``archive`` of them."""

    repository: Annotated[str, Field(pattern=r"^[\w.-]+/[\w.-]+$")]
    commit: Annotated[str, Field(pattern="^[0-9a-f]{40}$")]
    folder: str = ""
    archive: Archive | None = None

    def __str__(self) -> str:
        """``yvchen/JointSLU at fad79658f343, data``."""
        where = "/".join(filter(None, (self.folder, self.archive.name if self.archive else "")))
        return ", ".join(filter(None, (f"{self.repository} at {self.commit[:12]}", where)))

    def url(self, name: str) -> str:
        """The address of the file ``name`` of the folder."""
        path = "/".join(filter(None, (self.repository, self.commit, self.folder, name)))
        return f"{RAW}/{quote(path)}"


class Catalogue(Frozen):
    """The number of a corpus in the catalogue of the Linguistic Data Consortium."""

    catalogue: Text

    def __str__(self) -> str:
        """The number."""
        return self.catalogue


Origin = Repository | Catalogue
