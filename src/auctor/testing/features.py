"""Checks that features of kernels pass."""

from __future__ import annotations

from typing import Any

import numpy as np

from auctor.core.errors import DataError
from auctor.core.types import FloatArray
from auctor.testing.suite import Suite, expect, expect_close

#: Columns of the rows to transform, unless landmarks say how many.
COLUMNS = 2
#: How far inner products may be from the kernel, times the root of the number of features.
NEAR = 5.0


class FeatureSuite(Suite):
    """The checks of features whose inner products are near ``exp(-gamma |x - z|^2)``.

    Parameters
    ----------
    features : object with ``gamma`` and ``transform(rows)``
        Where it has ``landmarks``, these are the rows on which the kernel is compared.

    Examples
    --------
    >>> from auctor.maps import RandomFeatures
    >>> "check_kernel" in FeatureSuite(RandomFeatures(100)).run()
    True
    """

    def __init__(self, features: Any) -> None:
        self.features = features
        drawn = np.random.default_rng(0).normal(size=(30, COLUMNS))
        self.rows: FloatArray = np.asarray(getattr(features, "landmarks", drawn), dtype=np.float64)

    def __repr__(self) -> str:
        return f"FeatureSuite({type(self.features).__name__})"

    def check_kernel(self) -> None:
        """Inner products are near the kernel, the nearer the more features there are."""
        found = self.features.transform(self.rows)
        apart = ((self.rows[:, None] - self.rows[None]) ** 2).sum(axis=2)
        off = float(np.abs(found @ found.T - np.exp(-self.features.gamma * apart)).max())
        expect(off <= NEAR / np.sqrt(found.shape[1]), f"inner products: off by {off:.3g}")

    def check_rows(self) -> None:
        """A row has the same features in any company."""
        found = self.features.transform(self.rows)
        expect(found.shape[0] == self.rows.shape[0], f"{found.shape[0]} rows")
        expect(np.isfinite(found).all(), "features that are not finite")
        expect_close(self.features.transform(self.rows[3:7]), found[3:7], "features of some rows")

    def check_inputs_stay(self) -> None:
        """Rows are not written to."""
        before = self.rows.copy()
        self.features.transform(self.rows)
        expect(np.array_equal(before, self.rows), "rows changed")

    def check_refusals(self) -> None:
        """NaN, no rows and a single list of numbers are refused."""
        for bad in (np.full_like(self.rows, np.nan), self.rows[:0], self.rows[0]):
            try:
                self.features.transform(bad)
            except DataError:
                continue
            raise AssertionError(f"rows of shape {bad.shape} are taken")
