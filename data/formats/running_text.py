"""Running text for language models: one sentence a line, words between blanks."""

from collections.abc import Mapping, Sequence
from itertools import chain
from typing import ClassVar, Literal, Self

from pydantic import model_validator

from skipstack.data.basis.errors import UserError
from skipstack.data.formats.files import SourceFile, between_blanks
from skipstack.data.formats.format import Encoding, FileCorpus, TaskOfLayer
from skipstack.data.formats.sentences import Sentence

END = "<eos>"
"""The token that ends every sentence. It also comes before the first sentence."""


def check_words(splits: Mapping[str, Sequence[Sentence]]) -> None:
    """Raise UserError if a split has a word that is not in ``train``. No model could predict the word."""
    words = {word for sentence in splits["train"] for word in sentence.tags}
    for split, texts in splits.items():
        for word in chain.from_iterable(text.tags for text in texts):
            if word not in words:
                allowed = "words of train, one of which may stand for rare ones, such as <unk>"
                raise UserError(f"{split}: got the word {word!r}, which train lacks (allowed: {allowed})")


class RunningTextCorpus(FileCorpus):
    """Running text for a language model, one sentence a line (``data/formats/running_text.py``).

    Words of dev and test that are not in the training split must be replaced beforehand, by ``<unk>`` for example.
    """

    layers = ("word",)
    tasks: ClassVar[Mapping[str, TaskOfLayer]] = {"word": "language_modelling"}

    kind: Literal["running_text"] = "running_text"
    encoding: Encoding = "utf-8"

    @model_validator(mode="after")
    def _is_one_piece(self) -> Self:
        for field in ("held_out", "held_out_test"):
            if getattr(self, field) is not None:
                raise ValueError(
                    f"{field}: got {getattr(self, field)} (allowed: null; a text is not cut, so give files)"
                )
        return self

    def check(self, splits: Mapping[str, Sequence[Sentence]]) -> None:
        """Raise UserError for a word that is not in the training split."""
        check_words(splits)

    def read(self, file: SourceFile, layer: str) -> list[Sentence]:
        """Read a whole file as one sentence. The tag of a word is the next word. At the end of a line, it is ``END``.

        So every word and each ``END`` is predicted once. Empty lines are skipped. Raises UserError for a file without
        words. Also raises it, with file and line, if a word is ``END`` or bytes are not text in the encoding.
        """
        predicted: list[str] = []
        for number, line in file.lines(self.encoding):
            words = between_blanks(line)
            if END in words:
                raise file.error(number, f"got the word {END}, allowed: words; ends of lines are ends of sentences")
            if words:
                predicted += [*words, END]
        if not predicted:
            raise UserError(f"{file.path}: got an empty text, allowed: at least one word")
        return [Sentence((END, *predicted[:-1]), tuple(predicted))]
