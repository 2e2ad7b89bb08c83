"""Philox4x32-10, a counter-based random number generator (Salmon, Moraes, Dror and Shaw, 2011, "Parallel random
numbers: as easy as 1, 2, 3"). Turns a counter of four 32-bit words into four random words, under a key of two words.

This is the definition, in operations of torch. The compiled and the fused version draw the same words.

Axes: R lanes (a lane is one seed's copy of the network), M blocks of four words.
"""

from typing import Final

import torch
from torch import Tensor

ROUNDS: Final = 10
FACTORS: Final = 0xD2511F53, 0xCD9E8D57
STEPS: Final = 0x9E3779B9, 0xBB67AE85
"""Words that are added to the key after each round."""
WORD: Final = 0xFFFFFFFF


def philox_words(key_R: Tensor, draw: int | Tensor, blocks: int) -> Tensor:
    """Computes the words of blocks 0 ... M - 1, word 0 of all blocks first, as 64-bit integers: word_R(4M)."""
    block_1M = torch.arange(blocks, device=key_R.device).unsqueeze(0)
    nothing_1M = torch.zeros_like(block_1M)
    counter = block_1M, nothing_1M, nothing_1M + (draw & WORD), nothing_1M + (draw >> 32)
    words = philox(counter, ((key_R & WORD).unsqueeze(1), (key_R >> 32 & WORD).unsqueeze(1)))
    return torch.stack([word.expand(len(key_R), blocks) for word in words], dim=1).flatten(1)


def philox(counter: tuple[Tensor, ...], key: tuple[Tensor, Tensor]) -> tuple[Tensor, ...]:
    """Turns the four words of a counter into four random words, under a key of two words."""
    (a, b, c, d), (low, high) = counter, key
    for _ in range(ROUNDS):
        first, second = FACTORS[0] * a, FACTORS[1] * c  # 64 bits, of which the highest is the sign
        a, b = (second >> 32 & WORD) ^ b ^ low, second & WORD
        c, d = (first >> 32 & WORD) ^ d ^ high, first & WORD
        low, high = (low + STEPS[0]) & WORD, (high + STEPS[1]) & WORD
    return a, b, c, d


def fractions(words: Tensor, dtype: torch.dtype) -> Tensor:
    """Divides 32-bit words by 2^32. In float32, which cannot hold all 32 bits, the lowest 8 are dropped."""
    return (words >> 8).to(dtype) * 2**-24 if dtype == torch.float32 else words.to(dtype) * 2**-32
