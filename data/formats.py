"""What a file of sentences looks like: its format as a value, and how it is read."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import assert_never, cast

from data.readers import conllu, derivations
from data.readers.columns import Separator, read_columns
from data.readers.conllu import read_conllu
from data.readers.derivations import read_derivations
from data.readers.files import SourceFile
from data.readers.piped import read_piped
from data.readers.treebank import read_treebank
from data.sentences import Sentence


@dataclass(frozen=True, slots=True)
class ConlluFormat:
    """CoNLL-U; ``layers`` are its columns of tags that may be learnt, the default first."""

    layers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ColumnFormat:
    """Columns; ``layers`` says in which column each layer of tags stands, the default first."""

    word: int
    layers: Mapping[str, int]
    columns: int | None
    comments: tuple[str, ...]
    separator: Separator = "tab"
    encoding: str = "utf-8"


@dataclass(frozen=True, slots=True)
class DerivationFormat:
    """CCGbank's ``.auto`` derivations."""

    layers: tuple[str, ...] = ("category", "pos")


@dataclass(frozen=True, slots=True)
class PipedFormat:
    """``word|pos|category`` tokens, one sentence a line."""

    layers: tuple[str, ...] = ("category", "pos")


@dataclass(frozen=True, slots=True)
class TreebankFormat:
    """The Penn Treebank's tagged ``.pos`` files."""

    layers: tuple[str, ...] = ("pos",)


Format = ConlluFormat | ColumnFormat | DerivationFormat | PipedFormat | TreebankFormat


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
            )
        case DerivationFormat():
            return read_derivations(file, cast("derivations.Layer", layer))
        case PipedFormat():
            return read_piped(file, cast("derivations.Layer", layer))
        case TreebankFormat():
            return read_treebank(file)
        case _:
            assert_never(format)
