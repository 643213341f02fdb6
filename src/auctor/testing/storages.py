"""Builders that put a matrix into every storage."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from auctor.core.protocols import Data
from auctor.core.types import Array, FloatArray, Target
from auctor.data import Dense, Sparse
from auctor.testing import discover

#: ``build(matrix, target, n_threads)`` returns data.
Build = Callable[[FloatArray, Target, int | None], Data]


def _dense(convert: Callable[[FloatArray], Array]) -> Build:
    return lambda X, target, n_threads: Dense(convert(X), target, n_threads=n_threads)


def _sparse(form: str, index: type[Any], value: type[Any], freeze: bool = False) -> Build:
    """A builder of sparse data with given index and value types."""

    def build(X: FloatArray, target: Target, n_threads: int | None) -> Data:
        matrix = sparse.csr_array(X) if form == "csr" else sparse.csc_array(X)
        matrix = matrix.astype(value)
        matrix.indptr, matrix.indices = matrix.indptr.astype(index), matrix.indices.astype(index)
        if freeze:
            for part in (matrix.indptr, matrix.indices, matrix.data):
                part.setflags(write=False)
        return Sparse(matrix, target, n_threads=n_threads)

    return build


class TwoProducts:
    """Data with only a shape, a target and the two products, the minimum of the protocol.

    A file, a cluster or a device may offer no more; every metric can be trained on it.

    Parameters
    ----------
    X : (n, d) array

    Examples
    --------
    >>> import numpy as np
    >>> data = TwoProducts(np.eye(2), Target(np.array([1.0, -1.0])))
    >>> data.gradient(np.array([3.0, 4.0]))
    array([3., 4.])
    """

    def __init__(self, X: FloatArray, target: Target) -> None:
        self._X, self.target = X, target
        self.n_rows, self.n_columns = X.shape

    def scores(self, w: FloatArray, offset: float = 0.0) -> FloatArray:
        """``X @ w + offset``."""
        return np.asarray(self._X @ w + offset)

    def gradient(self, dscores: FloatArray) -> FloatArray:
        """``X.T @ dscores``."""
        return np.asarray(self._X.T @ dscores)


def _frozen(X: FloatArray) -> Array:
    out = np.array(X)
    out.setflags(write=False)
    return out


def _mapped(order: str) -> Callable[[FloatArray], Array]:
    """A function that copies a matrix into a memory-mapped file."""

    def convert(X: FloatArray) -> Array:
        # A file that is mapped and then removed: the mapping stays valid.
        folder = Path(tempfile.mkdtemp(prefix="auctor-testing-"))
        path = folder / "X.npy"
        np.save(path, np.asarray(X, order=order))  # type: ignore[call-overload]
        mapped = np.load(path, mmap_mode="r")
        path.unlink()  # the mapping keeps the contents; no file is left behind
        folder.rmdir()
        return np.asarray(mapped) if mapped.size == 0 else mapped

    return convert


#: The built-in storages by name.
BUILT_IN: dict[str, Build] = {
    "dense-C-float64": _dense(lambda X: np.array(X, order="C")),
    "dense-F-float64": _dense(lambda X: np.array(X, order="F")),
    "dense-C-float32": _dense(lambda X: np.array(X, dtype=np.float32, order="C")),
    "dense-F-float32": _dense(lambda X: np.array(X, dtype=np.float32, order="F")),
    "dense-read-only": _dense(_frozen),
    "dense-mapped-C": _dense(_mapped("C")),
    "dense-mapped-F": _dense(_mapped("F")),
    "csr-int32-float64": _sparse("csr", np.int32, np.float64),
    "csr-int64-float64": _sparse("csr", np.int64, np.float64),
    "csr-int32-float32": _sparse("csr", np.int32, np.float32),
    "csr-read-only": _sparse("csr", np.int32, np.float64, freeze=True),
    "csc-int32-float64": _sparse("csc", np.int32, np.float64),
    "csc-int64-float64": _sparse("csc", np.int64, np.float64),
    "csc-int32-float32": _sparse("csc", np.int32, np.float32),
    "two-products": lambda X, target, n_threads: TwoProducts(X, target),
}


def storages() -> dict[str, Build]:
    """Builders of all storages: the built-in ones, and the examples of other data classes.

    Examples
    --------
    >>> import numpy as np
    >>> target = Target(np.array([1.0, -1.0]))
    >>> storages()["csr-int64-float64"](np.eye(2), target, 1).scores(np.array([3.0, 4.0]))
    array([3., 4.])
    """
    builders = dict(BUILT_IN)
    for kind in discover.storages():
        if hasattr(kind, "examples"):
            probe = kind.examples(np.eye(2), Target(np.array([1.0, -1.0])), 1)
            for name in probe:
                builders[f"{kind.__name__}-{name}"] = _from_examples(kind, name)
        elif kind not in (Dense, Sparse):
            raise AssertionError(
                f"{kind.__name__} needs a class method examples(X, target, n_threads) that returns "
                "data by name, so that the kit can test it"
            )
    return builders


def _from_examples(kind: type[Any], name: str) -> Build:
    def build(X: FloatArray, target: Target, n_threads: int | None) -> Data:
        data: Data = kind.examples(X, target, n_threads)[name]
        return data

    return build
