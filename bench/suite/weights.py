"""Numbers that look like trained weights, faster than they can be drawn."""

import functools

import numpy as np

BLOCK_BYTES = 64 << 20


class Weights:
    """Normally distributed numbers * 0.02.

    One block of 64 MiB is drawn.  Pieces of it from different places, their lowest mantissa bits
    flipped by a mask, are the arrays: all differ, and a piece in the wrong place is seen.  They
    compress as fresh numbers would: those bits are as good as evenly distributed before and after,
    so that the bytes keep their frequencies, and what repeats is 64 MiB away, where zstd at level 1
    does not look (0.5 MiB back), nor does it ever lie in the same chunk.
    """

    def __init__(self, dtype):
        self.dtype = np.dtype(dtype)
        drawn = np.random.default_rng(1).standard_normal(BLOCK_BYTES // self.dtype.itemsize,
                                                         dtype=np.float32)
        drawn *= np.float32(0.02)
        self._block = drawn.astype(self.dtype, copy=False).view(f"u{self.dtype.itemsize}")

    def array(self, shape, piece):
        """Pieces number `piece`, `piece` + 1, ... as many as the shape takes, 64 MiB each."""
        out = np.empty(shape, dtype=self.dtype)
        flat = out.reshape(-1).view(self._block.dtype)
        for i, at in enumerate(range(0, flat.size, self._block.size)):
            self._fill(flat[at:at + self._block.size], piece + i)
        return out

    def _fill(self, out, piece):
        # A prime that is no near multiple of an array's size: neighbours start in other places.
        start = piece * 7_368_787 % self._block.size
        mask = self._block.dtype.type(piece % 7 + 1)
        first = min(out.size, self._block.size - start)
        np.bitwise_xor(self._block[start:start + first], mask, out=out[:first])
        np.bitwise_xor(self._block[:out.size - first], mask, out=out[first:])


@functools.cache
def weights(dtype):
    """By name; drawn once a process."""
    return Weights(dtype)
