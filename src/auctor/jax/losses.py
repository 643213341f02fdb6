"""The losses over pairs and sets as functions of scores, with slopes of their own.

Values and slopes are those of `auctor.scans`; a second derivative is that of the slopes, by JAX.
Set ``jax_enable_x64`` for sums in float64; without it they are in float32.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from numbers import Integral
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp

from auctor.core.checks import check_int, check_real
from auctor.core.errors import DataError, DataTypeError, ParameterError, speaks_as
from auctor.fit.registry import known
from auctor.jax.ops import OPS
from auctor.losses.fscore import LARGEST_BETA, SMALLEST_BETA
from auctor.scans.fbeta import f_beta
from auctor.scans.logistic import logistic_pairs
from auctor.scans.pairs import hinge_pairs, squared_hinge_pairs
from auctor.scans.partial import partial_pairs
from auctor.scans.rows import pair_rows, set_rows
from auctor.scans.threshold import precision_at_k

#: An array of JAX, whose types are not read.
Array: TypeAlias = Any
#: ``scan(scores, positive, weight, group)``, the value and the slopes.
Scan: TypeAlias = Callable[[Array, Array, Array | None, Array | None], tuple[Array, Array]]


@speaks_as("auc_loss")
def auc_loss(
    scores: Array,
    y: Array,
    weight: Array | None = None,
    group: Array | None = None,
    *,
    surrogate: str = "squared_hinge",
    width: float = 0.0,
    margin: float = 1.0,
) -> Array:
    """Mean over all (positive, negative) pairs of a loss of their difference; O(n log n).

    Parameters
    ----------
    scores : (n,) array
        Of floating point; half precision is computed as float32. Use `jax.vmap` for columns.
    y : (n,) array
        1 against 0 or -1; NaN is a missing label. Inside `jit`, where values cannot be looked at,
        other labels make the loss NaN.
    weight : (n,) array, optional
    group : (n,) array of integers, optional
        Only pairs of the same group count.
    surrogate : {"squared_hinge", "hinge", "logistic"}
        Loss of ``d = s_i - s_j``: ``max(0, 1 - d)^2``, ``max(0, 1 - d)`` or ``log(1 + exp(-d))``.
    width : float >= 0
        Length of the quadratic piece of the hinge; 0 is the hinge itself.
    margin : float > 0
        Difference from which a pair has no loss, for the hinges.

    Examples
    --------
    >>> import jax, jax.numpy as jnp
    >>> scores, y = jnp.array([0.0, 1.0, 3.0]), jnp.array([1, 0, 1])
    >>> loss = lambda s: auc_loss(s, y, surrogate="hinge")
    >>> float(loss(scores)), jax.grad(loss)(scores).tolist()
    (1.0, [-0.5, 0.5, 0.0])
    """
    known("surrogate", surrogate, dict.fromkeys(("squared_hinge", "hinge", "logistic")))
    check_real("width", width, low=0.0)
    check_real("margin", margin, low=0.0, open_low=True)
    if width and surrogate != "hinge":
        raise ParameterError(
            "{option} to be 'hinge' for {option2}",
            got=repr(surrogate),
            todo="Drop {option2}: this surrogate is smooth.",
            option=("surrogate", "width"),
        )
    return _loss(partial(_pairs, surrogate, width, margin), scores, y, weight, group)


@speaks_as("partial_auc_loss")
def partial_auc_loss(
    scores: Array, y: Array, weight: Array | None = None, *, max_fpr: float, width: float = 0.0
) -> Array:
    """Mean of the pair hinge over the positives and the top share ``max_fpr`` of the negatives.

    ``width`` smooths it; other parameters are those of `auc_loss`.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> float(partial_auc_loss(jnp.array([0.0, 1.0, -5.0]), jnp.array([1, 0, 0]), max_fpr=0.5))
    2.0
    """
    check_real("max_fpr", max_fpr, low=0.0, high=1.0, open_low=True)
    check_real("width", width, low=0.0)
    return _loss(partial(_partial_pairs, max_fpr, width), scores, y, weight)


@speaks_as("precision_at_k_loss")
def precision_at_k_loss(
    scores: Array, y: Array, weight: Array | None = None, *, k: int | float, width: float = 0.0
) -> Array:
    """Max-margin loss of 1 - precision among the top k rows, a number or a share of them.

    ``width`` smooths it; other parameters are those of `auc_loss`.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> float(precision_at_k_loss(jnp.zeros(3), jnp.array([1, 0, 0]), k=1))
    1.0
    """
    if isinstance(k, Integral) and not isinstance(k, bool):
        check_int("k", k, low=1)
        if jnp.ndim(scores) == 1 and k > scores.shape[0]:
            raise DataError(
                f"{{option}} of at most the rows of a batch, {scores.shape[0]}",
                got=k,
                todo="Pass a share of the rows, a float in (0, 1].",
                option="k",
            )
    else:
        check_real("k", k, low=0.0, high=1.0, open_low=True)
    check_real("width", width, low=0.0)
    return _loss(partial(_top, k, width), scores, y, weight)


@speaks_as("f_beta_loss")
def f_beta_loss(
    scores: Array, y: Array, weight: Array | None = None, *, beta: float = 1.0, width: float = 0.0
) -> Array:
    """Max-margin loss of 1 - F-beta at the threshold 0, an upper bound of it.

    ``width`` is the largest distance of the smoothed form below it; other parameters are those of
    `auc_loss`.

    Examples
    --------
    >>> import jax.numpy as jnp
    >>> float(f_beta_loss(jnp.zeros(2), jnp.array([1, 0])))
    1.0
    """
    check_real("beta", beta, low=SMALLEST_BETA, high=LARGEST_BETA)
    check_real("width", width, low=0.0)
    return _loss(partial(_f_beta, beta, width), scores, y, weight)


# --- values and slopes ----------------------------------------------------------------------------


def _pairs(
    surrogate: str, width: float, margin: float, scores: Array, positive: Array, weight: Any,
    group: Any,
) -> tuple[Array, Array]:  # fmt: skip
    rows = pair_rows(OPS, positive, weight, group)
    if surrogate == "logistic":
        return logistic_pairs(OPS, scores, rows)
    if surrogate == "hinge":
        return hinge_pairs(OPS, scores, rows, width, margin)
    return squared_hinge_pairs(OPS, scores, rows, margin)


def _partial_pairs(
    max_fpr: float, width: float, scores: Array, positive: Array, weight: Any, _: None
) -> tuple[Array, Array]:
    return partial_pairs(OPS, scores, pair_rows(OPS, positive, weight), max_fpr, width)


def _top(
    k: float, width: float, scores: Array, positive: Array, weight: Any, _: None
) -> tuple[Array, Array]:
    return precision_at_k(OPS, scores, set_rows(OPS, positive, weight), k, width)


def _f_beta(
    beta: float, width: float, scores: Array, positive: Array, weight: Any, _: None
) -> tuple[Array, Array]:
    return f_beta(OPS, scores, set_rows(OPS, positive, weight), beta, width)


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def _scanned(
    scan: Scan, scores: Array, positive: Array, weight: Any, group: Any, valid: Array
) -> Array:
    return _both(scan, scores, positive, weight, group, valid)[0]


def _both(
    scan: Scan, scores: Array, positive: Array, weight: Any, group: Any, valid: Array
) -> tuple[Array, Array]:
    """Value and slopes, NaN where the batch is not valid; the slopes are kept for `_backward`."""
    value, slopes = scan(scores, positive, weight, group)
    fine = valid & jnp.isfinite(scores).all() & jnp.isfinite(value)
    value, slopes = (jnp.where(fine, one, jnp.nan).astype(scores.dtype) for one in (value, slopes))
    return value, slopes


def _backward(_: Scan, slopes: Array, rate: Array) -> tuple[Array, None, None, None, None]:
    return rate * slopes, None, None, None, None


_scanned.defvjp(_both, _backward)


# --- what a batch must be -------------------------------------------------------------------------


def _loss(
    scan: Scan, scores: Array, y: Array, weight: Array | None, group: Array | None = None
) -> Array:
    scores, y = jnp.asarray(scores), jnp.asarray(y)
    weight = None if weight is None else jnp.asarray(weight)
    _check_shapes(scores, y, weight, group)
    if scores.dtype.itemsize < 4:
        scores = scores.astype(jnp.float32)
    if not scores.shape[0]:
        return scores.sum()
    missing = jnp.isnan(y) if jnp.issubdtype(y.dtype, jnp.floating) else jnp.zeros(y.shape, bool)
    zero, minus = y == 0, y == -1
    valid = (zero | minus | (y == 1) | missing).all() & ~(zero.any() & minus.any())
    if weight is not None:
        valid = valid & (weight >= 0).all() & jnp.isfinite(weight).all()
    # Values can be looked at only outside of `jit` and `vmap`; inside the loss is NaN.
    if not isinstance(valid, jax.core.Tracer) and not bool(valid):
        raise DataError(
            "labels 0 and 1, or -1 and +1, and weights that are not negative",
            got="others",
            todo="Encode the labels, with NaN for missing ones.",
        )
    if jnp.issubdtype(y.dtype, jnp.floating):
        present = (~missing).astype(scores.dtype)
        weight = present if weight is None else weight * present
    return _scanned(scan, scores, y > 0, weight, group, valid)


def _check_shapes(scores: Array, y: Array, weight: Array | None, group: Array | None) -> None:
    if not jnp.issubdtype(scores.dtype, jnp.floating):
        raise DataTypeError(
            "scores of floating point", got=scores.dtype, todo="Pass the raw outputs of a network."
        )
    for name, other in (("scores", scores), ("y", y), ("weight", weight), ("group", group)):
        if other is not None and (other.ndim != 1 or other.shape != scores.shape):
            raise DataError(
                f"{name} of shape (rows,), as the scores",
                got=f"{other.shape} with scores of {scores.shape}",
                todo="Pass scores.squeeze(-1), or use jax.vmap over columns.",
            )
    if group is not None and not jnp.issubdtype(group.dtype, jnp.integer):
        raise DataTypeError(
            "one integer per row as group", got=group.dtype, todo="Number the groups."
        )
