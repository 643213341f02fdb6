"""Pictures of additive models: what they show, and that they can be drawn."""

import numpy as np
import pytest

from auctor import AdditiveClassifier, TableClassifier
from auctor.core.codec import as_json
from auctor.core.errors import DataError
from auctor.evaluate.curves_info import curves_info, row_parts
from auctor.evaluate.pair_maps import pair_maps
from auctor.reports import column_curves, curve_pictures
from auctor.reports.html.additive import MOST_PAIRS, curve_svg, pair_figures
from auctor.reports.pictures import draw_term


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3))
    X[rng.random((400, 3)) < 0.05] = np.nan
    y = np.nan_to_num(X[:, 0] + X[:, 0] * X[:, 1]) + 0.3 * rng.normal(size=400) > 0.5
    model = AdditiveClassifier(
        "log_loss", strength=3e-3, members=3, interactions=1, monotone={2: 1}
    )
    return model.fit(X, y), X, y


def test_the_curve_that_matters_comes_first(fitted):
    model, _X, _y = fitted
    bands = model.curve_bands()
    first, *rest = column_curves(model, bands)
    assert first.name == "x0"
    assert first.missing is not None
    assert first.band.shape == (2, first.values.size)
    assert (first.band[0] <= first.band[1]).all()
    np.testing.assert_allclose(first.level, model.curve(0)[1])
    assert all("rising" in curve.title for curve in rest if curve.name == "x2")


def test_everything_can_be_drawn(fitted):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    model, _X, _y = fitted
    (found,) = pair_maps(model)
    assert found.level.shape == tuple(len(starts) for starts in found.starts)
    curve = column_curves(model, model.curve_bands())[0]
    figure, axes = pyplot.subplots(1, 2)
    draw_term(curve, axes[0])
    draw_term(found, axes[1])
    assert axes[0].get_xlabel() == "x0"
    assert axes[1].get_title() == found.title
    pyplot.close(figure)
    drawing = curve_svg(curve)
    assert drawing.count('class="band"') == drawing.count('class="density"') == 1
    assert drawing.count('class="line s0"') == 1


def test_a_row_is_the_average_and_its_parts(fitted):
    model, X, _ = fitted
    (row,) = row_parts(model, X, {"this one": 7})
    assert row.score == pytest.approx(model.decision_function(X)[7])
    assert row.score == pytest.approx(row.average + row.parts.sum())
    assert row.average == pytest.approx(model.decision_function(X).mean())
    assert (np.diff(np.abs(row.parts)) <= 0.0).all()
    by_name = dict(zip(row.names, row.parts, strict=True))
    # Each column is named once, with half of what its pair adds.
    assert sorted(by_name) == ["x0", "x1", "x2"]
    explained = dict(zip(model.names_, model.explain(X)[7], strict=True))
    (pair,) = set(explained) - set(by_name)
    for name in by_name:
        half = 0.5 * explained[pair] if name in pair.split(" x ") else 0.0
        assert by_name[name] == pytest.approx(explained[name] + half)


def test_the_density_is_rows_per_unit(fitted):
    curve = next(one for one in column_curves(fitted[0]) if one.name == "x0")
    area = curve.density * np.diff(curve.edges)
    np.testing.assert_allclose(area / area.sum(), curve.share / curve.share.sum(), rtol=1e-9)
    middle = curve.density[np.abs(curve.values) < 0.3].mean()
    assert middle > 5 * curve.density[np.abs(curve.values) > 2.2].mean()  # normal rows


def test_notebooks_and_matplotlib_show_everything(fitted):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pytest.importorskip("jinja2")
    model, X, _y = fitted
    shown = curve_pictures(model, X, rows=[0, 3])
    columns, pairs, rows = map(len, shown.info)
    assert (columns, pairs, rows) == (len(column_curves(model)), 1, 2)
    page = shown._repr_html_()
    assert page.count("<figure>") == columns + pairs + rows
    # Some charts are drawn again, on a scale of their own.
    assert page.count('class="band"') == columns + page.count('aria-label="Own scale of x')
    assert "<script" not in page
    figure = shown.plot()
    assert sum(ax.get_visible() and bool(ax.get_title()) for ax in figure.axes) == 1 + columns
    pyplot.close(figure)
    assert as_json(shown.info)["columns"][0]["values"][0] == shown.info.columns[0].values[0]


def test_names_are_escaped(fitted):
    model, X, _ = fitted
    page = curve_pictures(model, X, [1], names=["<b>", "&", "c"])._repr_html_()
    assert "<b>" not in page
    assert "&lt;b&gt;" in page


def test_several_classes_are_drawn_one_by_one():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    model = AdditiveClassifier("log_loss", strength=1e-2).fit(X, y)
    with pytest.raises(DataError, match="one score"):
        curve_pictures(model)
    low, high = (column_curves(model, score=k)[0].level for k in (0, 2))
    assert low[0] > low[-1]
    assert high[0] < high[-1]


def test_a_raw_table_has_dates_and_levels_on_its_axes():
    """The strongest pairs are drawn, with dates and levels as the table has them."""
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    n = 500
    rows = pd.DataFrame({f"x{k}": rng.normal(size=n) for k in range(4)})
    rows["joined"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), "D")
    rows["town"] = rng.choice(["Bonn", "Cork", "Oslo"], n)
    late = rows["joined"] > pd.Timestamp("2021-02-01")
    y = np.where((rows["town"] == "Oslo") ^ late, 3.0, 0.0) + rows["x0"]
    made = TableClassifier("log_loss", model="additive", interactions=15, members=2, strength=1e-3)
    made.fit(rows, y + rng.normal(size=n) > 1.0)
    info = curves_info(made.model_, schema=made.schema_)
    effects = [pair.effect for pair in info.pairs]
    assert len(effects) > MOST_PAIRS
    assert effects == sorted(effects, reverse=True)
    assert len(pair_figures(info)) == MOST_PAIRS
    first = info.pairs[0]
    assert set(first.names) == {"joined", "town"}
    town = first.names.index("town")
    assert set(first.starts[town]) == {"Bonn", "Cork", "Oslo"}  # no bin without rows
    assert first.of_levels[town]
    assert not first.of_levels[1 - town]
    starts = first.starts[1 - town]
    assert starts[0].startswith("2020-01")
    assert len(set(starts)) == len(starts)
    joined = next(curve for curve in info.columns if curve.name == "joined")
    assert "2020-" in curve_svg(joined)
    assert str(int(joined.values[0])) not in curve_svg(joined)
