"""The functions of JAX, against the compiled losses and sums over all pairs."""

import numpy as np
import pytest

from auctor import losses
from auctor.core.errors import DataError, DataTypeError, ParameterError
from auctor.core.types import Target

jax = pytest.importorskip("jax", reason="the extra jax is not installed")

import jax.numpy as jnp  # noqa: E402

import auctor.jax as aj  # noqa: E402


@pytest.fixture(autouse=True)
def double():
    with jax.enable_x64(True):
        yield


CASES = [
    (lambda *a: aj.auc_loss(*a), losses.PairwiseSquaredHinge()),
    (lambda *a: aj.auc_loss(*a, surrogate="hinge"), losses.PairwiseHinge()),
    (lambda *a: aj.auc_loss(*a, surrogate="hinge", width=0.5), losses.PairwiseHinge(0.5)),
    (lambda *a: aj.auc_loss(*a, surrogate="logistic"), losses.PairwiseLogistic()),
    (lambda *a: aj.partial_auc_loss(*a, max_fpr=0.3), losses.PartialPairwiseHinge(0.3)),
    (
        lambda *a: aj.partial_auc_loss(*a, max_fpr=0.3, width=0.5),
        losses.PartialPairwiseHinge(0.3, 0.5),
    ),
    (lambda *a: aj.precision_at_k_loss(*a, k=0.2), losses.PrecisionAtK(0.2)),
    (lambda *a: aj.precision_at_k_loss(*a, k=3, width=0.5), losses.PrecisionAtK(3, 0.5)),
    (lambda *a: aj.f_beta_loss(*a), losses.FBeta()),
    (lambda *a: aj.f_beta_loss(*a, beta=2.0, width=0.5), losses.FBeta(2.0, 0.5)),
]
NAMES = [f"{loss!r}{k}" for k, (_, loss) in enumerate(CASES)]
every = pytest.mark.parametrize(("function", "loss"), CASES, ids=NAMES)


def batch(n=40, seed=0):
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.4).astype(int)
    return rng.normal(size=n) + 0.5 * y, y, rng.random(n)


@every
def test_value_and_gradient_equal_the_compiled_loss(function, loss):
    scores, y, weight = batch()
    wanted, slopes = loss.value_grad(scores, Target(2.0 * y - 1.0, weight))
    for dtype, rtol in ((jnp.float64, 1e-12), (jnp.float32, 2e-6), (jnp.bfloat16, 2e-2)):
        some = jnp.asarray(scores, dtype)
        value, found = jax.value_and_grad(function)(some, jnp.asarray(y), jnp.asarray(weight))
        assert float(value) == pytest.approx(wanted, rel=rtol)
        assert found.dtype == dtype
        assert np.abs(np.asarray(found, float) - slopes).max() <= rtol * np.abs(slopes).max()


@every
def test_compiled_and_mapped_over_columns(function, loss):
    tables = [np.stack([part[k] for part in (batch(seed=1), batch(seed=2))]) for k in (0, 1)]
    for row, y, value in zip(*tables, jax.jit(jax.vmap(function))(*tables), strict=True):
        wanted = loss.value(row, Target(2.0 * y - 1.0))
        assert float(value) == pytest.approx(wanted, rel=1e-12)


@every
def test_first_and_second_derivatives(function, loss):
    from jax.test_util import check_grads

    scores, y, weight = batch(12)
    check_grads(lambda s: function(s, y, weight), (jnp.asarray(scores),), 2, ["rev"], eps=1e-5)


def test_values_equal_sums_over_all_pairs():
    scores, y, weight = batch()
    gaps = scores[y == 1][:, None] - scores[y == 0][None, :]
    shares = np.outer(*(weight[y == side] / weight[y == side].sum() for side in (1, 0)))
    for surrogate, loss in (
        ("squared_hinge", lambda d: np.maximum(1.0 - d, 0.0) ** 2),
        ("hinge", lambda d: np.maximum(1.0 - d, 0.0)),
        ("logistic", lambda d: np.logaddexp(0.0, -d)),
    ):
        found = aj.auc_loss(jnp.asarray(scores), y, weight, surrogate=surrogate)
        assert float(found) == pytest.approx((shares * loss(gaps)).sum(), rel=1e-12)


def test_groups_ties_and_many_rows():
    scores, y, weight = batch(3000)
    group = np.arange(3000) % 50
    target = Target(2.0 * y - 1.0, weight, group)
    found = aj.auc_loss(jnp.asarray(scores), y, jnp.asarray(weight), jnp.asarray(group))
    wanted = losses.PairwiseSquaredHinge().value(scores, target)
    assert float(found) == pytest.approx(wanted, rel=1e-12)
    for surrogate, loss in (
        ("hinge", losses.PairwiseHinge()),
        ("logistic", losses.PairwiseLogistic()),
    ):
        tied = np.round(scores, 1)
        value, slopes = jax.value_and_grad(aj.auc_loss)(jnp.asarray(tied), y, surrogate=surrogate)
        wanted, exact = loss.value_grad(tied, Target(2.0 * y - 1.0))
        assert float(value) == pytest.approx(wanted, rel=1e-12)
        assert np.abs(np.asarray(slopes) - exact).max() <= 1e-9 * np.abs(exact).max()


# --- bad input ------------------------------------------------------------------------------------


@every
def test_scores_that_are_not_finite_give_nan(function, loss):
    scores, y, _ = batch()
    for bad in (np.nan, np.inf, -np.inf):
        scores[3] = bad
        value, slopes = jax.value_and_grad(function)(jnp.asarray(scores), y)
        assert np.isnan(value)
        assert np.isnan(slopes).any()


@every
def test_one_class_empty_batches_and_zero_weights_give_zero(function, loss):
    scores, y, weight = batch()
    for labels, w in ((0 * y, None), (0 * y + 1, weight), (y, 0.0 * weight), (y * np.nan, None)):
        value, slopes = jax.value_and_grad(function)(jnp.asarray(scores), labels, w)
        assert float(value) == 0.0
        assert not np.asarray(slopes).any()
    if loss != losses.PrecisionAtK(3, 0.5):
        assert float(function(jnp.zeros(0), jnp.zeros(0))) == 0.0


@every
def test_all_tied_scores(function, loss):
    _, y, weight = batch()
    scores = np.full(40, 0.5)
    wanted, exact = loss.value_grad(scores, Target(2.0 * y - 1.0, weight))
    value, slopes = jax.value_and_grad(function)(jnp.asarray(scores), y, weight)
    assert float(value) == pytest.approx(wanted, rel=1e-12)
    assert np.abs(np.asarray(slopes) - exact).max() <= 1e-9


def test_labels_and_weights_of_other_values_are_refused():
    scores, y, weight = (jnp.asarray(one) for one in batch())
    value = float(aj.auc_loss(scores, y, weight))
    for labels in (2 * y - 1, y == 1, y.astype(float), y.astype(jnp.int8)):
        assert float(aj.auc_loss(scores, labels, weight)) == value
    for labels in (y + 1, 0.5 * y, y.at[0].set(-1)):
        with pytest.raises(DataError, match="labels 0 and 1, or -1 and \\+1"):
            aj.auc_loss(scores, labels)
        assert np.isnan(jax.jit(aj.auc_loss)(scores, labels))
    with pytest.raises(DataError, match="weights that are not negative"):
        aj.auc_loss(scores, y, -weight)


def test_shapes_kinds_and_parameters_are_refused():
    scores, y, weight = (jnp.asarray(one) for one in batch())
    for bad in ((scores[:, None], y), (scores, y[:, None]), (scores, y, weight[:3])):
        with pytest.raises(DataError, match="of shape \\(rows,\\), as the scores"):
            aj.auc_loss(*bad)
    with pytest.raises(DataTypeError, match="scores of floating point"):
        aj.auc_loss(y, y)
    with pytest.raises(DataTypeError, match="one integer per row as group"):
        aj.auc_loss(scores, y, weight, weight)
    with pytest.raises(DataError, match="at most the rows of a batch, 40"):
        aj.precision_at_k_loss(scores, y, k=50)
    for call in (
        lambda: aj.auc_loss(scores, y, surrogate="cubic"),
        lambda: aj.auc_loss(scores, y, width=0.5),
        lambda: aj.auc_loss(scores, y, margin=0.0),
        lambda: aj.partial_auc_loss(scores, y, max_fpr=0.0),
        lambda: aj.precision_at_k_loss(scores, y, k=1.5),
        lambda: aj.f_beta_loss(scores, y, beta=0.0),
    ):
        with pytest.raises(ParameterError):
            call()
