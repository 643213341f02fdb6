"""LMatrix: a matrix whose rows and columns are added at one end and dropped at the other."""

from __future__ import annotations

import numpy as np

from auctor.core.checks import check_int, check_vector
from auctor.core.errors import DataError, speaks, speaks_for_itself
from auctor.core.types import FloatArray, IntArray


class LMatrix:
    """A matrix of at most m columns in fixed memory, for the pairs of limited-memory methods.

    Columns are a ring: a new one takes the place of the oldest, and nothing else moves. Rows have
    room for as many again, so that the first one is dropped by a shift of the start; when the room
    is used up, the matrix moves back to the start of its memory.

    ===============  ========================
    operation        cost, n rows, m columns
    ===============  ========================
    append a column  O(n)
    drop the oldest  O(1)
    append a row     O(m)
    drop the first   O(1), O(n m) once in n
    transpose times  one product of O(n m)
    ===============  ========================

    Parameters
    ----------
    rows : int
        Largest number of rows.
    columns : int
        Largest number of columns.

    Examples
    --------
    >>> import numpy as np
    >>> M = LMatrix(3, 2)
    >>> for column in ([1.0, 2.0], [3.0, 4.0]):
    ...     M.append_column(column)
    >>> M.pop_column()
    >>> M.append_column([5.0, 6.0])
    >>> M.append_row([7.0, 8.0])
    >>> M.array.tolist(), M.transpose_times([1.0, 1.0, 1.0]).tolist()
    ([[3.0, 5.0], [4.0, 6.0], [7.0, 8.0]], [14.0, 19.0])

    References
    ----------
    Tang, Big data optimization in machine learning, Lehigh 2016, section 5.3, Table 5.1.
    """

    @speaks_for_itself
    def __init__(self, rows: int, columns: int) -> None:
        self._most_rows = check_int("rows", rows, low=1)
        # Column-major: the physical columns are the rows of this array.
        self._body = np.zeros((check_int("columns", columns, low=1), 2 * self._most_rows))
        self._oldest = self._count = self._first = self._rows = 0

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of columns."""
        return self._rows, self._count

    @property
    def array(self) -> FloatArray:
        """A copy, with the columns in their order."""
        return np.ascontiguousarray(self._used[self._order].T)

    @speaks
    def transpose_times(self, v: FloatArray) -> FloatArray:
        """``M' v``, by one product with the memory as it lies and a permutation."""
        product: FloatArray = self._used @ check_vector("v", v, size=self._rows)
        return product[self._order]

    @speaks
    def append_column(self, column: FloatArray) -> None:
        """Add a column on the right; the first one sets the number of rows."""
        size = self._rows if self._count else None
        values = check_vector("column", column, size=size)
        if self._count == self._body.shape[0] or values.size > self._most_rows:
            raise DataError(
                f"room for a column of {values.size} rows; got {self._body.shape[0]} columns of at "
                f"most {self._most_rows} rows, {self._count} in use. Drop the oldest column first."
            )
        if not self._count:
            self._first, self._rows = 0, values.size
        self._used[(self._oldest + self._count) % self._body.shape[0]] = values
        self._count += 1

    @speaks
    def pop_column(self) -> None:
        """Drop the first column."""
        self._need(self._count, "column")
        self._oldest = (self._oldest + 1) % self._body.shape[0]
        self._count -= 1

    @speaks
    def append_row(self, row: FloatArray) -> None:
        """Add a row at the bottom."""
        values = check_vector("row", row, size=self._count)
        if self._rows == self._most_rows:
            raise DataError(
                f"room for a row; got {self._most_rows} rows of at most {self._most_rows}. Drop "
                "the first row first."
            )
        if self._first + self._rows == self._body.shape[1]:
            self._body[:, : self._rows] = self._used.copy()
            self._first = 0
        self._rows += 1
        self._used[self._order, -1] = values

    @speaks
    def pop_row(self) -> None:
        """Drop the first row."""
        self._need(self._rows, "row")
        self._first, self._rows = self._first + 1, self._rows - 1

    @property
    def _used(self) -> FloatArray:
        """The rows in use of all physical columns."""
        return self._body[:, self._first : self._first + self._rows]

    @property
    def _order(self) -> IntArray:
        """The physical columns in their order."""
        return (self._oldest + np.arange(self._count)) % self._body.shape[0]

    def _need(self, count: int, what: str) -> None:
        if not count:
            raise DataError(f"a {what} to drop; got none. Append one first.")
