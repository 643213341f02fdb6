"""Fits that the user or the time ends, and fits that begin at the last one."""

import numpy as np
import pytest

import auctor
from auctor import AdditiveClassifier, AdditiveRegressor
from auctor.core.errors import ConvergenceWarning
from auctor.fit import Watcher, watch


def _rows(n=400):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4))
    return X, X[:, 0] * X[:, 1] + X[:, 2] + 0.5 * rng.normal(size=n) > 0.3


class _Interrupt(Watcher):
    """Ctrl-C when a stage of a fit begins."""

    def __init__(self, stage, number):
        self.at = stage, number

    def on_stage(self, stage, number, total):
        if (stage, number) == self.at:
            raise KeyboardInterrupt


@pytest.mark.parametrize("kind", [AdditiveClassifier, AdditiveRegressor])
@pytest.mark.parametrize(
    ("stage", "words", "members", "pairs"),
    [
        (("strength", 4), "curves at 3 of 15 strengths", 3, False),
        (("member", 1), "without pairs", 3, False),
        (("member", 3), "2 of 3 members", 2, True),
    ],
)
def test_an_interrupt_keeps_the_best_model_so_far(kind, stage, words, members, pairs):
    X, y = _rows()
    model = kind(members=3)
    with watch(_Interrupt(*stage)), pytest.warns(ConvergenceWarning, match=words):
        model.fit(X, y)
    assert model.result_.interrupted
    assert len(model.solution_) == members
    assert bool(model.bins_.pairs) == pairs
    assert np.isfinite(model.predict(X).astype(float)).all()
    assert model.score(X, y) > 0.05


def test_an_interrupt_before_any_model_leaves_none():
    X, y = _rows(100)
    model = AdditiveClassifier(members=3)
    with watch(_Interrupt("strength", 1)), pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert not hasattr(model, "model_")


def test_an_interrupt_of_a_step_ends_the_path_of_strengths():
    X, y = _rows()

    class OnStep(Watcher):
        def on_stage(self, stage, number, total):
            if stage == "strength" and number == 6:
                raise KeyboardInterrupt

    with watch(OnStep()), pytest.warns(ConvergenceWarning, match="5 of 15"):
        model = AdditiveClassifier(members=2).fit(X, y)
    assert auctor.metrics.auc(np.where(y, 1, -1), model.decision_function(X)) > 0.6


def test_a_time_limit_keeps_the_best_model_so_far():
    X, y = _rows()
    with pytest.warns(ConvergenceWarning, match="ran out of time"):
        model = AdditiveClassifier(members=3, max_seconds=1e-6).fit(X, y)
    assert not model.result_.interrupted
    assert len(model.solution_) == 3
    assert np.isfinite(model.predict_proba(X)).all()


@pytest.mark.parametrize("members", [1, 3])
@pytest.mark.parametrize("strength", [3e-3, "auto"])
def test_a_warm_start_ends_at_the_same_optimum_after_fewer_passes(members, strength):
    X, y = _rows()
    model = AdditiveClassifier(
        members=members, strength=strength, interactions=2, warm_start=True, tol=1e-7
    ).fit(X, y)

    def passes():
        found = model.solution_ if isinstance(model.solution_, list) else [model.solution_]
        return sum(one.passes for one in found)

    before, first = passes(), model.decision_function(X)
    model.fit(X, y)
    assert passes() < 0.5 * before
    np.testing.assert_allclose(model.decision_function(X), first, atol=1e-4)
    assert model.gap_ <= 1e-6
    model.set_params(interactions=0).fit(X[:200], y[:200])  # other parameters: from the start
    assert not model.bins_.pairs


def test_several_classes_begin_at_the_last_model_too():
    X, y = _rows(300)
    labels = np.where(X[:, 3] > 0.7, "c", np.where(y, "a", "b"))
    model = AdditiveClassifier(
        members=2, strength=1e-2, interactions=0, warm_start=True, tol=1e-6
    ).fit(X, labels)
    first = model.decision_function(X)
    model.fit(X, labels)
    np.testing.assert_allclose(model.decision_function(X), first, atol=1e-3)
