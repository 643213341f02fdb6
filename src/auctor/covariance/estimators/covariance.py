"""Sparse inverse covariance as a scikit-learn estimator."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.covariance import EmpiricalCovariance, empirical_covariance
from sklearn.utils.validation import validate_data

from auctor.core.checks import check_choice, check_int, check_real
from auctor.core.errors import DataError, ParameterError, speaks, speaks_as
from auctor.core.types import FloatArray
from auctor.covariance.inputs import Penalties, check_covariance, penalty_factors, rank_covariance
from auctor.covariance.solve import GraphSolution, Limits, solve_graph
from auctor.data import as_matrix
from auctor.data.matrices import CompressedRows, dense_array, join_entries

#: Rounds of adaptive reweighting.
ADAPTIVE_ROUNDS = 2
#: Largest variance, and the inverse of the smallest, whose inverse is a number.
LARGEST_VARIANCE = 1e300
#: Added to |partial correlation| in adaptive weights.
ADAPTIVE_FLOOR = 0.05


@dataclass(eq=False, repr=False, kw_only=True)
class GraphEstimator(EmpiricalCovariance):  # type: ignore[misc]
    """Base class of the estimators with a fixed and with a chosen strength.

    `SparseInverseCovariance` describes the parameters.
    """

    penalise_diagonal: bool = False
    weights: Any = None
    standardise: bool | str = False
    solver: Any = "auto"
    tol: float = 1e-4
    max_iter: int = 200
    max_seconds: float | None = None
    n_threads: int | None = None
    assume_centered: bool = False

    store_precision = True  # a parameter of scikit-learn's class, fixed here

    @property
    def partial_correlation_(self) -> FloatArray:
        """Correlations of all pairs given the other variables: ``-X_ij / sqrt(X_ii X_jj)``."""
        root = np.sqrt(self.precision_.diagonal())
        partial: FloatArray = self.precision_ / -root / root[:, None]
        partial += 0.0  # no negative zeros
        np.fill_diagonal(partial, 1.0)
        return partial

    @property
    def graph_(self) -> CompressedRows:
        """Partial correlations of the connected pairs, as a sparse matrix without diagonal."""
        row, column = np.nonzero(self.precision_)
        off_diagonal = row != column
        row, column = row[off_diagonal], column[off_diagonal]
        root = np.sqrt(self.precision_.diagonal())
        partial = -self.precision_[row, column] / (root[row] * root[column])
        return join_entries(partial, row, column, self.precision_.shape)

    def _check_parameters(self) -> Limits:
        """The budget, after checking all parameters except strength and weights."""
        if not any(self.standardise is choice for choice in (False, True)):
            check_choice("standardise", self.standardise, ("rank",))
        budget = Limits(self.tol, self.max_iter, self.max_seconds, self.n_threads)
        return budget.check()

    def _rows(self, X: Any) -> FloatArray:
        """The rows as an array, after checking for constant columns; sets ``location_``."""
        as_matrix(X, finite=False)  # names columns of text
        try:
            rows: FloatArray = validate_data(self, X, dtype=np.float64, ensure_min_samples=2)
        except ValueError as error:
            raise DataError(
                "at least two rows of finite numbers",
                got=str(error).partition("\n")[0].rstrip("."),
                todo="Drop or fill other rows.",
            ) from error
        spread = rows.max(axis=0) - rows.min(axis=0)
        if not spread.all() and not self.assume_centered:
            constant = int(np.flatnonzero(spread == 0.0)[0])
            names = getattr(self, "feature_names_in_", None)
            name = f"number {constant}" if names is None else repr(str(names[constant]))
            raise DataError(f"columns that vary; got a constant column, {name}. Drop it.")
        centred = self.assume_centered
        self.location_ = np.zeros(rows.shape[1]) if centred else rows.mean(axis=0)
        return rows

    def _covariance(self, rows: FloatArray) -> tuple[FloatArray, FloatArray | None]:
        """The matrix that is fitted, and the standard deviations if it is a correlation."""
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            S = np.atleast_2d(empirical_covariance(rows, assume_centered=self.assume_centered))
        variance = S.diagonal()
        extreme = ~((variance >= 1.0 / LARGEST_VARIANCE) & (variance <= LARGEST_VARIANCE))
        extreme &= rows.any(axis=0)  # columns of zeros are refused below, as constant ones
        if extreme.any():
            worst = int(np.argmax(extreme))
            raise DataError(
                f"columns of variances between {1.0 / LARGEST_VARIANCE:g} and "
                f"{LARGEST_VARIANCE:g}; got entries up to {np.abs(rows[:, worst]).max():.3g} in "
                f"column {worst}. Divide the columns by their standard deviations."
            )
        S = check_covariance(S)
        if self.standardise is False:
            return S, None
        deviation = np.sqrt(S.diagonal())
        if self.standardise == "rank":
            return check_covariance(rank_covariance(rows)), deviation
        return correlation(S, deviation), deviation

    def _take(self, solution: GraphSolution, deviation: FloatArray | None) -> None:
        """Set the fitted attributes, in the units of the data."""
        self.solution_ = solution
        self.precision_, self.covariance_ = solution.precision, solution.covariance
        if deviation is not None:
            self.precision_ = solution.precision / deviation / deviation[:, None]
            self.covariance_ = solution.covariance * deviation * deviation[:, None]
        self.gap_, self.n_iter_ = solution.gap, solution.n_iter


def correlation(S: FloatArray, deviation: FloatArray) -> FloatArray:
    """A covariance divided by standard deviations; the diagonal is exactly 1."""
    scaled: FloatArray = S / deviation / deviation[:, None]
    np.fill_diagonal(scaled, 1.0)
    return scaled


@dataclass(eq=False, repr=False, kw_only=True)
class SparseInverseCovariance(GraphEstimator):
    """Sparse inverse covariance (graphical lasso) with a certified gap.

    Minimises ``-log det X + tr(S X) + strength sum_ij weights_ij |X_ij|`` over positive definite X,
    where S is the empirical covariance: the graphical lasso. If an entry of X is zero, the two
    variables are conditionally independent given all others (for Gaussian rows). A larger strength
    leaves fewer edges. Small strengths take longer, because more entries are nonzero, and because
    the covariance of few rows is nearly singular.

    Parameters
    ----------
    strength : float >= 0
        Multiplier of the penalty, in units of S. Fitted covariances differ from the empirical ones
        by at most the strength; if it is at least the largest absolute covariance of two columns,
        the graph is empty.
    penalise_diagonal : bool
        Whether the diagonal of X is penalised too, as in the original formulation.
    weights : None, "adaptive" or (p, p) array
        Factors of the strength: 0 never penalises an entry, infinity forbids an edge. "adaptive"
        penalises the weaker edges of a first solution more.
    standardise : bool or "rank"
        True fits the correlations, so that the units of the columns do not affect the graph.
        "rank" fits the correlations of a Gaussian copula, computed from the ranks of every column,
        which do not change under monotone transformations of the columns (nonparanormal). In all
        cases ``precision_`` is in the units of the data.
    solver : {"auto", "newton_cd", "lhac"} or solver object
        "auto" is "newton_cd"; see `NewtonCd` and `LhacMatrix`.
    tol : float
        Certified gap to reach, divided by the number of variables. The objective is twice the mean
        negative log-likelihood of a row, so the gap does not depend on the units of the columns.
    max_iter : int
        Largest number of Newton steps per connected component.
    max_seconds : float, optional
        Limit of the wall time per connected component.
    n_threads : int, optional
        Number of connected components that are solved at the same time.
    assume_centered : bool
        Whether the means of the columns are known to be zero.

    Attributes
    ----------
    precision_ : (p, p) array
        The estimated inverse covariance.
    covariance_ : (p, p) array
        Its inverse.
    location_ : (p,) array
        Means of the columns.
    gap_ : float
        Certified upper bound of the objective minus its minimum.
    n_iter_ : int
        Most iterations of any connected component.
    solution_ : GraphSolution
        Value, gap, status and components of the problem that was solved.
    graph_ : sparse array
        Partial correlations of the connected pairs, without diagonal.
    partial_correlation_ : (p, p) array
        Partial correlations of all pairs.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 3))
    >>> X[:, 1] += X[:, 0]  # the third column has nothing to do with the others
    >>> model = SparseInverseCovariance(strength=0.2).fit(X)
    >>> model.precision_.round(2)
    array([[ 1.56, -0.64,  0.  ],
           [-0.64,  0.78,  0.  ],
           [ 0.  ,  0.  ,  0.96]])

    References
    ----------
    Friedman, Hastie, Tibshirani, Sparse inverse covariance estimation with the graphical lasso,
    2008; Hsieh et al. 2011; Scheinberg, Rish 2009.
    """

    strength: float = field(default=0.1, kw_only=False)

    @speaks
    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit to rows X.

        Parameters
        ----------
        X : (n, p) array
        y : ignored
        """
        budget = self._check_parameters()
        return self._fit(*self._covariance(self._rows(X)), budget)

    @speaks
    def fit_covariance(self, S: Any, n: int | None = None) -> Self:
        """Fit to an empirical covariance.

        Parameters
        ----------
        S : (p, p) array
        n : int, optional
            Rows that it was computed from; kept as ``n_samples_``.
        """
        budget = self._check_parameters()
        if n is not None:
            self.n_samples_ = check_int("n", n, low=2)
        if self.standardise == "rank":
            raise ParameterError(
                "`standardise` to be True or False for a covariance; got 'rank'. Pass rows to fit."
            )
        matrix = check_covariance(S)
        self.n_features_in_ = matrix.shape[0]
        self.location_ = np.zeros(self.n_features_in_)
        if not self.standardise:
            return self._fit(matrix, None, budget)
        deviation = np.sqrt(matrix.diagonal())
        return self._fit(correlation(matrix, deviation), deviation, budget)

    def _fit(self, S: FloatArray, deviation: FloatArray | None, budget: Limits) -> Self:
        """Solve for a checked covariance, with rounds of adaptive weights if asked for."""
        strength = check_real("strength", self.strength, low=0.0)
        # Adaptive weights: solve, compute weights from the solution, and solve again.
        adaptive = isinstance(self.weights, str)
        if adaptive:
            check_choice("weights", self.weights, ("adaptive",))
        weights = None if adaptive else self.weights
        factors = penalty_factors(weights, S.shape[0], self.penalise_diagonal)
        solve = partial(solve_graph, S, solver=self.solver, budget=budget)
        solution = solve(factors.times(strength))
        for _ in range(ADAPTIVE_ROUNDS if adaptive else 0):
            factors = adaptive_factors(solution.precision, factors.diagonal)
            solution = solve(factors.times(strength), start=solution.precision)
        self._take(solution, deviation)
        return self


def adaptive_factors(precision: FloatArray, diagonal: FloatArray) -> Penalties:
    """Penalty factors ``2 c / (|partial correlation| + c)``, with c `ADAPTIVE_FLOOR`."""
    root = np.sqrt(precision.diagonal())
    weights = np.abs(precision)
    weights /= root
    weights /= root[:, None]
    weights += ADAPTIVE_FLOOR
    np.divide(2.0 * ADAPTIVE_FLOOR, weights, out=weights)
    return Penalties(weights, diagonal)


@speaks_as("refit")
def refit(S: Any, graph: Any, *, tol: float = 1e-6, max_iter: int = 200) -> GraphSolution:
    """The maximum likelihood estimate on a fixed graph (covariance selection), without a penalty.

    It exists if there are more rows than variables in the largest clique of a triangulation of the
    graph.

    Parameters
    ----------
    S : (p, p) array
        Empirical covariance.
    graph : (p, p) array or sparse array
        Nonzero entries are edges; the diagonal is ignored.
    tol, max_iter
        As for `SparseInverseCovariance`.

    Examples
    --------
    >>> import numpy as np
    >>> S = np.array([[1.0, 0.5, 0.4], [0.5, 1.0, 0.5], [0.4, 0.5, 1.0]])
    >>> chain = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    >>> refit(S, chain).covariance.round(6)[0]
    array([1.  , 0.5 , 0.25])
    """
    S = check_covariance(S)
    edges = dense_array(graph) != 0
    if edges.shape != S.shape or not np.array_equal(edges, edges.T):
        raise DataError(
            f"a symmetric graph of shape {S.shape}",
            got=f"shape {edges.shape}" if edges.shape != S.shape else "one that is not symmetric",
            todo="Pass the adjacency matrix of an undirected graph.",
        )
    fixed = Penalties(np.where(edges, 0.0, np.inf), np.zeros(S.shape[0]))
    return solve_graph(S, fixed, budget=Limits(tol, max_iter))
