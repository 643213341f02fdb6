"""Baselines of a report."""

import numpy as np
import pytest

from auctor import MetricClassifier
from auctor.contenders.baselines import baselines


@pytest.mark.parametrize(("extra", "kept"), [(0, True), (1, False)])
def test_trees_are_left_out_of_reports_on_wide_tables(extra, kept, monkeypatch):
    monkeypatch.setattr("auctor.contenders.baselines.MOST_TREE_ENTRIES", 450)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3 + extra))
    hit = X[:, 0] + rng.normal(size=200) > 0.5
    model = MetricClassifier("auc").fit(X[:150], hit[:150])
    constant, log_loss, trees = baselines(
        model.model_, model.get_params(), X[:150], hit[:150], X[150:]
    )
    assert constant.scores is not None
    assert log_loss.scores is not None
    assert (trees.scores is not None) == kept
    assert kept or trees.note == "left out: 4 columns would take long; see auctor compare"
