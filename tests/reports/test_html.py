import base64
import hashlib
import json
import math
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from auctor import metrics
from auctor.evaluate.info import Comparison
from auctor.reports import DataInfo, ReportedModel, build_report, render
from auctor.reports.html.page import MAX_COLUMNS
from auctor.reports.html.svg import (
    BOTTOM,
    HEIGHT,
    LEFT,
    RIGHT,
    TOP,
    WIDTH,
    count_axis,
    power_axis,
    range_axis,
)
from auctor.reports.text import describe_comparison, describe_data, gap_text

VOID = {"meta", "link", "input"}
POINTS = {"polyline", "polygon"}


class Page(HTMLParser):
    """Checks nesting; collects elements, table rows of exact values, drawings and text."""

    def __init__(self, text):
        super().__init__()
        self.stack, self.rows, self.tags, self.text = [], [], [], ""
        self.scripts, self.figures, self.by_id = [], {}, {}
        self.feed(text)
        self.close()
        assert not self.stack

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.tags.append((tag, attrs))
        if "id" in attrs:
            assert attrs["id"] not in self.by_id
            self.by_id[attrs["id"]] = attrs
        if tag == "tr":
            self.rows.append([])
        if tag == "data" and "tr" in self.stack:
            self.rows[-1].append(float(attrs["value"]))
        if tag == "svg" and "aria-label" in attrs:
            self.drawn = self.figures[attrs["aria-label"]] = []
        if tag in POINTS:
            points = [p.split(",") for p in attrs["points"].split()]
            self.drawn.append((attrs["class"], [(float(a), float(b)) for a, b in points]))
        if tag == "script":
            self.scripts.append("")
        if tag not in VOID:
            self.stack.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag):
        assert self.stack.pop() == tag

    def handle_data(self, data):
        if self.stack and self.stack[-1] == "script":
            self.scripts[-1] += data
        else:
            self.text += data


@pytest.fixture(scope="module")
def text(info):
    return render(info)


@pytest.fixture(scope="module")
def page(text):
    return Page(text)


# --- the page -----------------------------------------------------------------------------


def test_it_is_self_contained(text, page):
    assert not re.search(r"https?://", text)
    assert not re.search(r"url\(|@import|src=", text)
    tags = {tag for tag, _ in page.tags}
    assert not tags & {"img", "iframe", "object", "embed", "form"}
    assert [a["href"] for tag, a in page.tags if "href" in a] == ["data:,"]
    assert len(text.encode()) < 150_000


def test_its_policy_allows_its_own_script_only(page):
    policy = next(a["content"] for tag, a in page.tags if a.get("http-equiv"))
    digest = base64.b64encode(hashlib.sha256(page.scripts[1].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy


def test_it_adapts_to_dark_rooms_phones_and_paper(text):
    assert "prefers-color-scheme: dark" in text
    assert "width=device-width" in text
    assert "@media print" in text


def test_hostile_text_stays_text(info, text, page):
    assert "<b>tags" not in text
    assert "</script><b>" not in text
    assert text.count("</script>") == 2
    assert '</script><b>tags</b> & "quotes"' in page.text
    assert info.title in page.text
    assert info.command in page.text
    assert "Column <x> is constant." in page.text


def test_controls_have_labels(page):
    labelled = {a["for"] for tag, a in page.tags if tag == "label"}
    inputs = {a["id"] for tag, a in page.tags if tag == "input"}
    assert inputs == {"cut", "beta", "cost-fp", "cost-fn"} == labelled
    for _, attrs in page.tags:
        if "aria-labelledby" in attrs:
            assert attrs["aria-labelledby"] in page.by_id
    assert all("aria-label" in a or "aria-hidden" in a for tag, a in page.tags if tag == "svg")


# --- numbers ------------------------------------------------------------------------------


def test_the_table_of_models_is_that_of_the_info(info, page):
    first, second, third = [row for row in page.rows if len(row) >= 6][:3]
    for row, m in ((first, info.models[0]), (second, info.models[1])):
        h = m.headline
        wanted = [m.train_auc, h.auc.value, h.auc.low, h.auc.high, h.average_precision.value]
        wanted += [
            h.prbep.value,
            h.fbeta.value,
            m.fit.gap,
            m.fit.objective,
            m.seconds,
            m.fit.n_iter,
        ]
        assert row == pytest.approx(wanted, rel=0, abs=0, nan_ok=True)
    assert len(third) == 8  # a model that was not solved here has no gap


def test_headlines_are_those_of_the_info(info, text):
    for found in info.models[0].headline[:6]:
        for value in found[:3]:
            assert f'<data value="{value!r}">{value:.3f}</data>' in text


def test_numbers_for_the_script_are_those_of_the_table(info, page):
    numbers = json.loads(page.scripts[0])
    t = info.models[0].thresholds
    assert numbers["threshold"] == list(t.threshold)
    assert numbers["tp"] == list(t.tp)
    assert numbers["fp"] == list(t.fp)
    assert numbers["positives"] == info.data.test_positives
    assert numbers["negatives"] == 5000 - info.data.test_positives
    assert numbers["threshold"][numbers["chosen"]] == 0.75


def test_without_scripts_the_model_s_threshold_is_shown(info, page, scored, candidates):
    y, _ = scored
    s = candidates[0].scores
    table = metrics.confusion(y, s, threshold=0.75)
    cost = (1.0 * table.fp + 5.0 * table.fn) / y.size
    wanted = {
        **table._asdict(),
        "precision": table.precision,
        "recall": table.tpr,
        "fpr": table.fpr,
        "fbeta": metrics.fbeta(y, s, 2.0, threshold=0.75),
        "flagged": (table.tp + table.fp) / y.size,
        "cost": cost,
    }
    for name, value in wanted.items():
        assert float(page.by_id[name]["value"]) == pytest.approx(value, rel=1e-12)


def test_features_and_columns_are_listed(info, page):
    for feature in info.models[0].weights.top:
        assert feature.name in page.text
        assert f"{feature.weight:+.4g}" in page.text
    assert "41.5" in page.text
    many = info._replace(columns=info.columns[:1] * (MAX_COLUMNS + 5))
    assert "5 more columns are not listed." in Page(render(many)).text


def test_a_gap_without_proof_says_so(info, page):
    assert "not certified" in gap_text(info.models[1].fit)
    assert "not certified" in page.text
    assert "not certified" not in gap_text(info.models[0].fit)
    assert gap_text(None) == "–"


def test_comparisons_are_printed(info, page):
    for comparison in info.comparisons:
        assert describe_comparison(comparison) in page.text


def test_a_comparison_without_a_test_says_so():
    text = describe_comparison(Comparison("a", "b", 0.5, 0.0, math.nan))
    assert text == "a against b, test AUC: +0.500 (too few rows for a test)."


def test_data_without_training_rows():
    assert describe_data(DataInfo(0, 0, 1000, 10, 5)).startswith("1,000 test rows")


# --- drawings -----------------------------------------------------------------------------


def test_curves_are_those_of_the_info(info, page):
    for name, curves in (
        ("ROC curve", [m.roc for m in info.models]),
        ("Precision and recall", [m.precision_recall for m in info.models]),
        ("Lift", [m.gains for m in info.models]),
    ):
        _, *drawn = page.figures[name]
        assert len(drawn) == len(curves)
        for (_, points), curve in zip(drawn[::-1], curves, strict=True):
            for point, a, b in zip(points, *curve, strict=True):
                assert _unit(point) == pytest.approx((a, b), abs=1e-4)


def test_every_figure_is_there(page):
    assert list(page.figures) == [
        "ROC curve",
        "Precision and recall",
        "Lift",
        "Scores by class",
        "Calibration",
        "Objective and gap against passes",
        "Objective and gap against seconds",
        "Distance to the optimum, at most",
        "Metric against passes",
        "Metric against seconds",
        "Sparsity along the path",
        "Score along the path",
    ]
    assert len(page.figures["Scores by class"]) == 2
    assert len(page.figures["Objective and gap against seconds"]) == 2


def test_coordinates_are_finite_and_inside(page):
    for drawn in page.figures.values():
        for _, points in drawn:
            for x, y in points:
                assert LEFT - 0.01 <= x <= WIDTH - RIGHT + 0.01
                assert TOP - 0.01 <= y <= HEIGHT - BOTTOM + 0.01


@pytest.mark.parametrize(
    ("y", "scores"),
    [
        ([0, 1], [0.0, 0.0]),
        ([0, 1], [0.0, 1.0]),
        ([0, 1], [1.0, 0.0]),
        ([0, 1, 1], [-1e300, 0.0, 1e300]),
        ([0, 1, 0], [1e-300, 2e-300, 3e-300]),
    ],
)
@pytest.mark.parametrize("threshold", [-5.0, 0.0, 5.0])
def test_extreme_scores_make_a_page(y, scores, threshold):
    candidate = ReportedModel("m", np.array(scores), threshold)
    data = DataInfo(0, 0, len(y), sum(y), 0)
    page = Page(render(build_report("t", y, [candidate], data=data, version="0")))
    assert "NaN" not in page.scripts[0]
    for drawn in page.figures.values():
        assert all(math.isfinite(v) for _, points in drawn for point in points for v in point)


@pytest.mark.parametrize("likely", [1.0, 0.02])
def test_probabilities_get_a_diagonal(likely):
    rng = np.random.default_rng(0)
    p = likely * rng.random(3000)
    y = (rng.random(3000) < p).astype(int)
    data = DataInfo(0, 0, 3000, int(y.sum()), 1)
    candidate = ReportedModel("m", p, probabilities=p)
    page = Page(render(build_report("t", y, [candidate], data=data, version="0")))
    css, ((x0, y0), (x1, y1)) = page.figures["Calibration"][0]
    assert css == "chance"
    assert (x0, y0) == (LEFT, HEIGHT - BOTTOM)
    assert x1 > WIDTH / 2 or y1 < HEIGHT / 2
    assert "has no probabilities" not in page.text


@pytest.mark.parametrize("most", [0.0, 1e-9, 1.0, 3.0, 7.5, 41.0, 99.0, 100.0, 12345.0, 1e300])
def test_count_axis_covers_its_values(most):
    axis = count_axis("passes", most)
    assert axis.low == 0.0
    assert axis.high >= most * (1 - 1e-9)
    assert 2 <= len(axis.ticks) <= 7


@pytest.mark.parametrize(
    ("low", "high"), [(-1.0, 1.0), (0.2, 0.21), (5.0, 5.0), (-1e6, 3.0), (1e9, 1e9 + 1), (0.0, 0.0)]
)
def test_range_axis_covers_its_values(low, high):
    axis = range_axis("score", low, high)
    assert axis.low <= low + 1e-9 * abs(low)
    assert axis.high >= high - 1e-9 * abs(high)
    assert axis.low < axis.high
    assert 2 <= len(axis.ticks) <= 8


@pytest.mark.parametrize("values", [[], [0.0], [1.0], [1e-3, 1e-3], [1.0, 1e-15], [3.0, 0.2]])
def test_power_axis_covers_its_values(values):
    axis = power_axis("gap", values)
    assert axis.low < axis.high
    assert all(0.0 <= axis.share(value) <= 1.0 for value in values)
    assert 2 <= len(axis.ticks) <= 8


def test_a_model_without_anything_known_of_its_fit(info):
    page = Page(render(info._replace(models=info.models[2:], comparisons=(), path=None)))
    assert "Convergence" not in page.text
    assert "Features" not in page.text


def _unit(point):
    x, y = point
    bottom = HEIGHT - BOTTOM
    return (x - LEFT) / (WIDTH - LEFT - RIGHT), (bottom - y) / (bottom - TOP)
