"""Compiled double description method: extreme rays of a cone, one inequality at a time.

A ray knows by a bit set which inequalities it satisfies with equality. Two rays span a face
of dimension two if and only if no other ray shares all the inequalities tight at both; when
both are simple (exactly n - 1 tight ones), sharing n - 2 suffices.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit
from numpy.typing import NDArray

_ZERO = 1e-13
"""Value of an inequality at a ray, relative to its terms, that counts as zero."""

Floats = NDArray[np.float64]
Bits = NDArray[np.uint64]


@njit(cache=True, nogil=True)
def _count(word: np.uint64) -> int:
    """Return the number of bits set."""
    x = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return int((x * np.uint64(0x0101010101010101)) >> np.uint64(56))


@njit(cache=True, nogil=True)
def _insert(
    W: Floats, Z: Bits, size: int, g: Floats, bit: int, out_w: Floats, out_z: Bits
) -> int:  # fmt: skip
    """Intersect the cone with ``g.w >= 0``; write its rays to `out_w`, `out_z`.

    Returns the number of rays, or minus the capacity that would be enough for a while.
    """
    n, words = W.shape[1], Z.shape[1]
    word, mask = bit // 64, np.uint64(1) << np.uint64(bit % 64)
    value, tight = np.empty(size), np.empty(size, np.int64)
    kept = 0
    cut = np.empty(size, np.int64)
    cuts = 0
    for r in range(size):
        total, v = 0.0, 0.0
        for i in range(n):
            v += g[i] * W[r, i]
            total += abs(g[i] * W[r, i])
        if abs(v) <= _ZERO * total:
            v = 0.0
        value[r] = v
        tight[r] = 0
        for k in range(words):
            tight[r] += _count(Z[r, k])
        if v < 0.0:
            cut[cuts] = r
            cuts += 1
            continue
        if kept == len(out_w):
            return -2 * len(out_w)
        for i in range(n):
            out_w[kept, i] = W[r, i]
        for k in range(words):
            out_z[kept, k] = Z[r, k]
        if v == 0.0:
            out_z[kept, word] |= mask
        kept += 1
    common = np.empty(words, np.uint64)
    for c in range(cuts):
        q = cut[c]
        for p in range(size):
            if value[p] <= 0.0:
                continue
            shared = 0
            for k in range(words):
                common[k] = Z[p, k] & Z[q, k]
                shared += _count(common[k])
            if shared < n - 2:
                continue
            if tight[p] > n - 1 or tight[q] > n - 1:
                alone = True
                for r in range(size):
                    if r != p and r != q and tight[r] >= shared:
                        contains = True
                        for k in range(words):
                            if common[k] & ~Z[r, k] != np.uint64(0):
                                contains = False
                                break
                        if contains:
                            alone = False
                            break
                if not alone:
                    continue
            if kept == len(out_w):
                return -2 * len(out_w)
            top = 0.0
            for i in range(n):
                out_w[kept, i] = value[p] * W[q, i] - value[q] * W[p, i]
                top = max(top, abs(out_w[kept, i]))
            for i in range(n):
                out_w[kept, i] /= top
            for k in range(words):
                out_z[kept, k] = common[k]
            out_z[kept, word] |= mask
            kept += 1
    return kept


@dataclass
class Cone:
    """The extreme rays of ``{w : G w >= 0}``.

    Attributes
    ----------
    rays : ndarray of shape (R, n)
        Each with largest absolute entry 1.
    tight : ndarray of shape (R, words) of uint64
        Bit g is set if inequality g holds with equality.
    inequalities : int
        Number of inequalities so far.
    """

    rays: Floats
    tight: Bits
    inequalities: int

    @classmethod
    def simplicial(cls, G: Floats) -> Cone:
        """Start from n linearly independent inequalities, G of shape (n, n)."""
        n = len(G)
        rays = np.linalg.inv(G).T
        rays = rays / np.abs(rays).max(axis=1, keepdims=True)
        everything = (1 << n) - 1
        tight = np.array([[everything ^ (1 << i)] for i in range(n)], dtype=np.uint64)
        return cls(np.ascontiguousarray(rays), tight, n)

    def __len__(self) -> int:
        return len(self.rays)

    def insert(self, g: Floats) -> bool:
        """Add the inequality ``g.w >= 0``; return whether it cut off a ray."""
        before = self.rays
        if self.inequalities == 64 * self.tight.shape[1]:
            more = np.zeros((len(self.tight), self.tight.shape[1]), np.uint64)
            self.tight = np.concatenate([self.tight, more], axis=1)
        capacity = 64 + 2 * len(before)
        while True:
            rays = np.empty((capacity, before.shape[1]))
            tight = np.empty((capacity, self.tight.shape[1]), np.uint64)
            size = _insert(before, self.tight, len(before), g, self.inequalities, rays, tight)
            if size >= 0:
                break
            capacity = -size
        self.rays, self.tight = rays[:size], tight[:size]
        self.inequalities += 1
        return not (size == len(before) and np.array_equal(self.rays, before))

    def is_tight(self, inequality: int) -> NDArray[np.bool_]:
        """Return for each ray whether an inequality holds with equality."""
        word, bit = divmod(inequality, 64)
        return np.asarray((self.tight[:, word] >> np.uint64(bit)) & np.uint64(1) != 0)
