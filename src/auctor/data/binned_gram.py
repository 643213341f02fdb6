"""Gram matrices of columns kept as codes, from histograms over single codes and pairs of them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from auctor.core.types import FloatArray
from auctor.data.codebook import CodeArrays, Codebook
from auctor.kernels.linalg import binned as kernels
from auctor.kernels.runtime.eight import EIGHT
from auctor.kernels.runtime.parallel import SERIAL_WORK, run_tasks

if TYPE_CHECKING:
    from auctor.data.binned import Binned


def coded_gram(data: Binned, h: FloatArray) -> FloatArray:
    """Gram matrix of the coded columns' parameters."""
    matrix = data.matrix
    arrays, raw = matrix.arrays, matrix.codes()
    codes = list(raw)
    d, bounds = arrays.n_params, arrays.bounds.astype(np.int64)
    out = np.zeros((d, d))
    # Steps and own values: histograms over pairs of codes, few once lines are left out.
    books, lined = list(matrix.books), []
    for j, book in enumerate(books):
        if isinstance(book, Codebook) and book.line is not None:
            books[j], new = book.only(np.arange(book.n_params) > 0)
            codes[j] = new[codes[j]]
            lined.append(j)
    lines = np.array(codes).reshape(raw.shape)
    rest = np.setdiff1d(np.arange(d), bounds[lined])
    small = CodeArrays(books)
    part = out if not lined else np.zeros((rest.size, rest.size))
    # Task j multiplies column j with itself and later columns: tasks write disjoint blocks.
    tasks = [
        partial(
            kernels.gram_blocks, lines, h, small.sizes[: len(books)], small.bounds,
            small.step, small.own, part, j, j + 1,
        )
        for j in range(len(books))
    ]  # fmt: skip
    run_tasks(tasks, data.n_threads if data.n_entries > SERIAL_WORK else 1)
    if lined:
        out[np.ix_(rest, rest)] = part
    # Lines: histograms of h times their values, over single codes.
    for start in range(0, len(lined), EIGHT):
        some = lined[start : start + EIGHT]
        values = np.array([arrays.centre[j][raw[j]] for j in some])
        blocks = data.gradients(np.ascontiguousarray((h * values).T))
        places = bounds[some]
        out[places], out[:, places] = blocks, blocks.T
    # Rounding differs between both products of two lines.
    square = np.ix_(bounds[lined], bounds[lined])
    out[square] = 0.5 * (out[square] + out[square].T)
    for j, at, basis in arrays.others:
        rows = slice(at, at + basis.shape[1])
        for k, book in enumerate(matrix.books):
            pairs = np.zeros((basis.shape[0], book.size))
            kernels.add_pairs(raw[j], raw[k], h, pairs)
            block = basis.T @ pairs @ book.basis
            columns = slice(int(bounds[k]), int(bounds[k + 1]))
            out[rows, columns], out[columns, rows] = block, block.T
    return out
