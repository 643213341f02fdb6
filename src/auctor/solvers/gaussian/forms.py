"""Which covariances are estimated: all, none, those within blocks, or those near the diagonal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, TypeAlias

import numpy as np
from scipy.linalg import eigh

from auctor.core.checks import check_int
from auctor.core.errors import DataError, ParameterError, speaks_for_itself
from auctor.core.linalg import RANK_SHARE
from auctor.core.types import FloatArray

#: ``"full"``, ``"diagonal"``, blocks of column indices, or the width of a band around the diagonal.
Covariance: TypeAlias = str | int | Sequence[Sequence[int]]


class CovarianceForm:
    """All covariances are estimated; other forms derive from this one."""

    #: Whether all covariances are estimated.
    full: ClassVar[bool] = True
    #: Whether only variances are estimated.
    diagonal: ClassVar[bool] = False

    def on(self, d: int) -> Callable[[FloatArray], FloatArray]:
        """The function that leaves the estimated entries of a (d, d) covariance."""
        return lambda matrix: matrix


class Independent(CovarianceForm):
    """No covariances: the columns count as independent."""

    full = False
    diagonal = True


@dataclass(frozen=True)
class Blocks(CovarianceForm):
    """The covariances within blocks of columns."""

    blocks: Sequence[Sequence[int]]

    full = False

    @speaks_for_itself
    def on(self, d: int) -> Callable[[FloatArray], FloatArray]:
        """The function that sets the covariances between blocks to zero."""
        mask = np.eye(d, dtype=bool)
        for block in self.blocks:
            index = np.asarray(block, dtype=np.int64)
            if index.size and not (index.min() >= 0 and index.max() < d):
                raise DataError(f"blocks of column indices below {d}; got {block}. Count from 0.")
            mask[np.ix_(index, index)] = True
        return lambda matrix: np.where(mask, matrix, 0.0)


@dataclass(frozen=True)
class Band(CovarianceForm):
    """The covariances of columns at most ``width`` apart.

    Parameters
    ----------
    width : int >= 0
    """

    width: int

    full = False

    def on(self, d: int) -> Callable[[FloatArray], FloatArray]:
        """The function that sets the covariances outside the band to zero, or tapers them."""
        return partial(_banded, width=self.width)


#: Forms by the name that users type.
FORMS: dict[str, CovarianceForm] = {"full": CovarianceForm(), "diagonal": Independent()}


def covariance_form(covariance: Covariance) -> CovarianceForm:
    """The form that a parameter stands for; ``ParameterError`` if it is none of the documented."""
    if isinstance(covariance, str) and covariance in FORMS:
        return FORMS[covariance]
    if isinstance(covariance, int | np.integer):
        return Band(check_int("covariance", covariance))
    if isinstance(covariance, Sequence) and not isinstance(covariance, str):
        indices = [i for block in covariance if isinstance(block, Sequence) for i in block]
        if indices and all(isinstance(i, int | np.integer) for i in indices):
            return Blocks(covariance)
    raise ParameterError(
        "`covariance` to be 'full', 'diagonal', lists of column indices or the width of a band; "
        f"got {covariance!r}. Pass one of these."
    )


def _banded(matrix: FloatArray, width: int) -> FloatArray:
    """Covariances of columns at most ``width`` apart, tapered if that is indefinite.

    The entrywise product with ``max(0, 1 - |i - j| / (width + 1))`` keeps every covariance positive
    semi-definite (Schur). The nearest positive semi-definite matrix is no alternative: it is
    singular, and directions without variance seem to separate the classes perfectly.
    """
    place = np.arange(matrix.shape[0])
    apart = np.abs(place[:, None] - place)
    band = np.where(apart <= width, matrix, 0.0)
    lowest = eigh(band, eigvals_only=True, subset_by_index=(0, 0), check_finite=False)[0]
    if lowest >= -RANK_SHARE * float(np.diag(matrix).max(initial=0.0)):
        return band
    return np.asarray(matrix * np.maximum(1.0 - apart / (width + 1.0), 0.0))
