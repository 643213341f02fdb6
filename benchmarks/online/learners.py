"""Checks A16 to A24 of the thesis on fast AUC maximisation and C.9 of Ghanbari's: learners.

A check is a function without arguments that yields lines.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from auctor import MetricClassifier, StreamingAUC, metrics
from auctor.data import as_data
from auctor.lab.kernels.aggressive import reservoir_slot
from auctor.lab.learners import (
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
from auctor.lab.solvers import PairDualAscent, Spdam
from auctor.losses import PairwiseHinge, RankOpt
from auctor.minimise import minimise
from auctor.penalties import L2
from auctor.problem import Problem
from auctor.solvers import Bmrm, Lbfgs
from benchmarks.online import sets
from benchmarks.online.parts import (
    Line,
    error,
    exact,
    few,
    held_out,
    known_means,
    problem_of,
    rows,
    solver_path,
    worked_example,
)
from benchmarks.problems import datasets

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
        cell = tables.measured_cell(X, y, tables.METHODS["B-LS-SVM"], 10.0)
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
    printed, right = 5 * 1 / (5 * 1 + 11 + 9), metrics.fbeta(*worked_example(), 2.0)
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
        gap = abs(aucs[-1] - metrics.auc(b, B @ offline(A, a)))
        yield Line(
            f"{stem}: test AUC {aucs[-1]:.4f}, off the offline one",
            f"{gap:.1e}",
            "<= 1e-3",
            gap <= 1e-3,
        )
        if a.size > 2000:
            few_rows = offline(A[:1000], a[:1000])
            gap = abs(aucs[0] - metrics.auc(b, B @ few_rows))
            yield Line(
                f"{stem}: test AUC after 1000 rows {aucs[0]:.4f}, off the offline one of these",
                f"{gap:.1e}",
                "<= 1e-3",
                gap <= 1e-3,
            )
            yield Line(
                f"{stem}: after 1000 rows, below the end",
                f"{aucs[1] - aucs[0]:.4f}",
                "a report; the claim, 0.01, is of magic04 (10 columns), not here",
                None,
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


def offline(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Weights of the Gaussian AUC from all rows at once."""
    return MetricClassifier("auc", surrogate="gaussian", strength=1e-4).fit(X, y).coef_[0]


def _standard(stem: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    if stem == "letter-A":
        X, y = sets.letter()
    else:
        data = datasets.load(stem)
        X, y = (data.X.toarray() if hasattr(data.X, "toarray") else data.X), data.y
    X = datasets.standardised(X)
    order, cut = np.random.default_rng(0).permutation(y.size), int(0.8 * y.size)
    return X[order[:cut]], y[order[:cut]], X[order[cut:]], y[order[cut:]]
