"""What all learners from single rows share: chunks, state, columns, weights, bad rows."""

import pickle
from contextlib import nullcontext

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

from auctor import MetricClassifier
from auctor.core.errors import DataError, DataWarning, ParameterError
from auctor.lab.learners import Fsauc, Oam, PassiveAggressive, RegSolam, Solam, Spam, UniExp
from auctor.penalties import L2, Box

LEARNERS = [
    Spam(),
    Spam(0.05, average=False, step="sqrt"),
    Spam(0.02, penalty="l1"),
    Spam(0.05, penalty="elastic_net", step="constant", rate=0.1),
    Spam(penalty=Box(-0.1, 0.2)),
    Spam(penalty=L2(0.1, weights=np.linspace(0.0, 2.0, 40))),
    Solam(),
    RegSolam(0.1, rate=5.0),
    Fsauc(stage=30),
    Fsauc(stage=30, norm="l1", step="theory"),
    Oam(buffer=7),
    Oam(0.01, method="gradient", buffer=7, average=False),
    PassiveAggressive(),
    UniExp(),
]
EVERY = pytest.mark.parametrize("learner", LEARNERS, ids=repr)
#: Those with the default strength and enough memory for one pass over a few thousand rows.
UNTUNED = [Spam(), Solam(), Fsauc(stage=30), PassiveAggressive(), UniExp()]


def one_quick(learners):
    """The first learner at once; the others, which share its base class, where time is long."""
    return [learners[0], *(pytest.param(some, marks=pytest.mark.slow) for some in learners[1:])]


def same(one, two):
    assert one.keys() == two.keys()
    return all(np.array_equal(one[name], two[name]) for name in one)


def learned(learner, X, y, weight, size):
    learner = clone(learner)
    for low in range(0, y.size, size):
        part = slice(low, low + size)
        learner.partial_fit(X[part], y[part], classes=[-1, 1], sample_weight=weight[part])
    return learner


@pytest.mark.sample(2)
@EVERY
def test_chunks_of_any_size_give_the_same_bits(learner, thin):
    X, y, weight = thin()
    whole = learned(learner, X, y, weight, y.size)
    for size in (1, 7):
        assert same(learned(learner, X, y, weight, size).state_, whole.state_)
    if not isinstance(learner, Fsauc):  # which plans its stages by the number of rows
        assert same(clone(learner).fit(X, y, weight).state_, whole.state_)


@EVERY
def test_sparse_and_dense_rows_agree(learner, thin):
    X, y, weight = thin()
    dense = learned(learner, X, y, weight, 50)
    for kind in (sparse.csr_array, sparse.csc_array, sparse.csr_matrix):
        other = learned(learner, kind(X), y, weight, 50)
        np.testing.assert_allclose(other.coef_, dense.coef_, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("learner", one_quick(LEARNERS), ids=repr)
def test_wide_indices_and_single_precision_agree(learner, thin):
    """Each is a compilation of its own for every learner, so that most of them are slow."""
    X, y, weight = thin()
    dense = learned(learner, X, y, weight, 50)
    wide = sparse.csr_array(X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    other = learned(learner, wide, y, weight, 50)
    np.testing.assert_allclose(other.coef_, dense.coef_, rtol=1e-10, atol=1e-12)
    single = learned(learner, X.astype(np.float32), y, weight, 50)
    np.testing.assert_allclose(single.coef_, dense.coef_, rtol=1e-3, atol=1e-4)


@EVERY
def test_reading_changes_nothing_and_copies_go_on_alike(learner, thin):
    X, y, weight = thin()
    first = learned(learner, X[:150], y[:150], weight[:150], 150)
    before = {name: array.copy() for name, array in first.state_.items()}
    for _ in range(2):
        assert first.coef_.shape == (1, 40)
        first.predict(X)
        first.score(X, y)
    assert same(first.state_, before)
    copy = pickle.loads(pickle.dumps(first))
    for one in (first, copy):
        one.partial_fit(X[150:], y[150:], sample_weight=weight[150:])
    assert same(first.state_, copy.state_)
    assert clone(first).get_params().keys() == first.get_params().keys()


@EVERY
def test_rows_without_weight_and_scaled_weights(learner, thin):
    X, y, weight = thin()
    kept = weight > 0
    whole = learned(learner, X, y, weight, y.size)
    without = learned(learner, X[kept], y[kept], weight[kept], y.size)
    np.testing.assert_array_equal(whole.coef_, without.coef_)
    scaled = learned(learner, X, y, 8.0 * weight, y.size)
    np.testing.assert_allclose(scaled.coef_, whole.coef_, rtol=1e-9, atol=1e-12)


@EVERY
def test_one_class_so_far(learner, thin):
    X, y, weight = thin()
    positives = np.flatnonzero(y == 1)[:10]
    order = np.concatenate([positives, np.setdiff1d(np.arange(y.size), positives)])
    early = learned(learner, X[positives], y[positives], weight[positives], 3)
    if not isinstance(learner, PassiveAggressive):  # which learns from one class
        assert not early.coef_.any()
        assert early.intercept_ == 0.0
    late = learned(learner, X[order], y[order], weight[order], 10)
    assert late.coef_.any()


@EVERY
def test_new_columns(learner, thin):
    X, y, weight = thin()
    if isinstance(getattr(learner, "penalty", None), L2):
        return  # its weights are for 40 columns
    X[:100, 25:] = 0.0
    full = learned(learner, X, y, weight, 100)
    grown = clone(learner).set_params(grow=True)
    grown.partial_fit(X[:100, :25], y[:100], classes=[-1, 1], sample_weight=weight[:100])
    grown.partial_fit(X[100:], y[100:], sample_weight=weight[100:])
    np.testing.assert_allclose(grown.coef_, full.coef_, rtol=1e-9, atol=1e-12)
    fixed = clone(learner).partial_fit(X[:100, :25], y[:100])
    with pytest.raises(DataError, match="grow"):
        fixed.partial_fit(X, y)


@EVERY
def test_rows_far_too_large_leave_everything_finite(learner, thin):
    X, y, weight = thin()
    X[40:60] *= 1e6
    X[100:110] *= 1e-200
    X[200] *= 1e90
    says = isinstance(learner, Fsauc | RegSolam | Solam)  # their steps go by the longest row
    warned = pytest.warns(DataWarning, match="one row") if says else nullcontext()
    with np.errstate(all="ignore"), warned:
        found = learned(learner, X, y, weight, 100)
    assert np.isfinite(found.coef_).all()
    assert np.isfinite(found.intercept_).all()


@pytest.mark.parametrize("learner", UNTUNED, ids=repr)
def test_one_pass_is_close_to_a_batch_fit_without_tuning(learner, two_gaussians):
    X, y = two_gaussians(3000, 40, 0.2, 1, shift=3.0)
    batch = MetricClassifier("auc", surrogate="square", strength=1e-4).fit(X, y).score(X, y)
    found = learned(learner, X, y, np.ones(y.size), 500).score(X, y)
    assert batch - 0.03 < found < batch + 0.01


@pytest.mark.parametrize(
    ("learner", "words"),
    [
        (Spam(-1.0), "strength"),
        (Spam(step="fast"), "step"),
        (Spam(step=1.0), "step"),
        (Solam(step="inverse"), "step"),
        (Spam(rate=0.0), "rate"),
        (Spam(penalty="l3"), "penalty"),
        (Spam(means="guess"), "means"),
        (Spam(means=(0.5, 1.0)), "means"),
        (RegSolam(0.0), "strength"),
        (Solam(radius=-1.0), "radius"),
        (Fsauc(stage=0), "stage"),
        (Fsauc(norm="l3"), "norm"),
        (Oam(method="both"), "method"),
        (Oam(buffer=0), "buffer"),
        (PassiveAggressive(C=0.0), "C"),
        (UniExp(rate=-1.0), "rate"),
    ],
    ids=lambda part: part if isinstance(part, str) else repr(part),
)
def test_refused_parameters(learner, words):
    with pytest.raises(ParameterError, match=words):
        learner.fit(np.eye(4), [0, 1, 0, 1])


#: Repeated rows and weights are not the same to a learner that takes one row after the other.
EXPECTED = {
    "check_sample_weight_equivalence_on_dense_data": "one step per row, whatever its weight",
    "check_sample_weight_equivalence_on_sparse_data": "one step per row, whatever its weight",
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "learner",
    one_quick(
        [
            Spam(),
            Spam(penalty="l1"),
            Solam(),
            RegSolam(),
            Fsauc(),
            Oam(),
            PassiveAggressive(),
            UniExp(),
        ]
    ),
    ids=repr,
)
def test_scikit_learn(learner):
    check_estimator(learner, expected_failed_checks=EXPECTED, on_skip=None)


def test_rows_that_are_all_skipped_come_first():
    for learner in (Spam(missing="skip"), UniExp(missing="skip")):
        learner.partial_fit([[np.nan, 1.0]], [7])
        assert learner.skipped_rows_ == 1
        assert not hasattr(learner, "classes_")
        learner.partial_fit([[0.0, 1.0], [1.0, 0.0]], [7, 8])
        assert learner.classes_.tolist() == [7, 8]
    learner = Spam(missing="skip").fit([[0.0], [1.0], [2.0]], [0.0, np.nan, 1.0])
    assert learner.skipped_rows_ == 1
    assert learner.classes_.tolist() == [0.0, 1.0]
    with pytest.raises(DataError, match="nan"):
        Spam().fit([[0.0], [1.0], [2.0]], [0.0, np.nan, 1.0])
