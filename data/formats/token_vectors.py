"""Reads a vector for each token of a corpus from files of Arrow, Parquet or safetensors. No code in a file is run.

Array legend: N tokens, S sentences, E numbers of a vector.
"""

import hashlib
import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from skipstack.data.basis.arrays import Ids, first_not_finite
from skipstack.data.basis.errors import UserError, unreadable
from skipstack.data.basis.ordinary_files import opened
from skipstack.data.formats.sentences import SPLITS
from skipstack.data.formats.tables import arrow_table

Vectors = NDArray[np.float32]

TABLES: Final = (".arrow", ".feather", ".parquet")
SAFETENSORS: Final = ".safetensors"
ENDINGS: Final = (*TABLES, SAFETENSORS)
"""The endings of files that are read. The ending decides the format."""

COLUMN: Final = "vector"
"""The column of vectors in a table with several columns of lists."""

NUMBERS: Final[Mapping[str, str]] = {"F16": "<f2", "BF16": "<u2", "F32": "<f4", "F64": "<f8"}
"""The types of numbers in safetensors files, as numpy reads them."""

LARGEST_HEADER: Final = 2**24
"""The maximum size of the header of a safetensors file, in bytes."""


@dataclass(frozen=True, slots=True, eq=False)
class FoundTokenVectors:
    """The vectors of all tokens. ``values``: the vectors of each split. ``sha256``: the SHA-256 of the file or, if
    there are several files, the SHA-256 of their SHA-256s.
    """

    values: Mapping[str, Vectors]
    sha256: str


@dataclass(frozen=True, slots=True, eq=False)
class _Read:
    """The vectors that one file has of some splits, one after another. ``where``: its name in errors. ``lengths_S``:
    the number of vectors of each sentence; None if the file does not group vectors by sentence.
    """

    where: str
    splits: tuple[str, ...]
    values_NE: Vectors
    lengths_S: Ids | None = None


def read_token_vectors(path: Path, lengths: Mapping[str, NDArray[np.integer]]) -> FoundTokenVectors:
    """Read the vectors of all tokens. ``lengths``: the number of tokens of each sentence, by split.

    ``path`` is a folder with a file for each split, such as ``train.parquet``, or one file. A table, in Arrow or
    Parquet, has one column of lists, or a column ``vector``: a row is either a vector of a token, or the list of a
    sentence's vectors. A table that is the only file has the rows of train, then of dev, then of test. A safetensors
    file has one matrix, with a row for each token. If it is the only file, it has three: ``train``, ``dev`` and
    ``test``. Numbers are kept in 32 bits.

    Raises UserError, with the file, if it cannot be read, if it has another number of sentences or tokens than the
    corpus, or another number of tokens in a sentence, if vectors differ in size, and for a number that is not finite.
    """
    found, digests = list[_Read](), list[str]()
    for file, splits in _files(path):
        try:
            found += _read(file, splits)
            digests.append(_digest(file))
        except OSError as error:
            raise unreadable(file, error) from error
    for each in found:
        _check(each, [lengths[split] for split in each.splits])
    for each in found[1:]:
        if (size := each.values_NE.shape[1]) != found[0].values_NE.shape[1]:
            raise _error(
                each.where, f"vectors of {size} numbers", f"{found[0].values_NE.shape[1]}, as {found[0].where}"
            )
    values: dict[str, Vectors] = {}
    for each in found:
        ends = np.cumsum([int(lengths[split].sum()) for split in each.splits])
        values |= zip(each.splits, np.split(each.values_NE, ends[:-1]), strict=True)
    sha256 = digests[0] if len(digests) == 1 else hashlib.sha256("".join(digests).encode()).hexdigest()
    return FoundTokenVectors(values, sha256)


def _files(path: Path) -> list[tuple[Path, tuple[str, ...]]]:
    """Return the files with the splits of each."""
    if not os.path.isdir(path):
        if path.suffix not in ENDINGS:
            raise _error(str(path), f"a file that ends in {path.suffix!r}", f"{', '.join(ENDINGS)}, or a folder")
        return [(path, SPLITS)]
    files = list[tuple[Path, tuple[str, ...]]]()
    for split in SPLITS:
        own = [file for ending in ENDINGS if os.path.exists(file := path / f"{split}{ending}")]
        if len(own) != 1:
            got = " and ".join(file.name for file in own) or f"no {split}.parquet"
            raise _error(str(path), got, f"one file of {split}, which ends in {', '.join(ENDINGS)}")
        files.append((own[0], (split,)))
    return files


def _read(file: Path, splits: tuple[str, ...]) -> list[_Read]:
    opened(file).close()  # refuses devices and pipes
    if file.suffix == SAFETENSORS:
        tensors = _tensors(file)
        if len(splits) == 1 and len(tensors) == 1:
            (values,) = tensors.values()
            return [_Read(str(file), splits, values)]
        if set(tensors) != set(splits):
            got = " and ".join(sorted(tensors)[:5]) or "no tensors"
            raise _error(str(file), got, f"the tensors {', '.join(splits)}" if len(splits) > 1 else "one tensor")
        return [_Read(f"{file}: {split}", (split,), tensors[split]) for split in splits]
    lengths, values = _table(file)
    return [_Read(str(file), splits, values, lengths)]


def _check(found: _Read, lengths: Sequence[NDArray[np.integer]]) -> None:
    wanted_S, got = np.concatenate(lengths), found.lengths_S
    of = f"of {' and '.join(found.splits)}"
    if got is None:
        if len(found.values_NE) != (tokens := int(wanted_S.sum())):
            raise _error(found.where, f"{len(found.values_NE)} vectors", f"{tokens}, one for each token {of}")
    elif len(got) != len(wanted_S):
        raise _error(found.where, f"{len(got)} sentences", f"{len(wanted_S)}, those {of}")
    elif len(wrong := np.flatnonzero(got != wanted_S)):
        row = int(wrong[0])
        raise _error(
            f"{found.where}: sentence {row + 1}", f"{got[row]} vectors", f"{wanted_S[row]}, one for each token"
        )
    if (odd := first_not_finite(found.values_NE)) is not None:
        raise _error(f"{found.where}: vector {odd[0] + 1}", f"{found.values_NE[odd]}", "finite numbers")


# --- tables -----------------------------------------------------------------------------------------------------------


def _table(file: Path) -> tuple[Ids | None, Vectors]:
    """Read the vectors of a table, and the number of vectors of each of its rows if a row is a sentence."""
    try:
        table = _rows(file)
        table.validate(full=True)
        columns = [name for name in table.column_names if _is_list(table.schema.field(name).type)]
        name = COLUMN if COLUMN in columns else columns[0] if len(columns) == 1 else None
        if name is None:
            raise _error(str(file), f"the columns {', '.join(table.column_names)}", f"one of lists, or {COLUMN!r}")
        parts = [_column(f"{file}: column {name}", chunk) for chunk in table[name].chunks if len(chunk)]
    except UserError:
        raise
    except (pa.ArrowException, OSError, ValueError) as error:  # an OSError also stands for damaged content
        raise _error(str(file), " ".join(str(error).split()), "a whole file of Arrow or Parquet") from error
    if not parts:
        raise _error(str(file), "no rows", "a row for each token or sentence")
    if sizes := {values.shape[1] for _, values in parts} - {parts[0][1].shape[1]}:
        raise _error(str(file), f"vectors of {parts[0][1].shape[1]} and of {min(sizes)} numbers", "one size")
    lengths = [each for each, _ in parts if each is not None]
    return np.concatenate(lengths) if lengths else None, np.concatenate([values for _, values in parts])


def _rows(file: Path) -> pa.Table:
    if file.suffix == ".parquet":
        return pq.read_table(file, memory_map=True)
    return arrow_table(pa.memory_map(str(file)))


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def _column(where: str, rows: pa.Array) -> tuple[Ids | None, Vectors]:
    _check_whole(where, rows)
    lengths, vectors = None, rows
    if _is_list(rows.type.value_type):
        lengths, vectors = _sizes(rows), rows.flatten()
        _check_whole(where, vectors)
    values = vectors.flatten()
    _check_whole(where, values)
    if not pa.types.is_floating(values.type):
        raise _error(where, f"lists of {values.type}", "lists of floating-point numbers")
    sizes = _sizes(vectors)
    if len(sizes) and (sizes != sizes[0]).any():
        raise _error(where, f"vectors of {sizes[0]} and of {sizes[sizes != sizes[0]][0]} numbers", "one size")
    size = int(sizes[0]) if len(sizes) else 0
    return lengths, values.to_numpy(zero_copy_only=False).astype(np.float32, copy=False).reshape(len(sizes), size)


def _sizes(rows: pa.Array) -> Ids:
    if pa.types.is_fixed_size_list(rows.type):
        return np.full(len(rows), rows.type.list_size, dtype=np.int64)
    sizes: Ids = np.diff(rows.offsets.to_numpy(zero_copy_only=False)).astype(np.int64)
    return sizes


def _check_whole(where: str, rows: pa.Array) -> None:
    if rows.null_count:
        raise _error(where, "null", "a value everywhere")


# --- safetensors ------------------------------------------------------------------------------------------------------


def _tensors(file: Path) -> dict[str, Vectors]:
    """Read the matrices of a safetensors file. The file is mapped into memory."""
    try:
        content = np.memmap(file, dtype=np.uint8, mode="r")
        size = int.from_bytes(content[:8].tobytes(), "little")
        if not 0 < size <= min(LARGEST_HEADER, len(content) - 8):
            raise ValueError("its header is cut off")
        entries = json.loads(content[8 : 8 + size].tobytes())
        return {name: _matrix(content[8 + size :], entry) for name, entry in entries.items() if name != "__metadata__"}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise _error(str(file), " ".join(str(error).split()), "a whole safetensors file of matrices") from error


def _matrix(content: NDArray[np.uint8], entry: Mapping[str, Any]) -> Vectors:
    kind, shape, (start, stop) = entry["dtype"], entry["shape"], entry["data_offsets"]
    if kind not in NUMBERS or len(shape) != 2 or not all(type(each) is int and each >= 0 for each in shape):
        raise ValueError(f"a tensor of {kind} with the shape {shape}")
    numbers = np.dtype(NUMBERS[kind])
    if not 0 <= start <= stop <= len(content) or stop - start != math.prod(shape) * numbers.itemsize:
        raise ValueError("a tensor is cut off")
    values = np.frombuffer(content[start:stop], dtype=numbers).reshape(shape)
    if kind == "BF16":  # the upper half of a number of 32 bits
        return (values.astype("<u4") << 16).view("<f4")
    return values.astype(np.float32, copy=False)


def _digest(file: Path) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def _error(where: str, got: str, allowed: str) -> UserError:
    return UserError(f"{where}: got {got}, allowed: {allowed}")
