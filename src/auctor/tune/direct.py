"""Maximise an exact metric over the weights of a linear model.

A metric of the ranking does not depend on the norm of the weights, so that the search runs over
directions: the start plus a step in its tangent plane, divided by the norm.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from auctor import metrics
from auctor.core.checks import check_int, check_vector
from auctor.core.errors import DataError, speaks_as
from auctor.core.rng import as_rng
from auctor.core.types import FloatArray, IntArray

if TYPE_CHECKING:
    from auctor.tune.engine import DfoTr

#: Half the width of the search cube in the tangent plane, in units of the start's norm.
CUBE_HALF_WIDTH = 1.0
#: Distance from the centre of the cube beyond which a new tangent plane is laid.
EDGE_DISTANCE = 0.45
#: Rows that each step adds to a growing sample. Ghanbari 2019 (S-DFO-TR), as printed.
ROWS_PER_STEP = 50
#: Rows of the first sample. Ghanbari 2019 (S-DFO-TR), as printed.
FIRST_ROWS = 1000
#: Share of the rows of a class in a sample, at least. Ghanbari 2019 (S-DFO-TR), as printed.
LEAST_SHARE = 0.1


class Maximised(NamedTuple):
    """Weights of norm one, their metric, and how the search ended."""

    coef: FloatArray
    value: float
    evaluations: int
    converged: bool
    radius: float
    last_radius: float


class NestedSample:
    """Samples of rows that grow with the steps, each containing the one before.

    ``size_c(k) = min(N_c, max(k floor(50 N_c / N) + floor(1000 N_c / N), floor(0.1 N_c)))`` rows
    of class ``c`` at step ``k``. All steps take prefixes of one permutation, so that samples are
    nested.

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
        self._spent = [0.0]

    def rows(self, step: int) -> IntArray:
        """Indices of the rows of the sample at a step, in increasing order."""
        sizes = self._sizes(step)
        parts = [each[:size] for each, size in zip(self.classes, sizes, strict=True)]
        rows: IntArray = np.sort(np.concatenate(parts))
        return rows

    def spent(self, steps: int) -> float:
        """Rows of the samples of the first steps together, in numbers of all rows."""
        while len(self._spent) <= steps:
            share = sum(self._sizes(len(self._spent) - 1)) / self.total
            self._spent.append(self._spent[-1] + share)
        return self._spent[steps]

    def _sizes(self, step: int) -> list[int]:
        """Number of rows of each class in the sample of a step."""
        sizes = []
        for each in self.classes:
            count = each.shape[0]
            grown = step * (ROWS_PER_STEP * count // self.total)
            grown += FIRST_ROWS * count // self.total
            sizes.append(min(count, max(grown, int(LEAST_SHARE * count), 1)))
        return sizes


def tangent_basis(direction: FloatArray) -> FloatArray:
    """Orthonormal basis (d, d - 1) of the complement of a vector of norm one."""
    d = direction.shape[0]
    # The Householder reflection of the first axis to the direction maps the other axes to its
    # orthogonal complement.
    sign = 1.0 if direction[0] >= 0.0 else -1.0
    mirror = direction.copy()
    mirror[0] += sign
    reflected = np.eye(d) - 2.0 * np.outer(mirror, mirror) / float(mirror @ mirror)
    basis: FloatArray = reflected[:, 1:]
    return basis


def maximise_on_sphere(
    engine: DfoTr,
    value_of: Callable[[FloatArray, int], float],
    start: FloatArray,
    *,
    budget: int,
    spent: Callable[[int], float] | None = None,
) -> Maximised:
    """Maximise a function of a direction.

    Parameters
    ----------
    engine : DfoTr
        Provides the settings; its dimensions and start are replaced.
    value_of : callable
        From weights of norm one and the number of the step to a value.
    start : (d,) array
        First direction.
    budget : int
        Largest number of evaluations.
    spent : callable, optional
        From a number of evaluations to what they cost, in evaluations of the last ones: later ones
        use more rows. The best point is then evaluated again after each step that does not improve
        on it, and the mean of its values is used.
    """
    length = float(np.linalg.norm(start))
    center = start / length if length > 0.0 else np.eye(start.shape[0])[0]
    # Also try the opposite direction: an AUC below 0.5 is above 0.5 there.
    ends = [(value_of(sign * center, 0), sign) for sign in (1.0, -1.0)]
    value, sign = max(ends, key=lambda end: -np.inf if np.isnan(end[0]) else end[0])
    best = Maximised(sign * center, value, 2, center.shape[0] == 1, 0.0, 0.0)
    cost = float if spent is None else spent
    while not best.converged and cost(best.evaluations) < budget:
        best = _around(engine, value_of, best, budget, cost, spent is not None)
    return best


def _around(
    engine: DfoTr,
    value_of: Callable[[FloatArray, int], float],
    begin: Maximised,
    budget: int,
    spent: Callable[[int], float],
    growing: bool,
) -> Maximised:
    """Search in a tangent plane until convergence, the budget, or the edge of the cube."""
    center, used = begin.coef, begin.evaluations
    d = center.shape[0]
    basis = tangent_basis(center)

    def weights(u: FloatArray) -> FloatArray:
        """Weights of norm one at a point of the cube."""
        moved = center + basis @ (2.0 * CUBE_HALF_WIDTH * (u - 0.5))
        direction: FloatArray = moved / np.linalg.norm(moved)
        return direction

    # The engine minimises, so that values are negated.
    search = engine.with_dims(d - 1, np.full(d - 1, 0.5))
    best = search.best_point
    while spent(used) < budget and (search.restarts or not search.converged):
        u = search.ask()[0]
        before = search.best_value
        value = value_of(weights(u), used)
        search.tell([u], [-value])
        used += 1
        best = search.best_point
        # On a larger sample the old value of the best point is not comparable: evaluate it again.
        if growing and best is not None and -value >= before and spent(used) < budget:
            search.tell([best], [-value_of(weights(best), used)])
            used += 1
        if best is not None and np.abs(best - 0.5).max() > EDGE_DISTANCE:
            break  # the caller lays a new plane there
    state, end = search.state, search.end
    if best is None:
        return begin._replace(evaluations=used, radius=state.radius, last_radius=end)
    stays = search.converged and float(np.abs(best - 0.5).max()) <= EDGE_DISTANCE
    return Maximised(weights(best), -search.best_value, used, stays, state.radius, end)


@speaks_as("maximise_metric")
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
    """Weights that maximise an exact metric of the ranking by ``X @ w``.

    Parameters
    ----------
    X : (n, d) array or sparse matrix
        Columns should have about equal scales, because the trust region is a ball.
    y : (n,) array
        Two labels, the greater one positive.
    metric : callable
        ``metric(y, scores)``, greater is better, unchanged when all scores are multiplied by a
        positive number.
    start : (d,) array, optional
        By default the difference of the class means.
    budget : int
        Largest number of evaluations on all rows.
    subsample : bool
        Whether to evaluate on nested samples that grow with the steps (S-DFO-TR). An evaluation
        then costs its share of the rows, so that the budget allows for more of them. The returned
        value is that of all rows.
    engine : DfoTr, optional
        Settings, by default ``DfoTr(kind="stepwise", restarts=False)``.
    seed : int, optional

    Returns
    -------
    Maximised
        ``coef`` (of norm one), ``value``, ``evaluations``, ``converged``, the final ``radius`` and
        the ``last_radius`` of convergence.

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

    check_int("budget", budget, low=1)
    labels = np.asarray(y)
    if labels.ndim != 1 or X.shape[0] != labels.shape[0] or np.unique(labels).size != 2:
        raise DataError(
            f"one of two labels for every row; got {X.shape[0]} rows, labels of shape "
            f"{labels.shape}. Pass a binary y."
        )
    # Start at the difference of the class means unless given.
    positive = labels == labels.max()
    if start is None:
        means = [np.asarray(X[rows].mean(axis=0)).ravel() for rows in (positive, ~positive)]
        first = means[0] - means[1]
    else:
        first = check_vector("start", start, size=X.shape[1])
    settings = DfoTr(kind="stepwise", restarts=False, seed=seed) if engine is None else engine
    target = np.where(positive, 1.0, -1.0)

    def on_all(w: FloatArray, step: int) -> float:
        return float(metric(target, X @ w))

    # All rows, or nested samples by the number of the step; the final value is that of all rows.
    if not subsample:
        return maximise_on_sphere(settings, on_all, first, budget=budget)
    sample = NestedSample(target, seed)

    def on_sample(w: FloatArray, step: int) -> float:
        rows = sample.rows(step)
        return float(metric(target[rows], X[rows] @ w))

    result = maximise_on_sphere(settings, on_sample, first, budget=budget, spent=sample.spent)
    return result._replace(value=on_all(result.coef, 0))
