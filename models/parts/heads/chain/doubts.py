"""Log-partitions that may be wrong: recorded while they are computed, checked later."""

from torch import Tensor


class Doubts:
    """Records whether any of many log-partitions may be inaccurate. A check of each would wait for the device each
    time; so they are checked once, at the end, and recomputed if any was.
    """

    def __init__(self) -> None:
        self.arisen: Tensor | None = None

    def note(self, doubtful_RB: Tensor) -> None:
        """Record whether any of these chains is inaccurate."""
        doubtful = doubtful_RB.any()
        self.arisen = doubtful if self.arisen is None else self.arisen | doubtful

    def arose(self) -> bool:
        """Whether any chain was inaccurate; waits for the device."""
        return self.arisen is not None and bool(self.arisen.cpu())
