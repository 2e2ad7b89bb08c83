"""Vectors of tokens, such as the outputs of an encoder: a vector for each token of a corpus, in its own sentence.

Array legend: N tokens of a split, E numbers of a vector.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from skipstack.data.basis.errors import UserError
from skipstack.data.basis.frozen import identity
from skipstack.data.formats.sentences import SPLITS
from skipstack.data.formats.token_vectors import read_token_vectors
from skipstack.data.store.layout import split_file
from skipstack.data.store.stored import StoredCorpus
from skipstack.data.store.tables import check_columns, check_finite, write_tables, written_beside

KIND: Final = "tokens"
"""The kind of a store of these vectors, in its manifest."""

_LAYOUT: Final = 1
"""The version of the file format of stored vectors of tokens. Increase it with every change."""


@dataclass(frozen=True, eq=False)
class StoredTokenVectors:
    """Vectors opened from their store. ``sha256``: the digest of the file or files from which they were taken.
    ``values``: the vectors of each split, views of the stored files.
    """

    sha256: str
    values: Mapping[str, NDArray[np.float32]]

    @property
    def size(self) -> int:
        """The number of entries of a vector."""
        return int(self.values["train"].shape[1])


def store_token_vectors(path: Path, corpus: StoredCorpus, *, root: Path) -> Path:
    """Store the vectors of all tokens of ``corpus``, read from ``path``. Returns their folder in ``root``.

    The folder's name depends on the digest of the vectors' files and on the corpus. An existing folder is used
    unchanged. Raises UserError as ``read_token_vectors`` does.
    """
    found = read_token_vectors(path, {name: split.lengths_S for name, split in corpus.splits.items()})
    target = root / identity({"layout": _LAYOUT, "token_vectors": found.sha256, "corpus": corpus.fingerprint})
    if target.exists():
        return target
    size = found.values["train"].shape[1]
    tables = {}
    for split, values_NE in found.values.items():
        vectors = pa.FixedSizeListArray.from_arrays(pa.array(values_NE.ravel(), pa.float32()), size)
        tables[split_file(split)] = pa.record_batch({"vector": vectors}, _columns(size))
    with written_beside(target) as beside:
        write_tables(beside, tables, {"kind": KIND, "sha256": found.sha256})
    return target


def token_vectors_of(tables: Mapping[str, pa.RecordBatch], manifest: Mapping[str, Any]) -> StoredTokenVectors:
    """Take the vectors from the tables of their store. Raises ValueError if they are invalid."""
    size = tables[split_file("train")].schema.field("vector").type.list_size
    check_columns(tables, dict.fromkeys(map(split_file, SPLITS), _columns(size)))
    values = {}
    for split in SPLITS:
        vectors = tables[split_file(split)]["vector"]
        values[split] = vectors.values.to_numpy(zero_copy_only=True).reshape(len(vectors), size)
        check_finite(split_file(split), values[split])
    return StoredTokenVectors(str(manifest["sha256"]), values)


def with_token_vectors(stored: StoredCorpus, vectors: object) -> StoredCorpus:
    """Give each token of a corpus its vector. Raises UserError for another number of vectors than tokens.

    The corpus is unchanged if ``vectors`` are not vectors of tokens, or if its tokens have vectors already.
    """
    if not isinstance(vectors, StoredTokenVectors) or stored.splits["train"].vectors_NE is not None:
        return stored
    for name, split in stored.splits.items():
        if (got := len(vectors.values[name])) != len(split.forms_N):
            raise UserError(f"stored vectors of {name}: got {got}, allowed: {len(split.forms_N)}, one for each token")
    splits = {name: replace(split, vectors_NE=vectors.values[name]) for name, split in stored.splits.items()}
    return replace(stored, splits=splits)


def _columns(size: int) -> pa.Schema:
    return pa.schema({"vector": pa.list_(pa.float32(), size)})
