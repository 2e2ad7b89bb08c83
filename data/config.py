"""What a corpus is and how its words are read. No torch here: a space is described without it."""

from typing import Annotated, Literal

from pydantic import Field, PositiveInt

from data.frozen import Frozen


class GrammarCorpus(Frozen):
    """The embedded default: sentences drawn from a small grammar (``data/synthetic/grammar.py``)."""

    kind: Literal["grammar"] = "grammar"
    seed: int = 0
    train: PositiveInt = 600
    dev: PositiveInt = 200
    test: PositiveInt = 200


class NamedCorpus(Frozen):
    """A corpus that ``data/corpora.py`` knows: found under the data directory, checked by SHA-256."""

    kind: Literal["named"] = "named"
    name: str
    tags: str | None = None
    """The annotation layer to learn, for example ``upos`` or ``xpos``; the corpus's own default if None."""


class ColumnCorpus(Frozen):
    """Column files of the user's own: one token a line, an empty line after each sentence.

    Paths are read from the folder of the study file that names them. Columns count from 0.
    """

    kind: Literal["columns"] = "columns"
    train: str
    dev: str
    test: str
    word: Annotated[int, Field(ge=0)] = 0
    tag: Annotated[int, Field(ge=0)] = 1
    separator: Literal["tab", "whitespace"] = "tab"
    comment: str | None = None
    """Lines that start with this text are passed over."""
    encoding: str = "utf-8"


Corpus = Annotated[GrammarCorpus | NamedCorpus | ColumnCorpus, Field(discriminator="kind")]


class VocabularyConfig(Frozen):
    """Which forms of the training split become words of their own; the others are unknown."""

    minimum_count: PositiveInt = 1
    lowercase: bool = True
    digits_to_nine: bool = True


class DataConfig(Frozen):
    """The data of a trial: a corpus and the vocabulary made from its training split."""

    corpus: Corpus = GrammarCorpus()
    vocabulary: VocabularyConfig = VocabularyConfig()
