"""The kernel of a kernel machine, the weight of its loss and the limits of its solver."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from auctor.core.checks import check_choice, check_int, check_real
from auctor.core.errors import ParameterError
from auctor.core.types import FloatArray
from auctor.data.coerce import LARGEST
from auctor.data.matrices import is_dense
from auctor.kernel.functions import KernelFunction, Linear, Polynomial, Rbf
from auctor.kernel.points import squared_lengths

#: A name of `KERNELS`, or a function of two matrices that returns their kernel values.
Kernel = str | Callable[[Any, Any], Any]


@dataclass(eq=False, repr=False, kw_only=True)
class KernelParameters:
    """Parameters of every kernel machine; `auctor.KernelClassifier` describes them."""

    kernel: Kernel = field(default="rbf", kw_only=False)
    strength: float | None = None
    C: float | None = None
    gamma: float | str = "scale"
    degree: int = 3
    coef0: float = 0.0
    tol: float = 1e-3
    max_iter: int = 10_000
    cache_bytes: int = 1 << 29
    n_threads: int | None = None


#: Kernel functions by name, for a given width; None means that the matrix holds kernel values.
KERNELS: dict[str, Callable[[KernelParameters, float], KernelFunction | None]] = {
    "linear": lambda params, gamma: Linear(),
    "poly": lambda params, gamma: Polynomial(gamma, params.degree, params.coef0),
    "rbf": lambda params, gamma: Rbf(gamma),
    "precomputed": lambda params, gamma: None,
}


def check_kernel(params: KernelParameters) -> None:
    """Raise `ParameterError` for invalid values of the parameters that every machine has."""
    if not callable(params.kernel):
        check_choice("kernel", params.kernel, tuple(KERNELS))
    if params.strength is not None and params.C is not None:
        raise ParameterError(
            "one of `strength` and `C`, which are two words for one number; got both. Drop one."
        )
    if params.strength is not None:
        check_real("strength", params.strength, low=0.0, open_low=True, high=LARGEST)
    if params.C is not None:
        check_real("C", params.C, low=0.0, open_low=True, high=LARGEST)
    if isinstance(params.gamma, str):
        check_choice("gamma", params.gamma, ("scale", "auto"))
    else:
        check_real("gamma", params.gamma, low=0.0, open_low=True)
    check_int("degree", params.degree, low=1)
    check_real("coef0", params.coef0, low=0.0)
    check_real("tol", params.tol, low=0.0, open_low=True)
    check_int("max_iter", params.max_iter, low=1)
    check_int("cache_bytes", params.cache_bytes, low=1)


def loss_weight(params: KernelParameters, total: float) -> float:
    """C, the weight of the loss of a row: ``1 / (strength total)``, or 1 by default.

    Examples
    --------
    >>> loss_weight(KernelParameters(strength=0.01), 50.0), loss_weight(KernelParameters(), 50.0)
    (2.0, 1.0)
    """
    if params.strength is not None:
        return float(1.0 / (params.strength * total))
    return 1.0 if params.C is None else float(params.C)


def kernel_width(gamma: float | str, matrix: Any, weight: FloatArray | None) -> float:
    """The value of ``gamma``; "scale" and "auto" as in scikit-learn, with row weights.

    Examples
    --------
    >>> kernel_width("auto", np.eye(4), None), kernel_width("scale", np.eye(4), None)
    (0.25, 1.3333333333333333)
    """
    if not isinstance(gamma, str):
        return float(gamma)
    n, columns = matrix.shape
    if gamma == "auto":
        return float(1.0 / columns)
    share = np.full(n, 1.0 / n) if weight is None else weight / weight.sum()
    # Weighted variance of all entries; computed without centring if the matrix is sparse.
    mean = float(np.asarray(matrix.T @ share).sum()) / columns
    if is_dense(matrix):
        spread = float(squared_lengths(matrix - mean) @ share) / columns
    else:
        spread = float(squared_lengths(matrix) @ share) / columns - mean**2
    return float(1.0 / (columns * spread)) if spread > 0.0 else 1.0
