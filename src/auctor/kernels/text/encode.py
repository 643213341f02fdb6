"""Columns of numbers and categories to the rows of a matrix."""

from __future__ import annotations

import numpy as np

from auctor.core.types import Array, FloatArray, IntArray
from auctor.kernels.runtime.compiled import kernel
from auctor.kernels.text.numbers import HALF_WORD

#: Start and factor of the 64-bit FNV-1a hash, as published.
_HASH_START = np.uint64(14695981039346656037)
_HASH_FACTOR = np.uint64(1099511628211)


@kernel
def encode_rows(
    numbers: FloatArray,
    features: Array,
    places: IntArray,
    offsets: IntArray,
    indptr: Array,
    indices: Array,
    values: Array,
) -> None:
    """Write columns of numbers and categories as compressed rows.

    Column j is ``numbers[:, places[j]]`` at the index ``offsets[j]`` where ``places[j] >= 0``.
    Otherwise it is a category: a one at the index ``features[:, -1 - places[j]]``, and no entry
    where that is negative.
    """
    entry = 0
    indptr[0] = 0
    for i in range(numbers.shape[0]):
        for j in range(places.shape[0]):
            place = places[j]
            if place >= 0:
                value = numbers[i, place]
                if value != 0.0:
                    indices[entry] = offsets[j]
                    values[entry] = value
                    entry += 1
            else:
                feature = features[i, -1 - place]
                if feature >= 0:
                    indices[entry] = feature
                    values[entry] = 1.0
                    entry += 1
        indptr[i + 1] = entry


@kernel
def count_entries(numbers: FloatArray, features: Array, places: IntArray) -> int:
    """Number of entries that `encode_rows` writes."""
    total = 0
    for i in range(numbers.shape[0]):
        for j in range(places.shape[0]):
            place = places[j]
            if place >= 0:
                total += numbers[i, place] != 0.0
            else:
                total += features[i, -1 - place] >= 0
    return total


@kernel
def column_facts(numbers: FloatArray) -> FloatArray:
    """Count of missing values, minimum, maximum and mean of each column, (4, d).

    The last three are NaN for a column without values.
    """
    n, d = numbers.shape
    facts = np.empty((4, d))
    facts[0] = 0.0
    facts[1] = np.inf
    facts[2] = -np.inf
    facts[3] = 0.0  # a sum first, a mean at the end
    for i in range(n):
        for j in range(d):
            value = numbers[i, j]
            if np.isnan(value):
                facts[0, j] += 1.0
            else:
                facts[1, j] = min(facts[1, j], value)
                facts[2, j] = max(facts[2, j], value)
                facts[3, j] += value
    for j in range(d):
        present = n - facts[0, j]
        if present == 0:
            facts[1:, j] = np.nan
        else:
            facts[3, j] /= present
    return facts


@kernel
def hash_bytes(text: Array, begin: int, end: int) -> np.uint64:
    """64-bit hash of some bytes: FNV-1a, then the upper half combined with the lower.

    Start at 14695981039346656037; for each byte, exclusive or with it and multiply by
    1099511628211 modulo 2^64; finally, exclusive or with itself shifted right by 32.
    """
    value = _HASH_START
    for k in range(begin, end):
        value = (value ^ np.uint64(text[k])) * _HASH_FACTOR
    return value ^ (value >> HALF_WORD)
