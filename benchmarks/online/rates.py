"""Checks A1 to A15 of the thesis on fast AUC maximisation: metrics, the loss, rates, cost.

A check is a function without arguments that yields lines.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator

import numpy as np
from sklearn.metrics import roc_auc_score

from auctor import StreamingAUC, metrics
from auctor.lab.learners import Oam, Opauc, RegSolam, Spam
from auctor.lab.solvers import ProxSvrg, Spdam
from auctor.lab.solvers.prox_svrg import centred_rows
from auctor.lab.solvers.spdam import lengths
from auctor.minimise import minimise
from auctor.penalties import L2, ElasticNet
from auctor.solvers import Fista
from benchmarks.online.parts import (
    Line,
    drawn,
    error,
    exact,
    few,
    held_out,
    known_means,
    problem_of,
    rows,
    slope,
    solver_path,
    worked_example,
)

# --- metrics --------------------------------------------------------------------------------------


def a1() -> Iterator[Line]:
    y, predicted = worked_example()
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
