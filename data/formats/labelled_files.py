"""Texts to classify. The label of a text is in the path of its file: each class has its own file or folder."""

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, Literal, assert_never

from skipstack.data.basis.errors import UserError
from skipstack.data.basis.frozen import identity
from skipstack.data.formats.files import SourceFile
from skipstack.data.formats.format import Encoding, FileCorpus, TaskOfLayer, Unit
from skipstack.data.formats.sentences import Sentence
from skipstack.data.formats.texts import labelled


class LabelledFilesCorpus(FileCorpus):
    """Texts to classify in files such as ``train/pos/*.txt`` and ``train/neg/*.txt``, whose paths contain the labels
    (``data/formats/labelled_files.py``).
    """

    layers = ("label",)
    tasks: ClassVar[Mapping[str, TaskOfLayer]] = {"label": "classification"}

    kind: Literal["labelled_files"] = "labelled_files"
    label: Literal["folder", "name", "ending"] = "folder"
    """The part of the path that is the label. ``pos`` is the folder of ``pos/1.txt``, the name of ``pos.txt`` without
    its ending, and the ending of ``polarity.pos``."""
    text: Literal["file", "line"] = "file"
    """Whether a text is a whole file, or a line of it."""
    encoding: Encoding = "utf-8"

    @property
    def token_unit(self) -> Unit:
        """The unit of tokens: the words and punctuation marks of a text."""
        return "text"

    def digest(self, file: SourceFile) -> str:
        """The digest of a file's bytes and its label, which is a part of its path."""
        return identity([self._label_in(file.path), file.sha256])

    def read(self, file: SourceFile, layer: str) -> list[Sentence]:
        """Read the tokens of each text, with the label of the file as their single tag. Empty lines are skipped.

        Raises UserError for a path without a label, a text without tokens, and bytes that are not text in the encoding.
        """
        label = self._label_in(file.path)
        lines = [*file.lines(self.encoding)]
        if self.text == "line":
            texts = [(number, line) for number, line in lines if line.strip()]
        else:
            texts = [(1, "\n".join(line for _, line in lines))]
        return [labelled(file, number, text, text, label) for number, text in texts]

    def _label_in(self, path: Path) -> str:
        """The label of a file's texts: the part of the path chosen by ``label``. Raises UserError if there is none."""
        match self.label:
            case "folder":
                label = path.absolute().parent.name
            case "name":
                label = path.stem
            case "ending":
                label = path.suffix.removeprefix(".")
            case _:
                assert_never(self.label)
        if not label:
            allowed = "allowed: label: folder, name, ending"
            raise UserError(f"{path}: got a path without {self.label}, which is the label ({allowed})")
        return label
