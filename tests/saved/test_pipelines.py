"""Pipelines of known steps in model files."""

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, OneHotEncoder, StandardScaler

from auctor import MetricClassifier, load, save
from auctor.core.errors import AuctorError, DataError, ParameterError
from auctor.saved import read_model


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    X = 3.0 + rng.normal(size=(120, 4)) * [1.0, 100.0, 1e-3, 5.0]
    return X, np.where(X[:, 0] > 3.5, "bad", "good")


def model():
    return MetricClassifier("log_loss", strength=1e-3)


@pytest.mark.parametrize(
    "steps",
    [
        [StandardScaler()],
        [StandardScaler(with_mean=False)],
        [MinMaxScaler((-1, 1), clip=True), "passthrough", MaxAbsScaler()],
        [SimpleImputer(strategy="median"), StandardScaler()],
        [SimpleImputer(strategy="constant", fill_value=-1.0)],
    ],
    ids=str,
)
def test_a_pipeline_predicts_the_same_after_loading(rows, steps, tmp_path):
    X, y = rows
    X = X.copy()
    if isinstance(steps[0], SimpleImputer):
        X[::7, 1] = np.nan
    made = make_pipeline(*steps, model()).fit(X, y)
    save(made, tmp_path / "model.auctor")
    back = load(tmp_path / "model.auctor")
    np.testing.assert_array_equal(back.decision_function(X), made.decision_function(X))
    assert [name for name, _ in back.steps] == [name for name, _ in made.steps]
    assert str(back[0]) == str(made[0])
    assert back.score(X, y) == made.score(X, y)


@pytest.mark.parametrize("drop", [None, "first", "if_binary"])
def test_categories_predict_the_same_after_loading(drop, tmp_path):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.choice(["a", "b", "c"], 90), rng.choice(["x", "y"], 90)]).astype(
        object
    )
    y = rng.integers(0, 2, 90)
    made = make_pipeline(OneHotEncoder(handle_unknown="ignore", drop=drop), model()).fit(X, y)
    save(made, tmp_path / "model.auctor")
    X[0] = "new"
    with np.errstate(all="raise"):
        found = load(tmp_path / "model.auctor").decision_function(X[1:])
    np.testing.assert_array_equal(found, made.decision_function(X[1:]))


def test_a_file_of_a_pipeline_is_not_read_as_a_model_of_unscaled_columns(rows, tmp_path):
    save(make_pipeline(StandardScaler(), model()).fit(*rows), tmp_path / "model.auctor")
    with pytest.raises(DataError, match=r"Use auctor\.load"):
        read_model(tmp_path / "model.auctor")


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (PCA(2), "'pca', a PCA"),
        (SimpleImputer(add_indicator=True), "add_indicator"),
        (OneHotEncoder(min_frequency=2, handle_unknown="ignore"), "own categories"),
    ],
)
def test_unknown_steps_are_refused_by_name(rows, step, words, tmp_path):
    made = make_pipeline(step, model()).fit(*rows)
    with pytest.raises(ParameterError, match=words):
        save(made, tmp_path / "model.auctor")
    assert not (tmp_path / "model.auctor").exists()


def test_a_pipeline_that_is_not_fitted_is_refused(tmp_path):
    with pytest.raises((AuctorError, ValueError)):
        save(make_pipeline(StandardScaler(), model()), tmp_path / "model.auctor")
