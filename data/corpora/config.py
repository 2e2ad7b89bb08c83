"""Configs of corpora and vocabularies. This module loads no torch, so that spaces can be described without torch."""

from pathlib import PurePath
from typing import Annotated, Literal

from pydantic import Field, PositiveInt

from skipstack.data.basis.counted import counted
from skipstack.data.basis.frozen import UNSAID, Brief, Frozen
from skipstack.data.basis.user_code.configs import OpenTo
from skipstack.data.corpora.synthetic.agreement import AgreementCorpus
from skipstack.data.corpora.synthetic.echo import EchoCorpus
from skipstack.data.corpora.synthetic.grammar import GrammarCorpus
from skipstack.data.corpora.synthetic.numbers import NumbersCorpus
from skipstack.data.formats.format import FileCorpus, Share
from skipstack.data.formats.formats import BuiltInFormat
from skipstack.data.formats.own_reader import OwnFormatCorpus
from skipstack.data.labels.schemes import Scheme


class NamedCorpus(Frozen):
    """A named corpus (``data/corpora/named.py``). Its files are in the data directory, and are checked by SHA-256 if
    its card has digests.
    """

    kind: Literal["named"] = "named"
    name: str
    """The name, as printed by ``skipstack data list``."""
    tags: str | None = None
    """The layer of tags to learn, for example ``upos`` or ``xpos``. None means the corpus's default layer."""
    held_out: Share | None = None
    """The share of the training split to draw as dev if the corpus lacks dev. None means the share on its card."""
    held_out_seed: Annotated[int, Field(ge=0)] = 0
    """The random seed for drawing dev."""


OurCorpus = Annotated[
    GrammarCorpus | AgreementCorpus | EchoCorpus | NumbersCorpus | NamedCorpus | BuiltInFormat,
    Field(discriminator="kind"),
]

Corpus = Annotated[OurCorpus | OwnFormatCorpus, OpenTo("format", OurCorpus, OwnFormatCorpus)]


def called(corpus: Corpus) -> str:
    """The name of a corpus in messages. For a corpus in files, the training files. For a generated corpus, its kind."""
    match corpus:
        case NamedCorpus():
            return corpus.name
        case FileCorpus():
            return corpus.train if isinstance(corpus.train, str) else ", ".join(corpus.train)
        case _:
            return corpus.kind


def title_of(corpus: Corpus) -> str:
    """The name of a corpus in tables and captions. For a corpus in files, the first training file with its folder."""
    if not isinstance(corpus, FileCorpus):
        return called(corpus)
    first, *others = (corpus.train,) if isinstance(corpus.train, str) else corpus.train
    named = "/".join(PurePath(first).parts[-2:])
    return f"{named} and {counted(len(others), 'other file')}" if others else named


class VocabularyConfig(Brief):
    """The rules by which word forms of the training split become known words. All other words are unknown."""

    minimum_count: PositiveInt = 1
    """Words that occur fewer times than this in the training split are unknown words."""
    lowercase: bool = True
    """Whether forms that differ only in case are one word. The other features of a form still show its case."""
    digits_to_nine: bool = True
    """Whether every digit of a word is read as 9, so that numbers of one length are one word."""
    word_classes: tuple[str, ...] = ()
    """Families of slots, each named by the last part of its types, such as ``city_name`` of ``fromloc.city_name``. The
    words of a family form a class (``data/store/word_classes.py``)."""
    classes: Annotated[Literal["instead", "beside"], UNSAID] = "instead"
    """``instead``: all words of a class are read as one word. ``beside``: each word keeps its vector, to which the
    vector of its class is appended (``model.embedder.class_size``)."""


class TokenVectors(Frozen):
    """Vectors of tokens, such as the frozen outputs of an encoder: a vector for each token, in its own sentence.
    Networks read them beside, or in place of, the vectors of words (``model.embedder.vector_size``).
    """

    kind: Literal["tokens"] = "tokens"
    path: str
    """A file, or a folder with a file for each split, in Arrow, Parquet or safetensors
    (``data/formats/token_vectors.py``), by a path from the study's folder."""


class DataConfig(Frozen):
    """The data of a trial: a corpus, and how words and tags are taken from its training split."""

    corpus: Corpus = GrammarCorpus()
    vocabulary: VocabularyConfig = VocabularyConfig()
    scheme: Scheme | None = None
    """The label scheme to learn, for a corpus whose tags have one. None means the scheme of the corpus. F1 counts the
    same spans in any scheme."""
    minimum_tag_count: PositiveInt | None = None
    """Tags that occur fewer times than this in the training split become RARE (``data/store/rare.py``). None: all tags
    stay, without RARE."""
    longest: PositiveInt | None = None
    """The maximum length of texts to classify, in tokens. Longer texts are cut. None means no limit."""
    vectors: str | TokenVectors | None = None
    """Pretrained word vectors in GloVe's text format (``data/store/vectors.py``), by a path from the study's folder. A
    mapping of kind ``tokens`` gives vectors of tokens instead."""

    @property
    def vectors_path(self) -> str | None:
        """The path of the vectors, of words or of tokens."""
        return self.vectors.path if isinstance(self.vectors, TokenVectors) else self.vectors
