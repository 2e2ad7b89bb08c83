"""Pretrained word vectors. Stores the vectors that a corpus may need, and looks up the vectors of a vocabulary.

Array legend: W words of a store, P words of the vocabulary that have a vector, E numbers per vector, F forms.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
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
from skipstack.data.store.tables import (
    DamagedStoreError,
    check_columns,
    check_finite,
    read_tables,
    write_tables,
    written_beside,
)
from skipstack.data.store.token_vectors import KIND, StoredTokenVectors, token_vectors_of
from skipstack.data.store.vocabulary import FIRST_KNOWN, Vocabulary, normalise

_LAYOUT = 2
"""The version of the file format of stored vectors. Increase it with every change."""

_TABLE = "vectors.arrow"

_CONFIGS = [
    VocabularyConfig(lowercase=lowercase, digits_to_nine=digits_to_nine)
    for lowercase, digits_to_nine in product((False, True), repeat=2)
]


@dataclass(frozen=True, eq=False)
class StoredVectors:
    """Vectors opened from their store.

    ``sha256``: the SHA-256 of the file from which they were taken. ``cut_line``: the number of a truncated last line of
    that file, which was skipped; None if there was none. ``words``: the words that have a vector. ``values_WE``: the
    vector of each. ``repeated``: the number of lines of that file that were skipped because an earlier line has their
    word. It is 0 in stores of versions before 0.3.0.
    """

    sha256: str
    cut_line: int | None
    words: tuple[str, ...]
    values_WE: NDArray[np.float32]
    repeated: int = 0

    @property
    def size(self) -> int:
        """The number of entries of a vector."""
        return int(self.values_WE.shape[1])


@dataclass(frozen=True, slots=True, eq=False)
class Pretrained:
    """The vectors of a vocabulary's words. ``rows_P``: the ascending IDs of the words. ``values_PE``: the vectors."""

    rows_P: NDArray[np.int64]
    values_PE: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Coverage:
    """The numbers of words in a vocabulary and of tokens in the training split, and how many of both have a vector."""

    covered_words: int
    words: int
    covered_tokens: int
    tokens: int


def store_vectors(path: Path, corpus: StoredCorpus, *, root: Path) -> Path:
    """Store all vectors in ``path`` that any vocabulary of ``corpus`` may need. Returns their folder in ``root``.

    The folder's name depends on the file's digest and on the words of the training split. An existing folder is used
    unchanged. A new folder is renamed from a temporary one, so it is complete. Trials read only this folder, so a
    changed file does not affect running studies. Raises UserError if the file cannot be read or is invalid.
    """
    train = [form for form, count in zip(corpus.forms, corpus.counts_F.tolist(), strict=True) if count > 0]
    wanted = sorted({key for form in train for key in _any_keys(form)})
    found = read_vectors(path, frozenset(wanted))
    target = root / identity({"layout": _LAYOUT, "vectors": found.sha256, "wanted": wanted})
    if target.exists():
        return target
    size = found.values_WE.shape[1]
    vector = pa.FixedSizeListArray.from_arrays(pa.array(found.values_WE.ravel(), pa.float32()), size)
    table = pa.record_batch({"word": pa.array(found.words, pa.string()), "vector": vector}, _columns(size))
    notes = {"sha256": found.sha256, "cut_line": found.cut_line, "repeated": found.repeated}
    with written_beside(target) as beside:
        write_tables(beside, {_TABLE: table}, notes)
    return target


def open_vectors(folder: Path) -> StoredVectors | StoredTokenVectors:
    """Map stored vectors into memory. Raises DamagedStoreError for a missing, changed or invalid file, and UserError
    for vectors that a newer version stored.
    """
    try:
        tables, manifest = read_tables(folder)
        if manifest.get("kind") == KIND:
            return token_vectors_of(tables, manifest)
        size = getattr(tables[_TABLE].schema.field("vector").type, "list_size", 1)
        check_columns(tables, {_TABLE: _columns(size)})
        words, vectors = tuple(tables[_TABLE]["word"].to_pylist()), tables[_TABLE]["vector"]
        values_WE = vectors.values.to_numpy(zero_copy_only=True).reshape(len(words), size)
        _check_vectors(words, values_WE)
        repeated = manifest.get("repeated", 0)
        return StoredVectors(str(manifest["sha256"]), manifest["cut_line"], words, values_WE, repeated)
    except UserError:
        raise
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError, pa.ArrowException) as error:
        raise DamagedStoreError(f"the stored vectors {folder} are damaged ({error}): start the study again") from error


def _columns(size: int) -> pa.Schema:
    return pa.schema({"word": pa.string(), "vector": pa.list_(pa.float32(), size)})


def _check_vectors(words: Sequence[str], values_WE: NDArray[np.float32]) -> None:
    """Raise ValueError for a word that occurs twice, and for a number in a vector that is not finite."""
    twice = [word for word, count in Counter(words).items() if count > 1]
    if twice:
        raise ValueError(f"{_TABLE}: column word, row {words.index(twice[0])}: got {twice[0]!r} twice, allowed: once")
    check_finite(_TABLE, values_WE)


def pretrained(vectors: StoredVectors, vocabulary: Vocabulary) -> Pretrained:
    """Look up the vectors of the vocabulary's words.

    A word is looked up as it is in the vocabulary, then in lower case. ``store_vectors`` stores only vectors of words
    in the training split, so other words get none.
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
    """Count the words of ``vocabulary``, the tokens of the training split, and how many of both have a vector."""
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
    """Yield the keys under which any vocabulary may look up a form."""
    for config in _CONFIGS:
        yield from _keys(normalise(form, config))
