"""Configs of corpora, and how their words are read. No torch here: a space is described without it."""

from pathlib import PurePath
from typing import Annotated, Literal, Self

from pydantic import Field, PositiveInt, model_validator

from skipstack.data.basis.counted import counted
from skipstack.data.basis.frozen import UNSAID, Brief, Frozen
from skipstack.data.basis.open_to import OpenTo
from skipstack.data.corpora.synthetic.echo import FARTHEST
from skipstack.data.corpora.synthetic.numbers import CountedFrom, shortest
from skipstack.data.formats.format import FileCorpus, Share
from skipstack.data.formats.formats import BuiltInFormat
from skipstack.data.formats.own_reader import OwnFormatCorpus
from skipstack.data.labels.schemes import Scheme


class GrammarCorpus(Frozen):
    """The embedded default: sentences drawn from a small grammar (``data/corpora/synthetic/grammar.py``)."""

    kind: Literal["grammar"] = "grammar"
    tags: Literal["pos", "heads"] = "pos"
    """The task: the part of speech of each word, or its head and the relation to it."""
    seed: int = 0
    """The seed of the sentences."""
    train: PositiveInt = 600
    """The number of sentences in train; in dev and test, below."""
    dev: PositiveInt = 200
    test: PositiveInt = 200


class AgreementCorpus(Frozen):
    """Sentences whose verbs agree with both ends at once (``data/corpora/synthetic/agreement.py``)."""

    kind: Literal["agreement"] = "agreement"
    seed: int = 0
    """The seed of the sentences."""
    train: PositiveInt = 500
    """The number of sentences in train; in dev and test, below."""
    dev: PositiveInt = 200
    test: PositiveInt = 200


class EchoCorpus(Frozen):
    """Words, some of which are tagged with the colour of the word a fixed distance before
    (``data/corpora/synthetic/echo.py``).
    """

    kind: Literal["echo"] = "echo"
    distance: Annotated[int, Field(ge=1, le=FARTHEST)] = 4
    """The distance in tokens from a query word back to the word that decides its tag; nothing else depends on it."""
    seed: Annotated[int, Field(ge=0)] = 0
    """The seed of the sentences."""
    train: PositiveInt = 600
    """The number of sentences in train; in dev and test, below."""
    dev: PositiveInt = 200
    test: PositiveInt = 200


class NumbersCorpus(Brief):
    """Texts of digits; the label is found by jumping through them (``data/corpora/synthetic/numbers.py``; gui2019)."""

    kind: Literal["numbers"] = "numbers"
    seed: Annotated[int, Field(ge=0)] = 0
    """The seed of the texts."""
    length: Annotated[int, Field(ge=11)] = 11
    """The length of a text in numbers: T."""
    jumps: PositiveInt = 1
    """The number of jumps from number to number that lead to the label."""
    counted_from: Annotated[CountedFrom, UNSAID] = "start"
    """The number from which digits count: the first of the eleven last numbers (``start``), or the first of the ten
    numbers before each (``window``, which needs a length of 1 + 10 for each jump). Both are reconstructions of
    gui2019."""
    train: PositiveInt = 100_000
    """The number of texts in train; in dev and test, below."""
    dev: PositiveInt = 10_000
    test: PositiveInt = 10_000

    @model_validator(mode="after")
    def _is_long_enough(self) -> Self:
        if self.length < (least := shortest(self.jumps, self.counted_from)):
            raise ValueError(
                f"got length {self.length} (allowed for {self.jumps} jumps counted from {self.counted_from}: "
                f"at least {least})"
            )
        return self


class NamedCorpus(Frozen):
    """A named corpus (``data/corpora/named.py``): found under the data directory, checked by SHA-256."""

    kind: Literal["named"] = "named"
    name: str
    """The name, one of those that ``skipstack data list`` prints."""
    tags: str | None = None
    """The annotation layer to learn, for example ``upos`` or ``xpos``; None: the corpus's default."""
    held_out: Share | None = None
    """The share of train that is drawn as dev, for a corpus without a dev split; None: as on its card."""
    held_out_seed: Annotated[int, Field(ge=0)] = 0
    """The seed that draws these sentences."""


OurCorpus = Annotated[
    GrammarCorpus | AgreementCorpus | EchoCorpus | NumbersCorpus | NamedCorpus | BuiltInFormat,
    Field(discriminator="kind"),
]

Corpus = Annotated[OurCorpus | OwnFormatCorpus, OpenTo("format", OurCorpus, OwnFormatCorpus)]


def called(corpus: Corpus) -> str:
    """The name of a corpus in messages: its own name, its train files, or its generator."""
    match corpus:
        case NamedCorpus():
            return corpus.name
        case FileCorpus():
            return corpus.train if isinstance(corpus.train, str) else ", ".join(corpus.train)
        case _:
            return corpus.kind


def title_of(corpus: Corpus) -> str:
    """The name of a corpus in tables and captions: ``called``, with the last folder of the first train file alone."""
    if not isinstance(corpus, FileCorpus):
        return called(corpus)
    first, *others = (corpus.train,) if isinstance(corpus.train, str) else corpus.train
    named = "/".join(PurePath(first).parts[-2:])
    return f"{named} and {counted(len(others), 'other file')}" if others else named


class VocabularyConfig(Brief):
    """The word forms of the training split that are known words; all others are unknown words."""

    minimum_count: PositiveInt = 1
    """Words that occur fewer times than this in train are unknown words."""
    lowercase: bool = True
    """Whether forms that differ only in case are one word; characters and capitals keep their case."""
    digits_to_nine: bool = True
    """Whether every digit of a word is read as 9, so that numbers of one length are one word."""
    word_classes: tuple[str, ...] = ()
    """Slot families, such as ``city_name``, whose words have a class (``data/store/word_classes.py``)."""
    classes: Annotated[Literal["instead", "beside"], UNSAID] = "instead"
    """``instead``: all words of a class are read as one word. ``beside``: a word keeps its vector, and its class has
    one beside it (``model.embedder.class_size``)."""


class DataConfig(Frozen):
    """The data of a trial: a corpus, and how words and tags are taken from its training split."""

    corpus: Corpus = GrammarCorpus()
    vocabulary: VocabularyConfig = VocabularyConfig()
    scheme: Scheme | None = None
    """The label scheme to learn, if the corpus has one; None: the corpus's own. F1 is the same for all."""
    minimum_tag_count: PositiveInt | None = None
    """Tags that occur fewer times than this in train become RARE (``data/store/rare.py``); None: all tags stay, without
    RARE."""
    longest: PositiveInt | None = None
    """The maximum length of texts to classify, in tokens; longer ones are cut; None: no limit."""
    vectors: str | None = None
    """Pretrained word vectors in GloVe's text format (``data/store/vectors.py``); the path is relative like those of
    files."""
