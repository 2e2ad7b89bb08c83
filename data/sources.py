"""From a corpus config to its sentences: generated, named, or the user's own column files."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import assert_never, cast

from data.config import ColumnCorpus, Corpus, GrammarCorpus, NamedCorpus
from data.corpora import Card, ColumnFormat, ConlluFormat, find_card, read_split
from data.errors import UserError
from data.frozen import identity
from data.readers.columns import read_columns
from data.readers.conllu import Layer, read_conllu
from data.readers.files import SourceFile
from data.sentences import SPLITS, Sentence
from data.synthetic import grammar

Splits = dict[str, list[Sentence]]


@dataclass(frozen=True, slots=True)
class Source:
    """A corpus that is known but not yet read.

    ``key`` is the identity of the config and of what stands behind it: the digests of the files,
    or the edition of the grammar. The user's own files are held here as bytes, so that a file
    that changes later cannot come under the key of what it was. ``read`` gives every split.
    """

    key: str
    read: Callable[[], Splits]


def open_source(corpus: Corpus, *, data_dir: Path | None, folder: Path) -> Source:
    """The source of a corpus; named corpora lie under ``data_dir``, column files under ``folder``.

    Raises UserError for a name or a layer that is not known and for column files that cannot be
    read; ``read`` raises it for the files of a named corpus and for what the files hold.
    """
    match corpus:
        case GrammarCorpus():
            behind: Mapping[str, str | int] = {"edition": grammar.EDITION}
            read: Callable[[], Splits] = partial(_generate, corpus)
        case NamedCorpus():
            card = find_card(corpus.name)
            layer = card.layer(corpus.tags)
            behind = {split: card.files[split].sha256 for split in SPLITS}
            read = partial(_read_named, card, layer, data_dir)
        case ColumnCorpus():
            files = {split: SourceFile.read(folder / path) for split, path in _paths(corpus).items()}
            behind = {split: file.sha256 for split, file in files.items()}
            read = partial(_read_own, corpus, files)
        case _:
            assert_never(corpus)
    return Source(identity({"corpus": corpus.model_dump(mode="json"), "behind": dict(behind)}), read)


def read_splits(corpus: Corpus, *, data_dir: Path | None, folder: Path) -> Splits:
    """Every split of a corpus, none of them empty. Raises UserError as ``open_source`` and its ``read`` do."""
    return open_source(corpus, data_dir=data_dir, folder=folder).read()


def _generate(corpus: GrammarCorpus) -> Splits:
    sizes = {"train": corpus.train, "dev": corpus.dev, "test": corpus.test}
    return {split: grammar.sentences(corpus.seed, split, sizes[split]) for split in SPLITS}


def _read_named(card: Card, layer: str, data_dir: Path | None) -> Splits:
    splits = {}
    for split in SPLITS:
        file = read_split(card, split, data_dir)
        match card.format:
            case ConlluFormat():
                sentences = read_conllu(file, cast("Layer", layer))  # the card knows it
            case ColumnFormat(word=word, layers=layers, columns=columns, comments=comments):
                sentences = read_columns(file, word=word, tag=layers[layer], columns=columns, comments=comments)
            case _:
                assert_never(card.format)
        splits[split] = _filled(sentences, file.path)
    return splits


def _read_own(corpus: ColumnCorpus, files: Mapping[str, SourceFile]) -> Splits:
    splits = {}
    for split, file in files.items():
        sentences = read_columns(
            file,
            word=corpus.word,
            tag=corpus.tag,
            separator=corpus.separator,
            comments=() if corpus.comment is None else (corpus.comment,),
            encoding=corpus.encoding,
        )
        splits[split] = _filled(sentences, file.path)
    return splits


def _paths(corpus: ColumnCorpus) -> dict[str, str]:
    return {"train": corpus.train, "dev": corpus.dev, "test": corpus.test}


def _filled(sentences: list[Sentence], path: Path) -> list[Sentence]:
    if not sentences:
        raise UserError(f"{path}: got an empty split, allowed: at least one sentence")
    return sentences
