"""The ask/tell engine."""

import json
from functools import partial

import numpy as np
import pytest

from auctor.core.errors import AuctorError, DataError, ParameterError
from auctor.tune import DfoTr

CENTER = np.array([0.31, 0.62, 0.44])


def bowl(point):
    shifted = point - CENTER[: point.shape[0]]
    return float(shifted @ shifted + 0.5 * shifted[0] * shifted[-1])


def branin(u):
    a, b = -5.0 + 15.0 * u[0], 15.0 * u[1]
    inner = b - 5.1 * a * a / (4 * np.pi**2) + 5 * a / np.pi - 6
    return inner**2 + 10 * (1 - 1 / (8 * np.pi)) * np.cos(a) + 10 - 0.39788735772973816


def drive(engine, function, budget, batch=1):
    seen = []
    while len(seen) < budget:
        asked = engine.ask(batch)
        assert (asked >= 0.0).all()
        assert (asked <= 1.0).all()
        engine.tell(asked, [function(point) for point in asked])
        seen += list(asked)
    return np.array(seen)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_a_bowl_is_solved_once_the_model_is_full(d):
    engine = DfoTr(d, debug=True)
    drive(engine, bowl, 15 * d)
    assert engine.best_value < 1e-12


@pytest.mark.parametrize("seed", range(5))
def test_branin_from_random_starts(seed):
    start = np.random.default_rng(seed).random(2)
    engine = DfoTr(2, start=start, radius=0.25, seed=seed, debug=True)
    drive(engine, branin, 60)
    assert engine.best_value < 1e-6


@pytest.mark.parametrize("kind", ["smooth", "noisy", "stepwise"])
@pytest.mark.parametrize("model", ["linear", "quadratic"])
def test_conditions_of_models_and_steps_hold_in_debug_mode(kind, model):
    engine = DfoTr(3, kind=kind, model=model, seed=0, debug=True, last_radius=1e-3)
    drive(engine, lambda u: np.nan if u.sum() > 2.2 else bowl(u) + 0.1 * np.sin(20 * u[0]), 80, 2)
    assert engine.best_value < 0.1


def test_debug_mode_notices_a_broken_set():
    engine = DfoTr(2, debug=True)
    drive(engine, bowl, 8)
    worst = max(engine.state.members, key=lambda i: engine.state.values[i])
    engine.state.center = worst
    with pytest.raises(AssertionError, match="not the best member"):
        engine.ask()
    quiet = DfoTr(2)
    drive(quiet, bowl, 8)
    quiet.state.center = max(quiet.state.members, key=lambda i: quiet.state.values[i])
    quiet.ask()


def test_a_settled_run_is_put_aside_and_taken_up_again():
    engine = DfoTr(2, radius=0.25, seed=0)
    drive(engine, bowl, 300)
    # The first run ends at a value that hardly changes; later levels of it reach the last radius.
    assert engine.best_value < 1e-20
    assert engine.state.runs.count(0) > engine.state.runs.index(1)


def test_the_minimum_may_lie_on_the_boundary():
    engine = DfoTr(3, debug=True)
    drive(engine, lambda u: float(((u - [1.2, -0.3, 0.4]) ** 2).sum()), 40)
    np.testing.assert_allclose(engine.best_point, [1.0, 0.0, 0.4], atol=1e-6)
    assert engine.best_point[0] == 1.0


def test_linear_models_in_many_dimensions():
    target = np.random.default_rng(0).random(130)
    engine = DfoTr(130)

    def far(u):
        return float(np.abs(u - target).sum())

    drive(engine, far, 300)
    assert engine.best_value < 0.5 * far(np.full(130, 0.5))


def test_a_restart_leaves_a_local_minimum():
    # Two wells; the middle of the cube leads to the shallow one.
    def wells(u):
        return float(min(((u - 0.45) ** 2).sum() - 0.5, 4 * ((u - 0.9) ** 2).sum() - 1.0))

    stuck = DfoTr(2, restarts=False)
    drive(stuck, wells, 100)
    assert stuck.best_value == pytest.approx(-0.5, abs=1e-6)
    engine = DfoTr(2, last_radius=1e-4)
    drive(engine, wells, 150)
    assert engine.best_value == pytest.approx(-1.0, abs=1e-6)


def test_stepwise_rules_walk_down_a_staircase():
    def stairs(u):
        return float(np.floor(20 * np.abs(u - 0.2).sum()))

    smooth, steps = DfoTr(3), DfoTr(3, kind="stepwise")
    for engine in (smooth, steps):
        drive(engine, stairs, 120)
    assert steps.best_value <= 1.0


def test_noise_is_averaged_at_the_incumbent():
    rng = np.random.default_rng(0)
    engine = DfoTr(2, kind="noisy")
    drive(engine, lambda u: bowl(u) + 0.01 * rng.normal(), 80)
    assert max(engine.state.counts) > 1
    assert engine.state.noise() == pytest.approx(0.01, rel=0.9)
    assert bowl(engine.best_point) < 0.01


@pytest.mark.parametrize("batch", [2, 4, 7])
def test_points_can_be_asked_for_in_parallel(batch):
    engine = DfoTr(3)
    seen = drive(engine, bowl, 20 * batch, batch)
    assert len(np.unique(seen.round(12), axis=0)) > 0.9 * len(seen)
    assert engine.best_value < 1e-6


def test_values_may_be_told_late_and_in_any_order():
    engine = DfoTr(2)
    waiting = list(engine.ask(5))
    for _ in range(40):
        point = waiting.pop(len(waiting) // 2)
        engine.tell([point], [bowl(point)])
        waiting.append(engine.ask()[0])
    assert engine.best_value < 1e-6
    assert len(engine.state.pending) == 5


@pytest.mark.parametrize("kind", ["smooth", "noisy", "stepwise"])
@pytest.mark.parametrize("when", [2, 9, 33])
def test_a_saved_history_resumes_to_the_same_points(kind, when, tmp_path):
    engine = DfoTr(2, kind=kind, seed=3, design=4)
    drive(engine, branin, when)
    engine.ask(1)  # one point is still out
    engine.save(tmp_path / "history.json")
    again = DfoTr.load(tmp_path / "history.json")
    for _ in range(30):
        one, two = engine.ask(), again.ask()
        np.testing.assert_array_equal(one, two)
        for each in (engine, again):
            each.tell(one, [branin(one[0])])


def history(kind):
    """A search in the middle of everything: failures, a paused run, points still out."""
    engine = DfoTr(2, kind=kind, seed=3, design=4, radius=0.25)
    drive(engine, lambda u: np.nan if u[0] > 0.8 else branin(u), 90)
    engine.ask(3)
    return engine


def mutated(value, rng):
    """The value with one entry, at any depth, replaced, removed or repeated."""
    if isinstance(value, dict) and value:
        key = list(value)[rng.integers(len(value))]
        if rng.random() < 0.1:
            return {name: entry for name, entry in value.items() if name != key}
        return value | {key: mutated(value[key], rng)}
    if isinstance(value, list) and value and rng.random() < 0.9:
        k = int(rng.integers(len(value)))
        if rng.random() < 0.1:
            return value[:k] + value[k + 1 :] if rng.random() < 0.5 else [*value, value[k]]
        return [*value[:k], mutated(value[k], rng), *value[k + 1 :]]
    strange = [None, -1, 0, 7, 10**6, 10**30, 1e308, -1e-300, 0.5, float("nan"), "x", "", True]
    strange += [[], {}, [1.0], [[0.5, 0.5]], {"a": 1}, [None], float("inf")]
    return strange[rng.integers(len(strange))]


@pytest.mark.parametrize("kind", ["smooth", "noisy", "stepwise"])
def test_a_crafted_history_is_refused_or_goes_on(kind):
    kept = json.loads(json.dumps(history(kind).to_json()))
    rng, refused = np.random.default_rng(0), 0
    for _ in range(500):
        try:
            engine = DfoTr.from_json(mutated(kept, rng))
            for point in engine.ask(2):
                engine.tell([point], [branin(point)])
        except AuctorError:
            refused += 1
    assert refused > 150


def test_a_damaged_file_is_refused(tmp_path):
    path = tmp_path / "history.json"
    history("smooth").save(path)
    whole, rng = path.read_bytes(), np.random.default_rng(0)
    for k in range(300):
        damaged = bytearray(whole)
        at = int(rng.integers(len(whole)))
        damaged[at] = (damaged[at] + int(rng.integers(1, 256))) % 256
        path.write_bytes(bytes(damaged if k % 2 else damaged[:at]))
        with pytest.raises(DataError, match=r"DfoTr\.load needs a history of format 2"):
            DfoTr.load(path)
    path.write_text("[" * 100_000, encoding="utf-8")
    with pytest.raises(DataError, match="damaged"):
        DfoTr.load(path)


def test_a_save_that_fails_leaves_the_old_history(tmp_path, monkeypatch):
    path = tmp_path / "history.json"
    engine = history("smooth")
    engine.save(path)
    before = path.read_bytes()

    def full(*args):
        raise OSError(28, "No space left on device")

    drive(engine, branin, 5)
    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", full)
        with pytest.raises(AuctorError, match="No space left"):
            engine.save(path)
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["history.json"]


FUNCTIONS = {
    "stairs": lambda u, rng: float(np.floor(20 * np.abs(u - 0.3).sum())),
    "rounded": lambda u, rng: -round(float(np.exp(-((u - 0.3) ** 2).sum())), 2),
    "flat": lambda u, rng: 1.0,
    "noise": lambda u, rng: bowl(u[:3]) + 0.1 * rng.normal(),
    "cliff": lambda u, rng: 1e6 if u[0] > 0.6 else bowl(u[:3]),
    "far": lambda u, rng: 1e12 + bowl(u[:3]),
}


@pytest.mark.parametrize("kind", ["smooth", "noisy", "stepwise"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_debug_mode_lets_ordinary_runs_be(kind, name):
    for d in (1, 2, 4):
        function = partial(FUNCTIONS[name], rng=np.random.default_rng(d))
        drive(DfoTr(d, kind=kind, debug=True), function, 90, 3)


def test_a_history_is_plain_json_even_after_failures():
    engine = DfoTr(2)
    drive(engine, lambda u: np.nan if u[0] > 0.5 else bowl(u), 10)
    kept = json.loads(json.dumps(engine.to_json(), allow_nan=False))
    assert DfoTr.from_json(kept).n_failed == engine.n_failed > 0


def test_the_same_seed_gives_the_same_points():
    runs = [drive(DfoTr(2, seed=5, last_radius=1e-2), branin, 60) for _ in range(2)]
    np.testing.assert_array_equal(*runs)


# --- failures and bad input ---------------------------------------------------------------------


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e308, -1e150])
def test_failed_points_are_counted_and_survived(bad):
    # A third of the cube fails, the minimum lies at its edge.
    engine = DfoTr(2)
    drive(engine, lambda u: bad if u[0] > 0.6 else float(((u - [0.55, 0.3]) ** 2).sum()), 60)
    assert engine.best_value < 1e-6
    assert engine.n_failed >= 1


def test_every_point_failing_is_no_crash():
    engine = DfoTr(2)
    drive(engine, lambda u: np.nan, 30)
    assert engine.n_failed == 30
    assert engine.best_point is None
    assert engine.best_value == np.inf


def test_a_constant_function_is_no_crash():
    engine = DfoTr(2)
    seen = drive(engine, lambda u: 1.0, 200)
    assert engine.best_value == 1.0
    assert np.ptp(seen, axis=0).min() > 0.5  # it looked elsewhere


def test_points_that_were_never_asked_for_are_used():
    engine = DfoTr(2)
    engine.tell([[0.31, 0.62]], [bowl(np.array([0.31, 0.62]))])
    assert engine.best_value == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: DfoTr(0), ParameterError),
        (lambda: DfoTr(2, kind="rough"), ParameterError),
        (lambda: DfoTr(2, model="cubic"), ParameterError),
        (lambda: DfoTr(2, radius=0.0), ParameterError),
        (lambda: DfoTr(2, start=[0.5, 1.5]), DataError),
        (lambda: DfoTr(2, start=[0.5]), DataError),
        (lambda: DfoTr().ask(), ParameterError),
        (lambda: DfoTr(2).ask(0), ParameterError),
        (lambda: DfoTr(2).tell([[0.5, 0.5]], [1.0, 2.0]), DataError),
        (lambda: DfoTr(2).tell([[0.5, 1.5]], [1.0]), DataError),
        (lambda: DfoTr.from_json({"format": 0}), DataError),
    ],
)
def test_bad_input_is_refused(call, error):
    with pytest.raises(error):
        call()
