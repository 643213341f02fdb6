"""Conformance of data: every product compared with numpy, for any storage and threads."""

from __future__ import annotations

from typing import cast

import numpy as np

from auctor.core.data_capabilities import (
    COLUMNS,
    DENSE,
    GRAM,
    RETARGET,
    ROWS,
    SECOND_ORDER,
    STORED,
    SUBSETS,
    FullData,
)
from auctor.core.protocols import Data
from auctor.core.types import CompressedColumns, FloatArray, IntArray, Target
from auctor.testing.storages import Build
from auctor.testing.streams import SOLVED, train_everything
from auctor.testing.suite import Suite, Untouched, expect, expect_close, when

#: Relative difference allowed between sums in different orders: several thousand machine epsilons.
RTOL = 1e-12


def example_matrix(n: int, d: int, *, density: float = 0.6, seed: int = 0) -> FloatArray:
    """Random entries that float32 represents exactly, with an empty row and an empty column."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, d)) * 64.0) / 64.0
    X[rng.random((n, d)) > density] = 0.0
    X[n // 2] = 0.0
    X[:, d // 2] = 0.0
    return X


def example_target(n: int, *, seed: int = 0) -> Target:
    """A -1/+1 target with weights."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 3 == 0, 1.0, -1.0)
    return Target(y, rng.uniform(0.5, 2.0, size=n))


class DataSuite(Suite):
    """Tests of the whole `Data` protocol, for one storage.

    Parameters
    ----------
    build : callable ``(X, target, n_threads) -> Data``
        Puts a dense float64 matrix, whose entries float32 represents exactly, into the storage.
    shape : (int, int)
        Shape of the small matrix on which products are compared.
    big : (int, int)
        Shape of a matrix that is large enough for several threads.

    Examples
    --------
    >>> from auctor.data import Dense
    >>> build = lambda X, target, n_threads: Dense(X, target, n_threads=n_threads)
    >>> len(DataSuite(build, big=(50, 4)).run()) > 8
    True
    """

    def __init__(
        self, build: Build, *, shape: tuple[int, int] = (37, 9), big: tuple[int, int] = (9000, 100)
    ) -> None:
        self.build, self.big = build, big
        self.X, self.target = example_matrix(*shape), example_target(shape[0])
        #: Typed with all capabilities; a check runs only if the data offer what it needs.
        self.data = cast(FullData, build(self.X, self.target, 1))
        rng = np.random.default_rng(1)
        self.w, self.r = rng.normal(size=shape[1]), rng.normal(size=shape[0])
        # Second derivatives of the rows, some of them zero, as for rows without loss.
        self.h = rng.uniform(0.0, 2.0, size=shape[0])
        self.h[::5] = 0.0

    def check_shape(self) -> None:
        """Shape and target are those of the matrix."""
        data, (n, d) = self.data, self.X.shape
        expect((data.n_rows, data.n_columns) == (n, d), "wrong shape")
        expect_close(data.target.y, self.target.y, "target", rtol=0.0)

    @when(lambda suite: STORED.has(suite.data))
    def check_entries(self) -> None:
        """The number of stored entries is at least that of the non-zero ones."""
        n, d = self.X.shape
        expect(np.count_nonzero(self.X) <= self.data.n_entries <= n * d, "wrong n_entries")

    def check_scores(self) -> None:
        """``X @ w + offset``."""
        # Errors are relative to the sum of absolute terms, which may cancel in the product.
        scale = np.abs(self.X) @ np.abs(self.w) + 1.0
        for offset in (0.0, -0.7):
            wanted = self.X @ self.w + offset
            expect_close(self.data.scores(self.w, offset), wanted, "scores", rtol=RTOL, scale=scale)
        expect_close(self.data.scores(self.w), self.X @ self.w, "scores", rtol=RTOL, scale=scale)
        expect_close(self.data.scores(0.0 * self.w), 0.0 * self.r, "scores of zero", rtol=0.0)

    def check_gradient(self) -> None:
        """``X.T @ r``."""
        scale = np.abs(self.X.T) @ np.abs(self.r) + 1e-300
        for r in (self.r, np.where(self.h > 0, self.r, 0.0)):
            expect_close(self.data.gradient(r), self.X.T @ r, "gradient", rtol=RTOL, scale=scale)

    def check_adjoint(self) -> None:
        """The two products are each other's transpose."""
        left = float(self.r @ self.data.scores(self.w))
        right = float(self.w @ self.data.gradient(self.r))
        scale = float(np.abs(self.r) @ np.abs(self.X) @ np.abs(self.w))
        expect_close(left, right, "adjoint", rtol=RTOL, scale=scale)

    @when(lambda suite: SECOND_ORDER.has(suite.data))
    def check_sandwich(self) -> None:
        """``X.T @ z`` and ``z.sum()`` with ``z = h * (X @ v + offset)``."""
        for offset in (0.0, 0.4):
            z = self.h * (self.X @ self.w + offset)
            size = self.h * (np.abs(self.X) @ np.abs(self.w) + abs(offset))
            pulled, total = self.data.sandwich(self.h, self.w, offset)
            scale = np.abs(self.X.T) @ size + 1e-300
            expect_close(pulled, self.X.T @ z, "sandwich", rtol=RTOL, scale=scale)
            expect_close(total, z.sum(), "sum of sandwich", rtol=RTOL, scale=float(size.sum()))

    @when(lambda suite: SECOND_ORDER.has(suite.data))
    def check_square_gradient(self) -> None:
        """Diagonal of ``X.T @ diag(h) @ X``."""
        wanted = (self.X * self.X).T @ self.h
        expect_close(self.data.square_gradient(self.h), wanted, "square_gradient", rtol=RTOL)

    @when(lambda suite: GRAM.has(suite.data))
    def check_gram(self) -> None:
        """``X.T @ diag(h) @ X``, exactly symmetric."""
        gram = self.data.gram(self.h)
        expect_close(gram, (self.X.T * self.h) @ self.X, "gram", rtol=RTOL)
        expect_close(gram, gram.T, "symmetry of gram", rtol=0.0)
        expect(self.data.gram_passes() > 0.0, "gram_passes must be positive")

    @when(lambda suite: ROWS.has(suite.data))
    def check_rows(self) -> None:
        """Rows of an index, repeated and in any order, with their targets and weights."""
        index = np.array([5, 0, 5, self.X.shape[0] - 1, self.X.shape[0] // 2])
        part = self.data.rows(index)
        expect((part.n_rows, part.n_columns) == (5, self.X.shape[1]), "wrong shape of rows")
        expect_close(part.scores(self.w), self.X[index] @ self.w, "scores of rows", rtol=RTOL)
        expect_close(part.target.y, self.target.y[index], "target of rows", rtol=0.0)
        assert self.target.weight is not None
        expect_close(part.target.weight, self.target.weight[index], "weight of rows", rtol=0.0)
        h = self.h[index] + 0.1
        wanted = (self.X[index].T * h) @ self.X[index]
        expect_close(part.gram(h), wanted, "gram of rows", rtol=RTOL)

    @when(lambda suite: ROWS.has(suite.data))
    def check_differences(self) -> None:
        """One row ``X[i] - X[j]`` per pair."""
        first, second = np.array([5, 0, 7, 7]), np.array([3, 3, 7, 1])
        part, wanted = self.data.differences(first, second), self.X[first] - self.X[second]
        h = np.array([0.5, 1.0, 2.0, 0.0])
        scale = np.abs(wanted) @ np.abs(self.w) + 1.0
        expect_close(part.scores(self.w), wanted @ self.w, "differences", rtol=RTOL, scale=scale)
        expect_close(part.gram(h), (wanted.T * h) @ wanted, "gram of differences", rtol=RTOL)

    @when(lambda suite: COLUMNS.has(suite.data))
    def check_columns(self) -> None:
        """Compressed columns with unsigned, ascending indices; `some_columns` selects a few."""
        # All columns, cached; then a few, unless they are a larger share than allowed.
        columns = self.data.columns()
        self._compare_columns(columns, np.arange(self.X.shape[1]))
        expect(self.data.columns().values is columns.values, "columns() must be made once")
        some = np.array([0, self.X.shape[1] - 1])
        part = self.data.some_columns(some, 1.0)
        if part is not None:
            self._compare_columns(part, some)
        expect(self.data.some_columns(some, 0.0) is None, "some_columns() must mind the share")

    @when(lambda suite: SUBSETS.has(suite.data))
    def check_subsets(self) -> None:
        """Fewer columns, in any order, with the target of all rows."""
        index = np.array([self.X.shape[1] - 1, 0, 2])
        part = self.data.only(index)
        expect((part.n_rows, part.n_columns) == (self.X.shape[0], 3), "wrong shape of a subset")
        wanted = self.X[:, index] @ self.w[:3]
        scale = np.abs(self.X[:, index]) @ np.abs(self.w[:3]) + 1.0
        expect_close(part.scores(self.w[:3]), wanted, "scores of a subset", rtol=RTOL, scale=scale)
        expect_close(part.target.y, self.target.y, "target of a subset", rtol=0.0)

    @when(lambda suite: DENSE.has(suite.data))
    def check_dense_copy(self) -> None:
        """`to_dense` copies the matrix, `replaced` puts a dense matrix in its place."""
        copy = self.data.to_dense()
        expect_close(copy, self.X, "dense copy", rtol=0.0, scale=1.0)
        other = self.data.replaced(2.0 * copy[:, :3])
        wanted = 2.0 * self.X[:, :3] @ self.w[:3]
        scale = np.abs(self.X[:, :3]) @ np.abs(self.w[:3]) + 1.0
        expect_close(other.scores(self.w[:3]), wanted, "replaced rows", rtol=RTOL, scale=scale)

    @when(lambda suite: RETARGET.has(suite.data))
    def check_another_target(self) -> None:
        """The same matrix with another target; the original is not changed."""
        other = self.data.with_target(Target(-self.target.y))
        expect_close(other.target.y, -self.target.y, "another target", rtol=0.0)
        expect_close(self.data.target.y, self.target.y, "target", rtol=0.0)
        expect_close(other.scores(self.w), self.data.scores(self.w), "scores", rtol=0.0)

    def _compare_columns(self, columns: CompressedColumns, index: IntArray) -> None:
        """Compressed columns are those of the matrix at ``index``."""
        for slot, j in enumerate(index):
            part = slice(int(columns.indptr[slot]), int(columns.indptr[slot + 1]))
            rows, line = columns.indices[part], np.zeros(self.X.shape[0])
            line[rows] = columns.values[part]
            expect(columns.indices.dtype.kind == "u", "indices must be unsigned")
            expect((np.diff(rows.astype(np.int64)) > 0).all(), "row indices must ascend")
            expect_close(line, self.X[:, j], f"column {j}", rtol=0.0, scale=1.0)

    @staticmethod
    def _products(store: Data) -> list[FloatArray]:
        """All products that the data offer, with fixed random vectors."""
        data, rng = cast(FullData, store), np.random.default_rng(2)
        w, r = rng.normal(size=data.n_columns), rng.normal(size=data.n_rows)
        h, out = np.abs(r), [data.scores(w, 0.1), data.gradient(r)]
        if SECOND_ORDER.has(data):
            pulled, total = data.sandwich(h, w, 0.3)
            out += [pulled, np.array([total]), data.square_gradient(h)]
        return [*out, data.gram(h)] if GRAM.has(data) else out

    def check_threads(self) -> None:
        """Results are correct, and bit for bit the same for any number of threads."""
        # Sums must not depend on how rows are split over threads.
        X, target = example_matrix(*self.big), example_target(self.big[0])
        one, two, three = (self._products(self.build(X, target, k)) for k in (1, 2, 3))
        for a, b, c in zip(one, two, three, strict=True):
            expect(np.array_equal(a, b), "two threads give other bits than one")
            expect(np.array_equal(a, c), "three threads give other bits than one")
        rng = np.random.default_rng(2)
        w, r = rng.normal(size=X.shape[1]), rng.normal(size=X.shape[0])
        for result, wanted in zip(one[:2], (X @ w + 0.1, X.T @ r), strict=True):
            expect_close(result, wanted, "product of larger data", rtol=RTOL)

    @when(lambda suite: not ROWS.has(suite.data))
    def check_training(self) -> None:
        """Every loss with every kind of penalty is solved, or refused before any pass."""
        outcomes = set(train_everything(self.build).values())
        expect(SOLVED in outcomes, "no loss can be trained")

    def check_inputs_untouched(self) -> None:
        """Inputs are not modified."""
        with Untouched((self.w, self.r, self.h, self.X)):
            for data in (self.data, self.build(self.X, self.target, 2)):
                data.scores(self.w, 1.0)
                data.gradient(self.r)
                self._second_order(cast(FullData, data))

    def _second_order(self, data: FullData) -> None:
        if SECOND_ORDER.has(data):
            data.sandwich(self.h, self.w, 1.0)
            data.square_gradient(self.h)
        if GRAM.has(data):
            data.gram(self.h)
