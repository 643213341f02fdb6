import math

import pytest

matplotlib = pytest.importorskip("matplotlib", exc_type=ImportError)
matplotlib.use("Agg")

from matplotlib import pyplot  # noqa: E402

from auctor.core.errors import MissingExtraError, ParameterError  # noqa: E402
from auctor.reports import plots  # noqa: E402

ALL = ("roc", "precision_recall", "lift", "calibration", "histogram", "convergence", "features")


@pytest.fixture
def ax():
    figure, axes = pyplot.subplots()
    yield axes
    pyplot.close(figure)


def _line(ax, label):
    return next(line for line in ax.get_lines() if str(line.get_label()).startswith(label))


@pytest.mark.parametrize("name", ALL)
def test_every_plot_draws_a_report_and_a_model(name, info, ax):
    plot = getattr(plots, name)
    for what in (info, info.models[0]):
        assert plot(what, ax) is ax
    assert ax.get_title()
    assert ax.get_xlabel()
    ax.figure.canvas.draw()


def test_without_axes_the_current_ones_are_used(info, ax):
    assert plots.roc(info) is ax


def test_curves_are_those_of_the_info(info, ax):
    for plot, curve in (
        (plots.roc, info.models[0].roc),
        (plots.precision_recall, info.models[0].precision_recall),
        (plots.lift, info.models[0].gains),
    ):
        ax.clear()
        drawn = _line(plot(info, ax), "plain")
        assert tuple(drawn.get_xdata()) == curve.x
        assert tuple(drawn.get_ydata()) == curve.y


def test_convergence_against_seconds(info, ax):
    trace = info.models[0].convergence
    drawn = _line(plots.convergence(info, ax, against="seconds"), "objective")
    assert tuple(drawn.get_xdata()) == trace.seconds
    assert tuple(drawn.get_ydata()) == trace.objective
    gap = _line(ax, "certified gap").get_ydata()
    assert math.isnan(gap[0])
    assert tuple(gap[1:]) == trace.gap[1:]
    with pytest.raises(ParameterError, match="'passes' or 'seconds'"):
        plots.convergence(info, ax, against="time")


def test_path_draws_score_and_sparsity(info, ax):
    for what in (info, info.path):
        plots.path(what, ax)
    right = [other for other in ax.figure.axes if other is not ax]
    assert tuple(right[0].get_lines()[0].get_ydata()) == info.path.nonzeros
    with pytest.raises(ParameterError, match="with a path"):
        plots.path(info._replace(path=None), ax)


def test_features_are_named_largest_on_top(info, ax):
    plots.features(info, ax, limit=2)
    assert [label.get_text() for label in ax.get_yticklabels()][-1] == info.models[0].weights.top[
        0
    ].name
    with pytest.raises(ParameterError, match="model with weights"):
        plots.features(info.models[2], ax)


def test_calibration_of_probabilities_has_a_diagonal(info, ax):
    model = info.models[0]
    plots.calibration(
        model._replace(calibration=model.calibration._replace(of_probabilities=True)), ax
    )
    assert ax.get_xlabel() == "Mean predicted probability"


def test_a_missing_matplotlib_is_named_with_the_install_line(info, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.pyplot", None)
    with pytest.raises(MissingExtraError, match=r'pip install "auctor\[plots\]"'):
        plots.roc(info)
