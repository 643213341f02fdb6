import numpy as np
import pytest
import sklearn
from sklearn.pipeline import make_pipeline

from auctor import LinearRegressor, MetricClassifier, MetricClassifierCV
from auctor.core.result import html_table

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4))
Y = (X[:, 0] + RNG.normal(size=60) > 0.0).astype(int)


def test_a_fitted_model_adds_what_its_fit_was():
    model = MetricClassifier("auc", penalty="l1", strength=0.1).fit(X, Y)
    for html in (model._repr_html_(), model._repr_mimebundle_()["text/html"]):
        assert "sk-top-container" in html
        assert html.count("non-zero weights") == 1
        assert f"{np.count_nonzero(model.coef_)} of 4" in html
        assert "The gap is below the tolerance." in html
        assert "certified gap" in html
        assert f"{model.gap_:.2e}" in html


def test_before_a_fit_there_is_only_the_diagram():
    html = MetricClassifier()._repr_html_()
    assert "sk-top-container" in html
    assert "non-zero weights" not in html


def test_text_display_is_respected():
    model = MetricClassifier().fit(X, Y)
    with sklearn.config_context(display="text"):
        assert not hasattr(model, "_repr_html_")
        assert set(model._repr_mimebundle_()) == {"text/plain"}


@pytest.mark.parametrize("labels", [Y, np.arange(60) % 3])
def test_searches_and_several_classes(labels):
    model = MetricClassifierCV(n_strengths=3, cv=2).fit(X, labels)
    assert "iterations" in model._repr_html_()


def test_regressors_say_their_loss():
    html = LinearRegressor(loss="huber").fit(X, X[:, 0])._repr_html_()
    assert '<th scope="row">loss</th><td>huber</td>' in html


def test_metrics_are_escaped_and_pipelines_work():
    assert "<b>" not in html_table({"<b>": "<b>"})
    model = make_pipeline(MetricClassifier()).fit(X, Y)
    assert "MetricClassifier" in model._repr_html_()


def test_solutions_have_a_table():
    html = MetricClassifier().fit(X, Y).solution_._repr_html_()
    for word in ("status", "objective", "certified gap", "iterations", "solver"):
        assert f'<th scope="row">{word}</th>' in html
