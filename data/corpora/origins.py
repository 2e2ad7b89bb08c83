"""The sources of named corpora: a public repository at a commit, or a catalogue that sells them."""

from typing import Annotated
from urllib.parse import quote

from pydantic import Field

from skipstack.data.basis.frozen import Frozen

Text = Annotated[str, Field(min_length=1)]
Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]

RAW = "https://raw.githubusercontent.com"
"""The beginning of the addresses of files at a commit on GitHub. The server can send parts of files."""


class Archive(Frozen):
    """A ZIP file that contains the files of a corpus, in any of its folders."""

    name: Text
    sha256: Sha256


class Repository(Frozen):
    """A GitHub repository at a commit. ``folder``: its folder that has the corpus's files or their ``archive``."""

    repository: Annotated[str, Field(pattern=r"^[\w.-]+/[\w.-]+$")]
    commit: Annotated[str, Field(pattern="^[0-9a-f]{40}$")]
    folder: str = ""
    archive: Archive | None = None

    def __str__(self) -> str:
        """The repository, the commit and the location, such as ``yvchen/JointSLU at fad79658f343, data``."""
        where = "/".join(filter(None, (self.folder, self.archive.name if self.archive else "")))
        return ", ".join(filter(None, (f"{self.repository} at {self.commit[:12]}", where)))

    def url(self, name: str) -> str:
        """The address of the file ``name`` in ``folder``."""
        path = "/".join(filter(None, (self.repository, self.commit, self.folder, name)))
        return f"{RAW}/{quote(path)}"


class Catalogue(Frozen):
    """The Linguistic Data Consortium's catalogue, which sells the corpus. ``catalogue``: the corpus's number."""

    catalogue: Text

    def __str__(self) -> str:
        """The number of the corpus."""
        return self.catalogue


Origin = Repository | Catalogue
