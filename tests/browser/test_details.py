"""The parts of a report about one metric, single rows and slices, in a real browser."""

import csv
import io

import numpy as np
import pytest

from auctor import metrics
from auctor.evaluate.rows import MeasuredRows, Reason
from auctor.evaluate.trained_metric import ReportedMetric, Rival
from auctor.reports import DataInfo, ReportedModel, build_report, render
from auctor.reports.html.threshold import threshold_csv

pytestmark = pytest.mark.browser

LONG = "a_label_that_nobody_thought_of_breaking_" * 4
COLUMN = "a_column_with_a_name_of_many_words_" * 4


REASONS = [
    Reason(COLUMN, 1.5, -0.7),
    Reason("city", "Oslo", -0.2),
    Reason("sold", 19723.0, -0.1, "day"),
]


def minus_cost(y, scores, weight):
    table = metrics.confusion(y, scores > 0.0, weight=weight)
    return -(table.fp + 10.0 * table.fn) / sum(table)


@pytest.fixture(scope="module")
def info():
    rng = np.random.default_rng(0)
    hit = rng.random(600) < 0.2
    scores = rng.normal(size=600) + 1.5 * hit - 1.0
    return build_report(
        "cost(10) on rows.csv",
        hit.astype(int),
        [
            ReportedModel(
                "cost(10)",
                scores,
                coef=np.array([2.0, -0.01, 0.5]),
                feature_names=[COLUMN, "sold", "city=Oslo"],
                deviations=np.array([0.05, 90.0, 0.4]),
                units=["1", "day", "category"],
            )
        ],
        data=DataInfo(2000, 400, 600, int(hit.sum()), 3, "rows.csv", LONG, "no"),
        costs=(1.0, 10.0),
        version="0.0.test",
        metric=ReportedMetric("cost(10)", minus_cost, 0.0),
        train_value=0.05,
        rivals=[
            Rival("constant score", np.full(600, 1.0), "the same for every row"),
            Rival("log-loss", scores + 0.3),
            Rival("boosted trees", None, "It needs fewer columns."),
        ],
        rows=MeasuredRows(range(1, 601), lambda k: REASONS),
        slices={"city": [("Oslo", "Rome", LONG)[k % 3] for k in range(600)]},
    )


@pytest.fixture(scope="module")
def address(info, tmp_path_factory):
    path = tmp_path_factory.mktemp("details") / "report.html"
    path.write_text(render(info), encoding="utf-8")
    return path.as_uri()


@pytest.fixture(scope="module")
def page(browser, address):
    context = browser.new_context(viewport={"width": 1200, "height": 900}, accept_downloads=True)
    said = []
    page = context.new_page()
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(address)
    yield page
    context.close()
    assert said == []


def test_the_trained_metric_comes_first_with_its_best(page, info):
    assert page.locator("main section").first.get_attribute("id") == "trained"
    assert page.locator("#trained h2").inner_text() == "Trained for: cost(10)"
    shown = float(page.locator("#trained-value").get_attribute("value"))
    assert shown == info.trained.test.value
    assert float(page.locator("#trained-best").get_attribute("value")) == 0.0
    assert "less is better" in page.locator("#trained").inner_text()


def test_baselines_are_one_line_each(page, info):
    lines = page.locator("#baselines li").all_inner_texts()
    assert [line.split(":")[0].split(" (")[0] for line in lines] == [
        "constant score",
        "log-loss",
        "boosted trees",
    ]
    assert "the model is better by" in lines[0]
    assert lines[2] == "boosted trees: not measured. It needs fewer columns."
    values = page.locator("#baselines data").evaluate_all("all => all.map(one => one.value)")
    assert float(values[0]) == info.baselines[0].value


def test_over_fitting_is_flagged(page, info):
    assert info.trained.overfits
    assert page.locator("#overfit").inner_text().startswith("It over-fits")
    assert page.locator("#overfit").get_attribute("class") == "flag"
    assert "Over-fitting: cost(10) is 0.0500" in page.locator(".warnings").inner_text()


def test_features_are_ranked_with_signs_and_units(page):
    rows = [row.split("\t") for row in page.locator("#features tbody tr").all_inner_texts()]
    assert [row[0] for row in rows] == ["sold", "city=Oslo", COLUMN]  # |w d|: 0.9, 0.2, 0.1
    assert [row[1] for row in rows] == ["-0.9", "+0.2", "+0.1"]
    assert [row[3] for row in rows] == ["day", "category", "1"]
    sides = page.locator("#features .bar i").evaluate_all("all => all.map(one => one.className)")
    assert sides == ["negative", "positive", "positive"]


def test_units_do_not_break_inside_a_word(page):
    page.set_viewport_size({"width": 360, "height": 900})
    for cell in page.locator("td.unit").all():
        assert cell.evaluate("one => getComputedStyle(one).whiteSpace") == "nowrap"
    page.set_viewport_size({"width": 1200, "height": 900})


def test_the_costliest_errors_are_listed(page, info):
    rows = page.locator("#errors tbody tr").all_inner_texts()
    assert len(rows) == len(info.errors) == 15
    first = rows[0].split("\t")
    assert first[:3] == [str(info.errors[0].row), LONG, "no"]
    assert first[4] == "10"
    assert first[5] == f"{COLUMN} = 1.5 (-0.7); city = Oslo (-0.2); sold = 2024-01-01 (-0.1)"


def test_slices_have_their_metrics(page, info):
    rows = [row.split("\t") for row in page.locator("#slices tbody tr").all_inner_texts()]
    assert [row[0] for row in rows] == ["Oslo", "Rome", LONG]
    for row, one in zip(rows, info.slices[0].slices, strict=True):
        assert row[1:3] == [str(one.rows), str(one.positives)]
        assert float(row[3]) == pytest.approx(one.value, rel=1e-3)


def test_the_positive_class_is_named(page):
    assert f"The positive class is {LONG}" in page.locator("header").inner_text()
    assert page.locator(".confusion tbody th").first.inner_text() == LONG


@pytest.mark.parametrize("width", [360, 1200])
def test_long_labels_wrap(page, width):
    page.set_viewport_size({"width": width, "height": 900})
    for where in (".confusion tbody th", "#features tbody th", "#slices tbody th", "td.label"):
        for cell in page.locator(where).all():
            wide, room = cell.evaluate("one => [one.scrollWidth, one.clientWidth]")
            assert wide <= room + 1, where
            assert cell.evaluate("one => getComputedStyle(one).textOverflow") == "clip"
    size = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert size[0] <= size[1]
    page.set_viewport_size({"width": 1200, "height": 900})


def test_the_table_of_thresholds_is_exported(page, info):
    with page.expect_download() as waiting:
        page.locator("#export").click()
    assert waiting.value.suggested_filename == "thresholds.csv"
    with open(waiting.value.path()) as file:
        found = list(csv.reader(file))
    wanted = list(csv.reader(io.StringIO(threshold_csv(info))))
    assert found[0] == wanted[0]
    assert len(found) == len(info.models[0].thresholds.threshold) + 1
    for row, own in zip(found[1:], wanted[1:], strict=True):
        numbers = [[float(cell or "nan") for cell in cells] for cells in (row, own)]
        assert numbers[0] == pytest.approx(numbers[1], rel=1e-12, nan_ok=True)


def test_the_export_takes_the_costs_that_are_typed(page, info):
    page.locator("#cost-fn").fill("3")
    with page.expect_download() as waiting:
        page.locator("#export").click()
    with open(waiting.value.path()) as file:
        found = list(csv.DictReader(file))
    page.locator("#cost-fn").fill("10")
    wanted = csv.DictReader(io.StringIO(threshold_csv(info._replace(costs=(1.0, 3.0)))))
    for row, own in zip(found, wanted, strict=True):
        assert float(row["cost"]) == pytest.approx(float(own["cost"]), rel=1e-12)
