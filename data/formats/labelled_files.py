"""Texts to classify whose label is in the path of their file: one file per class, or one folder per class."""

from pathlib import Path
from typing import Literal, assert_never

from skipstack.data.basis.errors import UserError
from skipstack.data.basis.frozen import identity
from skipstack.data.formats.files import SourceFile
from skipstack.data.formats.format import Format, Unit
from skipstack.data.formats.sentences import Sentence
from skipstack.data.formats.texts import tokens_of

Part = Literal["folder", "name", "ending"]


class LabelledFilesFormat(Format):
    """Texts, one a line or one a file. ``label``: the part of a file's path that is the label of its texts."""

    kind: Literal["labelled_files"] = "labelled_files"
    label: Part = "folder"
    text: Literal["file", "line"] = "file"
    encoding: str = "utf-8"

    @property
    def layers(self) -> tuple[str, ...]:
        """The label."""
        return ("label",)

    @property
    def unit(self) -> Unit:
        """The words and marks of a text."""
        return "text"

    def task(self, layer: str) -> str:
        """The task of the only layer."""
        return "classification"

    def digest(self, file: SourceFile) -> str:
        """The digest of the bytes and the label."""
        return identity([label_in(file.path, self.label), file.sha256])

    def read(self, file: SourceFile, layer: str) -> list[Sentence]:
        """The tokens of each text and, as their single tag, the label of the file; empty lines are skipped.

        Raises UserError for a path without a label, with the line for a text without tokens, and for bytes that are not
        text in the encoding.
        """
        label = label_in(file.path, self.label)
        lines = [*file.lines(self.encoding)]
        texts = lines if self.text == "line" else [(1, "\n".join(line for _, line in lines))]
        sentences = []
        for number, text in texts:
            if self.text == "line" and not text.strip():
                continue
            tokens = tokens_of(text)
            if not tokens:
                raise file.error(number, f"got the text {text[:40]!r}, allowed: one word at least")
            sentences.append(Sentence(tuple(tokens), (label,)))
        return sentences


def label_in(path: Path, part: Part) -> str:
    """The label of the texts in a file: ``pos`` of ``pos/1.txt``, ``pos.txt`` or ``polarity.pos``.

    Raises UserError for a path that lacks this part.
    """
    match part:
        case "folder":
            label = path.absolute().parent.name
        case "name":
            label = path.stem
        case "ending":
            label = path.suffix.removeprefix(".")
        case _:
            assert_never(part)
    if not label:
        raise UserError(f"{path}: got a path without {part}, which is the label (allowed: label: folder, name, ending)")
    return label
