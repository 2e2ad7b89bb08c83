"""A sentence with its tags, and the splits that a corpus consists of."""

from dataclasses import dataclass, field

SPLITS = ("train", "dev", "test")


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence, or a text to classify, with its gold tags.

    ``words``: the tokens of the text: words, or characters. ``tags``: a tag for each token. In parsing, a tag is the
    relation of the word to its head. In classification, there is a single tag. ``heads``: in parsing, the head of each
    word, 0 for the root, w for the w-th word (``data/labels/trees.py``). ``intent``: the intent of the sentence, if it
    is learned together with the tags (``data/formats/intents.py``). ``document``: where the sentence's document begins,
    as ``file`` or ``file:line``; None if documents are not known. With it, the sentences of a document stay together
    when a split is drawn, and documents can be counted (``data.formats.documents.document_sizes``).

    Three fields record what a reader changed. ``stripped``: the number of tokens that had blanks around the word or the
    tag. ``written``: the tags as they are in the file, if the label scheme may have repaired them. ``fitted``: the
    number of spans by characters that did not fit the tokens and were fitted or left out; of a text on several lines,
    its first sentence has the number. Comparisons ignore these fields and ``document``.
    """

    words: tuple[str, ...]
    tags: tuple[str, ...]
    heads: tuple[int, ...] | None = None
    intent: str | None = field(default=None, kw_only=True)
    document: str | None = field(default=None, compare=False)
    stripped: int = field(default=0, compare=False)
    written: tuple[str, ...] | None = field(default=None, compare=False)
    fitted: int = field(default=0, compare=False)
