"""Conformance of approximate feature maps of kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

from auctor.core.errors import DataError
from auctor.core.types import FloatArray
from auctor.testing.suite import Suite, expect, expect_close

#: Columns of the test rows.
COLUMNS = 2
#: Largest error of inner products, times the root of the number of features.
NEAR = 5.0


class FeatureSuite(Suite):
    """Checks of features whose inner products approximate ``exp(-gamma |x - z|^2)``.

    Parameters
    ----------
    features : object with ``gamma_``, ``fit(rows)`` and ``transform(rows)``
        It is fitted to few rows, of which all may be landmarks.

    Examples
    --------
    >>> from auctor.kernel import RandomFeatures
    >>> "check_kernel" in FeatureSuite(RandomFeatures(100)).run()
    True
    """

    def __init__(self, features: Any) -> None:
        self.rows: FloatArray = np.random.default_rng(0).normal(size=(30, COLUMNS))
        self.features = features.fit(self.rows)

    def __repr__(self) -> str:
        return f"FeatureSuite({type(self.features).__name__})"

    def check_kernel(self) -> None:
        """Inner products approximate the kernel, with an error ~ 1 / sqrt(features)."""
        features = self.features.transform(self.rows)
        apart = ((self.rows[:, None] - self.rows[None]) ** 2).sum(axis=2)
        off = float(np.abs(features @ features.T - np.exp(-self.features.gamma_ * apart)).max())
        expect(off <= NEAR / np.sqrt(features.shape[1]), f"inner products: off by {off:.3g}")

    def check_rows(self) -> None:
        """The features of a row do not depend on the other rows."""
        features = self.features.transform(self.rows)
        expect(features.shape[0] == self.rows.shape[0], f"{features.shape[0]} rows")
        expect(np.isfinite(features).all(), "features that are not finite")
        expect_close(
            self.features.transform(self.rows[3:7]), features[3:7], "features of some rows"
        )

    def check_inputs_stay(self) -> None:
        """Inputs are not modified."""
        before = self.rows.copy()
        self.features.transform(self.rows)
        expect(np.array_equal(before, self.rows), "rows changed")

    def check_refusals(self) -> None:
        """NaN, an empty matrix and a one-dimensional array raise an error."""
        for bad in (np.full_like(self.rows, np.nan), self.rows[:0], self.rows[0]):
            try:
                self.features.transform(bad)
            except DataError:
                continue
            raise AssertionError(f"rows of shape {bad.shape} raise no error")
