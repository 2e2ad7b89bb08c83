"""Running text for language models: one sentence a line, words between blanks."""

from skipstack.data.basis.errors import UserError
from skipstack.data.formats.files import SourceFile
from skipstack.data.formats.sentences import Sentence

END = "<eos>"
"""The word that ends every sentence, and that stands before the first one."""


def read_running_text(file: SourceFile, *, encoding: str = "utf-8") -> list[Sentence]:
    """The whole file as one sentence: each word's tag is the word after it, with ``END`` after the last of each line.

    So every word of the text, ``END`` included, is predicted once. Empty lines are passed over. Raises UserError for a
    file without a word, and with file and line for a word ``END`` in the text.
    """
    predicted: list[str] = []
    for number, line in file.lines(encoding):
        words = line.split()
        if END in words:
            raise file.error(number, f"got the word {END}, allowed: words; ends of lines are ends of sentences")
        if words:
            predicted += [*words, END]
    if not predicted:
        raise UserError(f"{file.path}: got an empty text, allowed: at least one word")
    return [Sentence((END, *predicted[:-1]), tuple(predicted))]
