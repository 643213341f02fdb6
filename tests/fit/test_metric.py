import numpy as np
import pytest

from auctor import MetricClassifier, losses, metrics
from auctor.core.errors import IncompatibleError, ParameterError
from auctor.fit import metric as table
from auctor.fit.metric import METRICS, Metric, Surrogate, resolve_cut, resolve_metric

RNG = np.random.default_rng(0)
X = RNG.normal(size=(100, 4))
Y = (X[:, 0] + RNG.normal(size=100) > 1.0).astype(int)


@pytest.mark.parametrize("name", ["fbeta(0)", "fbeta(1e9)", "cost(0)"])
def test_metrics_and_thresholds_have_the_same_range(name):
    for resolve in (lambda: resolve_metric(name, "auto"), lambda: resolve_cut(name)):
        with pytest.raises(ParameterError, match="Pass a value in that range"):
            resolve()
    assert resolve_cut("fbeta(2)") == resolve_metric("fbeta(2)", "auto").cut


@pytest.mark.parametrize("name", ["precision_at_k(1.0)", "recall_at_k(1.0)"])
def test_the_top_may_be_all_rows(name):
    # One row, an integer, is not all rows, a fraction.
    whole, one = (
        resolve_metric(text, "max_margin").loss for text in (name, name.replace("1.0", "1"))
    )
    assert (whole.k, type(whole.k), one.k, type(one.k)) == (1.0, float, 1, int)
    with pytest.warns(UserWarning, match="vacuous"):
        model = MetricClassifier(name, surrogate="max_margin").fit(X, Y)
    assert (model.predict(X) == 1).all()
    assert model.score(X, Y) == pytest.approx(Y.mean() if name.startswith("precision") else 1.0)


def test_facts_of_a_loss_object_are_those_of_its_row():
    assert resolve_metric(losses.Prbep(), "auto").can_be_vacuous
    assert resolve_metric(losses.GaussianAuc(), "auto").shrinks
    plain = resolve_metric(losses.Logistic(), "auto")
    assert (plain.can_be_vacuous, plain.shrinks) == (False, False)


@pytest.mark.parametrize("name", ["log_loss", "prbep", "f1", "precision_at_k(5)"])
def test_losses_that_are_not_over_pairs_refuse_groups(name):
    with pytest.raises(IncompatibleError, match="a loss on pairs to use groups"):
        MetricClassifier(name).fit(X, Y, groups=np.arange(100) // 10)


def test_a_metric_is_one_entry_of_the_table(monkeypatch):
    # What a contributor writes: how it is measured, what stands in, where to cut.
    average_precision = Metric(
        {"logistic": Surrogate(losses.Logistic)},
        lambda _, y, scores, weight: metrics.average_precision(y, scores, weight=weight),
        lambda _: table.Cut("break_even"),
        "area under the precision-recall curve",
    )
    monkeypatch.setitem(METRICS, "my_average_precision", average_precision)
    model = MetricClassifier("my_average_precision").fit(X, Y)
    scores = model.decision_function(X)
    assert model.score(X, Y) == pytest.approx(metrics.average_precision(Y, scores))
