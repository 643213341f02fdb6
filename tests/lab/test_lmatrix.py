"""The mutable matrix against numpy, and the products of pairs that it maintains."""

import numpy as np
import pytest

from auctor.core.errors import DataError
from auctor.lab.lmatrix import LMatrix


@pytest.mark.parametrize("seed", range(3))
def test_random_operations_against_numpy(seed):
    rng = np.random.default_rng(seed)
    M, plain = LMatrix(12, 5), np.zeros((0, 0))
    memory, done = M._body, dict.fromkeys(("CA", "CP", "RA", "RP"), 0)
    for _ in range(3000):
        kind = str(rng.choice(list(done)))
        n, m = plain.shape
        if kind == "CA" and m < 5:
            column = rng.normal(size=n if m else rng.integers(1, 12))
            M.append_column(column)
            plain = np.column_stack((plain, column)) if m else column[:, None]
        elif kind == "CP" and m > 1:
            M.pop_column()
            plain = plain[:, 1:]
        elif kind == "RA" and 0 < n < 12:
            row = rng.normal(size=m)
            M.append_row(row)
            plain = np.vstack((plain, row))
        elif kind == "RP" and n > 1:
            M.pop_row()
            plain = plain[1:]
        else:
            continue
        done[kind] += 1
        assert M.shape == plain.shape
        np.testing.assert_array_equal(M.array, plain)
        v = rng.normal(size=plain.shape[0])
        np.testing.assert_allclose(M.transpose_times(v), plain.T @ v, atol=1e-12)
    assert min(done.values()) > 100
    assert M._body is memory  # nothing was allocated again


def test_inner_products_of_pairs_are_maintained():
    """Tang, (5.3.5): S'S loses its first row and column and gains a last one of each."""
    rng = np.random.default_rng(0)
    S, gram, kept = LMatrix(40, 4), LMatrix(4, 4), []
    for _ in range(20):
        s = rng.normal(size=40)
        if len(kept) == 4:
            S.pop_column()
            gram.pop_row()
            gram.pop_column()
            kept.pop(0)
        if kept:
            gram.append_row(S.transpose_times(s))
        S.append_column(s)
        gram.append_column(S.transpose_times(s))
        kept.append(s)
        np.testing.assert_allclose(gram.array, np.array(kept) @ np.array(kept).T, atol=1e-12)


def test_operations_without_room_are_refused():
    M = LMatrix(2, 1)
    for call, words in (
        (M.pop_column, "column to drop"),
        (M.pop_row, "row to drop"),
        (lambda: M.append_column([1.0, 2.0, 3.0]), "room for a column of 3 rows"),
    ):
        with pytest.raises(DataError, match=f"LMatrix needs .*{words}"):
            call()
    M.append_column([1.0, 2.0])
    with pytest.raises(DataError, match="Drop the oldest"):
        M.append_column([1.0, 2.0])
    with pytest.raises(DataError, match="Drop the first row"):
        M.append_row([1.0])
    with pytest.raises(DataError, match="shape"):
        M.transpose_times([1.0])
