"""Products of step functions kept as one byte per entry.

Codes of eight columns lie side by side in one 64-bit word per row: ``words[k, i]`` holds the codes
of row i in the columns ``8 k .. 8 k + 7``, the first in the lowest byte. One load then gives eight
table positions, which is what the products are bound by.

Column j has a table of one number per code, made from its parameters theta: ::

    T_j[c] = theta[line_j] centre_j[c] + sum of theta[step_j[c']] over c' <= c + theta[own_j[c]]

A step or an own value that column j does not have points one past the last parameter, where a zero
is stored.
"""

from __future__ import annotations

import numpy as np

from auctor.core.types import Array, FloatArray
from auctor.kernels.runtime.compiled import kernel
from auctor.kernels.runtime.eight import STRIDE, add_eight

#: Rows per strip, whose sums of 8 bytes stay in the first-level cache.
STRIP_ROWS = 2048
#: The lowest byte of a word.
BYTE = np.uint64(255)
#: Shift, in bits, that moves the second byte of a word to the lowest place.
S1 = np.uint64(8)
#: Shift, in bits, that moves the third byte of a word to the lowest place.
S2 = np.uint64(16)
#: Shift, in bits, that moves the fourth byte of a word to the lowest place.
S3 = np.uint64(24)
#: Shift, in bits, that moves the fifth byte of a word to the lowest place.
S4 = np.uint64(32)
#: Shift, in bits, that moves the sixth byte of a word to the lowest place.
S5 = np.uint64(40)
#: Shift, in bits, that moves the seventh byte of a word to the lowest place.
S6 = np.uint64(48)
#: Shift, in bits, that moves the eighth byte of a word to the lowest place.
S7 = np.uint64(56)
#: Bytes of the tables of one column, eight numbers for every code.
TABLE = np.uint64(256 * STRIDE)


@kernel
def fill_tables(
    theta: FloatArray,
    sizes: Array,
    line: Array,
    centre: FloatArray,
    step: Array,
    own: Array,
    out: FloatArray,
) -> None:
    """Tables ``out[j, c]`` of all columns; ``theta`` ends with a zero."""
    for j in range(sizes.shape[0]):
        slope = theta[line[j]]
        level = 0.0
        for c in range(sizes[j]):
            level += theta[step[j, c]]
            out[j, c] = slope * centre[j, c] + level + theta[own[j, c]]


@kernel
def add_table_gradient(
    histogram: FloatArray,
    sizes: Array,
    line: Array,
    centre: FloatArray,
    step: Array,
    own: Array,
    out: FloatArray,
) -> None:
    """The transpose of `fill_tables`: add ``dT/dtheta . histogram`` to ``out``.

    A step raises every code at or above it, so its part is the sum of the histogram over those
    codes: a running sum from the last code. Absent parameters add to the last entry of ``out``,
    which the caller drops.
    """
    for j in range(sizes.shape[0]):
        above = 0.0
        slope = 0.0
        for back in range(sizes[j]):
            c = sizes[j] - 1 - back
            value = histogram[j, c]
            above += value
            slope += value * centre[j, c]
            out[step[j, c]] += above
            out[own[j, c]] += value
        out[line[j]] += slope


@kernel
def fill_maps(
    theta: FloatArray, maps: Array, cuts: Array, means: FloatArray, squared: bool, out: FloatArray
) -> None:
    """Tables ``out[j, x * width + y]`` of maps: sums of products of a step of either side.

    A line of ``maps`` has the column, the first parameter, the numbers of levels and of cuts. A
    step is 1 from its cut on, minus its mean, so that a sum over steps is a running sum minus a
    constant; ``squared`` takes the squares of the entries.
    """
    for q in range(maps.shape[0]):
        start, height, width = maps[q, 1], maps[q, 2], maps[q, 3]
        tall, wide = maps[q, 4], maps[q, 5]
        table = out[maps[q, 0]]
        # Along the second side: half[i, y] for every step i of the first.
        half = np.empty((tall, width))
        for i in range(tall):
            at = start + i * wide
            level = 0.0
            for j in range(wide):
                mean = means[q, 1, j]
                level += (mean * mean if squared else -mean) * theta[at + j]
            j = 0
            for y in range(width):
                while j < wide and cuts[q, 1, j] <= y:
                    level += (1.0 - 2.0 * means[q, 1, j] if squared else 1.0) * theta[at + j]
                    j += 1
                half[i, y] = level
        # Along the first side.
        for y in range(width):
            level = 0.0
            for i in range(tall):
                mean = means[q, 0, i]
                level += (mean * mean if squared else -mean) * half[i, y]
            i = 0
            for x in range(height):
                while i < tall and cuts[q, 0, i] <= x:
                    level += (1.0 - 2.0 * means[q, 0, i] if squared else 1.0) * half[i, y]
                    i += 1
                table[x * width + y] = level


@kernel
def add_map_gradient(
    histogram: FloatArray,
    maps: Array,
    cuts: Array,
    means: FloatArray,
    squared: bool,
    out: FloatArray,
) -> None:
    """The transpose of `fill_maps`: two-dimensional running sums from the last cell."""
    for q in range(maps.shape[0]):
        start, height, width = maps[q, 1], maps[q, 2], maps[q, 3]
        tall, wide = maps[q, 4], maps[q, 5]
        cells = histogram[maps[q, 0]]
        # Along the second side: half[x, j] = sum over y of cells[x, y] t_j(y).
        half = np.empty((height, wide))
        for x in range(height):
            total = 0.0
            for y in range(width):
                total += cells[x * width + y]
            above = 0.0
            y = width
            for back in range(wide):
                j = wide - 1 - back
                while y > cuts[q, 1, j]:
                    y -= 1
                    above += cells[x * width + y]
                mean = means[q, 1, j]
                if squared:
                    half[x, j] = (1.0 - 2.0 * mean) * above + mean * mean * total
                else:
                    half[x, j] = above - mean * total
        # Along the first side.
        for j in range(wide):
            total = 0.0
            for x in range(height):
                total += half[x, j]
            above = 0.0
            x = height
            for back in range(tall):
                i = tall - 1 - back
                while x > cuts[q, 0, i]:
                    x -= 1
                    above += half[x, j]
                mean = means[q, 0, i]
                if squared:
                    out[start + i * wide + j] += (1.0 - 2.0 * mean) * above + mean * mean * total
                else:
                    out[start + i * wide + j] += above - mean * total


@kernel
def look_up(
    words: Array, tables: FloatArray, offset: float, out: FloatArray, low: int, high: int
) -> None:
    """``out[i] = offset + sum_j tables[j, code_ij]`` for rows low..high."""
    for start in range(low, high, STRIP_ROWS):
        stop = min(start + STRIP_ROWS, high)
        part = out[start:stop]
        part[:] = offset
        for k in range(words.shape[0]):
            t0, t1, t2, t3 = tables[8 * k], tables[8 * k + 1], tables[8 * k + 2], tables[8 * k + 3]
            t4, t5 = tables[8 * k + 4], tables[8 * k + 5]
            t6, t7 = tables[8 * k + 6], tables[8 * k + 7]
            line = words[k, start:stop]
            for i in range(stop - start):
                x = line[i]
                # Pairwise sums, so that the eight additions do not wait for each other.
                first = (t0[x & BYTE] + t1[(x >> S1) & BYTE]) + (
                    t2[(x >> S2) & BYTE] + t3[(x >> S3) & BYTE]
                )
                second = (t4[(x >> S4) & BYTE] + t5[(x >> S5) & BYTE]) + (
                    t6[(x >> S6) & BYTE] + t7[x >> S7]
                )
                part[i] += first + second


@kernel
def add_histograms(words: Array, r: FloatArray, out: FloatArray, low: int, high: int) -> None:
    """``out[j, c] += r_i`` for the code c of every row in the columns of the words low..high."""
    for k in range(low, high):
        h0, h1, h2, h3 = out[8 * k], out[8 * k + 1], out[8 * k + 2], out[8 * k + 3]
        h4, h5, h6, h7 = out[8 * k + 4], out[8 * k + 5], out[8 * k + 6], out[8 * k + 7]
        line = words[k]
        for i in range(line.shape[0]):
            x = line[i]
            value = r[i]
            h0[x & BYTE] += value
            h1[(x >> S1) & BYTE] += value
            h2[(x >> S2) & BYTE] += value
            h3[(x >> S3) & BYTE] += value
            h4[(x >> S4) & BYTE] += value
            h5[(x >> S5) & BYTE] += value
            h6[(x >> S6) & BYTE] += value
            h7[x >> S7] += value


@kernel
def add_histograms_eight(words: Array, r: FloatArray, out: FloatArray, low: int, high: int) -> None:
    """``out[j, c, m] += r[i, m]``, as `add_histograms`, for eight m side by side."""
    first, stride = np.uint64(r.ctypes.data), np.uint64(STRIDE)
    for k in range(low, high):
        start = np.uint64(out[8 * k].ctypes.data)
        for i in range(words.shape[1]):
            x, line, table = words[k, i], first + stride * np.uint64(i), start
            for _ in range(8):
                add_eight(table + stride * (x & BYTE), line)
                x >>= S1
                table += TABLE


@kernel
def gram_blocks(
    codes: Array,
    h: FloatArray,
    sizes: Array,
    bounds: Array,
    step: Array,
    own: Array,
    out: FloatArray,
    low: int,
    high: int,
) -> None:
    """Blocks (j, k) and (k, j), k >= j, of the Gram matrix for the columns j in low..high.

    Block (j, k) is ``B_j' H B_k``: H is the histogram of h over pairs of codes, and B_j turns the
    steps and own values of column j, ``bounds[j]:bounds[j + 1]``, into its table. Both products
    are running sums, as in `add_table_gradient`; ``codes`` has one contiguous line per column.
    """
    empty = bounds[-1]  # where positions without a parameter point
    for j in range(low, high):
        first, width = bounds[j], bounds[j + 1] - bounds[j]
        for k in range(j, sizes.shape[0]):
            # Columns without parameters here, or with a basis.
            if width == 0 or bounds[k + 1] == bounds[k] or sizes[j] == 0 or sizes[k] == 0:
                continue
            # H[c, c'] = sum of h over the rows with code c in column j and c' in column k; it is
            # diagonal for j = k.
            pairs = np.zeros((sizes[j], sizes[k]))
            left, right = codes[j], codes[k]
            for i in range(h.shape[0]):
                pairs[left[i], right[i]] += h[i]
            # half = B_j' H, a line per parameter of column j
            half = np.empty((width, sizes[k]))
            for back in range(sizes[j]):
                c = sizes[j] - 1 - back
                if own[j, c] != empty:
                    for e in range(sizes[k]):
                        half[own[j, c] - first, e] = pairs[c, e]
                if back:  # the sum over this code and all above it
                    for e in range(sizes[k]):
                        pairs[c, e] += pairs[c + 1, e]
                if step[j, c] != empty:
                    for e in range(sizes[k]):
                        half[step[j, c] - first, e] = pairs[c, e]
            # half B_k
            for q in range(width):
                above = 0.0
                for back in range(sizes[k]):
                    e = sizes[k] - 1 - back
                    value = half[q, e]
                    above += value
                    if step[k, e] != empty:
                        out[first + q, step[k, e]] = above
                        out[step[k, e], first + q] = above
                    if own[k, e] != empty:
                        out[first + q, own[k, e]] = value
                        out[own[k, e], first + q] = value


@kernel
def add_pairs(first: Array, second: Array, h: FloatArray, out: FloatArray) -> None:
    """``out[c, e] += h_i`` for the codes c and e of every row in two columns."""
    for i in range(h.shape[0]):
        out[first[i], second[i]] += h[i]


@kernel
def search_codes(values: Array, cuts: FloatArray, first: int, missing: int, out: Array) -> None:
    """``out[i] = first + number of cuts below values[i]``, and ``missing`` for NaN."""
    for i in range(values.shape[0]):
        x = values[i]
        if np.isnan(x):
            out[i] = missing
        else:
            low, high = 0, cuts.shape[0]
            while low < high:
                middle = (low + high) // 2
                if cuts[middle] < x:
                    low = middle + 1
                else:
                    high = middle
            out[i] = first + low
