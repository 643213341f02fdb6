"""Learners of different rows, merged: what one pass over all rows would have learned."""

import numpy as np
import pytest

from auctor import StreamingAUC
from auctor.core.errors import IncompatibleError
from auctor.lab.learners import OnlineGaussianAuc

RNG = np.random.default_rng(0)
X = RNG.normal(size=(700, 4)) * [1.0, 5.0, 0.1, 1.0] + [0.0, 100.0, 0.0, 3.0]
Y = (X @ [1.0, 0.2, 5.0, 0.0] + RNG.normal(size=700) > 20.5).astype(int)


def learned(make, *parts):
    model = make()
    for part in parts:
        model.partial_fit(X[part], Y[part], classes=[0, 1])
    return model


@pytest.mark.parametrize(
    "make",
    [
        OnlineGaussianAuc,
        lambda: StreamingAUC(surrogate="square", strength=0.1),
        lambda: StreamingAUC(strength=0.1),
        lambda: StreamingAUC(surrogate="logistic", strength=0.1),
    ],
    ids=["gaussian", "square", "hinge", "logistic"],
)
def test_merged_is_one_pass_over_all_rows(make):
    # Of 640 rows one pass counts all; of others it leaves out a few of the latest.
    first, second, third = slice(0, 90), slice(90, 400), slice(400, 640)
    whole = learned(make, slice(0, 640))
    merged = learned(make, first).merge(learned(make, second)).merge(learned(make, third))
    assert merged.rows_seen_ == whole.rows_seen_ == 640
    if "counted" in whole.state_:  # the same rows, solved for to the accuracy of the learner
        np.testing.assert_allclose(merged.coef_, whole.coef_, atol=3e-3 * np.abs(whole.coef_).max())
        np.testing.assert_array_equal(merged.state_["kept_signed"], whole.state_["kept_signed"])
        np.testing.assert_array_equal(merged.state_["kept_values"], whole.state_["kept_values"])
    else:
        np.testing.assert_allclose(merged.coef_, whole.coef_, rtol=1e-9)
        np.testing.assert_allclose(merged.intercept_, whole.intercept_, rtol=1e-9)
    assert merged.score(X, Y) == pytest.approx(whole.score(X, Y), abs=1e-3)


def test_a_merged_learner_goes_on_learning():
    def make():
        return StreamingAUC(strength=0.1)

    merged = learned(make, slice(0, 300)).merge(learned(make, slice(300, 500)))
    assert 0.5 < merged.auc_ <= 1.0
    merged.partial_fit(X[500:], Y[500:])
    whole = learned(make, slice(0, 700))
    assert merged.rows_seen_ == 700
    assert merged.score(X, Y) == pytest.approx(whole.score(X, Y), abs=1e-3)


def test_what_does_not_add_up_is_refused():
    one = learned(StreamingAUC, slice(0, 100))
    before = one.coef_.copy()
    wide = StreamingAUC().partial_fit(np.ones((2, 9)), [0, 1])
    cases = [
        (OnlineGaussianAuc().fit(X, Y), "a learner of the same class"),
        (StreamingAUC(strength=3.0).fit(X, Y), "the same strength"),
        (StreamingAUC(), "one without rows"),
        (wide, "4 columns in both"),
    ]
    for other, message in cases:
        with pytest.raises(IncompatibleError, match=message):
            one.merge(other)
    full = StreamingAUC(memory=0.005).fit(X, Y)
    with pytest.raises(IncompatibleError, match="memories that hold all rows"):
        full.merge(full)
    with pytest.raises(IncompatibleError, match="forget nothing"):
        StreamingAUC(forget=50).fit(X, Y).merge(StreamingAUC(forget=50).fit(X, Y))
    np.testing.assert_array_equal(one.coef_, before)
