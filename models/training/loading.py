"""Batches on their way to the device that reads them."""

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

from skipstack.data.basis.arrays import Ids
from skipstack.data.store.batches import Batch
from skipstack.models.layers.lookup import Distinct, DistinctForms
from skipstack.models.networks.model import Tokens
from skipstack.models.networks.stack import Memory
from skipstack.models.parts.heads.base import Gold
from skipstack.models.parts.inputs.base import Embedder, LexiconTensors

Made = TypeVar("Made")

AHEAD = 2
"""Batches that are made before they are asked for, while a device computes."""
AT_ONCE = 8
"""Batches that are made one after another where the CPU computes, too: what makes them is then still in its caches, out
of which each step drives it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Loader:
    """Makes batches what a network reads on ``device``, for ``lanes`` lanes.

    What is known of a batch is found on the host, in numpy: nobody has to ask the device for it. A CPU reads arrays
    where they are, of some batches at once. Another device gets them in one copy from pinned memory, for which nothing
    waits, while a thread makes the batches that follow.
    """

    embedder: Embedder
    lexicon: LexiconTensors
    lanes: int
    device: torch.device
    pads: bool = False
    """Whether batches are ``padded`` to be of few shapes."""

    def __call__(
        self, batches: Iterable[Batch], memory: Memory | None = None
    ) -> Iterator[tuple[Batch, tuple[Tokens, Gold]]]:
        """Each batch, and what is read of it and right; ``memory`` is what they go on from."""
        made = ((batch, self.distinct(batch)) for batch in batches)
        here = self.device.type == "cpu"
        there = (
            (batch, on_device(batch, self.lanes, self.device, memory, distinct))
            for batch, distinct in (made if here else ahead(made))
        )
        return at_once(there) if here else there

    def load(self, batch: Batch, memory: Memory | None = None) -> tuple[Tokens, Gold]:
        """A batch by itself."""
        return on_device(batch, self.lanes, self.device, memory, self.distinct(batch))

    def distinct(self, batch: Batch) -> DistinctForms | None:
        """What the network reads only once of each form."""
        found = self.embedder.distinct(batch.forms_RTB, self.lexicon)
        return padded(found, self.lexicon.spelling_FC.shape[1]) if self.pads and found is not None else found


def padded(found: DistinctForms, widest: int) -> DistinctForms:
    """The same, with as many forms and characters as the next power of two says, ``widest`` characters at most: what is
    computed of further boundaries nobody reads.
    """
    lanes, forms = found.forms_RN.shape
    further = _power_of_two(forms) - forms
    before_R = further * np.arange(lanes).reshape(-1, *[1] * (found.place_RP.ndim - 1))
    longest = None if found.longest is None else min(_power_of_two(found.longest), widest)
    return DistinctForms(np.pad(found.forms_RN, ((0, 0), (0, further))), found.place_RP + before_R, longest)


def _power_of_two(count: int) -> int:
    """The smallest that is no smaller."""
    return 1 << max(count - 1, 0).bit_length()


def at_once(made: Iterator[Made]) -> Iterator[Made]:
    """The same, some made before the first of them is used."""
    while some := list(islice(made, AT_ONCE)):
        yield from some


def ahead(made: Iterator[Made]) -> Iterator[Made]:
    """The same, made by a thread while those before are used. What it raises is raised here, in its place."""
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
    """``batch`` as tensors, read and right; one that all lanes share is read by each without a copy.

    ``memory`` is what it goes on from, ``distinct`` the forms of which something is computed only once.
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
    shared = (
        there
        if len(batch.forms_RTB) == lanes
        else {name: there[name].expand(lanes, *there[name].shape[1:]) for name in own}
    )
    gold = Gold(shared["tags"], shared.get("heads"), (there["lane"], there["sentence"]), shared["counted"])
    if distinct is None:
        return Tokens(shared["forms"], shared["lengths"], memory), gold
    found = Distinct(there["distinct"], there["place"], distinct.longest)
    found = found if len(distinct.forms_RN) == lanes else found.shared(lanes)
    return Tokens(shared["forms"], shared["lengths"], memory, found), gold


def sent(arrays: Mapping[str, Ids], device: torch.device) -> dict[str, Tensor]:
    """Arrays as tensors on ``device``: on a CPU themselves, elsewhere parts of one copy, for which nobody waits."""
    if device.type == "cpu":
        return {name: torch.from_numpy(array) for name, array in arrays.items()}
    whole = torch.from_numpy(np.concatenate([array.ravel() for array in arrays.values()]))
    parts = _apart(whole.pin_memory().to(device, non_blocking=True), [array.shape for array in arrays.values()])
    return dict(zip(arrays, parts, strict=True))


def returned(values: Iterable[Tensor]) -> list[Ids]:
    """Tensors on the host, by one copy, which waits for all that computes them."""
    values = list(values)
    if all(value.device.type == "cpu" for value in values):
        return [value.numpy() for value in values]
    whole = torch.cat([value.flatten() for value in values]).cpu()
    return [part.numpy() for part in _apart(whole, [value.shape for value in values])]


def _apart(whole: Tensor, shapes: Sequence[Sequence[int]]) -> list[Tensor]:
    """The tensors of these shapes that stand in ``whole`` one after another."""
    parts = torch.split(whole, [math.prod(shape) for shape in shapes])
    return [part.view(tuple(shape)) for part, shape in zip(parts, shapes, strict=True)]


def _open(batch: Batch, lanes: int) -> tuple[Ids, Ids]:
    """The sentences that have a tag which train does not have: lane_N and sentence_N."""
    lacking_RUB = batch.tags_RUB < 0
    if np.count_nonzero(lacking_RUB) == lacking_RUB.size - batch.tag_counts_RB.sum():  # all that is lacking is padding
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    inside_RUB = np.arange(lacking_RUB.shape[1])[:, None] < batch.tag_counts_RB[:, None, :]
    open_RB = np.any(lacking_RUB & inside_RUB, axis=1)
    lane_N, sentence_N = np.nonzero(np.broadcast_to(open_RB, (lanes, open_RB.shape[1])))
    return lane_N, sentence_N
