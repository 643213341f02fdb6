"""Kernel machines trained without scikit-learn: the same optimum, calibrators and warnings."""

import numpy as np
import pytest
from sklearn.svm import SVC, SVR

from auctor.core.errors import ConvergenceWarning
from auctor.core.types import Target
from auctor.fit.class_pairs import ClassPairs
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
    trained = train_kernel_classifier("here", given, Rows(X, np.arange(3), codes))
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
    trained = train_kernel_regressor("here", given, X, Target(y, weight))
    other = SVR(gamma=0.5, epsilon=0.05, tol=1e-8).fit(X, y, weight)
    np.testing.assert_allclose(trained.model.scores(X).ravel(), other.predict(X), atol=1e-5)
    assert (weight[trained.support] > 0.0).all()


def test_a_solve_that_stops_early_returns_its_warning():
    X, codes = rings(1500)
    given = KernelClassifierParameters(C=1e3, gamma=5.0, max_iter=1, multiclass="ovr")
    trained = train_kernel_classifier("here", given, Rows(X, np.arange(2), codes % 2))
    (warning,) = trained.warnings
    assert isinstance(warning, ConvergenceWarning)
    assert "here stopped after 1 blocks" in str(warning)


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
