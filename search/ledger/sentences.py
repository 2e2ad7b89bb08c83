"""Compresses the measure's counts for each test sentence, for the ledger. Shapes: R seeds, S sentences, C counts."""

import base64
import zlib
from collections.abc import Sequence
from typing import Any, Final, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from pydantic import PositiveInt

from skipstack.data.basis.arrays import Numbers
from skipstack.data.basis.errors import UserError
from skipstack.data.basis.frozen import Frozen

Width = Literal["<u1", "<u2", "<u4", "<f4", "<f8"]
"""The numpy dtype of stored counts: little-endian unsigned integer or float, with the number of bytes."""

WHOLE: Final = ("<u1", "<u2", "<u4")


class Packed(Frozen):
    """The values of one count. ``width``: their dtype. ``stream``: the values, compressed with zlib, in base64. The
    values of all sentences of the first seed come first, then those of the next seed.
    """

    width: Width
    stream: str


class SentenceCounts(Frozen):
    """The measure's counts for each test sentence, compressed.

    ``seeds``, ``sentences``: the numbers of seeds and sentences. ``counts``: the values of each count
    (``data.tasks.measure.Measure.counted``), by its name, in the smallest dtype that holds all of them exactly.
    """

    seeds: PositiveInt
    sentences: PositiveInt
    counts: dict[str, Packed]

    @classmethod
    def of(cls, counts_RSC: Numbers, names: Sequence[str]) -> "SentenceCounts":
        """Compress the counts. ``names``: the names of the C counts, in order."""
        seeds, sentences, _ = counts_RSC.shape
        columns = zip(names, np.moveaxis(counts_RSC, -1, 0), strict=True)
        return cls(seeds=seeds, sentences=sentences, counts={name: _packed(count_RS) for name, count_RS in columns})

    def array(self, names: Sequence[str]) -> NDArray[np.float64]:
        """Decompress the named counts, of shape (R, S, C). Raises UserError if one is missing or damaged."""
        try:
            return np.stack([self._unpacked(self.counts[name]) for name in names], axis=-1)
        except KeyError as error:
            raise UserError(f"no count {error} of the sentences (got: {', '.join(self.counts)})") from None
        except (ValueError, zlib.error) as error:
            raise UserError(f"the counts of the sentences cannot be read: {error}") from None

    def _unpacked(self, packed: Packed) -> NDArray[np.float64]:
        size = self.seeds * self.sentences * np.dtype(packed.width).itemsize
        stream = base64.b64decode(packed.stream, validate=True)
        content = zlib.decompressobj().decompress(stream, size + 1)  # an untrusted stream may unpack to any size
        if len(content) != size:
            raise ValueError(f"got {len(content)} bytes, allowed {size}")
        numbers: NDArray[Any] = np.frombuffer(content, packed.width)
        return numbers.reshape(self.seeds, self.sentences).astype(np.float64)


def _packed(count_RS: Numbers) -> Packed:
    width = next(width for width in get_args(Width) if _holds(width, count_RS))
    content = np.ascontiguousarray(count_RS, dtype=width).tobytes()
    return Packed(width=width, stream=base64.b64encode(zlib.compress(content, 9)).decode())


def _holds(width: Width, count_RS: Numbers) -> bool:
    """Whether this dtype can store the numbers exactly."""
    if width in WHOLE:
        return bool(((count_RS >= 0) & (count_RS <= np.iinfo(width).max) & (count_RS == np.floor(count_RS))).all())
    with np.errstate(over="ignore"):
        return width == "<f8" or np.array_equal(count_RS.astype(width), count_RS, equal_nan=True)
