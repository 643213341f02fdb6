"""Regret of an online learner of the AUC: its loss beyond that of the best fixed weights."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from auctor.core.checks import check_real
from auctor.core.errors import DataError, speaks_as
from auctor.core.types import FloatArray
from auctor.data import as_matrix
from auctor.data.matrices import dense_array


class Regret(NamedTuple):
    """Summed loss of the weights of a learner, and that of the best fixed weights in hindsight."""

    learner: float
    best: float
    n_rows: int
    coef: FloatArray

    @property
    def total(self) -> float:
        """What the learner lost more than the best fixed weights."""
        return self.learner - self.best

    @property
    def mean(self) -> float:
        """Regret per row that has a pair."""
        return self.total / self.n_rows


@speaks_as("regret")
def regret(learner: Any, X: Any, y: npt.ArrayLike, *, strength: float = 0.0) -> Regret:
    """Regret of an online learner on a stream, in the pairwise square loss.

    A row x_t with the label y_t costs, before it is learnt, ``strength / 2 |w|^2`` plus the mean of
    ``(1 - y_t w'(x_t - x_i))^2`` over the earlier rows of the other class (Gao et al., One-pass AUC
    optimization, 2013; Ding et al., An adaptive gradient method for online AUC maximization, 2015).
    Rows before the first of the other class cost nothing.

    Parameters
    ----------
    learner : online learner
        With ``partial_fit`` and ``coef_``, not fitted yet; it is fitted.
    X : (n, d) array
        The stream, row by row.
    y : (n,) array_like
        Labels of two classes, the greater one positive.
    strength : float >= 0
        Of the penalty in the loss; that of the learner, for its own bound.

    Returns
    -------
    Regret
        ``learner`` and ``best`` losses, ``total`` and ``mean`` regret, ``coef`` of the best.

    Notes
    -----
    O(n d^2): the loss of a row is a function of the mean and the covariance of the other class.

    Examples
    --------
    >>> from auctor.lab.learners import Opauc
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 400)
    >>> X = rng.normal(size=(400, 3)) + y[:, None]
    >>> found = regret(Opauc(strength=0.01), X, y, strength=0.01)
    >>> 0.0 < found.mean < 0.5 * found.best / found.n_rows
    True
    """
    check_real("strength", strength, low=0.0)
    rows, labels = dense_array(as_matrix(X)), np.asarray(y)
    classes = np.unique(labels)
    if labels.shape != rows.shape[:1] or classes.size != 2:
        raise DataError(
            f"labels of two classes, one per row; got {classes.size} classes in an array of shape "
            f"{labels.shape}. Pass y of length {rows.shape[0]}."
        )
    d = rows.shape[1]
    counts, means, spreads = np.zeros(2), np.zeros((2, d)), np.zeros((2, d, d))
    curvature, slope, paid, paying = np.zeros((d, d)), np.zeros(d), 0.0, 0
    w = np.zeros(d)
    for row, label in zip(rows, labels, strict=True):
        own = int(label == classes[1])
        other, sign = 1 - own, 2.0 * own - 1.0
        if counts[other]:
            gap = row - means[other]
            stiff = np.outer(gap, gap) + spreads[other] + 0.5 * strength * np.eye(d)
            # 1 - 2 sign gap.w + w' stiff w, the loss of the row.
            paid += 1.0 - 2.0 * sign * float(gap @ w) + float(w @ stiff @ w)
            curvature += stiff
            slope += sign * gap
            paying += 1
        counts[own] += 1.0
        before = row - means[own]
        means[own] += before / counts[own]
        spreads[own] += (np.outer(before, row - means[own]) - spreads[own]) / counts[own]
        learner.partial_fit(row[None], [label], classes=classes)
        w = np.ravel(learner.coef_)
    best = np.asarray(np.linalg.lstsq(curvature, slope, rcond=None)[0], dtype=np.float64)
    return Regret(paid, paying - float(slope @ best), paying, best)
