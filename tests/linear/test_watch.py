import pickle

import numpy as np
import pytest
from sklearn.base import clone

from auctor import MetricClassifier, MetricClassifierCV
from auctor.core.errors import ConvergenceWarning
from auctor.core.result import Status
from auctor.fit import Watcher, watch

rng = np.random.default_rng(0)
X = rng.normal(size=(120, 4))
Y = (X[:, 0] + rng.normal(size=120) > 0.5).astype(int)
THREE = np.digitize(X[:, 0] + 0.3 * rng.normal(size=120), [-0.5, 0.5])


class Diary(Watcher):
    """Writes everything down; may press Ctrl-C at an entry."""

    def __init__(self, interrupt_at=None):
        self.stages, self.targets, self.steps, self.points = [], [], [], []
        self.interrupt_at = interrupt_at

    def note(self, kind, entry):
        getattr(self, kind).append(entry)
        if self.interrupt_at == (kind, len(getattr(self, kind))):
            raise KeyboardInterrupt

    def on_stage(self, stage, number, total):
        self.note("stages", (stage, number, total))

    def on_fit(self, target):
        self.note("targets", target)

    def on_step(self, step):
        self.note("steps", step)

    def on_point(self, strength, solution, number, total):
        self.note("points", (strength, number, total))


def test_steps_are_those_of_the_trace():
    diary = Diary()
    with watch(diary):
        model = MetricClassifier("log_loss").fit(X, Y)
    assert [step.value for step in diary.steps] == list(model.solution_.trace.value)
    assert diary.targets == [model.solution_.tol]
    assert diary.stages == []


def test_only_inside_the_block():
    diary, inner = Diary(), Diary()
    with watch(diary):
        with watch(inner):
            MetricClassifier("log_loss").fit(X, Y)
        assert not diary.steps
        MetricClassifier("log_loss").fit(X, Y)
    count = len(diary.steps)
    assert count == len(inner.steps)
    MetricClassifier("log_loss").fit(X, Y)
    assert len(diary.steps) == count


def test_it_replaces_what_verbose_prints(capsys):
    model = MetricClassifier("log_loss", verbose=1)
    with watch(Diary()):
        model.fit(X, Y)
    assert capsys.readouterr().err == ""
    model.fit(X, Y)
    assert capsys.readouterr().err.startswith("auctor    0  objective ")


def test_estimators_know_nothing_of_it():
    with watch(Diary()):
        model = MetricClassifier("log_loss").fit(X, Y)
        assert clone(model).get_params() == model.get_params()
        pickle.loads(pickle.dumps(model))
    assert not any("watch" in name for name in vars(model))


def test_stages_of_classes_and_calibration():
    diary = Diary()
    with watch(diary):
        MetricClassifier("error", calibrate="sigmoid", threshold_cv=2).fit(X, THREE)
    classes = [("class", k, 3) for k in (1, 2, 3)]
    folds = [[("calibration fold", k, 2), *classes] for k in (1, 2)]
    assert diary.stages == [*classes, *folds[0], *folds[1]]


def test_stages_and_points_of_a_search():
    diary = Diary()
    with watch(diary):
        model = MetricClassifierCV("log_loss", n_strengths=4, cv=2).fit(X, Y)
    assert diary.stages == [("fold", 1, 2), ("fold", 2, 2), ("fit", 1, 1)]
    expected = [(s, k, 4) for k, s in enumerate(model.strengths_.tolist(), start=1)]
    assert diary.points == 2 * expected
    assert diary.steps  # of the final fit


def test_returning_true_stops():
    class Impatient(Watcher):
        def on_step(self, step):
            return step.iteration == 1

    model = MetricClassifier("log_loss", tol=0.0)
    with watch(Impatient()), pytest.warns(ConvergenceWarning, match="callback"):
        model.fit(X, Y)
    assert model.n_iter_ == 1


# --- Ctrl-C ---------------------------------------------------------------------------------------


def test_an_interrupt_leaves_the_best_point():
    with watch(Diary(("steps", 3))), pytest.warns(ConvergenceWarning, match="Interrupted"):
        model = MetricClassifier("log_loss", tol=0.0).fit(X, Y)
    assert model.solution_.status is Status.INTERRUPTED
    assert model.solution_.value == min(model.solution_.trace.value)


def test_an_interrupt_before_the_last_class_ends_the_fit():
    model = MetricClassifier("error", surrogate="logistic", tol=1e-12)
    with watch(Diary(("steps", 2))), pytest.raises(KeyboardInterrupt):
        model.fit(X, THREE)
    assert not hasattr(model, "coef_")


@pytest.mark.parametrize("at", [("stages", 2), ("targets", 3)])
def test_an_interrupt_in_the_calibration_keeps_the_model(at):
    whole = MetricClassifier("log_loss").fit(X, Y)
    model = MetricClassifier("log_loss", calibrate="sigmoid", threshold_cv=3)
    with watch(Diary(at)), pytest.warns(ConvergenceWarning, match="no probabilities"):
        model.fit(X, Y)
    np.testing.assert_array_equal(model.decision_function(X), whole.decision_function(X))
    assert not hasattr(model, "calibrators_")


def test_an_interrupt_in_the_fit_skips_the_calibration():
    diary = Diary(("steps", 2))
    model = MetricClassifier("log_loss", calibrate="sigmoid", tol=0.0)
    with watch(diary), pytest.warns(ConvergenceWarning, match=r"no probabilities|Interrupted"):
        model.fit(X, Y)
    assert diary.stages == []


@pytest.mark.parametrize(("point", "folds"), [(3, 1), (6, 1), (9, 2)])
def test_an_interrupted_search_keeps_its_best_model(point, folds):
    model = MetricClassifierCV("log_loss", penalty="l1", n_strengths=4, cv=3)
    with watch(Diary(("points", point))), pytest.raises(KeyboardInterrupt):
        model.fit(X, Y)
    assert model.scores_.shape == (3, 4)
    assert (~np.isnan(model.scores_)).any(axis=1).sum() == folds
    if point < 4:
        assert np.isnan(model.scores_[0, 3])
    assert model.best_index_ == np.nanargmax(model.scores_[:folds].mean(axis=0))
    assert model.strength_ == model.strengths_[model.best_index_]
    assert model.score(X, Y) > -0.7
    assert model.gap_ == model.solution_.gap
    np.testing.assert_array_equal(model.solution_.coef, model.coef_[0])


def test_an_interrupt_before_any_point_leaves_no_model():
    model = MetricClassifierCV("log_loss", n_strengths=3, cv=2).fit(X, Y)
    with watch(Diary(("stages", 1))), pytest.raises(KeyboardInterrupt):
        model.fit(X, Y)
    assert not hasattr(model, "coef_")


def test_an_interrupt_in_the_final_fit_keeps_what_it_has():
    model = MetricClassifierCV("log_loss", n_strengths=3, cv=2, tol=1e-13)
    with watch(Diary(("steps", 2))), pytest.warns(ConvergenceWarning):
        model.fit(X, Y)
    assert model.solution_.status is Status.INTERRUPTED


def test_an_interrupt_in_the_final_fit_of_several_classes_keeps_a_fold():
    model = MetricClassifierCV("error", surrogate="logistic", n_strengths=3, cv=2, tol=1e-13)
    with watch(Diary(("steps", 2))), pytest.raises(KeyboardInterrupt):
        model.fit(X, THREE)
    assert model.coef_.shape == (3, 4)
