"""The memory of the simulated device: which tensors are there, and how much they take."""

import weakref
from collections.abc import Iterable

from torch import Tensor

from skipstack.models.ground.device_memory import BLOCK


class Memory:
    """``held``: bytes of all live tensors; ``most``: their maximum since ``begin``. Views take no memory."""

    def __init__(self) -> None:
        self.held = self.most = 0
        self._sizes: dict[int, int] = {}

    def begin(self) -> int:
        """Reset ``most`` to what is held now, and return it."""
        self.most = self.held
        return self.held

    def take_in(self, made: Iterable[Tensor]) -> None:
        """Count the new tensors among these until they are freed."""
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
        """Count a new tensor; ``place`` names it until it is freed."""
        self.held += size
        self.most = max(self.most, self.held)

    def freed(self, place: int, size: int) -> None:
        """Stop counting the tensor that ``place`` names."""
        self.held -= size

    def _let_go(self, place: int) -> None:
        self.freed(place, self._sizes.pop(place))
