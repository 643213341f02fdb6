"""The report on a raw table, in a real browser: charts on one scale, and nothing cut off."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from auctor.evaluate.run import gathered, train
from auctor.fit.prepare import prepare
from auctor.linear.table_parameters import TableParameters, model_parameters
from auctor.reports import render
from auctor.tables.read import read_file

pytestmark = pytest.mark.browser

CITIES = [f"a city with a long name {k}" for k in range(20)]


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    rng = np.random.default_rng(0)
    n = 900
    age = rng.normal(45.0, 12.0, n).round()
    hours = rng.integers(0, 60, n)
    city = rng.choice(CITIES, p=rng.dirichlet(np.full(20, 2.0)), size=n)
    plan = rng.choice(["basic", "plus", None], size=n)
    score = 0.1 * (age - 45.0) * np.sign(hours - 30.0) + 2.0 * (plan == "plus")
    score += np.where(np.isin(city, CITIES[:8]), 1.0, -1.0)
    kept = np.where(score + rng.logistic(size=n) > 0.5, "yes", "no")
    frame = pd.DataFrame({"age": age, "hours": hours, "city": city, "plan": plan, "kept": kept})
    path = tmp_path_factory.mktemp("table") / "rows.csv"
    frame.to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def make(path):
    def page(**how):
        table = TableParameters("auc", **how)
        with gathered([]):  # a linear model fills missing values, and says so
            parts = prepare(read_file(str(path), replace(table.read_options(), label="kept")))
        run = train(model_parameters(table, parts.schema), parts)
        run.measure()
        info = run.report("rows.csv")
        out = path.with_name(f"{how['model']}.html")
        out.write_text(render(info), encoding="utf-8")
        return out.as_uri(), info

    return page


@pytest.fixture(scope="module")
def curves(make):
    return make(model="additive", members=2, interactions=1)


@pytest.fixture(scope="module")
def lines(make):
    return make(model="linear", strength=0.01)


@pytest.fixture(scope="module", params=["curves", "lines"])
def shown(request):
    return request.getfixturevalue(request.param)


@pytest.fixture(scope="module")
def window(browser):
    context = browser.new_context(viewport={"width": 1200, "height": 900})
    yield context.new_page()
    context.close()


def captions(page, where="#additive"):
    return page.locator(f"{where} figcaption").all_inner_texts()


def test_each_column_has_one_chart(window, shown):
    address, info = shown
    window.goto(address)
    names = [curve.title for curve in info.curves.columns]
    assert sorted(set(names)) == sorted(names)
    assert captions(window)[: len(names)] == names
    assert {"city", "plan"} <= set(names) <= {"age", "hours", "city", "plan"}


def test_features_of_a_linear_model_are_the_columns_of_the_table(window, lines):
    window.goto(lines[0])
    names = window.locator("#features tbody th").all_inner_texts()
    assert sorted(names) == ["age", "city", "hours", "plan"]
    effects = [
        abs(float(value))
        for value in window.locator("#features td:nth-child(2) data").evaluate_all(
            "all => all.map(one => one.value)"
        )
    ]
    assert effects == sorted(effects, reverse=True)


def test_levels_are_sorted_bars_with_their_shares(window, shown):
    address, info = shown
    window.goto(address)
    plan = next(curve for curve in info.curves.columns if curve.name == "plan")
    chart = window.locator("#additive figure", has=window.get_by_text("plan", exact=True)).first
    bars = chart.locator(".common rect.cell, figure > svg rect.cell")
    if not bars.count():  # the common scale is its own
        bars = chart.locator("rect.cell")
    said = [text.split(":")[0] for text in bars.locator("title").all_text_contents()]
    assert said == [*plan.labels[:12], "missing"]
    shares = chart.locator("rect.density").first.locator("title").text_content()
    assert f"{plan.share[0]:.2%} of the rows" in shares
    assert chart.locator("details tbody tr").count() == len(plan.labels)


def test_all_charts_share_a_scale_until_a_click(window, curves):
    window.goto(curves[0])
    ticks = set()
    columns = {curve.title for curve in curves[1].curves.columns if curve.labels is None}
    figures = [
        one
        for one in window.locator("#additive figure").all()
        if one.locator("figcaption").inner_text() in columns
    ]
    assert len(figures) == len(columns) >= 2
    for figure in figures:
        drawn = figure.locator("svg").first
        ticks.add(tuple(drawn.locator("text[text-anchor=end]").all_text_contents()))
    assert len(ticks) == 1
    box = window.locator("#additive .scales input").first
    both = box.locator("xpath=..")
    assert both.locator(".common svg").is_visible()
    assert not both.locator(".own svg").is_visible()
    both.locator(".common svg").click()
    assert both.locator(".own svg").is_visible()
    assert not both.locator(".common svg").is_visible()
    box.uncheck()
    assert both.locator(".common svg").is_visible()


def test_a_pair_is_a_map_with_the_densities_of_both(window, curves):
    address, info = curves
    window.goto(address)
    (pair,) = info.curves.pairs
    figure = window.locator("#additive figure", has=window.get_by_text(pair.title, exact=True))
    assert figure.locator("rect.cell").count() == pair.level.size
    assert figure.locator("rect.density").count() == sum(pair.level.shape)


def test_errors_name_each_column_once(window, shown):
    window.goto(shown[0])
    for text in window.locator("#errors td.reasons").all_inner_texts():
        names = [reason.split(" = ")[0] for reason in text.split("; ")]
        assert len(set(names)) == len(names)
        assert set(names) <= {"age", "hours", "city", "plan", "–"}


def test_the_data_section_has_types_missing_values_and_drift(window, shown):
    address, info = shown
    window.goto(address)
    rows = [row.split("\t") for row in window.locator("#data .columns tbody tr").all_inner_texts()]
    assert [row[:2] for row in rows] == [
        ["age", "number"],
        ["hours", "number"],
        ["city", "category"],
        ["plan", "category"],
    ]
    assert int(rows[3][2]) == info.columns[3].missing > 200
    assert [row[7] for row in rows] == [f"{column.drift:.3f}" for column in info.columns]
    assert "No column differs" in window.locator("#drift").inner_text()


CUT_OFF = """all => all.filter(one => {
  const style = getComputedStyle(one);
  if (!one.offsetParent || style.overflowX === "auto") return false;
  const box = one.getBoundingClientRect();
  return box.right > innerWidth + 0.5 || box.left < -0.5 || one.scrollWidth > one.clientWidth + 1;
}).map(one => one.outerHTML.slice(0, 120))"""


def test_nothing_is_cut_off_on_a_phone(window, shown):
    window.set_viewport_size({"width": 360, "height": 800})
    window.goto(shown[0])
    window.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    assert window.evaluate("document.documentElement.scrollWidth") <= 360
    assert window.locator("main td, main th, main p, main li").evaluate_all(CUT_OFF) == []
    tables = "all => all.filter(one => one.scrollWidth > one.clientWidth + 1).length"
    assert (
        window.locator("#errors .scroll, #models .scroll, #data .scroll").evaluate_all(tables) == 0
    )
    # Names of levels stay inside their drawings.
    outside = """all => all.filter(one => {
      const own = one.getBoundingClientRect();
      const page = one.ownerSVGElement.getBoundingClientRect();
      return own.width > 0 && (own.left < page.left - 1 || own.right > page.right + 1);
    }).map(one => one.textContent)"""
    assert window.locator("#additive svg text").evaluate_all(outside) == []
    window.set_viewport_size({"width": 1200, "height": 900})


def test_figures_have_one_grid_of_widths(window, shown):
    window.goto(shown[0])
    widths = window.locator("figure").evaluate_all(
        "all => all.map(one => Math.round(one.getBoundingClientRect().width))"
    )
    assert max(widths) - min(widths) <= 1
