"""What a corpus is and how its words are read. No torch here: a space is described without it."""

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, PositiveInt, model_serializer, model_validator

from skipstack.data.basis.errors import unknown
from skipstack.data.basis.frozen import Frozen
from skipstack.data.basis.open_to import OpenTo
from skipstack.data.basis.own_code import OwnConfig
from skipstack.data.corpora.synthetic.echo import FARTHEST
from skipstack.data.formats.columns import ColumnFormat
from skipstack.data.formats.conllu import ConlluFormat
from skipstack.data.formats.derivations import DerivationFormat
from skipstack.data.formats.format import Format
from skipstack.data.formats.own import CorpusFiles
from skipstack.data.formats.own_reader import OwnReader
from skipstack.data.formats.piped import PipedFormat
from skipstack.data.formats.running_text import RunningTextFormat
from skipstack.data.formats.segmented import SegmentedFormat
from skipstack.data.formats.texts import TextFormat
from skipstack.data.formats.treebank import TreebankFormat
from skipstack.data.formats.word_tags import WordTagFormat
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


class AgreementCorpus(Frozen):
    """Sentences whose verbs agree with both ends of them at once (``data/corpora/synthetic/agreement.py``)."""

    kind: Literal["agreement"] = "agreement"
    seed: int = 0
    """Settles which sentences these are."""
    train: PositiveInt = 500
    """Sentences of train; of dev and test, below."""
    dev: PositiveInt = 200
    test: PositiveInt = 200


class EchoCorpus(Frozen):
    """Words of which some bear the colour of the word a fixed distance before (``data/corpora/synthetic/echo.py``)."""

    kind: Literal["echo"] = "echo"
    distance: Annotated[int, Field(ge=1, le=FARTHEST)] = 4
    """How many tokens before an asked word the one stands that decides its tag; nothing else depends on it."""
    seed: Annotated[int, Field(ge=0)] = 0
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


def _text_encoding(name: str) -> str:
    try:
        "".encode(name)
    except (LookupError, ValueError) as error:
        raise ValueError(f"unknown encoding {name!r} (allowed: a text encoding that Python knows)") from error
    return name


Encoding = Annotated[str, AfterValidator(_text_encoding)]
"""How the characters of a file are written as bytes, such as ``utf-8``, ``gbk`` or ``latin-1``."""


class OwnFiles(CorpusFiles, ABC):
    """Files of the user's own, whose paths are read from the folder of the study file that names them."""

    @property
    @abstractmethod
    def format(self) -> Format | OwnReader:
        """What the files look like."""

    @property
    def layer(self) -> str:
        """The layer of the format that is learnt."""
        return self.format.layers[0]


class ColumnCorpus(OwnFiles):
    """Column files: one token a line, an empty line after each sentence. Columns count from 0."""

    kind: Literal["columns"] = "columns"
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

    @property
    def format(self) -> ColumnFormat:
        """Columns with one layer, of as many columns as the first line has."""
        return ColumnFormat(
            word=self.word,
            tags={"tag": self.tag},
            comments=() if self.comment is None else (self.comment,),
            separator=self.separator,
            encoding=self.encoding,
            label_scheme=self.scheme,
        )


FILE_FORMATS: Mapping[str, Format] = {
    "ccgbank_auto": DerivationFormat(),
    "word_pos_supertag": PipedFormat(),
    "treebank_pos": TreebankFormat(),
    "conllu": ConlluFormat(tags=("upos", "xpos", "heads")),
}
"""The formats of the field whose files have nothing but their layer to be settled."""


class FileCorpus(OwnFiles):
    """Files in a format of the field, which ``kind`` names.

    ``ccgbank_auto``: derivations (``data/formats/derivations.py``). ``word_pos_supertag``: one sentence a line
    (``data/formats/piped.py``). ``treebank_pos``: the Penn Treebank's tagged files (``data/formats/treebank.py``).
    ``conllu``: Universal Dependencies (``data/formats/conllu.py``). Categories, parts of speech and relations are tags
    of single words, so none of these formats has a label scheme.
    """

    kind: Literal["ccgbank_auto", "word_pos_supertag", "treebank_pos", "conllu"]
    tags: Literal["category", "pos", "upos", "xpos", "heads"] | None = None
    """The layer to learn, one of those of the format; its first if None."""

    @model_validator(mode="after")
    def _has_the_layer(self) -> Self:
        layers = self.format.layers
        if self.tags is not None and self.tags not in layers:
            raise ValueError(f"tags: the files of {self.kind} have no {self.tags!r} (allowed: {', '.join(layers)})")
        return self

    @property
    def format(self) -> Format:
        """That of the kind."""
        return FILE_FORMATS[self.kind]

    @property
    def layer(self) -> str:
        """As ``tags`` says."""
        return self.tags or super().layer


class WordTagCorpus(OwnFiles):
    """Files of ``word_TAG`` or ``word/TAG`` tokens, one sentence a line (``data/formats/word_tags.py``).

    ``unit``: what is tagged, words (as of the French Treebank) or, to segment them as well, the characters of words
    (as of the Chinese Treebanks), with BMES and the word's tag.
    """

    kind: Literal["word_tag"] = "word_tag"
    separator: Literal["_", "/"] = "_"
    """What stands between a word and its tag."""
    unit: Literal["word", "character"] = "word"
    """What is tagged."""
    encoding: Encoding = "utf-8"
    identified: bool = False
    """Whether a line begins with its id, as those of the People's Daily do."""
    brackets: bool = False
    """Whether ``[`` before a word and ``]`` after a tag are brackets around a name, which are passed over."""

    @property
    def format(self) -> WordTagFormat:
        """Tagged words, with the same options."""
        return WordTagFormat(
            separator=self.separator,
            tagged=self.unit,
            encoding=self.encoding,
            identified=self.identified,
            brackets=self.brackets,
        )


class SegmentedCorpus(OwnFiles):
    """Files of words between blanks, one sentence a line, as those of SIGHAN's bakeoffs: characters with BMES."""

    kind: Literal["segmented"] = "segmented"
    encoding: Encoding = "utf-8"

    @property
    def format(self) -> SegmentedFormat:
        """Words between blanks."""
        return SegmentedFormat(encoding=self.encoding)


class TextCorpus(OwnFiles):
    """Texts to be classified, one a line: its label, a tab, the text (``data/formats/texts.py``)."""

    kind: Literal["labelled_text"] = "labelled_text"
    encoding: Encoding = "utf-8"

    @property
    def format(self) -> TextFormat:
        """Two columns."""
        return TextFormat(label=0, text=1, columns=2, encoding=self.encoding)


class RunningTextCorpus(OwnFiles):
    """Running text for a language model, one sentence a line (``data/formats/running_text.py``).

    Words of dev and test that train lacks must have been replaced, by ``<unk>`` for example.
    """

    kind: Literal["running_text"] = "running_text"
    encoding: Encoding = "utf-8"

    @property
    def format(self) -> RunningTextFormat:
        """One text."""
        return RunningTextFormat(encoding=self.encoding)


class OwnFormatCorpus(OwnFiles):
    """Files in a format of one's own: the kind and the fields of its config, as they stand in a study file.

    ``own``: the format with these fields, and with the file of code that has it.
    """

    own: OwnConfig

    @classmethod
    def of(cls, own: OwnConfig) -> Self:
        """The corpus that a config says. Raises ValueError where what is recorded of the format is none, and for a
        layer that it does not have.
        """
        said = json.loads(own.text)
        corpus = cls(own=own, **{name: said.get(name) for name in CorpusFiles.model_fields})
        if corpus.layer not in corpus.format.layers:
            raise ValueError(f"tags: {unknown(f'layer of {own.kind}', corpus.layer, corpus.format.layers)}")
        return corpus

    @model_serializer
    def _as_it_was_said(self) -> Any:
        return self.own.value

    @property
    def format(self) -> OwnReader:
        """That of the kind."""
        return OwnReader(self.own)

    @property
    def layer(self) -> str:
        """As its config says."""
        return self.format.layer


OurCorpus = Annotated[
    GrammarCorpus
    | AgreementCorpus
    | EchoCorpus
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

Corpus = Annotated[OurCorpus | OwnFormatCorpus, OpenTo("format", OurCorpus, OwnFormatCorpus)]


def called(corpus: Corpus) -> str:
    """What messages call a corpus: its name, its files of train, or what generates it."""
    match corpus:
        case NamedCorpus():
            return corpus.name
        case OwnFiles():
            return corpus.train if isinstance(corpus.train, str) else ", ".join(corpus.train)
        case _:
            return corpus.kind


def title_of(corpus: Corpus) -> str:
    """What tables call a corpus: its name, or else its kind."""
    return corpus.name if isinstance(corpus, NamedCorpus) else corpus.kind


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
