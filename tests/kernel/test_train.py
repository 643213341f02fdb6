"""Kernel machines trained without scikit-learn: the same optimum, calibrators and warnings."""

import numpy as np
import pytest
from sklearn.svm import SVC, SVR

from auctor.core.errors import ConvergenceWarning, DataError
from auctor.core.types import Target
from auctor.fit.class_scores import ClassPairs
from auctor.fit.targets import Rows
from auctor.kernel.train import (
    KernelClassifierParameters,
    KernelRegressorParameters,
    stored_model,
    train_kernel_classifier,
    train_kernel_regressor,
)


def rings(n, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, 2))
    return X, (X**2).sum(axis=1).argsort().argsort() * 3 // n


def test_a_classifier_is_that_of_libsvm():
    X, codes = rings(150)
    given = KernelClassifierParameters(C=2.0, gamma=0.5, multiclass="ovo", calibrate="sigmoid")
    trained = train_kernel_classifier(given, Rows(X, np.arange(3), codes))
    other = SVC(C=2.0, gamma=0.5, tol=1e-8, decision_function_shape="ovo").fit(X, codes)
    np.testing.assert_allclose(trained.model.scores(X), other.decision_function(X), atol=1e-5)
    assert len(trained.solutions) == len(trained.calibrators) == 3
    assert trained.gap < 1e-8
    assert trained.warnings == []
    # What a file keeps of a model makes the same model.
    again = stored_model(
        given,
        X[trained.support],
        trained.support,
        trained.model.coef,
        trained.model.intercept,
        gamma=trained.gamma,
        double=True,
    )
    np.testing.assert_allclose(again.scores(X), trained.model.scores(X), rtol=1e-12)


def test_a_regressor_is_that_of_libsvm_and_rows_of_weight_zero_take_no_part():
    X, _ = rings(120)
    y, weight = np.sin(X[:, 0]), np.arange(120) % 3 * 1.0
    given = KernelRegressorParameters(gamma=0.5, epsilon=0.05)
    trained = train_kernel_regressor(given, X, Target(y, weight))
    other = SVR(gamma=0.5, epsilon=0.05, tol=1e-8).fit(X, y, weight)
    np.testing.assert_allclose(trained.model.scores(X).ravel(), other.predict(X), atol=1e-5)
    assert (weight[trained.support] > 0.0).all()


def test_a_solve_that_stops_early_returns_its_warning():
    X, codes = rings(1500)
    given = KernelClassifierParameters(C=1e3, gamma=5.0, max_iter=1, multiclass="ovr")
    trained = train_kernel_classifier(given, Rows(X, np.arange(2), codes % 2))
    (warning,) = trained.warnings
    assert isinstance(warning, ConvergenceWarning)
    assert "stopped after 1 blocks" in str(warning)


def test_votes_of_pairs_decide_and_their_scores_break_ties():
    pairs = ClassPairs(3, "ovo")
    # Pairs (0, 1), (0, 2), (1, 2): two votes for 0, then one vote each with 2 ahead by its scores.
    by_pair = np.array([[0.1, 0.1, 50.0], [1.0, -9.0, 1.0]])
    scores = pairs.scores(by_pair)
    assert scores.argmax(axis=1).tolist() == [0, 2]
    assert scores.round().tolist() == [[2.0, 1.0, 0.0], [1.0, 1.0, 1.0]]


@pytest.mark.parametrize("multiclass", ["ovo", "ovr"])
def test_two_classes_have_one_score(multiclass):
    pairs = ClassPairs(2, multiclass)
    assert pairs.scored == [1]
    assert len(pairs.pairs) == 1
    np.testing.assert_array_equal(pairs.scores(np.ones((4, 1))), np.ones((4, 1)))


def sigmoid(A, B):
    """The kernel ``tanh(a'b - 1)``, which is not positive semi-definite."""
    return np.tanh(A @ B.T - 1.0)


@pytest.mark.parametrize("precomputed", [True, False])
def test_an_indefinite_kernel_of_many_rows_is_refused_by_its_eigenvalue(precomputed):
    X, codes = rings(1200)
    lowest = np.linalg.eigvalsh(sigmoid(X, X))[0]
    given = KernelClassifierParameters("precomputed" if precomputed else sigmoid)
    rows = Rows(sigmoid(X, X) if precomputed else X, np.arange(2), codes % 2)
    with pytest.raises(DataError, match=f"the eigenvalue {lowest:.6g}"):
        train_kernel_classifier(given, rows)
    given = KernelRegressorParameters("precomputed" if precomputed else sigmoid, loss="squared")
    with pytest.raises(DataError, match=f"the eigenvalue {lowest:.6g}"):
        train_kernel_regressor(given, rows.matrix, Target(X[:, 0], None))


@pytest.mark.parametrize("n", [60, 1200])
def test_a_kernel_that_is_not_symmetric_is_refused(n):
    X, codes = rings(n)
    given = KernelClassifierParameters(lambda A, B: A @ B.T + A[:, :1])
    with pytest.raises(DataError, match="a symmetric kernel; got a difference of"):
        train_kernel_classifier(given, Rows(X, np.arange(2), codes % 2))
    # Single precision is no lack of symmetry, and its rounding errors no eigenvalue.
    K = (X @ X.T).astype(np.float32)
    given = KernelClassifierParameters("precomputed", tol=1e-2)
    trained = train_kernel_classifier(given, Rows(K, np.arange(2), codes % 2))
    assert trained.warnings == []


@pytest.mark.parametrize("C", [1.0, 100.0, 1e4])
def test_kernels_of_few_features_are_solved_exactly(C):
    """Pair steps crawl along the many directions without curvature; joint steps end them."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(700, 12))
    codes = (X[:, 0] + 0.8 * rng.normal(size=700) > 0).astype(int)
    given = KernelClassifierParameters("linear", C=C)
    trained = train_kernel_classifier(given, Rows(X, np.arange(2), codes))
    assert trained.warnings == []
    assert trained.gap < 1e-10
    y, scores = 2.0 * codes - 1.0, trained.model.scores(X).ravel()
    coef = trained.model.coef.ravel() @ X[trained.support]
    primal = 0.5 * coef @ coef + C * np.maximum(1.0 - y * scores, 0.0).sum()
    assert primal == pytest.approx(trained.solutions[0].value, rel=1e-9)
