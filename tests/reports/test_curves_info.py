"""Pictures of additive models: what they show, and that they can be drawn."""

import numpy as np
import pytest

from auctor import AdditiveClassifier
from auctor.reports import column_curves, curve_svg, draw_curve, draw_pair, pair_maps


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    X[rng.random((400, 3)) < 0.05] = np.nan
    y = np.nan_to_num(X[:, 0] + X[:, 0] * X[:, 1]) + 0.3 * rng.normal(size=400) > 0.5
    model = AdditiveClassifier("log_loss", strength=3e-3, interactions=1, monotone={2: 1})
    return model.fit(X, y), X, y


def test_the_curve_that_matters_comes_first(fitted):
    model, X, y = fitted
    bands = model.curve_bands(X, y, repeats=4)
    first, *rest = column_curves(model, bands)
    assert first.name == "x0"
    assert first.missing is not None
    assert first.band.shape == (2, first.values.size)
    assert (first.band[0] <= first.band[1]).all()
    np.testing.assert_allclose(first.level, model.curve(0)[1])
    assert all("rising" in curve.title for curve in rest if curve.name == "x2")


def test_everything_can_be_drawn(fitted):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    model, X, y = fitted
    (found,) = pair_maps(model)
    assert found.level.shape == tuple(starts.size for starts in found.starts)
    curve = column_curves(model, model.curve_bands(X, y, repeats=2))[0]
    figure, axes = pyplot.subplots(1, 2)
    assert draw_curve(curve, axes[0]).get_xlabel() == "x0"
    assert draw_pair(found, axes[1]).get_title() == found.title
    pyplot.close(figure)
    assert curve_svg(curve).count("<polyline") == 4
