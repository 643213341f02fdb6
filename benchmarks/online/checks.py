"""Acceptance checks of the thesis on fast AUC maximisation (A) and of Ghanbari's (C.9), as numbers.

A check is a function without arguments that yields `Line`s.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from sklearn.metrics import roc_auc_score
from threadpoolctl import threadpool_limits

from auctor import MetricClassifier, StreamingAUC, metrics
from auctor.data import as_data
from auctor.kernels.aggressive import reservoir_slot
from auctor.losses import PairwiseHinge, PairwiseSquare, RankOpt
from auctor.minimise import minimise
from auctor.online import (
    AdaOam,
    Fsauc,
    MiniBatchAuc,
    Oam,
    OnlineGaussianAuc,
    Opauc,
    PassiveAggressive,
    RegSolam,
    Spam,
)
from auctor.penalties import L2, ElasticNet
from auctor.problem import Problem
from auctor.solvers import Bmrm, Exact, Fista, Lbfgs, PairDualAscent, ProxSvrg, Spdam
from auctor.solvers.prox_svrg import centred_rows
from auctor.solvers.spdam import lengths
from benchmarks.online import sets
from benchmarks.problems import datasets

Rows = tuple[np.ndarray, np.ndarray]


class Line(NamedTuple):
    """What was checked, our number, what was expected of it, and whether it is so.

    None says that nothing was expected, or that it is shown elsewhere.
    """

    what: str
    ours: str
    expected: str
    good: bool | None


def rows(n: int = 2000, d: int = 10, p: float = 0.1, seed: int = 0, shift: float = 1.5) -> Rows:
    """Two Gaussians with one covariance, rows on the unit sphere: the thesis's G."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(d, d)) / np.sqrt(d)
    root = np.linalg.cholesky(A @ A.T + 0.3 * np.eye(d))
    y = np.where(rng.random(n) < p, 1.0, -1.0)
    mean = rng.normal(size=d) * shift / np.sqrt(d)
    X = rng.normal(size=(n, d)) @ root.T + np.outer(y > 0, mean)
    return X / np.linalg.norm(X, axis=1, keepdims=True), y


def drawn(X: np.ndarray, y: np.ndarray, count: int, seed: int = 0) -> Rows:
    """Rows with replacement."""
    pick = np.random.default_rng(seed).integers(0, y.size, count)
    return X[pick], y[pick]


def problem_of(X: object, y: np.ndarray, penalty: object) -> Problem:
    """Pairwise square loss."""
    return Problem(PairwiseSquare(), penalty, as_data(X, y, n_threads=1))


def exact(X: object, y: np.ndarray, strength: float) -> np.ndarray:
    """The closed form."""
    return minimise(problem_of(X, y, L2(strength)), Exact(), tol=1e-14).coef


def error(w: np.ndarray, wanted: np.ndarray) -> float:
    """Relative distance."""
    return float(np.linalg.norm(w - wanted) / np.linalg.norm(wanted))


def known_means(X: np.ndarray, y: np.ndarray) -> tuple:
    """Share of positives and class means."""
    return (y > 0).mean(), X[y < 0].mean(axis=0), X[y > 0].mean(axis=0)


def slope(x: list[float], values: list[float]) -> float:
    """Of a line through logarithms."""
    return float(np.polyfit(np.log(x), np.log(values), 1)[0])


def solver_path(problem: Problem, solver: object, rounds: int) -> list[np.ndarray]:
    """Weights after every iteration, whatever the gap."""
    state = solver.init(problem, problem.start(), np.random.default_rng(0))
    path = [state.point.w]
    for _ in range(rounds):
        state = solver.step(problem, state)
        path.append(state.point.w)
    return path


def few(values: list[float]) -> str:
    """Numbers in a row."""
    return ", ".join(f"{v:.2g}" for v in values)


# --- metrics --------------------------------------------------------------------------------------


def a1() -> Iterator[Line]:
    y, predicted = _worked_example()
    c = metrics.confusion(y, predicted)
    found = (c.accuracy, c.tpr, c.fpr, c.precision, metrics.fbeta(y, predicted))
    good = np.allclose(found, (0.98, 0.1, 11 / 990, 1 / 12, 1 / 11), atol=1e-12)
    yield Line(
        "worked example: accuracy, TPR, FPR, precision, F1",
        few(list(found)),
        "0.98, 0.1, 0.0111, 0.0833, 0.0909",
        good,
    )
    worst = 0.0
    for beta in (0.5, 1.0, 2.0):
        mean = (1 + beta**2) * c.precision * c.tpr / (beta**2 * c.precision + c.tpr)
        worst = max(worst, abs(metrics.fbeta(y, predicted, beta) - mean))
    yield Line("F-beta is the harmonic mean", f"{worst:.1e}", "<= 1e-12", worst <= 1e-12)
    rng = np.random.default_rng(2)
    y = rng.random(4000) < 0.3
    s = rng.normal(size=4000) + y
    top = np.argsort(-s)[: y.sum()]
    apart = abs(metrics.prbep(y, s) - y[top].mean())
    yield Line("break-even point: precision of the top P", f"{apart:.1e}", "0", apart < 1e-12)
    p = y.mean()
    formula = y.sum() * (p / 2 + (1 - p) * metrics.auc(y, s))
    apart = abs(metrics.lift_area(y, s) / formula - 1)
    yield Line("lift area = P (p/2 + (1-p) AUC)", f"{apart:.1e}", "<= 1e-9", apart <= 1e-9)


def a2() -> Iterator[Line]:
    rng, worst = np.random.default_rng(1), 0.0
    for _ in range(200):
        n = rng.integers(4, 40)
        y = rng.random(n) < 0.4
        y[:2] = True, False
        s = rng.integers(0, 6, n).astype(float)
        apart = s[y][:, None] - s[~y]
        pairs = (apart > 0).mean() + 0.5 * (apart == 0).mean()
        found = metrics.auc(y, s)
        worst = max(worst, abs(found - pairs), abs(found - roc_auc_score(y, s)))
    yield Line("AUC with ties = pairs = scikit-learn", f"{worst:.1e}", "<= 1e-12", worst <= 1e-12)
    y = rng.random(10**6) < 0.3
    s = rng.normal(size=10**6)
    times = []
    for n in (10**5, 10**6):
        found = []
        for _ in range(15):
            start = time.process_time()
            metrics.auc(y[:n], s[:n])
            found.append(time.process_time() - start)
        times.append(min(found))
    ratio = times[1] / times[0]
    yield Line("time at 10^6 rows / at 10^5", f"{ratio:.3g}", "< 20", ratio < 20)


def a3() -> Iterator[Line]:
    rng = np.random.default_rng(5)
    y = rng.random(4000) < 0.3
    s = rng.normal(size=4000) + y
    heavy = np.where(y, 1.0, 10.0)
    one = metrics.confusion(y, s, threshold=0.5)
    ten = metrics.confusion(y, s, threshold=0.5, weight=heavy)
    worst = max(
        abs(metrics.auc(y, s) - metrics.auc(y, s, weight=heavy)),
        abs(one.tpr - ten.tpr),
        abs(one.fpr - ten.fpr),
    )
    yield Line(
        "ten times the negatives: AUC, TPR, FPR stay", f"{worst:.1e}", "<= 1e-12", worst <= 1e-12
    )
    yield Line(
        "and precision falls",
        f"{one.precision:.2f} to {ten.precision:.2f}",
        "by more than 0.2",
        one.precision - ten.precision > 0.2,
    )


def a4() -> Iterator[Line]:
    expected = {
        4: (9, 0, 5, 0),
        6: (113, 1, 62, 4),
        8: (1459, 34, 762, 52),
        10: (19742, 766, 9416, 618),
    }
    for n, wanted in expected.items():
        lists = []
        for chosen in itertools.combinations(range(n), n // 2):
            y = np.isin(np.arange(n), chosen)
            lists.append((round(metrics.auc(y, np.arange(float(n))) * n * n), y[n // 2 :].sum()))
        f, g = (np.sign(np.subtract.outer(v, v)) for v in np.array(lists, dtype=float).T)
        found = (
            int(((f > 0) & (g > 0)).sum()),
            int(((f > 0) & (g < 0)).sum()),
            int(((f > 0) & (g == 0)).sum()),
            int(((g > 0) & (f == 0)).sum()),
        )
        yield Line(
            f"AUC against accuracy, all lists of {n}", str(found), str(wanted), found == wanted
        )


# --- the loss and its minimiser -------------------------------------------------------------------


def a5() -> Iterator[Line]:
    X, y = rows(400, 6, 0.2, 3)
    w = np.random.default_rng(0).normal(size=6)
    p, low, high = known_means(X, y)
    q, s = p * (1 - p), X @ w
    a, b = w @ high, w @ low
    alpha = b - a
    F = (
        np.where(
            y > 0,
            (1 - p) * (s - a) ** 2 - 2 * (1 + alpha) * (1 - p) * s,
            p * (s - b) ** 2 + 2 * (1 + alpha) * p * s,
        )
        - q * alpha**2
    )
    problem = problem_of(X, y, L2(0.0))
    apart = abs(problem.evaluate(w).value - 1 - F.mean() / q)
    yield Line("loss = 1 + saddle value / p(1-p)", f"{apart:.1e}", "<= 1e-10", apart <= 1e-10)
    total = np.zeros(6)
    for i in range(y.size):
        one = Spam(0.0, means=(p, low, high), average=False, step="constant", rate=1e-12)
        total += one.partial_fit(X[[i]], y[[i]], classes=[-1, 1]).coef_[0] / 1e-12 / y.size
    apart = error(total, -q * problem.evaluate(np.zeros(6)).gradient)
    yield Line("mean step of Spam = -p(1-p) gradient", f"{apart:.1e}", "<= 1e-7", apart <= 1e-7)


def a6() -> Iterator[Line]:
    X, y = rows(400, 6, 0.2, 3)
    apart = (X[y > 0][:, None] - X[y < 0]).reshape(-1, 6)
    left = 2 * apart.T @ apart / len(apart) + 0.1 * np.eye(6)
    wanted = np.linalg.solve(left, 2 * apart.mean(axis=0))
    for label, w in (
        ("Exact", exact(X, y, 0.1)),
        ("StreamingAUC, square", StreamingAUC(0.1, surrogate="square").fit(X, y).coef_[0]),
    ):
        found = error(w, wanted)
        yield Line(
            f"{label} = normal equations of all pairs", f"{found:.1e}", "<= 1e-8", found <= 1e-8
        )


# --- rates ----------------------------------------------------------------------------------------


def a7() -> Iterator[Line]:
    X, y = rows()
    problem, w = problem_of(X, y, L2(0.1)), exact(X, y, 0.1)
    best = problem.evaluate(w).value
    Z, labels = drawn(X, y, 10**6)
    learner, gaps, done, marks = RegSolam(0.1, rate=10.0), [], 0, [10**3, 10**4, 10**5, 10**6]
    for mark in marks:
        learner.partial_fit(Z[done:mark], labels[done:mark])
        gaps.append(problem.evaluate(learner.coef_[0]).value - best)
        done = mark
    good = all(b <= a / 2 for a, b in itertools.pairwise(gaps[:3]))
    yield Line(
        "regSOLAM: gap after 10^3, 10^4, 10^5, 10^6 rows",
        few(gaps),
        "each at most half of the last (to 10^5)",
        good,
    )
    found = slope(marks, gaps)
    yield Line("regSOLAM: slope of the gap", f"{found:.2f}", "<= -0.5 (stated rate)", found <= -0.5)
    _, low, high = known_means(X, y)
    apart = learner.coef_[0] @ (low - high)
    off = abs(learner.saddle_[2] / apart - 1)
    yield Line("alpha against the difference of the means", f"{off:.1e}", "<= 0.1", off <= 0.1)


def a8() -> Iterator[Line]:
    X, y = rows()
    wanted, marks = exact(X, y, 0.1), [10**3, 10**4, 10**5, 10**6]
    Z, labels = drawn(X, y, marks[-1])
    for label, options, limit in (
        ("last iterate, known means", {"means": known_means(X, y), "average": False}, -0.7),
        ("average, running means", {}, -0.7),
    ):
        learner, found, done = Spam(0.1, **options), [], 0
        for mark in marks:
            learner.partial_fit(Z[done:mark], labels[done:mark])
            found.append(error(learner.coef_[0], wanted) ** 2)
            done = mark
        fitted = slope(marks, found)
        yield Line(
            f"Spam, {label}: squared error after 10^3 to 10^6 rows: {few(found)}; slope",
            f"{fitted:.2f}",
            f"<= {limit} (stated -1 up to log T)",
            fitted <= limit,
        )


def a9() -> Iterator[Line]:
    X, y = rows()
    problem, w = problem_of(X, y, L2(0.1)), exact(X, y, 0.1)
    best, (Z, labels) = problem.evaluate(w).value, drawn(X, y, 10**4)

    def gap(learner: object) -> float:
        return problem.evaluate(learner.fit(Z, labels).coef_[0]).value - best

    saddle = min(gap(RegSolam(0.1, rate=rate)) for rate in (1.0, 10.0))
    ratio = saddle / gap(Spam(0.1, average=False))
    yield Line("gap of regSOLAM / gap of Spam after 10^4 rows", f"{ratio:.3g}", ">= 5", ratio >= 5)
    for stem in ("a9a", "ijcnn1"):
        A, a, B, b = held_out(stem)
        top = metrics.auc(b, B @ exact(A, a, 1e-2))
        half = a.size // 2
        spam = Spam(1e-2).fit(A[:half], a[:half]).score(B, b)
        others = [RegSolam(1e-2, rate=r).fit(A[:half], a[:half]).score(B, b) for r in (1.0, 10.0)]
        yield Line(
            f"{stem}, half a pass: Spam within 0.01 of the exact {top:.4f}",
            f"{spam:.4f}",
            f">= {top - 0.01:.4f}",
            spam >= top - 0.01,
        )
        yield Line(
            f"{stem}, half a pass: regSOLAM at rates 1 and 10 is not",
            f"{others[0]:.4f}, {others[1]:.4f}",
            f"< {top - 0.01:.4f}",
            max(others) < top - 0.01,
        )


def held_out(stem: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Unit rows in random order, four fifths and one fifth."""
    data = datasets.load(stem)
    X = data.X.toarray() if hasattr(data.X, "toarray") else data.X
    length = np.linalg.norm(X, axis=1, keepdims=True)
    X, y = X / np.where(length > 0, length, 1.0), data.y
    order, cut = np.random.default_rng(0).permutation(y.size), int(0.8 * y.size)
    return X[order[:cut]], y[order[:cut]], X[order[cut:]], y[order[cut:]]


def a10() -> Iterator[Line]:
    X, y = rows()
    penalty = ElasticNet(0.13, 8 / 13)
    problem = problem_of(X, y, penalty)
    wanted = minimise(problem, Fista(), tol=1e-13, max_iter=50_000).coef
    Z, labels = drawn(X, y, 150_000)
    found = error(Spam(penalty=penalty, average=False).fit(Z, labels).coef_[0], wanted)
    yield Line("Spam, elastic net, against FISTA", f"{found:.3f}", "<= 0.05", found <= 0.05)
    w = solver_path(problem_of(X, y, penalty), ProxSvrg(), 60)[-1]
    same = bool(((w == 0) == (wanted == 0)).all() and (wanted == 0).any())
    yield Line(
        "ProxSvrg: zeros of the minimiser",
        f"{(w == 0).sum()} of {(wanted == 0).sum()}",
        "the same columns",
        same,
    )


def a11() -> Iterator[Line]:
    X, y = rows()
    wanted = exact(X, y, 0.1)
    path = solver_path(problem_of(X, y, L2(0.1)), ProxSvrg(), 15)
    errors = [error(w, wanted) for w in path]
    yield Line(
        "ProxSvrg: error after 5, 10, 15 rounds",
        few([errors[k] for k in (5, 10, 15)]),
        "< 1e-6 after 10",
        errors[10] < 1e-6,
    )
    factor = float(np.exp(np.polyfit(np.arange(1, 9), np.log(errors[1:9]), 1)[0]))
    yield Line(
        "ProxSvrg: factor per round, fitted over 8", f"{factor:.2g}", "< 1 (linear)", factor < 0.5
    )
    plain = error(Spam(0.1, average=False, passes=30).fit(X, y).coef_[0], wanted)
    yield Line(
        "Spam after as many slopes / ProxSvrg",
        f"{plain / errors[10]:.2g}",
        ">= 100",
        plain >= 100 * errors[10],
    )


def a12() -> Iterator[Line]:
    X, y = rows()
    wanted = exact(X, y, 0.2)  # 0.1 for half the loss
    problem = problem_of(X, y, L2(0.2))
    parts = centred_rows(problem)
    theta = lengths(0.1, float((y.size * parts.share * parts.square).max()), y.size, 200).theta
    errors = [error(w, wanted) for w in solver_path(problem, Spdam(batch=200), 160)]
    yield Line(
        "SPDAM, a tenth of the rows a step: error after 200, 400, 800, 1600 steps",
        few([errors[k] for k in (20, 40, 80, 160)]),
        "<= 1e-8 after 1600",
        errors[160] <= 1e-8,
    )
    contraction = (errors[120] / errors[20]) ** (2 / 1000)
    yield Line(
        "contraction of the squared error per step",
        f"{contraction:.4f}",
        f"<= {theta:.4f} (theorem 5.1)",
        contraction <= theta,
    )


def a13() -> Iterator[Line]:
    X, y = rows()
    wanted = exact(X, y, 0.2)

    def after(batch: int, passes: int) -> float:
        return error(solver_path(problem_of(X, y, L2(0.2)), Spdam(batch=batch), passes)[-1], wanted)

    steps = [after(200, 4), after(2000, 40)]
    yield Line(
        "SPDAM after 40 steps, batches 200 and 2000", few(steps), "falling", steps[1] < steps[0]
    )
    passes = [after(batch, 20) for batch in (1, 20, 200, 2000)]
    yield Line(
        "SPDAM after 20 passes, batches 1, 20, 200, 2000",
        few(passes),
        "rising",
        bool((np.diff(passes) > 0).all()),
    )


def a14() -> Iterator[Line]:
    A, a, B, b = held_out("a9a")

    def spdam(share: float, passes: int) -> float:
        solver = Spdam(batch=max(1, round(share * a.size)))
        w = solver_path(problem_of(A, a, L2(1e-2)), solver, passes)[-1]
        return metrics.auc(b, B @ w)

    spam = [Spam(1e-2, average=False).fit(A[:n], a[:n]).score(B, b) for n in (10, a.size)]
    tenth = spdam(0.1, 1)
    yield Line(
        "a9a after 10 steps: SPDAM (10% a step) against Spam",
        f"{tenth:.4f}, {spam[0]:.4f}",
        "SPDAM higher",
        tenth > spam[0],
    )
    yield Line(
        "a9a after one pass: the same",
        f"{tenth:.4f}, {spam[1]:.4f}",
        "Spam higher (thesis's code .8601, .8952)",
        spam[1] > tenth,
    )
    single = spdam(0.0, 1)
    yield Line(
        "a9a after one pass: SPDAM with one row a step",
        f"{single:.4f}",
        "> 10% a step (.8920, .8601)",
        single > tenth,
    )


def a15() -> Iterator[Line]:
    def seconds(make: Callable[[], object], d: int, n: int) -> float:
        rng = np.random.default_rng(0)
        X, y = rng.normal(size=(n, d)), np.where(np.arange(n) % 2, 1.0, -1.0)
        found = []
        for _ in range(5):
            learner = make().partial_fit(X[:2], y[:2])
            start = time.process_time()
            learner.partial_fit(X, y)
            found.append(time.process_time() - start)
        return min(found) / n

    ratio = seconds(Opauc, 600, 100) / seconds(Opauc, 150, 400)
    yield Line("Opauc: four times the columns", f"{ratio:.3g}", "10 to 20", 10 <= ratio <= 20)
    ratio = seconds(Spam, 20_000, 100) / seconds(Spam, 5_000, 400)
    yield Line("Spam: four times the columns", f"{ratio:.3g}", "<= 7", ratio <= 7)
    ratio = seconds(Opauc, 1200, 50) / seconds(Spam, 1200, 2000)
    yield Line("Opauc / Spam at 1200 columns", f"{ratio:.3g}", "> 100", ratio > 100)
    ratio = seconds(lambda: Oam(buffer=400), 50, 3000) / seconds(lambda: Oam(buffer=100), 50, 3000)
    yield Line("Oam: four times the buffer", f"{ratio:.3g}", "2.5 to 6", 2.5 <= ratio <= 6)


# --- other learners -------------------------------------------------------------------------------


def a16() -> Iterator[Line]:
    size, count, trials = 10, 60, 20_000
    random, kept = np.array([12345], dtype=np.uint64), np.zeros(count)
    for _ in range(trials):
        buffer = np.zeros(size, dtype=int)
        for row in range(count):
            slot = reservoir_slot(row + 1, size, random)
            if slot < size:
                buffer[slot] = row
        kept[buffer] += 1
    off = float(np.abs(kept / trials - size / count).max())
    yield Line("chance to be in the buffer, off N/T", f"{off:.4f}", "<= 0.012", off <= 0.012)
    rng = np.random.default_rng(0)
    before, x = rng.normal(size=(60, 3)), rng.normal(size=3)
    X, y = np.vstack([before, x]), np.append(-np.ones(60), 1.0)
    found = np.zeros(3)
    for seed in range(1500):
        learner = Oam(2e-6, method="gradient", buffer=12, average=False, random_state=seed)
        found += learner.partial_fit(X, y).coef_[0] / 1500
    off = error(found, 1e-6 * (x - before).sum(axis=0))
    yield Line("mean step on a buffer, off that on all rows", f"{off:.3f}", "<= 0.05", off <= 0.05)
    X, y = rows(4000)
    top = metrics.auc(y, X @ exact(X, y, 0.1))
    for method in ("sequential", "gradient"):
        value = Oam(method=method).fit(X, y).score(X, y)
        yield Line(
            f"Oam, {method}, one pass: AUC (exact {top:.4f})",
            f"{value:.4f}",
            "within 0.05",
            value > top - 0.05,
        )


def a17() -> Iterator[Line]:
    X, y = rows(6000)
    state = Opauc().fit(X, y).state_
    off = max(
        error(state["scatter"][side] / state["mass"][side], np.cov(X[y == label].T, bias=True))
        for side, label in ((0, 1.0), (1, -1.0))
    )
    yield Line("Opauc: running covariance", f"{off:.1e}", "<= 1e-10", off <= 1e-10)
    top = metrics.auc(y, X @ exact(X, y, 0.1))
    for learner in (Opauc(0.1), AdaOam(0.1), Opauc(0.1, rank=50)):
        value = learner.fit(X, y).score(X, y)
        yield Line(
            f"{learner}, one pass: AUC (exact {top:.4f})",
            f"{value:.4f}",
            "within 0.01",
            value >= top - 0.01,
        )


def a18() -> Iterator[Line]:
    X, y = rows(120, 4, 0.3, 1)
    problem = Problem(PairwiseHinge(), L2(0.05), as_data(X, y))
    w = np.random.default_rng(0).normal(size=4)
    apart = (X[y > 0] @ w)[:, None] - X[y < 0] @ w
    off = abs(problem.evaluate(w).value - np.maximum(0, 1 - apart).mean() - 0.025 * w @ w)
    yield Line("hinge of all pairs by sorting", f"{off:.1e}", "<= 1e-10", off <= 1e-10)
    for solver in (Bmrm(line_search=False), PairDualAscent()):
        found = minimise(problem, solver, tol=1e-4, max_iter=20_000, rng=0)
        yield Line(
            f"{type(solver).__name__}: certified gap / value, {found.n_iter} steps",
            f"{found.gap / found.value:.1e}",
            "< 0.01",
            found.gap < 0.01 * found.value,
        )


def a19() -> Iterator[Line]:
    X, y = rows(4000, 8, 0.1, 2)
    wanted = exact(X, y, 0.1)
    off = error(MiniBatchAuc(0.1, buffer=4000, pairs=8, passes=4).fit(X, y).coef_[0], wanted)
    yield Line("MiniBatchAuc against the minimiser", f"{off:.3f}", "<= 0.05", off <= 0.05)
    X, y = rows(3000, 8, 0.1, 6)
    top = metrics.auc(y, X @ exact(X, y, 0.01))
    problem = Problem(RankOpt(), L2(1e-3), as_data(X, y))
    w = minimise(problem, Lbfgs(), max_iter=300, tol=1e-4, on_failure="ignore").coef
    value = metrics.auc(y, X @ w)
    yield Line(f"RankOpt: AUC (exact {top:.4f})", f"{value:.4f}", "within 0.01", value > top - 0.01)
    X, y = rows(60_000)
    top = metrics.auc(y, X @ exact(X, y, 1e-3))
    value = Fsauc().fit(X, y).score(X, y)
    yield Line(
        f"Fsauc, one pass: AUC (exact {top:.4f})", f"{value:.4f}", "within 0.01", value > top - 0.01
    )


def a20() -> Iterator[Line]:
    from benchmarks.sections import online_tables as tables

    wanted = {"diabetes": (0.829, 0.0311), "breastw": (0.935, 0.0168), "a9a": (0.900, 0.0041)}
    for stem, (value, spread) in wanted.items():
        try:
            X, y = sets.SETS[stem].load()
        except datasets.MissingDataSet:
            continue
        cell = tables._cell(X, y, tables.METHODS["B-LS-SVM"], 10.0)
        mean, own = float(np.mean(cell["values"])), float(np.std(cell["values"]))
        yield Line(
            f"{stem}: exact minimiser, tuned, {len(cell['values'])} folds",
            f"{mean:.4f} ± {own:.4f}",
            f"{value} within {spread}",
            abs(mean - value) <= spread,
        )


def a21() -> Iterator[Line]:
    from sklearn.kernel_approximation import RBFSampler

    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(6000, 2))
    radius = np.linalg.norm(X, axis=1)
    for label, y in (
        ("XOR", np.where(X[:, 0] * X[:, 1] > 0, 1.0, -1.0)),
        ("rings", np.where((radius > 0.4) & (radius < 0.8), 1.0, -1.0)),
    ):
        plain = StreamingAUC().fit(X[:4000], y[:4000]).score(X[4000:], y[4000:])
        Z = RBFSampler(gamma=4.0, n_components=200, random_state=0).fit_transform(X)
        bent = StreamingAUC().fit(Z[:4000], y[:4000]).score(Z[4000:], y[4000:])
        yield Line(
            f"{label}: linear, random Fourier features",
            f"{plain:.3f}, {bent:.3f}",
            "about 0.5, >= 0.9",
            abs(plain - 0.5) < 0.05 and bent >= 0.9,
        )


def a22() -> Iterator[Line]:
    wins, gains = 0, []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(3000, 1000))
        truth = X[:, :10] @ rng.choice([-1.0, 1.0], size=10) + 3.0 * rng.normal(size=3000)
        y = np.where(truth > np.quantile(truth, 0.8), 1.0, -1.0)
        best = {}
        for penalty, options in (("l2", {}), ("elastic_net", {"l1_ratio": 0.9})):
            scores = []
            for strength in np.geomspace(0.01, 10.0, 7):
                learner = Spam(strength, penalty=penalty, passes=5, **options)
                learner.fit(X[:600], y[:600])
                scores.append(
                    (learner.score(X[600:1000], y[600:1000]), learner.score(X[1000:], y[1000:]))
                )
            best[penalty] = max(scores)[1]
        gains.append(best["elastic_net"] - best["l2"])
        wins += gains[-1] > 0
    yield Line(
        "10 of 1000 columns matter: elastic net above l2 on held-out rows, of 10 seeds",
        f"{wins} (mean gain {np.mean(gains):+.3f})",
        ">= 8",
        wins >= 8,
    )


def a23() -> Iterator[Line]:
    A, a, B, b = held_out("a9a")
    strengths = 10.0 ** np.arange(-5, 2)
    ranges = {
        "Spam": [Spam(s).fit(A, a).score(B, b) for s in strengths],
        "regSOLAM": [RegSolam(s).fit(A, a).score(B, b) for s in strengths],
        "SPDAM": [
            metrics.auc(
                b, B @ solver_path(problem_of(A, a, L2(s)), Spdam(batch=a.size // 10), 5)[-1]
            )
            for s in strengths
        ],
    }
    spread = {label: max(v) - min(v) for label, v in ranges.items()}
    yield Line(
        "a9a: range of the AUC over strengths 1e-5 to 10: Spam and regSOLAM one pass, SPDAM five",
        ", ".join(f"{k} {v:.4f}" for k, v in spread.items()),
        "a report; the thesis: SPAM smallest",
        None,
    )


def a24() -> Iterator[Line]:
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(300, 4)) + 2.0
    c, G = np.zeros(4), np.zeros((4, 4))
    for t, x in enumerate(Z, 1):
        old, c = c, c + (x - c) / t
        G = G + (np.outer(x, x) - G) / t + np.outer(old, old) - np.outer(c, c)
    off = error(G, np.cov(Z.T, bias=True))
    yield Line("E4: printed covariance recursion, relative error", f"{off:.2f}", "> 0.5", off > 0.5)
    printed, right = 5 * 1 / (5 * 1 + 11 + 9), metrics.fbeta(*_worked_example(), 2.0)
    yield Line(
        "E8: printed F2 of the worked example, and ours",
        f"{printed:.3f}, {right:.4f}",
        "0.200, 0.0962",
        abs(printed - 0.2) < 1e-12 and abs(right - 0.0962) < 5e-5,
    )
    X, y = rows(4000, 8, 0.1, 2)
    right, text = (_mini_batch_minimiser(X, y, factor) for factor in (1.0, 2.0))
    cosine = float(right @ text / np.linalg.norm(right) / np.linalg.norm(text))
    own = MiniBatchAuc(0.1, l1=0.1, buffer=4000, pairs=8, passes=4).fit(X, y).coef_[0]
    apart = error(own, right), error(own, text)
    yield Line(
        "E21, with l1: cosine of the minimisers of algorithm and text; distance of "
        "MiniBatchAuc to each",
        f"{cosine:.4f}; {few(list(apart))}",
        "< 0.9999; near the first",
        cosine < 0.9999 and apart[0] < 0.1 * apart[1],
    )
    X, y = rows(6000)
    value = _printed_ada_oam(X, y)
    right = AdaOam(0.1).fit(X, y).score(X, y)
    yield Line(
        "E18: AUC with the printed H in place of its inverse, and of AdaOam",
        f"{value:.4f}, {right:.4f}",
        "lower by > 0.01",
        value < right - 0.01,
    )
    p, _, _ = known_means(X, y)
    w, alpha = np.zeros(10), 0.0
    bound = 2.0 * np.sqrt(20.0)
    a = b = 0.0
    for t, (x, label) in enumerate(zip(X, y, strict=True), 1):
        rate, s = 10.0 / np.sqrt(t), w @ x
        if label > 0:
            g = 2 * (1 - p) * (s - a - 1 - alpha)
            a += rate * 2 * (1 - p) * (s - a)
            up = -2 * (1 - p) * (s + p * alpha)
        else:
            g = 2 * p * (s - b + 1 + alpha)
            b += rate * 2 * p * (s - b)
            up = 2 * p * (s - (1 - p) * alpha)
        w = w - rate * (g * x + 0.1 * p * (1 - p) * w)
        w *= min(1.0, np.sqrt(20.0) / max(np.linalg.norm(w), 1e-300))
        alpha = float(np.clip(alpha - rate * up, -bound, bound))
    yield Line(
        "E2: alpha by descent, over its bound",
        f"{abs(alpha) / bound:.2f}",
        "> 0.8",
        abs(alpha) > 0.8 * bound,
    )
    yield Line("E3: printed scalings of SPDAM", "-", "test_the_printed_scalings_fail", None)


def _worked_example() -> Rows:
    counts = [1, 11, 9, 979]
    return np.repeat([1, 0, 1, 0], counts), np.repeat([1, 1, 0, 0], counts)


def _mini_batch_minimiser(X: np.ndarray, y: np.ndarray, factor: float) -> np.ndarray:
    """Of ``w'Aw/2 - factor d.w + 0.05 |w|_1 + 0.05/2 |w|^2``, by proximal gradient steps."""
    _, low, high = known_means(X, y)
    d = high - low
    A = np.cov(X[y > 0].T, bias=True) + np.cov(X[y < 0].T, bias=True) + np.outer(d, d)
    w, step = np.zeros(d.size), 1.0 / (np.linalg.eigvalsh(A)[-1] + 0.05)
    for _ in range(20_000):
        u = w - step * (A @ w - factor * d + 0.05 * w)
        w = np.sign(u) * np.maximum(np.abs(u) - step * 0.05, 0.0)
    return w


def _printed_ada_oam(X: np.ndarray, y: np.ndarray) -> float:
    d = X.shape[1]
    w, squares = np.zeros(d), np.zeros(d)
    count, mean = {1: 0, -1: 0}, {1: np.zeros(d), -1: np.zeros(d)}
    scatter = {1: np.zeros((d, d)), -1: np.zeros((d, d))}
    for i in np.random.default_rng(1).permutation(y.size):
        x, k = X[i], int(y[i])
        count[k] += 1
        apart = x - mean[k]
        mean[k] = mean[k] + apart / count[k]
        scatter[k] += np.outer(apart, x - mean[k])
        if not count[-k]:
            continue
        u = x - mean[-k]
        g = 0.05 * w + (u @ w - k) * u + scatter[-k] @ w / count[-k]
        squares += g * g
        w = w - 0.05 * (1e-2 + np.sqrt(squares)) * g
        w *= min(1.0, np.sqrt(20.0) / max(np.linalg.norm(w), 1e-300))
    return metrics.auc(y, X @ w)


# --- Ghanbari -------------------------------------------------------------------------------------


def c9() -> Iterator[Line]:
    for stem in ("letter-A", "a9a", "diabetes"):
        A, a, B, b = _standard(stem)
        model, aucs, done = OnlineGaussianAuc(), [], 0
        for mark in (min(1000, a.size // 2), a.size):
            model.partial_fit(A[done:mark], a[done:mark], classes=[-1.0, 1.0])
            aucs.append(model.score(B, b))
            done = mark
        size = sum(v.nbytes for v in model.state_.values())
        _, low, high = known_means(A, a)
        S = np.cov(A[a > 0].T, bias=True) + np.cov(A[a < 0].T, bias=True)
        wanted = np.linalg.solve(S + 1e-4 * np.eye(A.shape[1]), high - low)
        off = error(model.coef_[0], wanted)
        yield Line(
            f"{stem}: weights from running moments against all at once",
            f"{off:.1e}",
            "<= 1e-8",
            off <= 1e-8,
        )
        offline = MetricClassifier("auc", surrogate="gaussian", strength=1e-4).fit(A, a)
        gap = abs(aucs[-1] - metrics.auc(b, B @ offline.coef_[0]))
        yield Line(
            f"{stem}: test AUC {aucs[-1]:.4f}, off the offline one",
            f"{gap:.1e}",
            "<= 1e-3",
            gap <= 1e-3,
        )
        if a.size > 2000:
            yield Line(
                f"{stem}: after 1000 rows",
                f"{aucs[0]:.4f}",
                "within 0.01 of the end",
                abs(aucs[0] - aucs[1]) <= 0.01,
            )
        other = PassiveAggressive(None, average=False).fit(A, a).score(B, b)
        oam = Oam(0.02).fit(A, a).score(B, b)
        yield Line(
            f"{stem}: direct minus passive-aggressive ({other:.4f}; Oam {oam:.4f})",
            f"{aucs[-1] - other:+.4f}",
            "> 0",
            aucs[-1] > other,
        )
        model.partial_fit(A, a)
        grown = sum(v.nbytes for v in model.state_.values()) - size
        yield Line(f"{stem}: bytes added by a second reading", str(grown), "0", grown == 0)


def _standard(stem: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    if stem == "letter-A":
        X, y = sets.letter()
    else:
        data = datasets.load(stem)
        X, y = (data.X.toarray() if hasattr(data.X, "toarray") else data.X), data.y
    X = datasets._standardised(X)
    order, cut = np.random.default_rng(0).permutation(y.size), int(0.8 * y.size)
    return X[order[:cut]], y[order[:cut]], X[order[cut:]], y[order[cut:]]


CHECKS: dict[str, Callable[[], Iterator[Line]]] = {
    **{f"A{k}": globals()[f"a{k}"] for k in range(1, 25)},
    "C.9": c9,
}


def lines(check: str) -> list[list[object]]:
    """The lines of one check; one that raises is a line that fails."""
    with threadpool_limits(1):
        try:
            return [
                [*line[:3], None if line.good is None else bool(line.good)]
                for line in CHECKS[check]()
            ]
        except Exception as failure:
            return [["raised", f"{type(failure).__name__}: {failure}"[:200], "-", False]]
