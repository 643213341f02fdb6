"""Scores to which those of a model are added."""

from __future__ import annotations

from typing import Any

import numpy as np

from auctor.core.errors import DataError
from auctor.core.types import FloatArray


def read_offset(init_score: Any, n: int) -> FloatArray | None:
    """Checked scores (n,) or (n, classes) of n rows, or ``None``."""
    if init_score is None:
        return None
    try:
        offset = np.asarray(init_score, dtype=np.float64)
    except (TypeError, ValueError):
        offset = np.empty(0)
    if offset.ndim not in (1, 2) or offset.shape[0] != n or not np.isfinite(offset).all():
        raise DataError(
            "a finite number of init_score for each row, or for each row and class",
            got=f"shape {offset.shape}" if np.isfinite(offset).all() else "NaN or infinity",
            todo=f"Pass scores of all {n} rows.",
        )
    return offset
