"""Configs of corpora, and how their words are read. No torch here: a space is described without it."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import PurePath
from typing import Annotated, Any, Final, Literal, Self

from pydantic import (
    AfterValidator,
    Field,
    PositiveInt,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from skipstack.data.basis.counted import counted
from skipstack.data.basis.errors import unknown
from skipstack.data.basis.frozen import UNSAID, Brief, Frozen
from skipstack.data.basis.user_code.configs import OpenTo, OwnConfig
from skipstack.data.corpora.division import Splits, held_out
from skipstack.data.corpora.synthetic.echo import FARTHEST
from skipstack.data.corpora.synthetic.numbers import CountedFrom, shortest
from skipstack.data.formats.columns import ColumnFormat, DocumentsBy
from skipstack.data.formats.conllu import ConlluFormat
from skipstack.data.formats.derivations import DerivationFormat
from skipstack.data.formats.format import Format
from skipstack.data.formats.labelled_files import LabelledFilesFormat
from skipstack.data.formats.own import CorpusFiles, Paths
from skipstack.data.formats.own_reader import OwnReader
from skipstack.data.formats.parallel import ParallelFormat
from skipstack.data.formats.piped import PipedFormat
from skipstack.data.formats.running_text import RunningTextFormat
from skipstack.data.formats.segmented import SegmentedFormat
from skipstack.data.formats.texts import TextFormat
from skipstack.data.formats.treebank import TreebankFormat
from skipstack.data.formats.word_tags import WordTagFormat
from skipstack.data.labels.schemes import Scheme

Share = Annotated[float, Field(gt=0, lt=1)]
"""A share of train."""


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


def _text_encoding(name: str) -> str:
    try:
        "".encode(name)
    except (LookupError, ValueError) as error:
        raise ValueError(f"unknown encoding {name!r} (allowed: a text encoding that Python knows)") from error
    return name


Encoding = Annotated[str, AfterValidator(_text_encoding)]
"""The text encoding of the files, such as ``utf-8``, ``gbk`` or ``latin-1``."""


HELD_OUT: Final = ("held_out", "held_out_test", "held_out_seed")
"""The fields that say how splits without files are drawn."""


class OwnFiles(Frozen, ABC):
    """The user's own files, with paths relative to the folder of the study file that names them."""

    kind: str
    train: Paths
    dev: Paths | None = None
    """The files of dev; null: ``held_out`` says how dev is drawn."""
    test: Paths | None = None
    """The files of test; null: ``held_out_test`` says how test is drawn."""
    held_out: Share | None = None
    """The share of train that is drawn as dev if ``dev`` is null, by whole documents where the files tell them apart,
    or else by sentences."""
    held_out_test: Share | None = None
    """The share of train that is drawn as test if ``test`` is null."""
    held_out_seed: Annotated[int, Field(ge=0)] = 0
    """The seed that draws these documents or sentences."""

    @model_serializer(mode="wrap")
    def _as_recorded(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leaves out the fields of held-out splits if nothing is held out, and ``documents`` with its first value: so
        corpora that were recorded before there were these fields keep their identities.
        """
        drawn = self.held_out is not None or self.held_out_test is not None
        usual = {
            *(() if drawn else HELD_OUT),
            *(("documents",) if getattr(self, "documents", "") == "docstart" else ()),
        }
        return {name: value for name, value in dump(self).items() if name not in usual}

    @model_validator(mode="after")
    def _has_each_split_once(self) -> Self:
        for split, files, field in (("dev", self.dev, "held_out"), ("test", self.test, "held_out_test")):
            share = getattr(self, field)
            if files is None and share is None:
                raise ValueError(f"{split}: got nothing (allowed: files, or {field}, the share of train to draw)")
            if files is not None and share is not None:
                raise ValueError(f"{field}: got {share} for a corpus with files of {split} (allowed: one of the two)")
        return self

    @property
    def files(self) -> Mapping[str, tuple[str, ...]]:
        """The paths of each split that has files."""
        paths = {"train": self.train, "dev": self.dev, "test": self.test}
        return {split: (those,) if isinstance(those, str) else those for split, those in paths.items() if those}

    def divide(self, splits: Splits) -> Splits:
        """The splits in the files, and those that are drawn from train. Raises UserError where one would be empty."""
        shares = {"dev": self.held_out, "test": self.held_out_test}
        drawn = {split: share for split, share in shares.items() if share is not None}
        return held_out(splits, drawn, self.held_out_seed) if drawn else splits

    @property
    @abstractmethod
    def format(self) -> Format | OwnReader:
        """The format of the files."""

    @property
    def layer(self) -> str:
        """The layer of the format to learn."""
        return self.format.layers[0]


class ColumnCorpus(OwnFiles):
    """Column files: one token a line, an empty line after each sentence. Columns count from 0."""

    kind: Literal["columns"] = "columns"
    word: Annotated[int, Field(ge=0)] = 0
    """The column of the words."""
    tag: Annotated[int, Field(ge=0)] = 1
    """The column of the tags to learn."""
    separator: Literal["tab", "whitespace"] = "tab"
    """The separator of columns: one tab, or any run of tabs and spaces."""
    comment: str | None = None
    """Lines that start with this text are skipped."""
    encoding: Encoding = "utf-8"
    scheme: Scheme | None = None
    """The label scheme of the tags (``data/labels/schemes.py``), which are then scored as spans by F1; None: tags are
    scored one by one, by accuracy."""
    documents: DocumentsBy = "docstart"
    """The beginnings of documents: lines that start with ``-DOCSTART-``, if there are any, or two or more empty lines.
    Intervals then hold for other documents, not only for other sentences."""

    @property
    def format(self) -> ColumnFormat:
        """The column format with one layer; the first line sets the number of columns."""
        return ColumnFormat(
            word=self.word,
            tags={"tag": self.tag},
            comments=() if self.comment is None else (self.comment,),
            separator=self.separator,
            encoding=self.encoding,
            label_scheme=self.scheme,
            documents=self.documents,
        )


FILE_FORMATS: Mapping[str, Format] = {
    "ccgbank_auto": DerivationFormat(),
    "word_pos_supertag": PipedFormat(),
    "treebank_pos": TreebankFormat(),
    "conllu": ConlluFormat(tags=("upos", "xpos", "heads")),
}
"""Standard formats whose only option is the layer."""


class FileCorpus(OwnFiles):
    """Files in a standard format, named by ``kind``.

    ``ccgbank_auto``: derivations (``data/formats/derivations.py``). ``word_pos_supertag``: one sentence a line
    (``data/formats/piped.py``). ``treebank_pos``: the Penn Treebank's tagged files (``data/formats/treebank.py``).
    ``conllu``: Universal Dependencies (``data/formats/conllu.py``). Categories, parts of speech and relations are tags
    of single words, so none of these formats has a label scheme.
    """

    kind: Literal["ccgbank_auto", "word_pos_supertag", "treebank_pos", "conllu"]
    tags: Literal["category", "pos", "upos", "xpos", "heads"] | None = None
    """The layer to learn, one of the format's; None: its first."""

    @model_validator(mode="after")
    def _has_the_layer(self) -> Self:
        layers = self.format.layers
        if self.tags is not None and self.tags not in layers:
            raise ValueError(f"tags: the files of {self.kind} have no {self.tags!r} (allowed: {', '.join(layers)})")
        return self

    @property
    def format(self) -> Format:
        """The format of the kind."""
        return FILE_FORMATS[self.kind]

    @property
    def layer(self) -> str:
        """The layer in ``tags``, or else the first."""
        return self.tags or super().layer


class WordTagCorpus(OwnFiles):
    """Files of ``word_TAG`` or ``word/TAG`` tokens, one sentence a line (``data/formats/word_tags.py``).

    ``unit``: the unit of tagging: words (as in the French Treebank) or, to segment them as well, the characters of
    words (as in the Chinese Treebanks), with BMES and the word's tag.
    """

    kind: Literal["word_tag"] = "word_tag"
    separator: Literal["_", "/"] = "_"
    """The separator of a word and its tag."""
    unit: Literal["word", "character"] = "word"
    """The unit of tagging."""
    encoding: Encoding = "utf-8"
    identified: bool = False
    """Whether each line begins with an id, as in the People's Daily."""
    brackets: bool = False
    """Whether ``[`` before a word and ``]`` after a tag are brackets around names, which are skipped."""

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
    """Files of words separated by blanks, one sentence a line, as in SIGHAN's bakeoffs; learned as characters with
    BMES.
    """

    kind: Literal["segmented"] = "segmented"
    encoding: Encoding = "utf-8"

    @property
    def format(self) -> SegmentedFormat:
        """Words between blanks."""
        return SegmentedFormat(encoding=self.encoding)


class TextCorpus(OwnFiles):
    """Texts to classify, one a line: the label, a tab, the text (``data/formats/texts.py``)."""

    kind: Literal["labelled_text"] = "labelled_text"
    encoding: Encoding = "utf-8"

    @property
    def format(self) -> TextFormat:
        """Two columns."""
        return TextFormat(label=0, text=1, columns=2, encoding=self.encoding)


NameEnd = Annotated[str, Field(pattern=r"^[^/\\\x00]+$")]
"""The end of a name, within its folder."""


class ParallelCorpus(OwnFiles):
    """Words and tags in two files side by side, one sentence a line in both (``data/formats/parallel.py``).

    SNIPS and ATIS are published so: ``train/seq.in``, ``train/seq.out``, and ``train/label``. ``train``, ``dev`` and
    ``test`` name the files of words.
    """

    kind: Literal["parallel"] = "parallel"
    words: NameEnd = "seq.in"
    """The end of the name of a file of words, such as ``seq.in`` or ``.words``."""
    tags: NameEnd = "seq.out"
    """The end that the name of the file of its tags has instead, such as ``seq.out`` or ``.tags``."""
    unit: Literal["word", "sentence"] = "word"
    """Whether a line of tags has a tag for each word, or is the label of the whole sentence."""
    encoding: Encoding = "utf-8"
    scheme: Scheme | None = None
    """The label scheme of the tags of words, which are then scored as spans by F1; None: tags are scored one by one."""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.words == self.tags:
            raise ValueError(f"tags: got {self.tags!r}, the end of words, too (allowed: that of another file)")
        if self.unit == "sentence" and self.scheme is not None:
            raise ValueError(f"scheme: got {self.scheme!r} for labels of sentences (allowed: null, or unit: word)")
        return self

    @property
    def format(self) -> ParallelFormat:
        """Parallel files, with the same options."""
        return ParallelFormat(
            words=self.words,
            tags=self.tags,
            unit_of_tags=self.unit,
            encoding=self.encoding,
            label_scheme=self.scheme,
        )


class LabelledFilesCorpus(OwnFiles):
    """Texts to classify whose label is in the path of their file (``data/formats/labelled_files.py``), such as
    ``train/pos/*.txt`` and ``train/neg/*.txt``.
    """

    kind: Literal["labelled_files"] = "labelled_files"
    label: Literal["folder", "name", "ending"] = "folder"
    """The part of the path that is the label: ``pos`` is the folder of ``pos/1.txt``, the name of ``pos.txt`` without
    its ending, and the ending of ``polarity.pos``."""
    text: Literal["file", "line"] = "file"
    """Whether a text is a whole file, or a line of it."""
    encoding: Encoding = "utf-8"

    @property
    def format(self) -> LabelledFilesFormat:
        """Labelled files, with the same options."""
        return LabelledFilesFormat(label=self.label, text=self.text, encoding=self.encoding)


class RunningTextCorpus(OwnFiles):
    """Running text for a language model, one sentence a line (``data/formats/running_text.py``).

    Words of dev and test that train lacks must be replaced beforehand, by ``<unk>`` for example.
    """

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

    @property
    def format(self) -> RunningTextFormat:
        """The format of running text."""
        return RunningTextFormat(encoding=self.encoding)


class OwnFormatCorpus(OwnFiles):
    """Files in a user's format: its kind and the fields of its config, as in a study file.

    ``own``: the format with these fields, and its code file.
    """

    own: OwnConfig

    @classmethod
    def of(cls, own: OwnConfig) -> Self:
        """The corpus for a config. Raises ValueError for invalid recorded facts of the format, and for a layer that it
        does not have.
        """
        corpus = cls(own=own, **{name: own.fields.get(name) for name in CorpusFiles.model_fields})
        if corpus.layer not in corpus.format.layers:
            raise ValueError(f"tags: {unknown(f'layer of {own.kind}', corpus.layer, corpus.format.layers)}")
        return corpus

    @model_serializer
    def _as_it_was_said(self) -> Any:
        return self.own.value

    @property
    def format(self) -> OwnReader:
        """The format of the kind."""
        return OwnReader(self.own)

    @property
    def layer(self) -> str:
        """The layer in its config."""
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
    | ParallelCorpus
    | LabelledFilesCorpus
    | RunningTextCorpus,
    Field(discriminator="kind"),
]

Corpus = Annotated[OurCorpus | OwnFormatCorpus, OpenTo("format", OurCorpus, OwnFormatCorpus)]


def called(corpus: Corpus) -> str:
    """The name of a corpus in messages: its own name, its train files, or its generator."""
    match corpus:
        case NamedCorpus():
            return corpus.name
        case OwnFiles():
            return corpus.train if isinstance(corpus.train, str) else ", ".join(corpus.train)
        case _:
            return corpus.kind


def title_of(corpus: Corpus) -> str:
    """The name of a corpus in tables and captions: ``called``, with the last folder of the first train file alone."""
    if not isinstance(corpus, OwnFiles):
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
