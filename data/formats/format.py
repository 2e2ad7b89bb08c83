"""What a file of sentences looks like: its format as a value, and how it is read."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal, assert_never, cast

from skipstack.data.formats import conllu, derivations
from skipstack.data.formats.columns import Separator, read_columns
from skipstack.data.formats.conllu import read_conllu
from skipstack.data.formats.derivations import read_derivations
from skipstack.data.formats.files import SourceFile
from skipstack.data.formats.piped import read_piped
from skipstack.data.formats.running_text import read_running_text
from skipstack.data.formats.segmented import in_characters, read_segmented
from skipstack.data.formats.sentences import Sentence
from skipstack.data.formats.slots import read_slots
from skipstack.data.formats.texts import read_texts
from skipstack.data.formats.treebank import read_treebank
from skipstack.data.formats.word_tags import Mark, read_word_tags
from skipstack.data.labels.schemes import Scheme
from skipstack.data.labels.tasks import TREES, Task

Unit = Literal["word", "character", "text"]
"""What is between blanks: a word; a word whose characters are tokens, where words are found as well; or running text,
whose words and marks are tokens."""


@dataclass(frozen=True, slots=True)
class ConlluFormat:
    """CoNLL-U; ``layers`` are its columns of tags that may be learnt, the default first; ``heads`` for its trees."""

    layers: tuple[str, ...]
    scheme: ClassVar[None] = None


@dataclass(frozen=True, slots=True)
class ColumnFormat:
    """Columns; ``layers`` says in which column each layer of tags stands, the default first."""

    word: int
    layers: Mapping[str, int]
    columns: int | None
    comments: tuple[str, ...]
    separator: Separator = "tab"
    encoding: str = "utf-8"
    scheme: Scheme | None = None


@dataclass(frozen=True, slots=True)
class DerivationFormat:
    """CCGbank's ``.auto`` derivations."""

    layers: tuple[str, ...] = ("category", "pos")
    scheme: ClassVar[None] = None


@dataclass(frozen=True, slots=True)
class PipedFormat:
    """``word|pos|category`` tokens, one sentence a line."""

    layers: tuple[str, ...] = ("category", "pos")
    scheme: ClassVar[None] = None


@dataclass(frozen=True, slots=True)
class TreebankFormat:
    """The Penn Treebank's tagged ``.pos`` files."""

    layers: tuple[str, ...] = ("pos",)
    scheme: ClassVar[None] = None


@dataclass(frozen=True, slots=True)
class SlotFormat:
    """``BOS words EOS``, a tab, and a tag for each, one sentence a line."""

    layers: tuple[str, ...] = ("slot",)
    scheme: ClassVar[Scheme] = "bio"


@dataclass(frozen=True, slots=True)
class WordTagFormat:
    """``word_TAG`` tokens, one sentence a line; options as of ``read_word_tags``. ``unit``: what is tagged."""

    separator: Mark
    unit: Unit
    encoding: str = "utf-8"
    identified: bool = False
    brackets: bool = False
    layers: tuple[str, ...] = ("pos",)

    @property
    def scheme(self) -> Scheme | None:
        """That of the characters; words are tagged one by one."""
        return "bmes" if self.unit == "character" else None


@dataclass(frozen=True, slots=True)
class SegmentedFormat:
    """Words between blanks, one sentence a line."""

    encoding: str = "utf-8"
    layers: tuple[str, ...] = ("segmentation",)
    scheme: ClassVar[Scheme] = "bmes"


@dataclass(frozen=True, slots=True)
class TextFormat:
    """Texts with a label each, in columns that count from 0."""

    label: int
    text: int
    columns: int
    encoding: str = "utf-8"
    layers: tuple[str, ...] = ("label",)
    scheme: ClassVar[None] = None


@dataclass(frozen=True, slots=True)
class RunningTextFormat:
    """Running text, one sentence a line."""

    encoding: str = "utf-8"
    layers: tuple[str, ...] = ("word",)
    scheme: ClassVar[None] = None


Format = (
    ConlluFormat
    | ColumnFormat
    | DerivationFormat
    | PipedFormat
    | TreebankFormat
    | SlotFormat
    | WordTagFormat
    | SegmentedFormat
    | TextFormat
    | RunningTextFormat
)
"""``layers`` are the tags that may be learnt, the default first; ``scheme`` is theirs, None where they have none."""


def unit_of(format: Format) -> Unit:  # noqa: A002
    """What is tagged in files of a format."""
    match format:
        case SegmentedFormat() | WordTagFormat(unit="character"):
            return "character"
        case TextFormat():
            return "text"
        case _:
            return "word"


def task_of(format: Format, layer: str) -> Task:  # noqa: A002
    """What a layer of tags of a format's sentences asks for."""
    if isinstance(format, TextFormat):
        return "classification"
    if isinstance(format, RunningTextFormat):
        return "language_modelling"
    return "parsing" if layer == TREES else "tagging"


def read_sentences(file: SourceFile, format: Format, layer: str) -> list[Sentence]:  # noqa: A002
    """The sentences of a file with the tags of ``layer``, one of the format's. Raises UserError with file and line."""
    assert layer in format.layers
    match format:
        case ConlluFormat():
            return read_conllu(file, cast("conllu.Layer", layer))
        case ColumnFormat():
            return read_columns(
                file,
                word=format.word,
                tag=format.layers[layer],
                separator=format.separator,
                comments=format.comments,
                columns=format.columns,
                encoding=format.encoding,
                scheme=format.scheme,
            )
        case DerivationFormat():
            return read_derivations(file, cast("derivations.Layer", layer))
        case PipedFormat():
            return read_piped(file, cast("derivations.Layer", layer))
        case TreebankFormat():
            return read_treebank(file)
        case SlotFormat():
            return read_slots(file)
        case WordTagFormat():
            words = read_word_tags(
                file,
                separator=format.separator,
                encoding=format.encoding,
                identified=format.identified,
                brackets=format.brackets,
            )
            return words if format.unit == "word" else [in_characters(each.words, each.tags) for each in words]
        case SegmentedFormat():
            return read_segmented(file, encoding=format.encoding)
        case RunningTextFormat():
            return read_running_text(file, encoding=format.encoding)
        case TextFormat():
            return read_texts(
                file, label=format.label, text=format.text, columns=format.columns, encoding=format.encoding
            )
        case _:
            assert_never(format)
