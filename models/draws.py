"""Random numbers that depend on a key, on which draw it is, and on their place alone: they are counted, not carried on.

Philox4x32-10 (Salmon, Moraes, Dror and Shaw, 2011, "Parallel random numbers: as easy as 1, 2, 3"), which turns four
words of 32 bits, a counter, into four others, under a key of two. Every kind of device draws the same numbers, and a
GPU draws those of all lanes at once.

R lanes; N numbers of a lane, in any arrangement; M blocks of four words.
"""

from typing import Final

import torch
from torch import Tensor

from skipstack.models.compiled.choice import compiles
from skipstack.models.fused.choice import fuses

ROUNDS: Final = 10
FACTORS: Final = 0xD2511F53, 0xCD9E8D57
STEPS: Final = 0x9E3779B9, 0xBB67AE85
"""What is added to the key after each round."""
WORD: Final = 0xFFFFFFFF


def drawn(key_R: Tensor, draw: int | Tensor, like: Tensor) -> Tensor:
    """Uniform in [0, 1), of the shape and type of ``like``: multiples of 2^-24 in float32, of 2^-32 in float64.

    A lane's numbers are word 0 of blocks 0 ... M - 1, then their word 1, 2, 3; block i is Philox of (i, 0, d_0, d_1)
    under (k_0, k_1), where d is the draw and k the lane's key, both of 64 bits, the lower half first. The draw is a
    whole number, of the host or in a tensor beside the key.
    """
    lanes, numbers = len(key_R), like.numel() // len(key_R)
    blocks = -(-numbers // 4)
    if compiles(like) and isinstance(draw, int):
        from skipstack.models.compiled.philox import fill

        uniform_RN = like.new_empty(lanes, 4 * blocks)
        fill(key_R.numpy(), draw, uniform_RN.numpy())
    elif fuses(like):
        from skipstack.models.fused.operators import OPERATIONS

        uniform_RN = like.new_empty(lanes, 4 * blocks)
        OPERATIONS.uniform(key_R, *((draw, None) if isinstance(draw, int) else (0, draw)), uniform_RN)
    else:
        uniform_RN = fractions(philox_words(key_R, draw, blocks), like.dtype)
    return uniform_RN[:, :numbers].reshape(like.shape)


def philox_words(key_R: Tensor, draw: int | Tensor, blocks: int) -> Tensor:
    """The words of all blocks, as whole numbers of 64 bits: word_R(4M)."""
    block_1M = torch.arange(blocks, device=key_R.device).unsqueeze(0)
    nothing_1M = torch.zeros_like(block_1M)
    counter = block_1M, nothing_1M, nothing_1M + (draw & WORD), nothing_1M + (draw >> 32)
    words = philox(counter, ((key_R & WORD).unsqueeze(1), (key_R >> 32 & WORD).unsqueeze(1)))
    return torch.stack([word.expand(len(key_R), blocks) for word in words], dim=1).flatten(1)


def philox(counter: tuple[Tensor, ...], key: tuple[Tensor, Tensor]) -> tuple[Tensor, ...]:
    """Four words from four, under a key of two."""
    (a, b, c, d), (low, high) = counter, key
    for _ in range(ROUNDS):
        first, second = FACTORS[0] * a, FACTORS[1] * c  # of 64 bits, the highest their sign
        a, b = (second >> 32 & WORD) ^ b ^ low, second & WORD
        c, d = (first >> 32 & WORD) ^ d ^ high, first & WORD
        low, high = (low + STEPS[0]) & WORD, (high + STEPS[1]) & WORD
    return a, b, c, d


def fractions(words: Tensor, dtype: torch.dtype) -> Tensor:
    """Words as shares of 2^32, the lowest 8 bits left out where the type has no room for them."""
    return (words >> 8).to(dtype) * 2**-24 if dtype == torch.float32 else words.to(dtype) * 2**-32
