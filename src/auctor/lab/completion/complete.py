"""Two factors of a matrix from its observed entries, by alternating least squares or L-BFGS."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.optimize import minimize

from auctor.core.checks import check_choice, check_int, check_real
from auctor.core.errors import DataError
from auctor.core.rng import as_rng
from auctor.core.types import Array, FloatArray
from auctor.data import as_matrix
from auctor.data.matrices import join_compressed, join_entries
from auctor.data.sparse import unsigned
from auctor.kernels.runtime.parallel import available_threads, balanced_cuts, run_tasks
from auctor.lab.kernels.factors import entries_of_product, ridge_rows

WHO = "complete"
#: Number of pairs in the memory of L-BFGS, the default of `auctor.solvers.Lbfgs`.
LBFGS_PAIRS = 10


@dataclass(frozen=True, eq=False)
class Completion:
    """A completed matrix ``offset + left right'``.

    Attributes
    ----------
    left : (n, rank) array
    right : (m, rank) array
    offset : float
        Mean of the observed entries.
    value : float
        Objective at the end.
    rmse : float
        Root of the mean squared error on the observed entries.
    n_iter : int
    converged : bool
        Whether the last iteration changed the objective by at most ``tol`` times its value. The
        objective is not convex in both factors together: the solution is local, and there is no
        bound on the distance to the best factors.
    """

    left: FloatArray = field(repr=False)
    right: FloatArray = field(repr=False)
    offset: float
    value: float
    rmse: float
    n_iter: int
    converged: bool

    @property
    def rank(self) -> int:
        """Number of columns of the factors."""
        return int(self.left.shape[1])

    def predict(self, rows: Any, columns: Any) -> FloatArray:
        """Entries at the given rows and columns."""
        i, j = np.asarray(rows, dtype=np.int64), np.asarray(columns, dtype=np.int64)
        entries: FloatArray = np.einsum("ij,ij->i", self.left[i], self.right[j]) + self.offset
        return entries

    def matrix(self) -> FloatArray:
        """All entries, (n, m)."""
        whole: FloatArray = self.left @ self.right.T + self.offset
        return whole


def complete(
    observed: Any,
    rank: int,
    *,
    strength: float = 1e-2,
    method: str = "alternating",
    tol: float = 1e-7,
    max_iter: int = 500,
    n_threads: int | None = None,
    random_state: int | None = 0,
) -> Completion:
    """Fit a matrix of low rank to the observed entries.

    Minimises the mean over the observed entries of ``(x_ij - offset - l_i' r_j)^2 / 2`` plus
    ``strength / 2 (sum_i |l_i|^2 / n + sum_j |r_j|^2 / m)`` in both factors. The objective is
    convex in each factor but not in both, so the solution is a local one, without the certified
    gaps of the solvers in `auctor.solvers`.

    Parameters
    ----------
    observed : sparse matrix (n, m)
        Stored entries are observed, including stored zeros; a dense array must have NaN for
        unobserved entries.
    rank : int
    strength : float > 0
    method : {"alternating", "lbfgs"}
        Exact ridge regressions of each factor on the other in turn, or L-BFGS on both together.
    tol : float
        Relative change of the objective at which to stop.
    max_iter : int
    n_threads : int, optional
        For "alternating".
    random_state : int, optional
        Seed of the starting factors.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> whole = rng.normal(size=(60, 2)) @ rng.normal(size=(2, 50))
    >>> seen = np.where(rng.random((60, 50)) < 0.5, whole, np.nan)
    >>> found = complete(seen, rank=2, strength=1e-6)
    >>> float(np.abs(found.matrix() - whole).max()) < 1e-2
    True
    """
    check_int(WHO, "rank", rank, low=1)
    check_real(WHO, "strength", strength, low=0.0, open_low=True)
    check_choice(WHO, "method", method, ("alternating", "lbfgs"))
    check_real(WHO, "tol", tol, low=0.0)
    check_int(WHO, "max_iter", max_iter, low=1)
    entries = read_observed(observed)
    n, m = entries.shape
    rng = as_rng(random_state)
    offset = float(entries.data.mean())
    centred = entries.data - offset
    spread = float(centred.std()) or 1.0
    # Scale the factors so that their product has the standard deviation of the entries.
    size = np.sqrt(spread) / rank**0.25
    left, right = size * rng.normal(size=(n, rank)), size * rng.normal(size=(m, rank))
    fit = CompletionObjective(
        join_compressed(centred, entries.indices, entries.indptr, (n, m)), strength
    )
    run = _alternate if method == "alternating" else _quasi_newton
    left, right, steps, converged = run(fit, left, right, tol, max_iter, n_threads)
    error = fit.errors(left, right)
    return Completion(
        left=left,
        right=right,
        offset=offset,
        value=fit.value(left, right, error),
        rmse=float(np.sqrt(np.mean(error**2))),
        n_iter=steps,
        converged=converged,
    )


class CompletionObjective:
    """The objective of matrix completion."""

    def __init__(self, entries: Any, strength: float) -> None:
        self.entries, self.strength = entries, strength
        self.rows = unsigned(entries)
        self.count = entries.nnz
        transposed = entries.T.tocsr()
        transposed.sort_indices()
        self.columns = unsigned(transposed)

    def errors(self, left: FloatArray, right: FloatArray) -> FloatArray:
        """Fitted minus observed values of the observed entries."""
        indptr, indices, values = self.rows
        out = np.empty(self.count)
        entries_of_product(indptr, indices, left, right, out)
        out -= values
        return out

    def value(self, left: FloatArray, right: FloatArray, error: FloatArray) -> float:
        """Objective, given the errors."""
        ridge = np.sum(left**2) / left.shape[0] + np.sum(right**2) / right.shape[0]
        return float(0.5 * (error @ error / self.count + self.strength * ridge))

    def gradient(
        self, left: FloatArray, right: FloatArray, error: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Gradient in both factors."""
        sparse = join_compressed(
            error / self.count, self.entries.indices, self.entries.indptr, self.entries.shape
        )
        in_left = sparse @ right + (self.strength / left.shape[0]) * left
        in_right = sparse.T @ left + (self.strength / right.shape[0]) * right
        return in_left, in_right

    def regress(self, lines: Any, other: FloatArray, out: FloatArray, threads: int) -> None:
        """Ridge regression of every row (or column) on the other factor, into ``out``."""
        ridge = self.strength * self.count / out.shape[0]
        cuts = balanced_cuts(lines[0], threads)
        indptr, indices, values = lines
        tasks = [
            partial(ridge_rows, indptr, indices, values, other, ridge, start, stop, out)
            for start, stop in pairwise(cuts)
        ]
        run_tasks(tasks, threads)


def _alternate(
    fit: CompletionObjective,
    left: FloatArray,
    right: FloatArray,
    tol: float,
    max_iter: int,
    n_threads: int | None,
) -> tuple[FloatArray, FloatArray, int, bool]:
    """Alternating ridge regressions: factors, iterations, and whether they converged."""
    threads = available_threads(n_threads)
    before = np.inf
    for step in range(1, max_iter + 1):
        # Each half-step minimises exactly over one factor, so the objective never rises.
        fit.regress(fit.rows, right, left, threads)
        fit.regress(fit.columns, left, right, threads)
        left, right = balanced(left, right)
        value = fit.value(left, right, fit.errors(left, right))
        if before - value <= tol * value:
            return left, right, step, True
        before = value
    return left, right, max_iter, False


def balanced(left: FloatArray, right: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The factors of the same product with the smallest penalty, from its singular values.

    Alternating regressions would also balance the factors, but slowly.
    """
    (q, r), (p, t) = np.linalg.qr(left), np.linalg.qr(right)
    u, sigma, v = np.linalg.svd(r @ t.T)
    # The penalty |left|^2 / n + |right|^2 / m is smallest if both terms are equal.
    ratio = (left.shape[0] / right.shape[0]) ** 0.25
    root = np.sqrt(sigma)
    return (q @ u) * (root * ratio), (p @ v.T) * (root / ratio)


def _quasi_newton(
    fit: CompletionObjective,
    left: FloatArray,
    right: FloatArray,
    tol: float,
    max_iter: int,
    n_threads: int | None,
) -> tuple[FloatArray, FloatArray, int, bool]:
    """L-BFGS on both factors: factors, iterations, and whether it converged."""
    cut = left.size

    def value_gradient(w: FloatArray) -> tuple[float, FloatArray]:
        one, other = w[:cut].reshape(left.shape), w[cut:].reshape(right.shape)
        error = fit.errors(one, other)
        parts = fit.gradient(one, other, error)
        return fit.value(one, other, error), np.concatenate([part.ravel() for part in parts])

    found = minimize(
        value_gradient,
        np.concatenate((left.ravel(), right.ravel())),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": max_iter, "maxcor": LBFGS_PAIRS, "ftol": tol, "gtol": 0.0},
    )
    w = found.x
    done = bool(found.nit < max_iter)
    return w[:cut].reshape(left.shape), w[cut:].reshape(right.shape), int(found.nit), done


def read_observed(observed: Any) -> Any:
    """The observed entries as CSR, including zeros; an error if there are none."""
    if isinstance(observed, np.ndarray):
        known = np.isfinite(observed) if observed.ndim == 2 else np.zeros((0, 0), dtype=bool)
        if np.isinf(observed).any():
            raise DataError(WHO, needs="finite entries", got="infinity", todo="Drop them.")
        rows, columns = np.nonzero(known)
        values: Array = np.asarray(observed[known], dtype=np.float64)
        entries = join_entries(values, rows, columns, known.shape)
    else:
        entries = as_matrix(observed, who=WHO).tocsr().astype(np.float64)
    if not entries.nnz:
        raise DataError(
            WHO,
            needs="observed entries",
            got="none",
            todo="Pass a sparse matrix that stores them, or an array with NaN elsewhere.",
        )
    return entries
