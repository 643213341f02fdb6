"""Model files and checkpoints of streams with one thing wrong are refused, or are whole models."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import auctor
from auctor import streaming
from auctor.core.errors import AuctorError
from tests.damage import damaged
from tests.saved.models import MODELS, NUMBERS, THREE, TWO, X

CASES = {
    "two": (MODELS[0], TWO),
    "three": (MODELS[4], THREE),
    "search": (MODELS[9], TWO),
    "regressor": (auctor.LinearRegressor(), NUMBERS),
    "additive": (auctor.AdditiveClassifier("auc", n_bins=8, interactions=1), TWO),
    "kernel": (auctor.KernelClassifier(calibrate="sigmoid"), TWO),
    "learner": (streaming.StreamingAUC(window=50), TWO),
    "pipeline": (make_pipeline(StandardScaler(), MODELS[0]), TWO),
}


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_model_files(seed, tmp_path):
    rng, path, contents = np.random.default_rng(seed), tmp_path / "m", {}
    for name, (model, y) in CASES.items():
        auctor.save(clone(model).fit(X, y), path)
        contents[name] = path.read_bytes()
    accepted = 0
    for k in range(300 if seed == 0 else 5000):
        path.write_bytes(damaged(contents[list(CASES)[k % len(CASES)]], rng))
        try:
            model = auctor.load(path)
        except AuctorError:
            continue
        accepted += 1
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            predicted = model.predict(np.zeros((3, model.n_features_in_)))
            assert predicted.shape == (3,)
            again = tmp_path / "again"
            auctor.save(model, again)
            np.testing.assert_array_equal(
                auctor.load(again).predict(np.zeros((3, model.n_features_in_))), predicted
            )
        for solution in getattr(model, "solutions_", []):
            assert not (solution.certified and not solution.gap >= 0.0)
    assert accepted


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_checkpoints_of_streams(seed, tmp_path):
    rng, path = np.random.default_rng(seed), tmp_path / "c"
    learners = [streaming.StreamingAUC(window=50), streaming.StreamingAUC(max_exact_columns=3)]
    contents = []
    for learner in learners:
        streaming.learn(clone(learner), [(X, TWO)], checkpoint=path)
        contents.append(path.read_bytes())
        path.unlink()
    for k in range(150 if seed == 0 else 2000):
        path.write_bytes(damaged(contents[k % 2], rng))
        learner = clone(learners[k % 2])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                streaming.learn(learner, [(X, TWO)] * 2, checkpoint=path, resume=True)
            except AuctorError:
                continue
            assert np.isfinite(learner.coef_).all()
