"""Classifiers that are fitted on the rows, and when two of them are the same."""

import numpy as np

from auctor import MetricClassifier

SURROGATES = [
    ("auc", "hinge"),
    ("auc", "square"),
    ("error", "hinge"),
    ("error", "logistic"),
    ("error", "squared_hinge"),
    ("log_loss", "logistic"),
]


def fitted(rows, *args, **params):
    return MetricClassifier(*args, **params).fit(rows.X, rows.y)


def same(a, b, tol=1e-8):
    np.testing.assert_allclose(a.coef_, b.coef_, rtol=tol, atol=tol)
    np.testing.assert_allclose(a.intercept_, b.intercept_, rtol=tol, atol=tol)
