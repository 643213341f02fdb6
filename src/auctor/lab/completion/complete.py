"""Two factors of a matrix from its observed entries, by alternating least squares or L-BFGS."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.sparse.linalg import svds

from auctor.core.checks import check_choice, check_int, check_real
from auctor.core.errors import DataError, ParameterError, speaks_as
from auctor.core.rng import as_rng
from auctor.core.types import Array, FloatArray
from auctor.data import as_matrix
from auctor.data.coerce import LARGEST
from auctor.data.matrices import dense_array, join_compressed, join_entries
from auctor.data.sparse import unsigned
from auctor.kernels.runtime.parallel import available_threads, balanced_cuts, run_tasks
from auctor.lab.kernels.factors import entries_of_product, ridge_rows

#: Number of pairs in the memory of L-BFGS, the default of `auctor.solvers.Lbfgs`.
LBFGS_PAIRS = 10
#: Most iterations of a start before the best ones are chosen.
SHORT = 50
#: Number of starts that go on after that.
FINALISTS = 3
#: Columns by which the first start exceeds the rank while its penalty falls.
MORE_COLUMNS = 2
#: Penalties of the first start, in standard deviations of the entries, before the one asked for.
PATH = (1.0, 0.1, 0.01)
#: Most iterations at each of these penalties.
PATH_STEPS = 20
#: Relative change of the objective at which they end.
PATH_TOL = 1e-6
#: Entries of a matrix up to which all its singular vectors are computed (32 MB).
DENSE_ENTRIES = 1 << 22


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
    values : tuple of float
        Objective that every start reached, the lowest first: if they differ by much, there are
        several local solutions, and more starts may find a better one.
    """

    left: FloatArray = field(repr=False)
    right: FloatArray = field(repr=False)
    offset: float
    value: float
    rmse: float
    n_iter: int
    converged: bool
    values: tuple[float, ...] = ()

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


@speaks_as("complete")
def complete(
    observed: Any,
    rank: int,
    *,
    strength: float = 1e-2,
    method: str = "alternating",
    tol: float = 1e-7,
    max_iter: int = 500,
    n_starts: int = 10,
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
        At most the smaller side of the matrix.
    strength : float > 0
    method : {"alternating", "lbfgs"}
        Exact ridge regressions of each factor on the other in turn, or L-BFGS on both together.
    tol : float
        Relative change of the objective at which to stop.
    n_starts : int
        Number of starts: first the singular vectors of the matrix with zeros for entries that are
        not observed, improved at a higher rank and strength; then these themselves; then random
        factors. Each has up to 50 iterations, and the best three go on.
    n_threads : int, optional
        For "alternating".
    random_state : int, optional
        Seed of the random starts.

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
    check_real("strength", strength, low=0.0, open_low=True)
    check_choice("method", method, ("alternating", "lbfgs"))
    check_real("tol", tol, low=0.0)
    check_int("max_iter", max_iter, low=1)
    check_int("n_starts", n_starts, low=1)
    entries = read_observed(observed)
    n, m = entries.shape
    check_rank(rank, entries.shape)
    offset = float(entries.data.mean())
    centred = entries.data - offset
    fit = CompletionObjective(
        join_compressed(centred, entries.indices, entries.indptr, (n, m)), strength
    )
    advance = _alternate if method == "alternating" else _quasi_newton

    def run(left: FloatArray, right: FloatArray, most: int) -> _Run:
        left, right, steps, converged = advance(fit, left, right, tol, most, n_threads)
        error = fit.errors(left, right)
        return _Run(fit.value(left, right, error), left, right, error, steps, converged)

    # Some iterations from every start, then all that are needed from the best of them.
    starts = _starts(fit, rank, n_starts, as_rng(random_state), n_threads)
    first = max_iter if n_starts == 1 else min(SHORT, max_iter)
    runs = sorted((run(*start, first) for start in starts), key=lambda one: one.value)
    for k, short in enumerate(runs[:FINALISTS]):
        if not short.converged and short.n_iter < max_iter:
            whole = run(short.left, short.right, max_iter - short.n_iter)
            runs[k] = whole._replace(n_iter=short.n_iter + whole.n_iter)
    runs.sort(key=lambda one: one.value)
    best = runs[0]
    return Completion(
        left=best.left,
        right=best.right,
        offset=offset,
        value=best.value,
        rmse=float(np.sqrt(np.mean(best.error**2))),
        n_iter=best.n_iter,
        converged=best.converged,
        values=tuple(one.value for one in runs),
    )


def check_rank(rank: int, shape: tuple[int, int]) -> None:
    """Raise `ParameterError` for a rank that no matrix of a shape has."""
    if check_int("rank", rank, low=1) > min(shape):
        raise ParameterError(
            f"`rank` of at most {min(shape)} for a matrix of {shape[0]} x {shape[1]}; got {rank}. "
            "Pass a smaller one."
        )


class _Run(NamedTuple):
    """Factors after some iterations, with their objective and errors."""

    value: float
    left: FloatArray
    right: FloatArray
    error: FloatArray
    n_iter: int
    converged: bool


def _starts(
    fit: CompletionObjective, rank: int, count: int, rng: np.random.Generator, n_threads: int | None
) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Starting factors: two from singular vectors, the others random."""
    n, m = fit.entries.shape
    spread = float(fit.entries.data.std()) or 1.0
    # From a heavy penalty to a light one, with some more columns than asked for: at a higher rank
    # there are fewer local solutions. The leading singular vectors of the product are kept.
    left, right = _singular_factors(fit.entries, min(rank + MORE_COLUMNS, n, m))
    spectral = left[:, :rank].copy(), right[:, :rank].copy()
    for factor in PATH:
        if factor * spread > fit.strength:
            heavy = CompletionObjective(fit.entries, factor * spread)
            left, right, *_ = _alternate(heavy, left, right, PATH_TOL, PATH_STEPS, n_threads)
    left, right, *_ = _alternate(fit, left, right, PATH_TOL, PATH_STEPS, n_threads)
    yield left[:, :rank].copy(), right[:, :rank].copy()
    if count > 1:
        yield spectral
    # Random factors whose product has the standard deviation of the entries.
    size = np.sqrt(spread) / rank**0.25
    for _ in range(count - 2):
        yield size * rng.normal(size=(n, rank)), size * rng.normal(size=(m, rank))


def _singular_factors(entries: Any, rank: int) -> tuple[FloatArray, FloatArray]:
    """Factors of the best approximation of the matrix with zeros for entries not observed.

    It is divided by the share of observed entries, so that its mean is that of the whole matrix.
    """
    n, m = entries.shape
    if rank < min(n, m) and n * m > DENSE_ENTRIES:
        u, sigma, v = svds(entries, k=rank, v0=np.random.default_rng(0).normal(size=min(n, m)))
        u, sigma, v = u[:, ::-1], sigma[::-1], v[::-1]
    else:
        u, sigma, v = np.linalg.svd(dense_array(entries), full_matrices=False)
    root = np.sqrt(sigma[:rank] * n * m / entries.nnz)
    return u[:, :rank] * root, v[:rank].T * root


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


@speaks_as("complete")
def read_observed(observed: Any) -> Any:
    """The observed entries as CSR, including zeros; an error if there are none."""
    if isinstance(observed, np.ndarray):
        known = np.isfinite(observed) if observed.ndim == 2 else np.zeros((0, 0), dtype=bool)
        if np.isinf(observed).any():
            raise DataError("finite entries; got infinity. Drop them.")
        rows, columns = np.nonzero(known)
        values: Array = np.asarray(observed[known], dtype=np.float64)
        entries = join_entries(values, rows, columns, known.shape)
    else:
        entries = as_matrix(observed).tocsr().astype(np.float64)
    if not entries.nnz:
        raise DataError(
            "observed entries; got none. Pass a sparse matrix that stores them, or an array with "
            "NaN elsewhere."
        )
    extreme = float(np.abs(entries.data).max())
    if extreme > LARGEST:
        raise DataError(f"entries below {LARGEST:g} in size; got {extreme:g}. Divide all of them.")
    return entries
