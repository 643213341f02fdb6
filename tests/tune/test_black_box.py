"""Functions of numbers: auctor's face and SciPy's."""

import time

import numpy as np
import pytest
from scipy.optimize import Bounds, minimize, rosen

from auctor.core.errors import AuctorError, DataError, DataWarning
from auctor.tune import DfoTr, dfo_tr, minimise_black_box
from auctor.tune.black_box import FREE_HALF_WIDTH


def bowl(x):
    return float(((np.asarray(x) - [1.0, -2.0]) ** 2).sum())


BOX = [(-5.0, 5.0), (-5.0, 5.0)]


def test_a_box_is_searched_and_never_left():
    seen = []

    def function(x):
        seen.append(x.copy())
        return bowl(x * [0.1, 1.0])

    found = minimise_black_box(function, [0.1, 0.3], bounds=[(-0.1, 0.3), (-0.7, 0.9)], budget=60)
    seen = np.array(seen)
    assert (seen >= [-0.1, -0.7]).all()
    assert (seen <= [0.3, 0.9]).all()
    np.testing.assert_allclose(found.x, [0.3, -0.7], atol=1e-6)
    assert found.nfev == len(seen) == 60


def test_unbounded_and_half_bounded_variables():
    found = minimise_black_box(rosen, [-1.2, 1.0], budget=200)
    np.testing.assert_allclose(found.x, [1.0, 1.0], atol=1e-4)
    found = minimise_black_box(bowl, [3.0, 0.0], bounds=[(2.0, None), (None, None)], budget=80)
    np.testing.assert_allclose(found.x, [2.0, -2.0], atol=1e-4)


def test_the_method_of_scipy():
    found = minimize(rosen, [-1.2, 1.0], method=dfo_tr, options={"maxfev": 200})
    assert found.success
    assert found.fun < 1e-8
    assert {"x", "fun", "nfev", "nit", "status", "message", "success"} <= set(found)
    again = minimize(
        lambda x, a: bowl(x) + a, [0.0, 0.0], args=(3.0,), method=dfo_tr,
        bounds=Bounds([-5, -5], [5, 5]), options={"maxfev": 60},
    )  # fmt: skip
    assert again.fun == pytest.approx(3.0, abs=1e-8)


def test_a_callback_of_scipy_may_ask_for_the_whole_result():
    seen = []

    def callback(intermediate_result):
        seen.append(intermediate_result.fun)
        if len(seen) == 7:
            raise StopIteration

    found = minimize(bowl, [0.0, 0.0], method=dfo_tr, callback=callback)
    assert found.nfev == len(seen) == 7
    assert seen == sorted(seen, reverse=True)
    assert seen[-1] == found.fun


@pytest.mark.parametrize("bounds", [None, [(-5.0, 5.0)] * 2])
def test_tol_is_the_last_radius(bounds):
    work = []
    for tol in (1e-1, 1e-3, 1e-6):
        found = minimize(rosen, [-1.2, 1.0], method=dfo_tr, tol=tol, bounds=bounds)
        assert found.success
        width = 10.0 if bounds else 2.0 * FREE_HALF_WIDTH * 1.2
        assert found.engine.end * width == pytest.approx(tol)
        work.append(found.nfev)
    assert work[0] < work[1] < work[2]
    assert found.fun < 1e-9
    with pytest.raises(AuctorError, match="tol"):
        minimize(bowl, [0.0, 0.0], method=dfo_tr, tol=-1.0)


def test_a_callback_of_scipy_ends_the_search():
    found = minimize(bowl, [0.0, 0.0], method=dfo_tr, callback=lambda x: bowl(x) < 1.0)
    assert found.status == 99
    assert found.fun < 1.0


def test_constraints_and_unknown_options_are_refused():
    with pytest.raises(DataError, match="constraints"):
        dfo_tr(bowl, [0.0, 0.0], constraints=[{"type": "eq", "fun": bowl}])
    with pytest.raises(DataError, match="maxiter"):
        dfo_tr(bowl, [0.0, 0.0], maxiter=3)


@pytest.mark.parametrize("bad", [np.nan, np.inf, "raise", "late", "text"])
def test_failures_are_survived_and_counted(bad):
    def function(x):
        if x[0] < 0.5:
            if bad == "raise":
                raise RuntimeError
            if bad == "late":
                time.sleep(1.0)
            return bad
        return bowl(x)

    timeout = 0.05 if bad == "late" else None
    start = [1.2, 2.0]
    found = minimise_black_box(function, start, bounds=BOX, budget=25, timeout=timeout)
    assert found.n_failed > 0
    assert f"{found.n_failed} of 25 evaluations failed" in found.message
    assert found.fun < 1.0


def test_every_point_failing_is_said():
    with pytest.warns(DataWarning, match="no finite value"):
        found = minimise_black_box(lambda x: np.nan, [0.0, 0.0], bounds=BOX, budget=20)
    assert found.status == 3
    assert not found.success
    np.testing.assert_array_equal(found.x, [0.0, 0.0])


def test_a_constant_objective():
    found = minimise_black_box(lambda x: 2.0, [0.0, 0.0], bounds=BOX, budget=50)
    assert found.fun == 2.0


def test_equal_bounds_fix_a_variable():
    found = minimise_black_box(bowl, [0.0, 3.0], bounds=[(-5, 5), (3, 3)], budget=30)
    assert found.x[1] == 3.0
    assert found.x[0] == pytest.approx(1.0, abs=1e-4)
    found = minimise_black_box(bowl, [2.0, 3.0], bounds=[(2, 2), (3, 3)], budget=30)
    assert found.nfev == 1
    np.testing.assert_array_equal(found.x, [2.0, 3.0])


def test_a_budget_below_the_first_model_is_said():
    found = minimise_black_box(bowl, [0.0, 0.0], bounds=BOX, budget=2)
    assert "no model could be fitted" in found.message
    assert found.nfev == 2


def test_seconds_end_the_search():
    found = minimise_black_box(
        lambda x: (time.sleep(0.01), bowl(x))[1], [0.0, 0.0], bounds=BOX, budget=1000,
        max_seconds=0.1,
    )  # fmt: skip
    assert found.status == 2
    assert found.nfev < 30


def test_a_saved_search_goes_on(tmp_path):
    whole = minimise_black_box(bowl, [0.3, 0.4], bounds=BOX, budget=20, seed=1)
    half = minimise_black_box(bowl, [0.3, 0.4], bounds=BOX, budget=8, seed=1)
    half.engine.save(tmp_path / "half.json")
    rest = minimise_black_box(
        bowl, [0.3, 0.4], bounds=BOX, budget=12, engine=DfoTr.load(tmp_path / "half.json")
    )
    np.testing.assert_array_equal(whole.history[0][8:], rest.history[0])


def test_a_history_of_another_space_is_refused(tmp_path):
    with pytest.raises(DataError, match="2 free variables"):
        minimise_black_box(bowl, [0.0, 0.0], bounds=BOX, engine=DfoTr(3))
    found = minimise_black_box(bowl, [0.0, 0.0], bounds=BOX, budget=3)
    found.engine.save(tmp_path / "history.json")
    kept = DfoTr.load(tmp_path / "history.json")
    other = [(-5.0, 5.0), (-5.0, 4.0)]
    with pytest.raises(DataError, match=r"x\[1\] <= 4.0.*got.*x\[1\] <= 5.0"):
        minimise_black_box(bowl, [0.0, 0.0], bounds=other, engine=kept)
    assert minimise_black_box(bowl, [0.0, 0.0], bounds=BOX, budget=2, engine=kept).nfev == 2


def test_no_point_leaves_its_bounds_by_rounding():
    rng = np.random.default_rng(0)
    for _ in range(15):
        low = rng.normal(size=3) * 10.0 ** rng.integers(-8, 8, 3)
        high = low + np.abs(low) * 10.0 ** rng.integers(-15, 1, 3)
        seen, signs = [], rng.choice([-1.0, 1.0], 3)

        def slope(x, seen=seen, sign=signs, size=high - low):
            seen.append(x.copy())
            return float((sign * x / np.maximum(size, 1e-300)).sum())

        found = minimise_black_box(slope, low, bounds=list(zip(low, high, strict=True)), budget=15)
        for x in (*seen, found.x):
            assert (x >= low).all()
            assert (x <= high).all()


@pytest.mark.parametrize(
    "call",
    [
        lambda: minimise_black_box(bowl, [9.0, 0.0], bounds=BOX),
        lambda: minimise_black_box(bowl, [0.0, 0.0], bounds=[(1, -1), (0, 1)]),
        lambda: minimise_black_box(bowl, [0.0, 0.0], bounds=[(0, 1)]),
        lambda: minimise_black_box(bowl, []),
        lambda: minimise_black_box(bowl, [np.nan, 0.0]),
        lambda: minimise_black_box(bowl, [0.0, 0.0], budget=0),
        lambda: minimise_black_box(bowl, [0.0, 0.0], timeout=0.0),
    ],
)
def test_bad_input_is_refused(call):
    with pytest.raises(AuctorError):
        call()
