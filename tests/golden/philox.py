"""Philox4x32-10 (Salmon et al., 2011) and the functions that tl.rand builds on it, in NumPy."""

from __future__ import annotations

import numpy as np

WORDS = {  # key increments and multipliers, by the bits of a word
    32: ((0x9E3779B9, 0xBB67AE85), (0xD2511F53, 0xCD9E8D57)),
    64: ((0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B), (0xD2E7470EE14C6C93, 0xCA5A826395121157)),
}


def philox_word(seed: int, counter: tuple[int, int, int, int], rounds: int, bits: int) -> tuple[int, ...]:
    """One counter of four words; the seed is the key: two words of 32 bits, or one of 64 and a zero."""
    keys, multipliers = WORDS[bits]
    mask = (1 << bits) - 1
    c = [x & mask for x in counter]
    k = [seed & mask, (seed >> bits) & mask if bits == 32 else 0]
    for _ in range(rounds):
        a, b = multipliers[0] * c[0], multipliers[1] * c[2]
        c = [(b >> bits) ^ c[1] ^ k[0], b & mask, (a >> bits) ^ c[3] ^ k[1], a & mask]
        k = [(k[i] + keys[i]) & mask for i in range(2)]
    return tuple(c)


def philox(seed: int, c0, c1, c2, c3, rounds: int = 10, bits: int = 32) -> list[np.ndarray]:
    """Four arrays of unsigned words for counters of any shape."""
    counters = zip(*(np.ravel(x).tolist() for x in np.broadcast_arrays(c0, c1, c2, c3)), strict=True)
    words = [philox_word(seed, counter, rounds, bits) for counter in counters]
    shape = np.broadcast_shapes(*(np.shape(x) for x in (c0, c1, c2, c3)))
    return [np.array(column, f"u{bits // 8}").reshape(shape) for column in zip(*words, strict=True)]


def randint4x(seed: int, offset: np.ndarray, rounds: int = 10) -> list[np.ndarray]:
    zero = np.zeros_like(offset)
    offset = offset.astype(np.int64)
    return philox(seed, offset & 0xFFFFFFFF, (offset >> 32) & 0xFFFFFFFF, zero, zero, rounds)


def uniform(bits: np.ndarray) -> np.ndarray:
    """uint32 (of an int32's magnitude) to f32 in [0, 1): the scale keeps the largest below one."""
    x = bits.view(np.int32).astype(np.int64)
    x = np.where(x < 0, -x - 1, x)
    return x.astype(np.float32) * np.float32(4.6566127342e-10)


def normal(u1: np.ndarray, u2: np.ndarray) -> list[np.ndarray]:
    """Box and Muller, in f64: tl.randn's f32 results lie within a few ulp."""
    u1 = np.maximum(np.float32(1.0e-7), u1).astype(np.float64)
    theta = np.float64(6.283185307179586) * u2.astype(np.float64)
    r = np.sqrt(-2.0 * np.log(u1))
    return [r * np.cos(theta), r * np.sin(theta)]
