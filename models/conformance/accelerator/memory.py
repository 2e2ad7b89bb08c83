"""Counts the memory of tensors on the simulated device."""

import weakref
from collections.abc import Iterable

from torch import Tensor

from skipstack.models.ground.device_memory import BLOCK


class Memory:
    """Counts the bytes of tensors on the simulated device, in whole blocks of torch's allocator. Views count as 0.

    ``held``: the bytes of all existing tensors. ``most``: the maximum of ``held`` since the last call of ``begin``.
    """

    def __init__(self) -> None:
        self.held = self.most = 0
        self._sizes: dict[int, int] = {}

    def begin(self) -> int:
        """Set ``most`` to ``held``, and return ``held``."""
        self.most = self.held
        return self.held

    def take_in(self, made: Iterable[Tensor]) -> None:
        """Count the new tensors on the simulated device among ``made``, until they are freed."""
        for each in made:
            if not hasattr(each, "fake_device"):
                continue
            storage = each.untyped_storage()
            place, size = id(storage), -(-storage.nbytes() // BLOCK) * BLOCK
            if size and place not in self._sizes:
                self._sizes[place] = size
                weakref.finalize(storage, self._let_go, place).atexit = False
                self.taken(place, size)

    def taken(self, place: int, size: int) -> None:
        """Count a new tensor of ``size`` bytes. ``place``: the tensor's id, unique until the tensor is freed."""
        self.held += size
        self.most = max(self.most, self.held)

    def freed(self, place: int, size: int) -> None:
        """Stop counting the tensor of ``size`` bytes with the id ``place``."""
        self.held -= size

    def _let_go(self, place: int) -> None:
        self.freed(place, self._sizes.pop(place))
