"""A sentence with its tags, and the splits that a corpus consists of."""

from dataclasses import dataclass, field

SPLITS = ("train", "dev", "test")


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence, or a text to classify, with its gold tags.

    ``words``: the words of the text. ``tags``: a tag for each word, or a single one for classification; in parsing, a
    tag is the relation of the word to its head. ``heads``: in parsing, the head of each word, 0 for the root, w for the
    w-th word (``data/labels/trees.py``). ``document``: the file, or the file and line, where the sentence's document
    begins; None if documents are not known. ``document`` keeps the sentences of a document together when a split is
    drawn, gives the sizes of documents (``data.formats.documents.document_sizes``), and is ignored in comparisons.

    Two fields record what a reader changed, and are ignored in comparisons, too. ``stripped``: the number of tokens of
    which the word or the tag had blanks around it, which were removed. ``written``: the tags as they are in the file,
    if the label scheme may have repaired them.
    """

    words: tuple[str, ...]
    tags: tuple[str, ...]
    heads: tuple[int, ...] | None = None
    document: str | None = field(default=None, compare=False)
    stripped: int = field(default=0, compare=False)
    written: tuple[str, ...] | None = field(default=None, compare=False)
