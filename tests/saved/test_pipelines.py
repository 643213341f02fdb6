"""Pipelines of known steps in model files."""

import json

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, OneHotEncoder, StandardScaler

from auctor import MetricClassifier, load, save
from auctor.core.errors import AuctorError, DataError, ParameterError
from auctor.saved import read_model
from tests.damage import members_of, packed


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


@pytest.mark.parametrize("width", [1, 3, 5])
@pytest.mark.parametrize("kind", [StandardScaler, MinMaxScaler, MaxAbsScaler, SimpleImputer])
def test_steps_of_other_columns_are_refused_on_loading(rows, kind, width, tmp_path):
    X, y = rows
    made = make_pipeline(kind(), model()).fit(X, y)
    wide = np.random.default_rng(0).normal(size=(40, width))
    save(make_pipeline(kind(), model()).fit(wide, y[:40]), tmp_path / "other")
    save(made, tmp_path / "model")
    members, others = (members_of((tmp_path / n).read_bytes()) for n in ("model", "other"))
    meta, other = (json.loads(one["meta.json"]) for one in (members, others))
    for name in [name for name in members if name.startswith("arrays/steps.")]:
        del members[name], meta["arrays"][name[7:-4]]
    for name in [name for name in others if name.startswith("arrays/steps.")]:
        members[name], meta["arrays"][name[7:-4]] = others[name], other["arrays"][name[7:-4]]
    meta["content"]["arguments"]["steps"] = other["content"]["arguments"]["steps"]
    members["meta.json"] = json.dumps(meta).encode()
    (tmp_path / "model").write_bytes(packed(members))
    with pytest.raises(DataError, match="columns"):
        load(tmp_path / "model")


def test_a_scaler_with_one_number_for_all_columns_is_refused(rows, tmp_path):
    made = make_pipeline(StandardScaler(), model()).fit(*rows)
    made[0].mean_ = made[0].mean_[:1]
    with pytest.raises(ParameterError, match="mean_ of StandardScaler for other columns"):
        save(made, tmp_path / "model")


def test_a_pipeline_that_is_not_fitted_is_refused(tmp_path):
    with pytest.raises((AuctorError, ValueError)):
        save(make_pipeline(StandardScaler(), model()), tmp_path / "model.auctor")
