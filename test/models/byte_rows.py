# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows of floats as products of codes and bytes read them."""
import numpy as np


def rounded_to_bytes(x, block):
    """Blocks of rows as multiples of a 127th of their greatest magnitude, in f32; blocks with an infinity or a NaN are NaN."""
    k = x.shape[-1]
    blocks = np.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, -k % block)]).reshape(*x.shape[:-1], -1, block)
    with np.errstate(all="ignore"):
        most = np.abs(blocks).max(-1, keepdims=True)
        some = most > np.float32(2.0**-119)
        codes = np.rint(blocks * np.where(some, np.float32(127) / most, np.float32(0)))
        numbers = codes * np.where(some, most / np.float32(127), np.float32(0))
    numbers[~np.isfinite(most[..., 0])] = np.nan
    return numbers.reshape(*x.shape[:-1], -1)[..., :k]
