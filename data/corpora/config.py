"""What a corpus is and how its words are read. No torch here: a space is described without it."""

from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, PositiveInt, model_validator

from skipstack.data.basis.frozen import Frozen
from skipstack.data.labels.schemes import Scheme


class GrammarCorpus(Frozen):
    """The embedded default: sentences drawn from a small grammar (``data/corpora/synthetic/grammar.py``)."""

    kind: Literal["grammar"] = "grammar"
    tags: Literal["pos", "heads"] = "pos"
    """What is learnt of a sentence: the part of speech of each word, or its head and the relation to it."""
    seed: int = 0
    """Settles which sentences these are."""
    train: PositiveInt = 600
    """Sentences of train; of dev and test, below."""
    dev: PositiveInt = 200
    test: PositiveInt = 200


class NumbersCorpus(Frozen):
    """Texts of digits whose label is found by jumping through them (``data/corpora/synthetic/numbers.py``; gui2019)."""

    kind: Literal["numbers"] = "numbers"
    seed: Annotated[int, Field(ge=0)] = 0
    """Settles which texts these are."""
    length: Annotated[int, Field(ge=11)] = 11
    """Numbers of a text: T."""
    jumps: PositiveInt = 1
    """How many numbers point at another one before the label is reached."""
    train: PositiveInt = 100_000
    """Texts of train; of dev and test, below."""
    dev: PositiveInt = 10_000
    test: PositiveInt = 10_000


class NamedCorpus(Frozen):
    """A corpus that ``data/corpora/named.py`` knows: found under the data directory, checked by SHA-256."""

    kind: Literal["named"] = "named"
    name: str
    """One of those that ``skipstack data list`` prints."""
    tags: str | None = None
    """The annotation layer to learn, for example ``upos`` or ``xpos``; the corpus's own default if None."""
    held_out: Annotated[float, Field(gt=0, lt=1)] | None = None
    """Of a corpus without a dev split of its own, the share of train that is drawn as dev; as on its card if None."""
    held_out_seed: Annotated[int, Field(ge=0)] = 0
    """Settles which sentences these are."""


Paths = str | Annotated[tuple[str, ...], Field(min_length=1)]
"""A file, or several in their order; ``*``, ``?`` and ``**`` name all that match, in text order."""


def _text_encoding(name: str) -> str:
    try:
        "".encode(name)
    except (LookupError, ValueError) as error:
        raise ValueError(f"unknown encoding {name!r} (allowed: a text encoding that Python knows)") from error
    return name


Encoding = Annotated[str, AfterValidator(_text_encoding)]
"""How the characters of a file are written as bytes, such as ``utf-8``, ``gbk`` or ``latin-1``."""


class ColumnCorpus(Frozen):
    """Column files of the user's own: one token a line, an empty line after each sentence.

    Paths are read from the folder of the study file that names them. Columns count from 0.
    """

    kind: Literal["columns"] = "columns"
    train: Paths
    dev: Paths
    test: Paths
    word: Annotated[int, Field(ge=0)] = 0
    """The column of the words."""
    tag: Annotated[int, Field(ge=0)] = 1
    """The column of the tags to learn."""
    separator: Literal["tab", "whitespace"] = "tab"
    """What stands between columns: one tab, or any run of tabs and spaces."""
    comment: str | None = None
    """Lines that start with this text are passed over."""
    encoding: Encoding = "utf-8"
    scheme: Scheme | None = None
    """Of the tags (``data/labels/schemes.py``), which are then scored as spans; None: one by one, by accuracy."""


LAYERS_OF_FILES: Mapping[str, tuple[str, ...]] = {
    "ccgbank_auto": ("category", "pos"),
    "word_pos_supertag": ("category", "pos"),
    "treebank_pos": ("pos",),
    "conllu": ("upos", "xpos", "heads"),
}
"""The layers of tags that the files of a format have, the default first."""


class FileCorpus(Frozen):
    """Files of the user's own in a format of the field, which ``kind`` names; paths as for column files.

    ``ccgbank_auto``: derivations (``data/formats/derivations.py``). ``word_pos_supertag``: one sentence a line
    (``data/formats/piped.py``). ``treebank_pos``: the Penn Treebank's tagged files (``data/formats/treebank.py``).
    ``conllu``: Universal Dependencies (``data/formats/conllu.py``). Categories, parts of speech and relations are tags
    of single words, so none of these formats has a label scheme.
    """

    kind: Literal["ccgbank_auto", "word_pos_supertag", "treebank_pos", "conllu"]
    train: Paths
    dev: Paths
    test: Paths
    tags: Literal["category", "pos", "upos", "xpos", "heads"] | None = None
    """The layer to learn, one of those of the format (``LAYERS_OF_FILES``); its first if None."""

    @model_validator(mode="after")
    def _has_the_layer(self) -> Self:
        layers = LAYERS_OF_FILES[self.kind]
        if self.tags is not None and self.tags not in layers:
            raise ValueError(f"tags: the files of {self.kind} have no {self.tags!r} (allowed: {', '.join(layers)})")
        return self


class WordTagCorpus(Frozen):
    """Files of ``word_TAG`` or ``word/TAG`` tokens, one sentence a line (``data/formats/word_tags.py``).

    ``unit``: what is tagged, words (as of the French Treebank) or, to segment them as well, the characters of words
    (as of the Chinese Treebanks), with BMES and the word's tag. Paths as for column files.
    """

    kind: Literal["word_tag"] = "word_tag"
    train: Paths
    dev: Paths
    test: Paths
    separator: Literal["_", "/"] = "_"
    """What stands between a word and its tag."""
    unit: Literal["word", "character"] = "word"
    """What is tagged."""
    encoding: Encoding = "utf-8"
    identified: bool = False
    """Whether a line begins with its id, as those of the People's Daily do."""
    brackets: bool = False
    """Whether ``[`` before a word and ``]`` after a tag are brackets around a name, which are passed over."""


class SegmentedCorpus(Frozen):
    """Files of words between blanks, one sentence a line, as those of SIGHAN's bakeoffs: characters with BMES.

    Paths as for column files.
    """

    kind: Literal["segmented"] = "segmented"
    train: Paths
    dev: Paths
    test: Paths
    encoding: Encoding = "utf-8"


class TextCorpus(Frozen):
    """Texts to be classified, one a line: its label, a tab, the text (``data/formats/texts.py``).

    Paths as for column files.
    """

    kind: Literal["labelled_text"] = "labelled_text"
    train: Paths
    dev: Paths
    test: Paths
    encoding: Encoding = "utf-8"


class RunningTextCorpus(Frozen):
    """Running text for a language model, one sentence a line (``data/formats/running_text.py``).

    Words of dev and test that train lacks must have been replaced, by ``<unk>`` for example. Paths as for column files.
    """

    kind: Literal["running_text"] = "running_text"
    train: Paths
    dev: Paths
    test: Paths
    encoding: Encoding = "utf-8"


Corpus = Annotated[
    GrammarCorpus
    | NumbersCorpus
    | NamedCorpus
    | ColumnCorpus
    | FileCorpus
    | WordTagCorpus
    | SegmentedCorpus
    | TextCorpus
    | RunningTextCorpus,
    Field(discriminator="kind"),
]


class VocabularyConfig(Frozen):
    """Which forms of the training split become words of their own; the others are unknown."""

    minimum_count: PositiveInt = 1
    """Words that train has less often are unknown words."""
    lowercase: bool = True
    """Whether forms that differ in case alone are one word; characters and capitals are read in their own case."""
    digits_to_nine: bool = True
    """Whether every digit of a word is read as 9, so that numbers of one length are one word."""
    word_classes: tuple[str, ...] = ()
    """Slot families, such as ``city_name``, whose words are read as one (``data/store/word_classes.py``)."""


class DataConfig(Frozen):
    """The data of a trial: a corpus, and the words and tags that its training split settles."""

    corpus: Corpus = GrammarCorpus()
    vocabulary: VocabularyConfig = VocabularyConfig()
    scheme: Scheme | None = None
    """The label scheme that is learnt, of a corpus whose tags have one; None: the corpus's own. F1 is the same."""
    minimum_tag_count: PositiveInt | None = None
    """Tags that train has less often become RARE (``data/store/rare.py``); None: every tag stays, without RARE."""
    longest: PositiveInt | None = None
    """Texts that are classified are cut after this many tokens; None: none is cut."""
    vectors: str | None = None
    """Pretrained word vectors in GloVe's text format (``data/store/vectors.py``); the path as for column files."""
