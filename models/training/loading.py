"""Loads batches to the device that trains or evaluates the network.

Axes: R lanes (a lane is one seed's copy of the network), P tokens in any shape, N distinct forms or sentences.
"""

import math
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor

from skipstack.data.basis.arrays import Ids, Numbers
from skipstack.data.store.batches import Batch
from skipstack.models.layers.lookup import Distinct, DistinctForms
from skipstack.models.networks.model import Tokens
from skipstack.models.networks.stack import Memory
from skipstack.models.parts.heads.base import Gold
from skipstack.models.parts.inputs.base import Embedder, LexiconTensors

Made = TypeVar("Made")

AHEAD = 2
"""The number of batches that are prepared in advance, while the device computes."""
AT_ONCE = 8
"""The number of batches that are prepared together if the network runs on a CPU. Preparing each batch just before its
step would be slower: the steps in between would evict the data of the preparation from the CPU's caches."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Loader:
    """Converts batches to tensors on ``device``, for ``lanes`` lanes (a lane is one seed's copy of the network).

    All preparation runs on the host, in numpy, without waiting for the device. On a CPU, tensors share the memory of
    the batch's arrays, and ``AT_ONCE`` batches are prepared together. Another device receives each batch by one
    asynchronous copy from pinned memory (the vectors of tokens by another), while a thread prepares the next batches.
    """

    embedder: Embedder
    lexicon: LexiconTensors
    lanes: int
    device: torch.device
    pads: bool = False
    """Whether to pad the distinct forms (``padded``), so that batches have few different shapes."""

    def __call__(
        self, batches: Iterable[Batch], memory: Memory | None = None
    ) -> Iterator[tuple[Batch, tuple[Tokens, Gold]]]:
        """Yield each batch with its tokens and gold tags. ``memory``: the states carried along running text."""
        made = ((batch, self.distinct(batch)) for batch in batches)
        here = self.device.type == "cpu"
        there = (
            (batch, on_device(batch, self.lanes, self.device, memory, distinct))
            for batch, distinct in (made if here else ahead(made))
        )
        return at_once(there) if here else there

    def load(self, batch: Batch, memory: Memory | None = None) -> tuple[Tokens, Gold]:
        """Return the tokens and gold tags of one batch. ``memory``: the states carried along running text."""
        return on_device(batch, self.lanes, self.device, memory, self.distinct(batch))

    def distinct(self, batch: Batch) -> DistinctForms | None:
        """Return the distinct forms of a batch, or None if the embedder does not need them (``Embedder.distinct``)."""
        found = self.embedder.distinct(batch.forms_RTB, self.lexicon)
        return padded(found, self.lexicon.spelling_FC.shape[1]) if self.pads and found is not None else found


def padded(found: DistinctForms, widest: int) -> DistinctForms:
    """Pad distinct forms: their number and their maximum length to the next power of two. The length is padded at most
    to ``widest``, the number of characters per form in the lexicon.

    The added forms are boundaries (form 0), whose features are never read.
    """
    lanes, forms = found.forms_RN.shape
    further = _power_of_two(forms) - forms
    before_R = further * np.arange(lanes).reshape(-1, *[1] * (found.place_RP.ndim - 1))
    longest = None if found.longest is None else min(_power_of_two(found.longest), widest)
    return DistinctForms(np.pad(found.forms_RN, ((0, 0), (0, further))), found.place_RP + before_R, longest)


def _power_of_two(count: int) -> int:
    """Return the smallest power of two that is at least ``count``."""
    return 1 << max(count - 1, 0).bit_length()


def at_once(made: Iterator[Made]) -> Iterator[Made]:
    """Yield the items of ``made``. Groups of ``AT_ONCE`` items are prepared before their first item is yielded."""
    while some := list(islice(made, AT_ONCE)):
        yield from some


def ahead(made: Iterator[Made]) -> Iterator[Made]:
    """Yield the items of ``made``, which a thread prepares in advance. Errors are raised in the order of the items."""
    with ThreadPoolExecutor(max_workers=1) as thread:
        coming = deque(thread.submit(next, made, None) for _ in range(AHEAD))
        while (each := coming.popleft().result()) is not None:
            coming.append(thread.submit(next, made, None))
            yield each


def on_device(
    batch: Batch,
    lanes: int,
    device: torch.device,
    memory: Memory | None = None,
    distinct: DistinctForms | None = None,
) -> tuple[Tokens, Gold]:
    """Return the tokens and gold tags of ``batch`` as tensors on ``device``, for ``lanes`` lanes.

    A batch with a single lane is expanded to all lanes without a copy. ``memory``: the states carried along running
    text. ``distinct``: the distinct forms of the batch.
    """
    own = {
        "forms": batch.forms_RTB,
        "lengths": batch.lengths_RB,
        "tags": batch.tags_RUB,
        "counted": batch.tag_counts_RB.sum(axis=1),
    }
    if batch.heads_RTB is not None:
        own["heads"] = batch.heads_RTB
    lane_N, sentence_N = _open(batch, lanes)
    places = {"lane": lane_N, "sentence": sentence_N}
    forms = {} if distinct is None else {"distinct": distinct.forms_RN, "place": distinct.place_RP}
    there = sent({**own, **places, **forms}, device)
    found = None if distinct is None else Distinct(there["distinct"], there["place"], distinct.longest)
    if found is not None and len(found.forms_RN) != lanes:
        found = found.shared(lanes)
    if batch.vectors_RTBE is not None:  # by a copy of their own, since ids and floats cannot share one array
        there |= sent({"vectors": batch.vectors_RTBE}, device)
    shared = {name: each.expand(lanes, *each.shape[1:]) for name, each in there.items() if name in (*own, "vectors")}
    tokens = Tokens(shared["forms"], shared["lengths"], memory, found, shared.get("vectors"))
    return tokens, Gold(shared["tags"], shared.get("heads"), (there["lane"], there["sentence"]), shared["counted"])


def sent(arrays: Mapping[str, Ids | Numbers], device: torch.device) -> dict[str, Tensor]:
    """Return arrays as tensors on ``device``. On a CPU the tensors share the arrays' memory. On other devices they are
    parts of one asynchronous copy.
    """
    if device.type == "cpu":
        return {name: torch.from_numpy(array) for name, array in arrays.items()}
    whole = torch.from_numpy(np.concatenate([array.ravel() for array in arrays.values()]))
    parts = _apart(whole.pin_memory().to(device, non_blocking=True), [array.shape for array in arrays.values()])
    return dict(zip(arrays, parts, strict=True))


def returned(values: Iterable[Tensor]) -> list[Ids]:
    """Return tensors as arrays on the host. Tensors on a CPU share their memory with the arrays. Other tensors are
    transferred by one copy, which waits for the device.
    """
    values = list(values)
    if all(value.device.type == "cpu" for value in values):
        return [value.numpy() for value in values]
    whole = torch.cat([value.flatten() for value in values]).cpu()
    return [part.numpy() for part in _apart(whole, [value.shape for value in values])]


def _apart(whole: Tensor, shapes: Sequence[Sequence[int]]) -> list[Tensor]:
    """Split ``whole`` into consecutive tensors of the given shapes."""
    parts = torch.split(whole, [math.prod(shape) for shape in shapes])
    return [part.view(tuple(shape)) for part, shape in zip(parts, shapes, strict=True)]


def _open(batch: Batch, lanes: int) -> tuple[Ids, Ids]:
    """Return the sentences with a gold tag that the training split lacks: their lanes, lane_N, and their indices in the
    batch, sentence_N.
    """
    lacking_RUB = batch.tags_RUB < 0
    if np.count_nonzero(lacking_RUB) == lacking_RUB.size - batch.tag_counts_RB.sum():  # only padding lacks tags
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    inside_RUB = np.arange(lacking_RUB.shape[1])[:, None] < batch.tag_counts_RB[:, None, :]
    open_RB = np.any(lacking_RUB & inside_RUB, axis=1)
    lane_N, sentence_N = np.nonzero(np.broadcast_to(open_RB, (lanes, open_RB.shape[1])))
    return lane_N, sentence_N
