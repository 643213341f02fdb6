"""Sparse inverse covariance as a scikit-learn estimator."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array
from sklearn.covariance import EmpiricalCovariance, empirical_covariance
from sklearn.utils.validation import validate_data

from auctor.core.checks import check_choice, check_int, check_real
from auctor.core.errors import DataError
from auctor.core.types import FloatArray
from auctor.covariance.inputs import check_covariance, penalties, rank_covariance
from auctor.covariance.path import scaled
from auctor.covariance.solve import Budget, GraphSolution, solve_graph

#: Rounds of adaptive reweighting; the graph hardly changes after the second.
ADAPTIVE_ROUNDS = 2
#: Added to |partial correlation| in adaptive weights, so that an absent edge may come back.
ADAPTIVE_FLOOR = 0.05


class GraphEstimator(EmpiricalCovariance):  # type: ignore[misc]
    """What the estimators with a fixed and with a chosen strength share."""

    store_precision = True

    def _check_parameters(self) -> None:
        who = type(self).__name__
        check_choice(who, "correlation", self.correlation, ("none", "pearson", "rank"))
        Budget(self.tol, self.max_iter, self.max_seconds, self.n_threads).check(who)

    def _rows(self, X: Any) -> FloatArray:
        """The rows as an array; at least two, no column constant."""
        rows: FloatArray = validate_data(self, X, dtype=np.float64, ensure_min_samples=2)
        spread = rows.max(axis=0) - rows.min(axis=0)
        if not self.assume_centered and not spread.all():
            constant = int(np.flatnonzero(spread == 0.0)[0])
            names = getattr(self, "feature_names_in_", None)
            name = f"number {constant}" if names is None else repr(str(names[constant]))
            raise DataError(
                type(self).__name__,
                needs="columns that vary",
                got=f"a constant column, {name}",
                todo="Drop it.",
            )
        return rows

    def _covariance(self, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
        """What is fitted, and the standard deviations that turn it into a covariance again."""
        S = np.atleast_2d(empirical_covariance(rows, assume_centered=self.assume_centered))
        if self.correlation == "none":
            return S, np.ones(S.shape[0])
        deviation = np.sqrt(S.diagonal())
        if self.correlation == "rank":
            return rank_covariance(rows), deviation
        return S / deviation / deviation[:, None], deviation

    def _solve(
        self, S: FloatArray, weights: FloatArray, strength: float, start: FloatArray | None = None
    ) -> GraphSolution:
        budget = Budget(self.tol, self.max_iter, self.max_seconds, self.n_threads)
        return solve_graph(
            S,
            scaled(weights, strength),
            solver=self.solver,
            start=start,
            budget=budget,
            who=type(self).__name__,
        )

    def _take(self, solution: GraphSolution, deviation: FloatArray) -> None:
        """Fill in the attributes, in the units of the data."""
        self.solution_ = solution
        self.precision_ = solution.precision / deviation / deviation[:, None]
        self.covariance_ = solution.covariance * deviation * deviation[:, None]
        self.gap_, self.n_iter_ = solution.gap, solution.n_iter
        root = np.sqrt(solution.precision.diagonal())
        partial = -solution.precision / root / root[:, None]
        np.fill_diagonal(partial, 1.0)
        self.partial_correlation_ = partial
        edges = np.triu(partial, 1)
        self.graph_ = csr_array(edges + edges.T)


class SparseInverseCovariance(GraphEstimator):
    """Sparse inverse covariance (graphical lasso) with a certified gap.

    Minimises ``-log det X + tr(S X) + strength sum_ij weights_ij |X_ij|`` over positive definite X,
    where S is the empirical covariance. An entry of X that is zero says that two variables are
    independent given all others. A larger strength leaves fewer edges; small strengths take longer,
    because more entries move and the covariance of few rows is nearly singular.

    Parameters
    ----------
    strength : float >= 0
        Multiplier of the penalty, in units of S: from the largest covariance of two columns on the
        graph is empty.
    penalise_diagonal : bool
        Whether the diagonal of X is penalised too, as in the original formulation.
    weights : None, "adaptive" or (p, p) array
        Factors of the strength: 0 never penalises an entry, infinity forbids an edge. "adaptive"
        penalises the weaker edges of a first solution more.
    correlation : {"none", "pearson", "rank"}
        What is fitted: the covariance; the correlation, so that columns in different units are
        penalised alike; or the correlation behind the ranks of every column, which does not change
        under monotone transformations (nonparanormal). ``precision_`` is in the units of the data.
    solver : {"auto", "newton_cd", "lhac"} or solver object
    tol : float
        Certified gap to reach for every variable, in units of the log-likelihood.
    max_iter : int
    max_seconds : float, optional
    n_threads : int, optional
        Connected components are solved side by side.
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
        Certified bound on the distance of the objective from its minimum.
    n_iter_ : int
    solution_ : GraphSolution
    graph_ : sparse array
        Partial correlations of the connected pairs.
    partial_correlation_ : (p, p) array

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 3))
    >>> X[:, 1] += X[:, 0]  # the third column has nothing to do with the others
    >>> model = SparseInverseCovariance(strength=0.2).fit(X)
    >>> model.precision_.round(2)
    array([[ 1.53, -0.65,  0.  ],
           [-0.65,  0.8 ,  0.  ],
           [ 0.  ,  0.  ,  1.02]])

    References
    ----------
    Friedman, Hastie, Tibshirani, Sparse inverse covariance estimation with the graphical lasso,
    2008; Hsieh et al. 2011; Scheinberg, Rish 2009.
    """

    def __init__(
        self,
        strength: float = 0.1,
        *,
        penalise_diagonal: bool = False,
        weights: Any = None,
        correlation: str = "none",
        solver: Any = "auto",
        tol: float = 1e-4,
        max_iter: int = 200,
        max_seconds: float | None = None,
        n_threads: int | None = None,
        assume_centered: bool = False,
    ) -> None:
        super().__init__(assume_centered=assume_centered)
        self.strength = strength
        self.penalise_diagonal = penalise_diagonal
        self.weights = weights
        self.correlation = correlation
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.max_seconds = max_seconds
        self.n_threads = n_threads

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit to rows X.

        Parameters
        ----------
        X : (n, p) array
        y : ignored
        """
        self._check_parameters()
        rows = self._rows(X)
        p = rows.shape[1]
        self.location_ = np.zeros(p) if self.assume_centered else rows.mean(axis=0)
        S, deviation = self._covariance(rows)
        return self._fit(S, deviation)

    def fit_covariance(self, S: Any, n: int | None = None) -> Self:
        """Fit to an empirical covariance.

        Parameters
        ----------
        S : (p, p) array
        n : int, optional
            Rows that it was computed from; kept as ``n_samples_``.
        """
        self._check_parameters()
        who = type(self).__name__
        if n is not None:
            self.n_samples_ = check_int(who, "n", n, low=1)
        matrix = check_covariance(who, S)
        self.location_ = np.zeros(matrix.shape[0])
        self.n_features_in_ = matrix.shape[0]
        deviation = np.ones(matrix.shape[0])
        if self.correlation != "none":
            deviation = np.sqrt(matrix.diagonal())
            matrix = matrix / deviation / deviation[:, None]
        return self._fit(matrix, deviation)

    def _fit(self, S: FloatArray, deviation: FloatArray) -> Self:
        who = type(self).__name__
        S = check_covariance(who, S)
        strength = check_real(who, "strength", self.strength, low=0.0)
        adaptive = isinstance(self.weights, str)
        if adaptive:
            check_choice(who, "weights", self.weights, ("adaptive",))
        given = None if adaptive else self.weights
        weights = penalties(who, given, S.shape[0], self.penalise_diagonal)
        solution = self._solve(S, weights, strength)
        for _ in range(ADAPTIVE_ROUNDS if adaptive else 0):
            weights = adaptive_weights(solution.precision, self.penalise_diagonal)
            solution = self._solve(S, weights, strength, solution.precision)
        self._take(solution, deviation)
        return self


def adaptive_weights(precision: FloatArray, penalise_diagonal: bool) -> FloatArray:
    """Weights that fall with the size of a partial correlation: 1 for one of `ADAPTIVE_FLOOR`."""
    root = np.sqrt(precision.diagonal())
    partial = np.abs(precision) / root / root[:, None]
    weights: FloatArray = 2.0 * ADAPTIVE_FLOOR / (partial + ADAPTIVE_FLOOR)
    np.fill_diagonal(weights, float(penalise_diagonal))
    return weights


def refit(S: Any, graph: Any, *, tol: float = 1e-6, max_iter: int = 200) -> GraphSolution:
    """The maximum likelihood on a fixed graph (covariance selection): no penalty, no other edges.

    Parameters
    ----------
    S : (p, p) array
        Empirical covariance.
    graph : (p, p) array or sparse array
        Entries that are not zero are edges.
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
    who = "refit"
    S = check_covariance(who, S)
    edges = np.asarray(graph.toarray() if hasattr(graph, "toarray") else graph) != 0
    if edges.shape != S.shape or not np.array_equal(edges, edges.T):
        raise DataError(
            who,
            needs=f"a symmetric graph of shape {S.shape}",
            got=f"shape {edges.shape}" if edges.shape != S.shape else "one that is not symmetric",
            todo="Pass the adjacency matrix of an undirected graph.",
        )
    strengths = np.where(edges, 0.0, np.inf)
    np.fill_diagonal(strengths, 0.0)
    return solve_graph(S, strengths, budget=Budget(tol, max_iter), who=who)
