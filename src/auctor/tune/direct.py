"""Maximise an exact metric over the weights of a linear model.

A metric of the ranking does not see the length of the weights, so that the search runs over
directions: the start, plus a step in the plane at right angles to it, divided by the length.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from auctor import metrics
from auctor.core.checks import check_int, check_vector
from auctor.core.errors import DataError
from auctor.core.rng import as_rng
from auctor.core.types import FloatArray, IntArray

if TYPE_CHECKING:
    from auctor.tune.engine import DfoTr

#: Half the width of the cube on the plane, in units of the start's length: 45 degrees along each
#: coordinate, and any direction but the opposite half in their sum.
REACH = 1.0
#: Distance from the middle of the cube beyond which the plane is laid at the best direction anew.
#: Set by hand.
EDGE = 0.45
#: Rows that each step adds to a growing sample. Source: Ghanbari's thesis, as printed.
ROWS_PER_STEP = 50
#: Rows that a sample begins with. Source: Ghanbari's thesis, as printed.
FIRST_ROWS = 1000
#: Share of a class that a sample has at least. Source: Ghanbari's thesis, as printed.
LEAST_SHARE = 0.1


class Maximised(NamedTuple):
    """Weights of length one, their metric, and what it took."""

    coef: FloatArray
    value: float
    evaluations: int
    converged: bool
    radius: float
    last_radius: float


class NestedSample:
    """Samples of rows that grow with the steps, each containing the one before.

    ``size_c(k) = min(N_c, max(k floor(50 N_c / N) + floor(1000 N_c / N), floor(0.1 N_c)))`` rows
    of class ``c`` at step ``k``. Every step draws from one permutation, so that two weights are
    compared on the same rows.

    Examples
    --------
    >>> sample = NestedSample(np.repeat([-1.0, 1.0], [15360, 640]))
    >>> [int((sample.rows(k) >= 15360).sum()) for k in (0, 50, 100, 300)]
    [64, 140, 240, 640]
    """

    def __init__(self, y: FloatArray, seed: int | None = None) -> None:
        rng = as_rng(0 if seed is None else seed)
        self.classes = [rng.permutation(np.flatnonzero(y == label)) for label in np.unique(y)]
        self.total = y.shape[0]

    def rows(self, step: int) -> IntArray:
        """Rows of the sample at a step, in increasing order."""
        parts = []
        for each in self.classes:
            count = each.shape[0]
            grown = step * (ROWS_PER_STEP * count // self.total)
            grown += FIRST_ROWS * count // self.total
            parts.append(each[: min(count, max(grown, int(LEAST_SHARE * count), 1))])
        found: IntArray = np.sort(np.concatenate(parts))
        return found


def tangent_basis(direction: FloatArray) -> FloatArray:
    """Orthonormal columns at right angles to a vector of length one, shape (d, d - 1)."""
    d = direction.shape[0]
    # A reflection that takes the first axis to the direction takes the other axes to its plane.
    sign = 1.0 if direction[0] >= 0.0 else -1.0
    mirror = direction.copy()
    mirror[0] += sign
    reflected = np.eye(d) - 2.0 * np.outer(mirror, mirror) / float(mirror @ mirror)
    found: FloatArray = reflected[:, 1:]
    return found


def maximise_on_sphere(
    engine: DfoTr,
    value_of: Callable[[FloatArray, int], float],
    start: FloatArray,
    *,
    budget: int,
    growing: bool = False,
) -> Maximised:
    """Maximise a function of a direction.

    Parameters
    ----------
    engine : DfoTr
        Its settings; dimensions and start are replaced.
    value_of : callable
        From weights of length one and the number of the step to a value.
    start : (d,) array
        Not zero.
    budget : int
        Evaluations.
    growing : bool
        Whether later steps use other rows: the incumbent is then evaluated again after a step
        that does not beat it, and the mean of its values counts.
    """
    length = float(np.linalg.norm(start))
    center = start / length if length > 0.0 else np.eye(start.shape[0])[0]
    # The opposite direction first: what ranks badly ranks well upside down.
    ends = [(value_of(sign * center, 0), sign) for sign in (1.0, -1.0)]
    value, sign = max(ends, key=lambda end: -np.inf if np.isnan(end[0]) else end[0])
    best = Maximised(sign * center, value, 2, center.shape[0] == 1, 0.0, 0.0)
    while not best.converged and best.evaluations < budget:
        best = _around(engine, value_of, best, budget, growing)
    return best


def _around(
    engine: DfoTr,
    value_of: Callable[[FloatArray, int], float],
    begin: Maximised,
    budget: int,
    growing: bool,
) -> Maximised:
    """Search around a direction until it has converged, is spent, or wants to leave the cube."""
    center, used = begin.coef, begin.evaluations
    d = center.shape[0]
    basis = tangent_basis(center)

    def weights(u: FloatArray) -> FloatArray:
        moved = center + basis @ (2.0 * REACH * (u - 0.5))
        found: FloatArray = moved / np.linalg.norm(moved)
        return found

    search = engine.with_dims(d - 1, np.full(d - 1, 0.5))
    best = search.best_point
    while used < budget and (search.restarts or not search.converged):
        u = search.ask()[0]
        before = search.best_value
        value = value_of(weights(u), used)
        search.tell([u], [-value])
        used += 1
        best = search.best_point
        if growing and best is not None and -value >= before and used < budget:
            search.tell([best], [-value_of(weights(best), used)])
            used += 1
        if best is not None and np.abs(best - 0.5).max() > EDGE:
            break
    state, end = search.state, search.end
    if best is None:
        return begin._replace(evaluations=used, radius=state.radius, last_radius=end)
    stays = search.converged and float(np.abs(best - 0.5).max()) <= EDGE
    return Maximised(weights(best), -search.best_value, used, stays, state.radius, end)


def maximise_metric(
    X: Any,
    y: npt.ArrayLike,
    *,
    metric: Callable[[Any, FloatArray], float] = metrics.auc,
    start: npt.ArrayLike | None = None,
    budget: int = 300,
    subsample: bool = False,
    engine: DfoTr | None = None,
    seed: int | None = None,
) -> Maximised:
    """Weights that maximise an exact metric of the ranking ``X @ w`` on some rows.

    Parameters
    ----------
    X : (n, d) array or sparse matrix
        Columns of about equal scale: the trust region is a ball.
    y : (n,) array
        Two labels, the greater one positive.
    metric : callable
        ``metric(y, scores)``, greater is better, unchanged when all scores are multiplied by a
        positive number.
    start : (d,) array, optional
        The difference of the class means by default.
    budget : int
        Evaluations.
    subsample : bool
        Evaluate on samples that grow with the steps (S-DFO-TR), each containing the one before.
        The returned value is that of all rows.
    engine : DfoTr, optional
        Settings, ``DfoTr(kind="stepwise", restarts=False)`` by default.
    seed : int, optional

    Returns
    -------
    Maximised
        ``coef`` (of length one), ``value``, ``evaluations``, ``converged``, ``radius`` and
        the ``last_radius`` at which it has converged.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 3))
    >>> y = X @ [1.0, -1.0, 0.0] + 0.3 * rng.normal(size=300) > 0.5
    >>> found = maximise_metric(X, y, start=[1.0, 0.0, 0.0], budget=100)
    >>> bool(found.value > 0.95)
    True
    """
    from auctor.tune.engine import DfoTr

    who = "maximise_metric"
    check_int(who, "budget", budget, low=1)
    labels = np.asarray(y)
    if labels.ndim != 1 or X.shape[0] != labels.shape[0] or np.unique(labels).size != 2:
        raise DataError(
            who,
            needs="rows and as many labels of two kinds",
            got=f"{X.shape[0]} rows, labels of shape {labels.shape}",
            todo="Pass a binary y.",
        )
    positive = labels == labels.max()
    if start is None:
        means = [np.asarray(X[rows].mean(axis=0)).ravel() for rows in (positive, ~positive)]
        first = means[0] - means[1]
    else:
        first = check_vector(who, "start", start, size=X.shape[1])
    settings = DfoTr(kind="stepwise", restarts=False, seed=seed) if engine is None else engine
    target = np.where(positive, 1.0, -1.0)

    def on_all(w: FloatArray, step: int) -> float:
        return float(metric(target, X @ w))

    if not subsample:
        return maximise_on_sphere(settings, on_all, first, budget=budget)
    sample = NestedSample(target, seed)

    def on_sample(w: FloatArray, step: int) -> float:
        rows = sample.rows(step)
        return float(metric(target[rows], X[rows] @ w))

    found = maximise_on_sphere(settings, on_sample, first, budget=budget, growing=True)
    return found._replace(value=on_all(found.coef, 0))
