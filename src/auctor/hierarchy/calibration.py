"""Probabilities of labels from scores: Platt scaling per label, shared by rare labels."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from auctor.core.types import Array, FloatArray
from auctor.fit.calibrate import Sigmoid

#: Rows with a label, and without it, from which the label has its own slope and offset.
OWN_ROWS = 10


class Calibration(NamedTuple):
    """Log-odds of every label: ``slope * score + offset``."""

    slope: FloatArray
    offset: FloatArray

    @classmethod
    def identity(cls, size: int) -> Calibration:
        """The calibration of scores that are log-odds already."""
        return cls(np.ones(size), np.zeros(size))

    @classmethod
    def fit(
        cls,
        scores: FloatArray,
        on: Array,
        weight: FloatArray | None = None,
        inside: Array | None = None,
        *,
        shared: bool = False,
    ) -> Calibration:
        """Maximum-likelihood slope and offset of every label.

        Parameters
        ----------
        scores : (n, k) array
            Scores of held-out rows.
        on : (n, k) bool array
            Labels of the rows.
        weight : (n,) array, optional
        inside : (n, k) bool array, optional
            Which rows count for which label; all by default.
        shared : bool
            Whether all labels have one slope and offset, which keeps their order in a row.
        """
        counted = np.ones(on.shape, dtype=bool) if inside is None else inside.copy()
        if weight is not None:
            counted &= (weight > 0.0)[:, None]
        calibration = cls.identity(on.shape[1])
        positives, total = (on & counted).sum(axis=0), counted.sum(axis=0)
        known = counted & ((positives > 0) & (positives < total))[None, :]
        if not known.any():
            return calibration
        # One slope and offset for the entries of all labels together, as the fallback.
        rows = np.broadcast_to(np.arange(on.shape[0])[:, None], on.shape)
        common = Sigmoid.fit(
            scores[known], on[known], None if weight is None else weight[rows[known]]
        )
        calibration.slope[:], calibration.offset[:] = max(common.slope, 0.0), common.offset
        if shared:
            return calibration
        # Labels with enough rows get their own, unless their slope is negative.
        for t in np.flatnonzero(np.minimum(positives, total - positives) >= OWN_ROWS):
            at = counted[:, t]
            own = Sigmoid.fit(scores[at, t], on[at, t], None if weight is None else weight[at])
            if own.slope > 0.0:
                calibration.slope[t], calibration.offset[t] = own.slope, own.offset
        return calibration

    def log_odds(self, scores: FloatArray) -> FloatArray:
        """Log-odds of the labels."""
        return scores * self.slope + self.offset
