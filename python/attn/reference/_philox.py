"""Philox4x32-10, the counter-based generator behind dropout (Salmon et al., "Parallel Random Numbers: As Easy as
1, 2, 3", SC 2011), element-indexed as in docs/Semantics.md: what is drawn depends on (seed, offset, index) alone.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

ROUNDS = 10
MULTIPLIERS = (np.uint64(0xD2511F53), np.uint64(0xCD9E8D57))
KEY_INCREMENTS = (np.uint64(0x9E3779B9), np.uint64(0xBB67AE85))
LOW = np.uint64(0xFFFFFFFF)
HIGH_SHIFT = np.uint64(32)

Words = npt.NDArray[np.uint64]


def philox4x32(counter: list[Words], key: list[Words]) -> list[Words]:
    """Four random words from a counter of four words and a key of two; each word a uint64 array below 2³²."""
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(ROUNDS):
        product0, product1 = MULTIPLIERS[0] * c0, MULTIPLIERS[1] * c2
        c0, c1, c2, c3 = (
            (product1 >> HIGH_SHIFT) ^ c1 ^ k0,
            product1 & LOW,
            (product0 >> HIGH_SHIFT) ^ c3 ^ k1,
            product0 & LOW,
        )
        k0, k1 = (k0 + KEY_INCREMENTS[0]) & LOW, (k1 + KEY_INCREMENTS[1]) & LOW
    return [c0, c1, c2, c3]


def random_bits(seed: int, offset: int, index: npt.ArrayLike) -> npt.NDArray[np.uint32]:
    """The random word of each element: r = Philox(ctr, key)[idx & 3], ctr = (offset, idx & ~3), key = seed.

    Args:
      seed, offset: unsigned 64-bit integers.
      index: element indices ((b·Hq + h)·Sq + i)·Sk + j as uint64, any shape.

    Returns:
      uint32 words in the shape of `index`.
    """
    idx = np.asarray(index, dtype=np.uint64)
    x = idx & ~np.uint64(3)
    counter = [*_halves(np.uint64(offset), idx.shape), *_halves(x, idx.shape)]
    words = philox4x32(counter, _halves(np.uint64(seed), idx.shape))
    return np.choose((idx & np.uint64(3)).astype(np.intp), words).astype(np.uint32)


def _halves(value: np.uint64 | Words, shape: tuple[int, ...]) -> list[Words]:
    return [np.broadcast_to(value & LOW, shape), np.broadcast_to(value >> HIGH_SHIFT, shape)]
