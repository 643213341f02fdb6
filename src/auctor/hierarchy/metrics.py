"""Metrics of label sets; a ratio 0/0 is 1 if both sets are empty, and 0 otherwise."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from auctor.core.checks import check_choice, check_real
from auctor.core.errors import DataError, speaks_as
from auctor.core.types import Array, FloatArray
from auctor.data.coerce import check_weight
from auctor.data.matrices import dense_array
from auctor.hierarchy.taxonomy import Taxonomy

#: Ways to average over rows and labels; see `set_scores`.
AVERAGES = ("example", "micro", "macro")


class SetScores(NamedTuple):
    """Precision, recall and F."""

    precision: float
    recall: float
    f: float


def check_sets(truth: Any, predicted: Any) -> tuple[Array, Array]:
    """Both arguments as boolean matrices; raises unless they have the same shape."""
    a, b = dense_array(truth), dense_array(predicted)
    if a.shape != b.shape or a.ndim != 2:
        raise DataError(
            f"two 0/1 matrices of one shape; got shapes {a.shape} and {b.shape}. Pass a row for "
            "every sample and a column for every label."
        )
    return a.astype(bool), b.astype(bool)


def ratio(top: FloatArray, bottom: FloatArray, empty: Any = 0.0) -> FloatArray:
    """``top / bottom``, with ``empty`` where ``bottom`` is 0."""
    top, bottom = np.asarray(top, dtype=np.float64), np.asarray(bottom, dtype=np.float64)
    out = np.broadcast_to(np.asarray(empty, dtype=np.float64), top.shape).copy()
    np.divide(top, bottom, out=out, where=bottom > 0.0)
    return out


def row_weights(sample_weight: Any, n: int) -> FloatArray:
    """Weights of rows with a mean of 1."""
    if sample_weight is None:
        return np.ones(n)
    weight: FloatArray = check_weight(sample_weight, n)
    scaled: FloatArray = weight / weight.mean()
    return scaled


@speaks_as("set_scores")
def set_scores(
    truth: Any,
    predicted: Any,
    *,
    average: str = "example",
    beta: float = 1.0,
    sample_weight: Any = None,
) -> SetScores:
    """Precision, recall and F-beta of label sets.

    Parameters
    ----------
    truth, predicted : (n, L) 0/1 matrices
    average : {"example", "micro", "macro"}
        Mean over rows, all (row, label) entries together, or mean over labels.
    beta : float > 0
    sample_weight : (n,) array, optional

    Examples
    --------
    >>> set_scores([[1, 1, 0]], [[1, 0, 0]]).f
    0.6666666666666666
    """
    check_choice("average", average, AVERAGES)
    a, b = check_sets(truth, predicted)
    check_real("beta", beta, low=0.0, open_low=True)
    weight = row_weights(sample_weight, a.shape[0])
    # Counts of common, true and predicted labels: by row, by label, or in total.
    if average == "example":
        hits, n_true, n_predicted = (one.sum(axis=1) for one in (a & b, a, b))
    else:
        hits, n_true, n_predicted = (weight @ one for one in (a & b, a, b))
        if average == "micro":
            hits, n_true, n_predicted = (
                np.atleast_1d(one.sum()) for one in (hits, n_true, n_predicted)
            )
    every = _ratios(hits, n_true, n_predicted, beta)
    share = weight if average == "example" else np.ones(hits.shape)
    return SetScores(*(float(np.average(one, weights=share)) for one in every))


class LabelScores(NamedTuple):
    """Precision, recall and F of every label."""

    precision: FloatArray
    recall: FloatArray
    f: FloatArray


def _ratios(hits: Array, n_true: Array, n_predicted: Array, beta: float) -> LabelScores:
    """Precision, recall and F-beta from counts of common, true and predicted labels."""
    both_empty = ((n_true == 0) & (n_predicted == 0)).astype(np.float64)
    b2 = beta**2
    return LabelScores(
        ratio(hits, n_predicted, both_empty),
        ratio(hits, n_true, both_empty),
        ratio((1.0 + b2) * hits, n_predicted + b2 * n_true, both_empty),
    )


@speaks_as("example_f")
def example_f(truth: Any, predicted: Any, *, beta: float = 1.0) -> FloatArray:
    """F-beta of each row, for paired comparisons."""
    a, b = check_sets(truth, predicted)
    return _ratios((a & b).sum(axis=1), a.sum(axis=1), b.sum(axis=1), beta).f


@speaks_as("label_scores")
def label_scores(truth: Any, predicted: Any, *, beta: float = 1.0) -> LabelScores:
    """Precision, recall and F-beta of each label."""
    a, b = check_sets(truth, predicted)
    return _ratios((a & b).sum(axis=0), a.sum(axis=0), b.sum(axis=0), beta)


@speaks_as("jaccard")
def jaccard(truth: Any, predicted: Any, *, sample_weight: Any = None) -> float:
    """Mean over rows of |intersection| / |union| of the true and the predicted labels."""
    a, b = check_sets(truth, predicted)
    either = (a | b).sum(axis=1)
    share = ratio((a & b).sum(axis=1), either, (either == 0).astype(float))
    return float(np.average(share, weights=row_weights(sample_weight, a.shape[0])))


@speaks_as("hamming")
def hamming(truth: Any, predicted: Any, *, sample_weight: Any = None) -> float:
    """Share of the (row, label) entries in which the true and the predicted sets differ."""
    a, b = check_sets(truth, predicted)
    weight = row_weights(sample_weight, a.shape[0])
    return float(np.average((a != b).mean(axis=1), weights=weight))


@speaks_as("hierarchical_scores")
def hierarchical_scores(truth: Any, predicted: Any, taxonomy: Taxonomy) -> SetScores:
    """Micro-averaged precision, recall and F after all ancestors are added to both sets."""
    a, b = check_sets(truth, predicted)
    return set_scores(taxonomy.close(a.copy()), taxonomy.close(b.copy()), average="micro")


@speaks_as("tree_distance")
def tree_distance(truth: Any, predicted: Any, taxonomy: Taxonomy) -> float:
    """Mean number of edges between the deepest true and the deepest predicted label of a row.

    For sets with one path each: edges up to the lowest common ancestor and down again. A row
    without labels is at the virtual root.
    """
    a, b = check_sets(truth, predicted)
    a, b = taxonomy.close(a.copy()), taxonomy.close(b.copy())
    level = taxonomy.depth + 1
    deepest_true, deepest_said = (np.max(one * level, axis=1) for one in (a, b))
    common = np.max((a & b) * level, axis=1)
    return float((deepest_true + deepest_said - 2 * common).mean())


def pooled_auprc(truth: Any, scores: Any) -> float:
    """Area under the precision-recall curve of all (row, label) entries together."""
    from auctor.metrics import average_precision

    y, s = np.asarray(truth).astype(bool).ravel(), np.asarray(scores, dtype=np.float64).ravel()
    return float(average_precision(y, s))


@speaks_as("by_level")
def by_level(truth: Any, predicted: Any, taxonomy: Taxonomy) -> FloatArray:
    """Micro-averaged F1 of the labels of each level."""
    a, b = check_sets(truth, predicted)
    levels = range(int(taxonomy.depth.max()) + 1)
    parts = [taxonomy.depth == level for level in levels]
    return np.array([set_scores(a[:, at], b[:, at], average="micro").f for at in parts])
