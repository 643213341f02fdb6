"""What people do with a report, in a real browser, against Python's metrics."""

import numpy as np
import pytest

from auctor import metrics
from auctor.core.result import Solution, Status, Trace
from auctor.evaluate.info import PathInfo
from auctor.reports import DataInfo, ReportedModel, build_report, render

pytestmark = pytest.mark.browser

HOSTILE = "</script><b onclick='alert(1)'>x</b><img src=x onerror=alert(2)>" + "long" * 40
OWN, BETA, COSTS = 1.25, 1.0, (1.0, 10.0)


@pytest.fixture(scope="module")
def scored():
    rng = np.random.default_rng(0)
    y = (rng.random(4000) < 0.1).astype(int)
    return y, rng.normal(size=4000) + 1.4 * y, rng.normal(size=4000) + y


@pytest.fixture(scope="module")
def info(scored):
    y, scores, other = scored
    steps = 20
    trace = Trace(
        tuple(range(steps)),
        tuple(0.2 + 0.5**k for k in range(steps)),
        tuple(0.5**k for k in range(steps)),
        tuple(0.01 * k for k in range(steps)),
        tuple(2.0 * k for k in range(steps)),
        tuple(range(steps)),
    )
    coef = np.random.default_rng(1).normal(size=50)
    solution = Solution(
        coef, 0.0, 0.2, 1e-6, True, 1e-4, Status.CONVERGED, 19, 40.0, 20, 0.2, "Newton", trace
    )
    names = [f"column {k} {HOSTILE}" for k in range(50)]
    return build_report(
        f"Report {HOSTILE}",
        y,
        [
            ReportedModel(HOSTILE, scores, OWN, solution, 0.2, 0.9, feature_names=names),
            ReportedModel("other", other),
        ],
        data=DataInfo(8000, 800, 4000, int(y.sum()), 50, HOSTILE, HOSTILE, "no"),
        path=PathInfo(
            (1.0, 0.1, 0.01), (0.0, 5.0, 50.0), (0.5, 0.8, 0.79), (0.01,) * 3, 1, HOSTILE
        ),
        columns=[(name, "number", 0, 4000, -4.0, 4.0, 0.0) for name in names],
        warnings=[HOSTILE],
        command=f"auctor train {HOSTILE}",
        costs=COSTS,
        beta=BETA,
        version="0.0.test",
    )


@pytest.fixture(scope="module")
def address(info, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(render(info), encoding="utf-8")
    return path.as_uri()


@pytest.fixture
def opened(browser, address):
    """Open the report in a new context; at the end nothing was said, asked for or loaded."""
    contexts, said, asked = [], [], []

    def open_page(width=1200, **options):
        context = browser.new_context(viewport={"width": width, "height": 800}, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("dialog", lambda dialog: said.append(dialog.message))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(address)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert said == []
    assert [url for url in asked if not url.startswith("data:")] == [address] * len(contexts)


def value(page, name):
    return float(page.locator(f"#{name}").get_attribute("value"))


def check(page, scored, threshold, beta=BETA, costs=COSTS):
    """Every live number is Python's at this threshold."""
    y, scores, _ = scored
    table = metrics.confusion(y, scores, threshold=threshold)
    wanted = {
        **table._asdict(),
        "precision": table.precision,
        "recall": table.tpr,
        "fpr": table.fpr,
        "fbeta": metrics.fbeta(y, scores, beta, threshold=threshold),
        "flagged": (table.tp + table.fp) / y.size,
        "cost": (costs[0] * table.fp + costs[1] * table.fn) / y.size,
    }
    for name, number in wanted.items():
        assert value(page, name) == pytest.approx(number, rel=1e-12, nan_ok=True), name
    for name in table._fields:
        assert page.locator(f"#{name}").inner_text() == f"{getattr(table, name):,.0f}"
    for name in ("precision", "recall", "fbeta"):
        text = page.locator(f"#{name}").inner_text()
        if np.isnan(wanted[name]):
            assert text == "–"
        else:
            assert float(text) == pytest.approx(wanted[name], abs=5.01e-4)


def slide(page, position):
    page.locator("#cut").fill(str(position))


def position(page):
    return int(page.locator("#cut").input_value())


def test_it_opens_at_the_model_s_threshold(opened, info, scored):
    page = opened()
    assert position(page) == info.models[0].thresholds.own
    check(page, scored, OWN)
    assert page.locator("#cut-value").inner_text() == "1.25"


def test_every_position_of_the_slider_has_python_s_numbers(opened, info, scored):
    page, table = opened(), info.models[0].thresholds
    last = len(table.threshold) - 1
    for k in (0, 1, 17, last // 3, last // 2, table.own, last - 1, last):
        slide(page, k)
        check(page, scored, table.threshold[k])
        text = page.locator("#cut").get_attribute("aria-valuetext")
        assert float(text.split()[-1]) == pytest.approx(table.threshold[k], rel=1e-3)


def test_the_keyboard_moves_the_slider(opened, info, scored):
    page, table = opened(), info.models[0].thresholds
    page.locator("#cut").focus()
    for key, wanted in (
        ("ArrowRight", table.own + 1),
        ("ArrowLeft", table.own),
        ("ArrowDown", table.own - 1),
        ("Home", 0),
        ("ArrowUp", 1),
        ("End", len(table.threshold) - 1),
    ):
        page.keyboard.press(key)
        assert position(page) == wanted
        check(page, scored, table.threshold[wanted])
    page.keyboard.press("PageDown")
    assert 0 < position(page) < len(table.threshold) - 1
    check(page, scored, table.threshold[position(page)])


def test_beta_and_costs_are_live(opened, scored):
    page = opened()
    page.locator("#beta").fill("2.5")
    page.locator("#cost-fp").fill("0.3")
    page.locator("#cost-fn").fill("7")
    check(page, scored, OWN, 2.5, (0.3, 7.0))
    assert page.locator("#fbeta-name").inner_text() == "F2.5"
    page.locator("#beta").fill("0")
    check(page, scored, OWN, 0.0, (0.3, 7.0))


@pytest.mark.parametrize("bad", ["", "-1", "1e999"])
def test_a_bad_number_gives_no_result_until_it_is_mended(opened, scored, bad):
    page = opened()
    for name, shown in (("beta", "fbeta"), ("cost-fp", "cost"), ("cost-fn", "cost")):
        before = page.locator(f"#{name}").input_value()
        page.locator(f"#{name}").fill(bad)
        assert page.locator(f"#{shown}").inner_text() == "–"
        assert page.locator(f"#{name}").get_attribute("aria-invalid") == "true"
        page.locator(f"#{name}").fill(before)
        assert page.locator(f"#{name}").get_attribute("aria-invalid") == "false"
    check(page, scored, OWN)


def test_buttons_go_to_the_best_thresholds(opened, scored, info):
    y, scores, _ = scored
    page, table = opened(), info.models[0].thresholds
    page.locator("#to-fbeta").click()
    assert value(page, "fbeta") == pytest.approx(metrics.best_fbeta(y, scores, BETA).value)
    page.locator("#to-cost").click()
    best = metrics.best_threshold(y, scores, "cost", COSTS[1] / COSTS[0])
    check_table = metrics.confusion(y, scores, threshold=best)
    assert value(page, "cost") * y.size == pytest.approx(
        COSTS[0] * check_table.fp + COSTS[1] * check_table.fn
    )
    page.locator("#to-model").click()
    assert position(page) == table.own
    check(page, scored, OWN)


def test_marks_on_the_curves_follow(opened, info):
    page, table = opened(), info.models[0].thresholds
    for k in (3, table.own):
        slide(page, k)
        dot = page.locator("#at-roc")
        x, y = float(dot.get_attribute("cx")), float(dot.get_attribute("cy"))
        fpr = table.fp[k] / (table.fp[0] + table.tn[0])
        tpr = table.tp[k] / (table.tp[0] + table.fn[0])
        assert (x - 54) / 288 == pytest.approx(fpr, abs=1e-6)
        assert (228 - y) / 216 == pytest.approx(tpr, abs=1e-6)
    before = page.locator("#at-histogram").get_attribute("x1")
    slide(page, 3)
    assert page.locator("#at-histogram").get_attribute("x1") != before


def test_without_scripts_it_can_be_read(opened, scored):
    page = opened(java_script_enabled=False)
    assert not page.locator("#cut").is_visible()
    check(page, scored, OWN)


def test_on_paper_the_controls_are_left_out(opened):
    page = opened()
    page.emulate_media(media="print")
    assert not page.locator("#cut").is_visible()
    assert page.locator("#tp").is_visible()
    assert len(page.pdf()) > 10_000


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [320, 390, 768, 1200])
def test_nothing_sticks_out(opened, width, scheme):
    page = opened(width, color_scheme=scheme)
    for details in page.locator("details").all():
        details.evaluate("element => { element.open = true; }")
    size = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert size[0] <= size[1]
    paper, ink = page.evaluate(
        "(() => { const s = getComputedStyle(document.body);"
        " return [s.backgroundColor, s.color]; })()"
    )
    dark = scheme == "dark"
    assert (_brightness(paper) < 60) == dark
    assert (_brightness(ink) > 180) == dark


def _brightness(colour):
    return np.mean([int(part) for part in colour[4:-1].split(",")])
