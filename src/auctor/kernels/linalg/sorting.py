"""Sorting scores, and counting in sorted scores: the basis of every exact metric.

Scores are finite float64. An order-preserving map to unsigned integers lets a radix sort
replace comparisons: it takes O(n) and is faster than ``np.sort`` for many values.
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from auctor.core.types import FloatArray, IntArray
from auctor.kernels.runtime.compiled import kernel
from auctor.kernels.runtime.parallel import available_threads, even_cuts, in_parallel

BoolArray = npt.NDArray[np.bool_]
KeyArray = npt.NDArray[np.uint64]
AnyKeys = npt.NDArray[np.unsignedinteger[Any]]
AnyRows = npt.NDArray[np.integer[Any]]

#: Number of values from which a radix sort replaces ``np.sort``.
RADIX_FROM = 2048
#: The same for sorting values with their rows or another array.
RADIX_WITH_ROWS_FROM = 512
#: Keys from which a sort has another task.
TASK_KEYS = 1 << 16

#: The sign bit of a double, and all 64 bits.
_SIGN = np.uint64(1 << 63)
_ALL = np.uint64((1 << 64) - 1)
#: 0 and 1 as 64-bit words, so that arithmetic with them stays in 64 bits.
_ZERO = np.uint64(0)
_ONE = np.uint64(1)
#: Bits of one digit of the radix sort.
_BITS = np.uint64(10)
#: Number of different digits.
_DIGITS = 1 << 10
_DIGIT = np.uint64(_DIGITS - 1)
_PASSES = 7  # digits of a key: ceil(64 / 10)
#: Lowest digits that the first sort leaves out: two scores rarely agree in the other 44 bits.
_LOWEST = 2


@kernel
def _keys(values: FloatArray, keys: KeyArray) -> KeyArray:
    """Unsigned integers in the order of ``values``; -0.0 and 0.0 get the same one.

    The keys are written to ``keys``, which may share its memory with ``values``.
    """
    bits = values.view(np.uint64)
    for i in range(keys.shape[0]):
        x = bits[i]
        if x == _SIGN:
            x = _ZERO
        # Negative numbers: all bits flip, which reverses their order; others: the sign bit is set.
        keys[i] = x ^ (_ALL if x & _SIGN else _SIGN)
    return keys


@kernel
def _values(keys: KeyArray) -> FloatArray:
    """Inverse of `_keys`, in place."""
    for i in range(keys.shape[0]):
        x = keys[i]
        keys[i] = x ^ (_SIGN if x & _SIGN else _ALL)
    return keys.view(np.float64)


@kernel
def _digit_counts(keys: KeyArray, first: int) -> KeyArray:
    """How often each digit occurs at each position from ``first`` on, (passes, digits)."""
    counts = np.zeros((_PASSES, _DIGITS), np.uint64)
    for i in range(keys.shape[0]):
        x = keys[i] >> np.uint64(first) * _BITS
        for p in range(first, _PASSES):
            counts[p, x & _DIGIT] += _ONE
            x >>= _BITS
    return counts


@kernel
def _count_digit(keys: KeyArray, shift: np.uint64, counts: KeyArray) -> None:
    """How often each digit at ``shift`` occurs."""
    counts[:] = _ZERO
    for i in range(keys.shape[0]):
        counts[(keys[i] >> shift) & _DIGIT] += _ONE


@kernel
def _scatter(
    keys: KeyArray,
    out: KeyArray,
    payload: AnyKeys | None,
    payload_out: AnyKeys | None,
    place: KeyArray,
    shift: np.uint64,
) -> None:
    """Stable sort by the digit at ``shift``; ``place`` is where the next key with a digit goes."""
    for i in range(keys.shape[0]):
        d = (keys[i] >> shift) & _DIGIT
        k = place[d]
        place[d] = k + _ONE
        out[k] = keys[i]
        if payload is not None and payload_out is not None:
            payload_out[k] = payload[i]


@kernel
def _insertion_sort(keys: KeyArray, payload: AnyKeys | None) -> bool:
    """Insertion sort, stable; gives up, with False, after one move per key."""
    moves = 0
    for i in range(1, keys.shape[0]):
        key = keys[i]
        if keys[i - 1] <= key:
            continue
        # Position of the key among the sorted ones; shift the keys between by one.
        j = i
        while j > 0 and keys[j - 1] > key:
            j -= 1
        moves += i - j
        if moves > keys.shape[0]:
            return False
        for k in range(i, j, -1):
            keys[k] = keys[k - 1]
        keys[j] = key
        if payload is not None:
            held = payload[i]
            for k in range(i, j, -1):
                payload[k] = payload[k - 1]
            payload[j] = held
    return True


def _radix_sort(keys: KeyArray, payload: AnyKeys | None) -> tuple[KeyArray, AnyKeys | None]:
    """Stable sort of ``keys``, least significant digit first; ``payload`` is permuted alike.

    Both arrays are used as work space. The first round leaves out the lowest digits: few keys
    are then out of order, by a few positions, and an insertion sort corrects them. If that takes
    too many moves, a second round sorts by all digits. Every round is stable, so the result is.
    """
    out, payload_out = np.empty_like(keys), None if payload is None else np.empty_like(payload)
    n = keys.shape[0]
    # Keys of each task; they go to the same places whatever the number of tasks.
    cuts = even_cuts(n, max(1, min(available_threads(), n // TASK_KEYS)))
    blocks = list(pairwise(cuts))
    places = np.empty((len(blocks), _DIGITS), np.uint64)
    for first in (_LOWEST, 0):
        whole = np.sum(in_parallel(partial(_digit_counts, keys[a:b], first) for a, b in blocks), 0)
        for p in range(first, _PASSES):
            if whole[p].max() == n:
                continue  # one digit everywhere: nothing moves
            shift = np.uint64(p) * _BITS
            if len(blocks) > 1:
                in_parallel(
                    partial(_count_digit, keys[a:b], shift, places[k])
                    for k, (a, b) in enumerate(blocks)
                )
            else:
                places[0] = whole[p]
            # Counts become places: those of smaller digits, and of the same digit before, go first.
            before = np.cumsum(places.T.ravel()) - places.T.ravel()
            places[:] = before.reshape(_DIGITS, -1).T
            in_parallel(
                partial(
                    _scatter, keys[a:b], out, None if payload is None else payload[a:b],
                    payload_out, places[k], shift,
                )
                for k, (a, b) in enumerate(blocks)
            )  # fmt: skip
            keys, out = out, keys
            payload, payload_out = payload_out, payload
        sorted_blocks = in_parallel(
            partial(_insertion_sort, keys[a:b], None if payload is None else payload[a:b])
            for a, b in blocks
        )
        if all(sorted_blocks) and (len(blocks) == 1 or _insertion_sort(keys, payload)):
            break
    return keys, payload


def _fresh_keys(values: FloatArray) -> KeyArray:
    return _keys(values, np.empty(values.shape[0], np.uint64))


def ascending(values: FloatArray, *, spare: bool = False) -> FloatArray:
    """Sorted copy of finite ``values``; O(n). ``spare`` allows to overwrite them.

    Examples
    --------
    >>> ascending(np.array([3.0, -1.0, 2.0]))
    array([-1.,  2.,  3.])
    """
    if values.shape[0] < RADIX_FROM:
        return np.sort(values)
    keys = _keys(values, values.view(np.uint64)) if spare else _fresh_keys(values)
    return _values(_radix_sort(keys, None)[0])


def ascending_with(values: FloatArray, companion: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Sorted copy of finite ``values``, and ``companion`` in the same order; stable, O(n).

    Examples
    --------
    >>> ascending_with(np.array([3.0, -1.0]), np.array([0.1, 0.2]))
    (array([-1.,  3.]), array([0.2, 0.1]))
    """
    if values.shape[0] < RADIX_WITH_ROWS_FROM:
        order = np.argsort(values, kind="stable")
        return values[order], companion[order]
    keys, moved = _radix_sort(_fresh_keys(values), companion.copy().view(np.uint64))
    assert moved is not None
    return _values(keys), moved.view(np.float64)


def ascending_rows(values: FloatArray, rows: IntArray) -> tuple[FloatArray, AnyKeys]:
    """Sorted finite ``values`` and their row numbers, in the same order; stable, O(n).

    The memory of ``values`` may be overwritten. Row numbers take four bytes where they fit.

    Examples
    --------
    >>> ascending_rows(np.array([3.0, -1.0]), np.array([7, 9]))
    (array([-1.,  3.]), array([9, 7], dtype=uint32))
    """
    n = values.shape[0]
    small = n == 0 or int(rows[-1]) < 1 << 32
    moved: AnyKeys = rows.astype(np.uint32) if small else rows.astype(np.uint64)
    if n < RADIX_WITH_ROWS_FROM:
        order = np.argsort(values, kind="stable")
        return values[order], moved[order]
    keys, sorted_rows = _radix_sort(_keys(values, values.view(np.uint64)), moved)
    assert sorted_rows is not None
    return _values(keys), sorted_rows


def ascending_order(values: FloatArray) -> KeyArray:
    """Unsigned indices that sort finite ``values``, ties in their given order; O(n).

    Examples
    --------
    >>> ascending_order(np.array([3.0, -1.0, 2.0]))
    array([1, 2, 0], dtype=uint64)
    """
    n = values.shape[0]
    if n < RADIX_WITH_ROWS_FROM:
        return np.argsort(values, kind="stable").astype(np.uint64)
    order = _radix_sort(_fresh_keys(values), np.arange(n, dtype=np.uint64))[1]
    assert order is not None
    return order.view(np.uint64)


@kernel
def _split(mask: BoolArray, values: FloatArray, inside: FloatArray, outside: FloatArray) -> None:
    """Write each value to both outputs; a value in the wrong one is overwritten by the next."""
    i = _ZERO
    j = _ZERO
    for k in range(mask.shape[0]):
        inside[i] = values[k]
        outside[j] = values[k]
        step = np.uint64(mask[k])
        i += step
        j += _ONE - step


def split(mask: BoolArray, values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """``values[mask]`` and ``values[~mask]`` in one pass without branches."""
    count = int(np.count_nonzero(mask))
    # Allocated here, as numpy asks the system for large pages and compiled code does not.
    inside, outside = np.empty(count + 1), np.empty(mask.shape[0] - count + 1)
    _split(mask, values, inside, outside)
    return inside[:-1], outside[:-1]


@kernel
def twice_ordered_pairs(pos: FloatArray, neg: FloatArray) -> np.uint64:
    """Twice the pairs with ``pos > neg`` plus the pairs with ``pos == neg``, exactly.

    Both arrays ascend. O(n_pos + n_neg).
    """
    n_neg = np.uint64(neg.shape[0])
    low = _ZERO  # negatives below the current positive
    high = _ZERO  # negatives below or equal
    twice = _ZERO
    for i in range(pos.shape[0]):
        s = pos[i]
        while low < n_neg and neg[low] < s:
            low += _ONE
        high = max(high, low)
        while high < n_neg and neg[high] == s:
            high += _ONE
        twice += low + high
    return twice


@kernel
def twice_mass_below(
    s: FloatArray, order: KeyArray, other: FloatArray, mass: FloatArray
) -> FloatArray:
    """For each ``s_i``: twice the mass of ``other < s_i`` plus the mass of ``other == s_i``.

    ``order`` sorts ``s``; ``other`` ascends and ``mass[k]`` is the mass of its first k entries.
    """
    n_other = np.uint64(other.shape[0])
    low = _ZERO
    high = _ZERO
    out = np.empty(s.shape[0])
    for i in range(order.shape[0]):
        row = order[i]
        while low < n_other and other[low] < s[row]:
            low += _ONE
        high = max(high, low)
        while high < n_other and other[high] == s[row]:
            high += _ONE
        out[row] = mass[low] + mass[high]
    return out


@kernel
def counts_at_thresholds(
    pos: FloatArray, neg: FloatArray, pos_weight: FloatArray | None, neg_weight: FloatArray | None
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Weight of positives and of negatives at or above each distinct score, from the top.

    The arrays ascend; the results descend and start with the threshold +inf, above every score.
    Without weights every row counts one.
    """
    i = np.uint64(pos.shape[0])
    j = np.uint64(neg.shape[0])
    threshold = np.empty(i + j + _ONE)
    tp = np.empty(i + j + _ONE)
    fp = np.empty(i + j + _ONE)
    threshold[0] = np.inf
    tp[0] = 0.0
    fp[0] = 0.0
    m = _ONE
    above_pos = 0.0
    above_neg = 0.0
    while i > _ZERO or j > _ZERO:
        # The highest score not yet counted, and then all rows that are tied at it.
        if j == _ZERO or (i > _ZERO and pos[i - _ONE] > neg[j - _ONE]):
            s = pos[i - _ONE]
        else:
            s = neg[j - _ONE]
        while i > _ZERO and pos[i - _ONE] == s:
            i -= _ONE
            above_pos += 1.0 if pos_weight is None else pos_weight[i]
        while j > _ZERO and neg[j - _ONE] == s:
            j -= _ONE
            above_neg += 1.0 if neg_weight is None else neg_weight[j]
        threshold[m] = s + 0.0  # -0.0 becomes 0.0
        tp[m] = above_pos
        fp[m] = above_neg
        m += _ONE
    return threshold[:m].copy(), tp[:m].copy(), fp[:m].copy()
