"""How far probabilities are from the shares of positives that they state."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from auctor.core.checks import check_int, check_real
from auctor.core.errors import DataError, speaks_as
from auctor.metrics.inputs import Classes, validate


class CalibrationError(NamedTuple):
    """The root mean squared calibration error, and an interval that holds it."""

    error: float
    low: float
    high: float


@speaks_as("calibration_error")
def calibration_error(
    y: npt.ArrayLike,
    probability: npt.ArrayLike,
    *,
    bins: int = 15,
    confidence: float = 0.95,
    weight: npt.ArrayLike | None = None,
) -> CalibrationError:
    """Root mean squared difference of probability and share of positives, over bins of equal size.

    ``theta = sum_b w_b [(share_b - mean_b)^2 - share_b (1 - share_b) / (n_b - 1)]``: the second
    term is what chance adds to the first, so that the error of true probabilities is near 0 for any
    number of rows. The error is the root of theta, or 0 where theta is negative.

    Parameters
    ----------
    y : (n,) array_like
        Two label values, the greater one positive.
    probability : (n,) array_like
        Of the positive class, in [0, 1].
    bins : int
        Tied probabilities are in one bin.
    confidence : float in (0, 1)
    weight : (n,) array_like, optional

    Returns
    -------
    CalibrationError
        ``error``, ``low`` and ``high``: theta plus and minus its normal quantile, as roots.

    Examples
    --------
    >>> p = np.repeat([0.1, 0.5], 1000)
    >>> y = np.tile([1, 0, 0, 0, 0, 0, 0, 0, 0, 0], 200)
    >>> found = calibration_error(y, p)
    >>> round(found.error, 2), found.low < 0.28 < found.high
    (0.28, True)

    References
    ----------
    Kumar, Liang, Ma, Verified uncertainty calibration, NeurIPS 2019.
    """
    check_int("bins", bins, low=1)
    check_real("confidence", confidence, low=0.0, high=1.0, open_low=True, open_high=True)
    rows = validate(y, probability, weight, Classes.ANY)
    p = rows.scores
    if p.min() < 0.0 or p.max() > 1.0:
        raise DataError(f"`probability` in [0, 1]; got {p.min():g} to {p.max():g}. Calibrate them.")
    mass = np.ones(p.size) if rows.weight is None else rows.weight
    # Bins of equal weight; rows of one probability are in the bin of the middle one.
    place = np.unique(p, return_inverse=True)[1]
    total = np.bincount(place, mass)
    middle = (np.cumsum(total) - 0.5 * total) / total.sum()
    bin_of = np.unique(np.floor(middle * bins).astype(np.int64), return_inverse=True)[1][place]
    size = np.bincount(bin_of, mass)
    share = np.bincount(bin_of, mass * rows.positive) / size
    gap = share - np.bincount(bin_of, mass * p) / size
    # The number of rows of equal weight that vary as much as these.
    count = size**2 / np.bincount(bin_of, mass**2)
    noise = share * (1.0 - share) / np.maximum(count - 1.0, 1.0)
    part = size / size.sum()
    theta = float(part @ (gap**2 - noise))
    spread = float(np.sqrt(part**2 @ (4.0 * gap**2 * noise + 2.0 * noise**2)))
    wide = float(ndtri(0.5 + 0.5 * confidence)) * spread
    low, error, high = np.sqrt(np.maximum([theta - wide, theta, theta + wide], 0.0)).tolist()
    return CalibrationError(error, low, high)
