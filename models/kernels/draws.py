"""Random numbers that depend only on a key, the index of the draw and their position (``models/kernels/philox.py``).
Every kind of device draws the same numbers.

Axes: R lanes (a lane is one seed's copy of the network), N numbers of a lane, M blocks of four words.
"""

from torch import Tensor

from skipstack.models.kernels.choice import choose
from skipstack.models.kernels.philox import fractions, philox_words


def drawn(key_R: Tensor, draw: int | Tensor, like: Tensor) -> Tensor:
    """Draws uniform numbers in [0, 1), shaped like ``like``: multiples of 2^-24 in float32, and of 2^-32 in float64.

    A lane's numbers are word 0 of blocks 0 ... M - 1, then word 1 of these blocks, then word 2, then word 3. Block i is
    Philox of the counter (i, 0, d_0, d_1) under the key (k_0, k_1). d is ``draw``, an integer on the host or in a
    tensor on the key's device. k is the lane's key. Index 0 is the lower half of the 64 bits, index 1 the upper half.
    """
    lanes, numbers = len(key_R), like.numel() // len(key_R)
    blocks = -(-numbers // 4)
    kernels = choose("draws", like)
    if kernels == "compiled":
        from skipstack.models.kernels.compiled.philox import fill

        uniform_RN = like.new_empty(lanes, 4 * blocks)
        fill(key_R.numpy(), int(draw), uniform_RN.numpy())
    elif kernels == "fused":
        from skipstack.models.kernels.fused.operators import OPERATIONS

        uniform_RN = like.new_empty(lanes, 4 * blocks)
        OPERATIONS.uniform(key_R, *((draw, None) if isinstance(draw, int) else (0, draw)), uniform_RN)
    else:
        uniform_RN = fractions(philox_words(key_R, draw, blocks), like.dtype)
    return uniform_RN[:, :numbers].reshape(like.shape)
