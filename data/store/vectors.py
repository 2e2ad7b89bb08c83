"""Pretrained word vectors: stored beside a corpus with what it may need of them, and looked up for its words.

Array legend: W words of a store, P words of the vocabulary that have a vector, E numbers a word, F forms.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from skipstack.data.basis.errors import UserError
from skipstack.data.basis.frozen import identity
from skipstack.data.corpora.config import VocabularyConfig
from skipstack.data.formats.glove import read_vectors
from skipstack.data.store.stored import StoredCorpus
from skipstack.data.store.tables import read_tables, write_tables, written_beside
from skipstack.data.store.vocabulary import FIRST_KNOWN, Vocabulary, normalise

_LAYOUT = 2
"""To be raised whenever the files of a store change their form."""

_TABLE = "vectors.arrow"

_CONFIGS = [
    VocabularyConfig(lowercase=lowercase, digits_to_nine=digits_to_nine)
    for lowercase, digits_to_nine in product((False, True), repeat=2)
]


@dataclass(frozen=True, eq=False)
class StoredVectors:
    """Vectors opened from their store. ``sha256`` is that of the file they come from.

    ``cut_line``: the number of a last line that was cut off and is left out; None where there was none.
    """

    sha256: str
    cut_line: int | None
    words: tuple[str, ...]
    values_WE: NDArray[np.float32]

    @property
    def size(self) -> int:
        """Numbers a word."""
        return int(self.values_WE.shape[1])


@dataclass(frozen=True, slots=True, eq=False)
class Pretrained:
    """The vectors of the words that have one: ``rows_P`` are ids of the vocabulary, ascending."""

    rows_P: NDArray[np.int64]
    values_PE: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Coverage:
    """How far vectors reach: words of a vocabulary, and tokens of train, that have one, of how many."""

    covered_words: int
    words: int
    covered_tokens: int
    tokens: int


def store_vectors(path: Path, corpus: StoredCorpus, *, root: Path) -> Path:
    """The folder under ``root`` with all that any vocabulary of ``corpus`` may look up in the file ``path``.

    Its name covers the digest of the file and the words of train; it is written as a corpus is. A trial reads the
    store alone: if the file changes, studies that are under way do not. Raises UserError for what cannot be read.
    """
    train = [form for form, count in zip(corpus.forms, corpus.counts_F.tolist(), strict=True) if count > 0]
    wanted = sorted({key for form in train for key in _any_keys(form)})
    found = read_vectors(path, frozenset(wanted))
    target = root / identity({"layout": _LAYOUT, "vectors": found.sha256, "wanted": wanted})
    if target.exists():
        return target
    size = found.values_WE.shape[1]
    vector = pa.FixedSizeListArray.from_arrays(pa.array(found.values_WE.ravel(), pa.float32()), size)
    table = pa.record_batch({"word": pa.array(found.words, pa.string()), "vector": vector})
    with written_beside(target) as beside:
        write_tables(beside, {_TABLE: table}, {"sha256": found.sha256, "cut_line": found.cut_line})
    return target


def open_vectors(folder: Path) -> StoredVectors:
    """Map stored vectors into memory. Raises UserError where a file is missing or is not what was written."""
    try:
        tables, manifest = read_tables(folder)
        table = tables[_TABLE]
        vectors = table.column("vector")
        values_WE = vectors.values.to_numpy(zero_copy_only=True).reshape(len(vectors), vectors.type.list_size)
        return StoredVectors(
            manifest["sha256"], manifest["cut_line"], tuple(table.column("word").to_pylist()), values_WE
        )
    except UserError:
        raise
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, pa.ArrowException) as error:
        raise UserError(f"the stored vectors {folder} are damaged ({error}): start the study anew") from error


def pretrained(vectors: StoredVectors, vocabulary: Vocabulary) -> Pretrained:
    """The vectors of the vocabulary's words, which are those of train: of other words the vectors are not used.

    A word is looked up as the vocabulary writes it, digits and case included, then in lower case.
    """
    place_of = {word: place for place, word in enumerate(vectors.words)}
    pairs = [
        (row, place_of[key])
        for row, word in enumerate(vocabulary.words, start=FIRST_KNOWN)
        if (key := next((key for key in _keys(word) if key in place_of), None)) is not None
    ]
    rows_P, places_P = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    return Pretrained(rows_P, vectors.values_WE[places_P])


def coverage(vectors: Pretrained, vocabulary: Vocabulary, corpus: StoredCorpus) -> Coverage:
    """What ``vectors`` reach of the words of ``vocabulary`` and of the tokens of train."""
    covered = set(vectors.rows_P.tolist())
    tokens = [
        (count, vocabulary.word_id(form) in covered)
        for form, count in zip(corpus.forms, corpus.counts_F.tolist(), strict=True)
    ]
    return Coverage(
        covered_words=len(covered),
        words=len(vocabulary.words),
        covered_tokens=sum(count for count, has in tokens if has),
        tokens=sum(count for count, _ in tokens),
    )


def _keys(word: str) -> Iterator[str]:
    yield word
    yield word.lower()


def _any_keys(form: str) -> Iterator[str]:
    """All keys under which a form may be looked up, whatever the vocabulary's config."""
    for config in _CONFIGS:
        yield from _keys(normalise(form, config))
