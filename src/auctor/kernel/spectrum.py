"""Whether a kernel matrix is symmetric and positive semi-definite: else no gap of a fit is one."""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh_tridiagonal
from scipy.linalg.lapack import dpotrf

from auctor.core.errors import DataError
from auctor.core.types import Array, FloatArray

#: Rows up to which all eigenvalues are computed; of more rows the smallest, by Lanczos iterations.
DENSE_ROWS = 1000
#: Negative eigenvalue or asymmetry, as a share of the largest entry, that refuses a kernel.
SHARE = 1e-8
#: Most products with the matrix by which its smallest eigenvalue is sought.
LANCZOS_STEPS = 80


def check_kernel_matrix(K: Array) -> None:
    """Raise `DataError` unless K is finite, symmetric and positive semi-definite.

    Parameters
    ----------
    K : (n, n) array

    Notes
    -----
    Above `DENSE_ROWS` rows the smallest eigenvalue is sought by Lanczos iterations. Whatever they
    report is an upper bound of it, so that no valid kernel is refused.
    """
    if not np.isfinite(K).all():
        raise DataError("finite kernel values; got NaN or infinity. Drop such rows.")
    n = K.shape[0]
    largest, apart = float(np.abs(K).max(initial=0.0)), 0.0
    # Blocks of rows against blocks of columns: a whole transpose would double the memory.
    for start in range(0, n, DENSE_ROWS):
        part = slice(start, start + DENSE_ROWS)
        apart = max(apart, float(np.abs(K[part] - K[:, part].T).max()))
    share = max(SHARE, n * float(np.finfo(K.dtype).eps))
    if apart > share * largest:
        raise DataError(
            f"a symmetric kernel; got a difference of {apart:.3g} from its transpose. Pass the "
            "mean of the kernel and its transpose."
        )
    if n <= DENSE_ROWS and _factored(K, share * largest):
        return
    lowest = smallest_eigenvalue(K)
    if lowest < -share * largest:
        raise indefinite(lowest)


def _factored(K: Array, shift: float) -> bool:
    """Whether K + shift I has a Cholesky factor, a quarter of the work of its eigenvalues."""
    moved = np.array(K, dtype=np.float64, order="F")
    moved[np.diag_indices_from(moved)] += shift
    return not dpotrf(moved, lower=1, clean=0, overwrite_a=1)[1]


def indefinite(lowest: float) -> DataError:
    """The error for a kernel with a negative eigenvalue."""
    return DataError(
        f"a positive semi-definite kernel; got the eigenvalue {lowest:.6g}. Use another kernel "
        "function, or add its size to the diagonal of the matrix."
    )


def smallest_eigenvalue(K: Array) -> float:
    """The smallest eigenvalue of a symmetric matrix, or an upper bound of it for a large one.

    Examples
    --------
    >>> -3.0 <= smallest_eigenvalue(np.diag(np.linspace(-3.0, 50.0, 1500))) < -2.9
    True
    """
    n = int(K.shape[0])
    if n <= DENSE_ROWS:
        return float(np.linalg.eigvalsh(np.asarray(K, dtype=np.float64))[0]) if n else 0.0
    # Lanczos: an orthonormal basis Q of the Krylov space and the tridiagonal matrix Q'KQ.
    basis = np.empty((LANCZOS_STEPS, n))
    diagonal, beside = np.zeros(LANCZOS_STEPS), np.zeros(LANCZOS_STEPS)
    vector: FloatArray = np.random.default_rng(0).normal(size=n)
    steps = 0
    for k in range(LANCZOS_STEPS):
        basis[k] = vector / np.linalg.norm(vector)
        vector = np.asarray(K @ basis[k].astype(K.dtype), dtype=np.float64)
        diagonal[k] = basis[k] @ vector
        # Orthogonal to all earlier vectors, twice: once leaves rounding errors.
        for _ in range(2):
            vector -= basis[: k + 1].T @ (basis[: k + 1] @ vector)
        beside[k] = np.linalg.norm(vector)
        steps = k + 1
        if beside[k] <= SHARE * np.abs(diagonal[:steps]).max():
            break
    values = eigh_tridiagonal(
        diagonal[:steps], beside[: steps - 1], eigvals_only=True, select="i", select_range=(0, 0)
    )
    return float(values[0])
