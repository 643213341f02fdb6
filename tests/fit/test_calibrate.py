import numpy as np
import pytest
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

from auctor.fit.calibrate import KINDS, Isotonic, Sigmoid, log_odds

RNG = np.random.default_rng(0)
SCORES = RNG.normal(size=300)
HITS = SCORES + RNG.normal(size=300) > 0.5
WEIGHT = RNG.uniform(0.1, 3.0, 300)


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["equal", "weights"])
@pytest.mark.parametrize(
    "scores", [SCORES, SCORES.round(1), np.zeros(300)], ids=["", "ties", "one"]
)
def test_isotonic_is_that_of_scikit_learn(scores, weight):
    ours = Isotonic.fit(scores, HITS, weight)
    theirs = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip")
    theirs.fit(scores, HITS.astype(float), sample_weight=weight)
    grid = np.linspace(-4.0, 4.0, 501)
    assert ours.probability(grid) == pytest.approx(theirs.predict(grid), abs=1e-12)
    assert ours.points.size == theirs.X_thresholds_.size


def test_sigmoid_is_logistic_regression_of_the_scores():
    ours = Sigmoid.fit(SCORES, HITS, WEIGHT)
    theirs = LogisticRegression(C=1e8, tol=1e-10).fit(SCORES[:, None], HITS, WEIGHT)
    assert ours.slope == pytest.approx(theirs.coef_[0, 0], rel=1e-4)
    assert ours.offset == pytest.approx(theirs.intercept_[0], rel=1e-4)


def test_only_log_loss_has_log_odds():
    assert log_odds(" log_loss ", None)
    assert not log_odds("log_loss", "sigmoid")
    assert not log_odds("auc", None)


def test_venn_abers_is_its_definition():
    rng = np.random.default_rng(3)
    scores = np.round(rng.normal(size=60), 1)
    positive = rng.random(60) < 1.0 / (1.0 + np.exp(-scores))
    made = KINDS["venn_abers"].fit(scores, positive, None)
    for at in np.unique(scores)[::5]:
        both = []
        for label in (0, 1):
            isotonic = Isotonic.fit(np.append(scores, at), np.append(positive, label), None)
            both.append(float(isotonic.probability(np.array([at]))[0]))
        stated = both[1] / (1.0 - both[0] + both[1])
        assert made.probability(np.array([at]))[0] == pytest.approx(stated, abs=1e-12)
    assert 0.0 < made.levels.min() < made.levels.max() < 1.0
