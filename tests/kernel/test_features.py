"""Features of kernels as scikit-learn transformers."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from auctor import MetricClassifier
from auctor.core.errors import AuctorError, DataError
from auctor.kernel import Nystroem, RandomFeatures


@parametrize_with_checks([RandomFeatures(), Nystroem(20)])
def test_scikit_learn_agrees(estimator, check):
    check(estimator)


def rings(n, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, 2))
    return X, np.where((X**2).sum(axis=1) > 1.4, 1, 0)


def gaussian(A, B, gamma):
    return np.exp(-gamma * ((A[:, None] - B[None]) ** 2).sum(axis=2))


def test_inner_products_are_the_kernel():
    X, _ = rings(200)
    random = RandomFeatures(20_000, gamma=0.7).fit(X)
    assert np.abs(random.transform(X) @ random.transform(X).T - gaussian(X, X, 0.7)).max() < 0.04
    whole = Nystroem(500, gamma=0.7).fit(X)
    near = whole.transform(X) @ whole.transform(X).T
    np.testing.assert_allclose(near, gaussian(X, X, 0.7), atol=1e-6)
    # Some rows as landmarks: the kernel between these is exact.
    some = Nystroem(40, gamma=0.7, random_state=1).fit(X)
    marks = some.transform(some.landmarks_)
    np.testing.assert_allclose(marks @ marks.T, gaussian(*[some.landmarks_] * 2, 0.7), atol=1e-6)
    assert Nystroem(gamma="scale").fit(X).gamma_ == pytest.approx(1.0 / (2 * X.var()))


@pytest.mark.parametrize("features", [RandomFeatures(300), Nystroem(60)])
def test_a_linear_model_bends_in_a_pipeline(features):
    X, y = rings(600)
    A, b = rings(300, seed=1)
    assert MetricClassifier("auc").fit(X, y).score(A, b) < 0.7
    for model in (MetricClassifier("auc"), LogisticRegression(C=100.0)):
        line = make_pipeline(features, model).fit(X, y)
        assert line.score(A, b) > 0.95
    names = features.fit(X).get_feature_names_out()
    assert len(names) == features.transform(A).shape[1]
    np.testing.assert_allclose(features.transform(csr_array(A)), features.transform(A), atol=1e-9)


def test_bad_input_is_named():
    X, _ = rings(20)
    for bad in (RandomFeatures(0), Nystroem(0), RandomFeatures(gamma=-1.0), Nystroem(gamma="wide")):
        with pytest.raises(AuctorError, match=f"{type(bad).__name__} needs"):
            bad.fit(X)
    with pytest.raises(DataError, match="Nystroem needs the columns of fit"):
        Nystroem().fit(X).transform(X[:, :1])
