import numpy as np
import pytest
import sklearn
from sklearn.pipeline import make_pipeline

from auctor import LinearRegressor, MetricClassifier, MetricClassifierCV
from auctor.core.markup import fact_table

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4))
Y = (X[:, 0] + RNG.normal(size=60) > 0.0).astype(int)


def test_a_model_is_shown_as_scikit_learn_shows_it():
    model = MetricClassifier("auc", penalty="l1", strength=0.1)
    for one in (model, model.fit(X, Y)):
        assert "sk-top-container" in one._repr_html_()
        assert "l1" in one._repr_html_()


def test_text_display_is_respected():
    model = MetricClassifier().fit(X, Y)
    with sklearn.config_context(display="text"):
        assert not hasattr(model, "_repr_html_")
        assert set(model._repr_mimebundle_()) == {"text/plain"}


@pytest.mark.parametrize("model", [MetricClassifierCV(n_strengths=3, cv=2), LinearRegressor()])
def test_searches_and_regressors_have_a_table_of_their_solution(model):
    assert "iterations" in model.fit(X, Y).solution_._repr_html_()


def test_metrics_are_escaped_and_pipelines_work():
    assert "<b>" not in fact_table({"<b>": "<b>"})
    model = make_pipeline(MetricClassifier()).fit(X, Y)
    assert "MetricClassifier" in model._repr_html_()


def test_solutions_have_a_table():
    model = MetricClassifier("auc", penalty="l1", strength=0.1).fit(X, Y)
    html = model.solution_._repr_html_()
    assert f"{np.count_nonzero(model.coef_)} of 4" in html
    assert "The gap is below the tolerance." in html
    assert f"{model.gap_:.2e}" in html
    for word in ("status", "objective", "certified gap", "iterations", "solver"):
        assert f'<th scope="row">{word}</th>' in html
