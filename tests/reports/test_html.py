import math
import re
from html.parser import HTMLParser

import pytest

from auctor.reports import Comparison, render
from auctor.reports.html import describe_comparison, gap_text
from auctor.reports.svg import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, count_axis, power_axis

VOID = {"meta", "line", "polyline"}


class Page(HTMLParser):
    """Checks nesting; collects table rows, exact values, polylines and text."""

    def __init__(self, text):
        super().__init__()
        self.stack, self.rows, self.lines, self.tags, self.text = [], [], [], [], ""
        self.feed(text)
        self.close()
        assert not self.stack

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.tags.append((tag, attrs))
        if tag == "tr":
            self.rows.append([])
        if tag == "data":
            self.rows[-1].append(float(attrs["value"]))
        if tag == "polyline":
            points = [p.split(",") for p in attrs["points"].split()]
            self.lines.append((attrs["class"], [(float(a), float(b)) for a, b in points]))
        if tag not in VOID:
            self.stack.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag):
        assert self.stack.pop() == tag

    def handle_data(self, data):
        self.text += data


@pytest.fixture(scope="module")
def text(info):
    return render(info)


@pytest.fixture(scope="module")
def page(text):
    return Page(text)


def test_it_is_self_contained(text, page):
    assert not re.search(r"https?://", text)
    assert not re.search(r"url\(|@import|src=", text)
    tags = {tag for tag, _ in page.tags}
    assert not tags & {"script", "link", "img", "iframe"}
    assert len(text) < 100_000


def test_it_adapts_to_dark_rooms_phones_and_paper(text):
    assert "prefers-color-scheme: dark" in text
    assert "width=device-width" in text
    assert "@media print" in text


def test_numbers_are_those_of_the_info(info, page):
    rows = page.rows[1:]  # without the headings
    assert len(rows) == len(info.models)
    for row, m in zip(rows, info.models, strict=True):
        wanted = [m.train_auc, m.auc, m.auc_low, m.auc_high, m.prbep, m.f1, m.gap, m.objective]
        assert row == [*wanted, m.seconds, m.n_iter]


def test_curves_are_those_of_the_info(info, page):
    roc, pr, solved = _figures(page)
    for k, model in enumerate(info.models):
        for drawn, curve in ((roc, model.roc), (pr, model.precision_recall)):
            back = [_unit(point) for point in drawn[k]]
            assert len(back) == len(curve.x)
            for (x, y), a, b in zip(back, *curve, strict=True):
                assert (x, y) == pytest.approx((a, b), abs=1e-4)
    assert len(solved) == sum(model.certified for model in info.models)


def test_coordinates_are_finite_and_inside(page):
    assert page.lines
    for _, points in page.lines:
        for x, y in points:
            assert math.isfinite(x)
            assert math.isfinite(y)
            assert 0 <= x <= WIDTH
            assert 0 <= y <= HEIGHT


def test_names_are_escaped(info, text, page):
    assert "<b>" not in text
    assert 'with <b>tags</b> & "quotes"' in page.text
    assert info.title in page.text


def test_a_gap_without_proof_says_so(info, page):
    assert "not certified" in gap_text(info.models[2])
    assert "not certified" in page.text
    assert "not certified" not in gap_text(info.models[0])


def test_comparisons_are_printed(info, page):
    for comparison in info.comparisons:
        assert describe_comparison(comparison) in page.text


def test_a_comparison_without_a_test_says_so():
    text = describe_comparison(Comparison("a", "b", 0.5, 0.0, math.nan))
    assert text == "a against b, test AUC: +0.500 (too few rows for a test)."


def test_a_single_model_without_curve_points(info):
    model = info.models[2]
    Page(render(info._replace(models=(model,), comparisons=())))


@pytest.mark.parametrize("most", [0.0, 1.0, 3.0, 7.5, 41.0, 99.0, 100.0, 12345.0])
def test_count_axis_covers_its_values(most):
    axis = count_axis("passes", most)
    assert axis.high >= most
    assert 2 <= len(axis.ticks) <= 7


@pytest.mark.parametrize("values", [[], [0.0], [1.0], [1e-3, 1e-3], [1.0, 1e-15], [3.0, 0.2]])
def test_power_axis_covers_its_values(values):
    axis = power_axis("gap", values)
    assert axis.low < axis.high
    assert all(0.0 <= axis.share(value) <= 1.0 for value in values)
    assert 2 <= len(axis.ticks) <= 8


def _figures(page):
    """Point lists of the series of each figure, the line of chance left out."""
    chance = [k for k, (css, _) in enumerate(page.lines) if css == "chance"]
    assert chance == [0]
    lines = [points for _, points in page.lines[1:]]
    count = (len(lines) + 1) // 3
    return lines[:count], lines[count : 2 * count], lines[2 * count :]


def _unit(point):
    x, y = point
    bottom = HEIGHT - BOTTOM
    return (x - LEFT) / (WIDTH - LEFT - RIGHT), (bottom - y) / (bottom - TOP)
