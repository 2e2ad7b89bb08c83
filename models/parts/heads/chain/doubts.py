"""Log-partitions that may be wrong: noted while they are computed, asked about later."""

from torch import Tensor


class Doubts:
    """Whether any of many log-partitions was not to be trusted. To ask at each would be to wait for the device each
    time; they are asked about once, at the end, and computed again where one was.
    """

    def __init__(self) -> None:
        self.arisen: Tensor | None = None

    def note(self, doubtful_RB: Tensor) -> None:
        """One more chain."""
        doubtful = doubtful_RB.any()
        self.arisen = doubtful if self.arisen is None else self.arisen | doubtful

    def arose(self) -> bool:
        """Waits for the device."""
        return self.arisen is not None and bool(self.arisen.cpu())
