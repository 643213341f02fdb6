"""What chapter 2, Table 3.6, check C.6 and Figures B.1 and B.2 of Ghanbari's thesis ask for."""

from __future__ import annotations

import time
import warnings

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.stats import kurtosis, norm, skew
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import accuracy_score, roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler

from auctor.data import as_data
from auctor.lab.moments import Moments
from auctor.lab.solvers import AcceleratedProximalQuasiNewton, GradientDescent
from auctor.losses import ExpectedAuc, ExpectedError, Logistic, PairwiseHinge
from auctor.minimise import minimise
from auctor.penalties import L1, L2, NoPenalty
from auctor.problem import Point, Problem
from auctor.solvers import Fista, GaussianDiscriminant, ProximalQuasiNewton, choose
from auctor.tune import minimise_black_box
from benchmarks.problems import datasets
from benchmarks.theory.drive import Run, drive, steepest

#: Strength and stopping rule of chapter 2.
STRENGTH, TOL = 1e-3, 1e-5
#: Rows that Table 3.6 takes of a set, and its evaluations.
MOST_ROWS, EVALUATIONS = 3000, 50
#: Expected error of the best linear rule on the artificial sets (check C.6).
BEST_ERROR = 0.007
ROWS = 5000
#: Steps of descent at which Figures 4.1 and 4.2 are read.
AT_STEPS = (0, 1, 3, 10, 30, 100, 249)


def steps(X: object, y: np.ndarray) -> dict[str, dict]:
    """Iterations, evaluations and values of the four methods of Tables 2.2 and 2.3."""
    X = X if hasattr(X, "nnz") else datasets.as_csr(X)
    problem = Problem(Logistic(), L1(STRENGTH), as_data(X, y, n_threads=1), fit_intercept=False)
    unit = steepest(problem, problem.evaluate(np.zeros(problem.n_params)))

    def done(point: Point) -> bool:
        return steepest(problem, point) <= TOL * unit

    fixed = AcceleratedProximalQuasiNewton(warmup=8, scaling=0.0, restart=False)
    latest = AcceleratedProximalQuasiNewton("lbfgs", memory=9, scaling=0.0, restart=False)
    solvers = {
        "APGA": Fista(growth=1.0, restart=False),
        "APQNA-FH": fixed,
        "APQNA-LBFGS": latest,
        "PQNA-LBFGS": ProximalQuasiNewton(memory=9, scaling=0.0),
        "default": choose(problem),
    }
    return {
        label: _told(drive(problem, solver, done, most=20_000)) for label, solver in solvers.items()
    }


def _told(run: Run) -> dict[str, object]:
    return {
        "iterations": run.iterations if run.reached else None,
        "evaluations": run.evaluations,
        "passes": run.passes,
        "seconds": run.seconds,
        "values": {str(k): run.values[min(k, len(run.values) - 1)] for k in (20, 40, 48, 80, 96)},
        "last": run.values[-1],
    }


def artificial(d: int, share: float, outliers: float, seed: int) -> dict[str, dict]:
    """Test accuracy, AUC and CPU seconds on two Gaussian classes with random moments."""
    rng = np.random.default_rng(seed)
    mixes = rng.standard_normal((2, d, d))
    covariances = mixes @ mixes.transpose(0, 2, 1) / d + 0.1 * np.eye(d)
    means = _spread(rng.standard_normal((2, d)), covariances, share)
    y = np.where(rng.random(ROWS) < share, 1.0, -1.0)
    roots = np.linalg.cholesky(covariances)
    side = np.where(y > 0, 0, 1)
    X = means[side]
    for k in (0, 1):
        X[side == k] += rng.standard_normal((int((side == k).sum()), d)) @ roots[k].T
    cut = ROWS * 4 // 5
    given = y[:cut].copy()
    given[rng.random(cut) < outliers] *= -1.0
    return _artificial_fits(X[:cut], given, X[cut:], y[cut:], Moments(means, covariances, share))


def _spread(means: np.ndarray, covariances: np.ndarray, share: float) -> np.ndarray:
    """Means so far apart that the direction best for AUC errs in `BEST_ERROR` of the rows."""
    w = np.linalg.solve(covariances.sum(axis=0), means[0] - means[1])
    apart, sd = float((means[0] - means[1]) @ w), np.sqrt([w @ one @ w for one in covariances])

    def error(scale: float) -> float:
        def at(cut: float) -> float:
            missed, false = norm.cdf((cut - scale * apart) / sd[0]), norm.sf(cut / sd[1])
            return float(share * missed + (1.0 - share) * false)

        return float(minimize_scalar(at, bounds=(0.0, scale * apart), method="bounded").fun)

    low, high = 0.0, 100.0
    for _ in range(60):
        scale = 0.5 * (low + high)
        low, high = (scale, high) if error(scale) > BEST_ERROR else (low, scale)
    return scale * means


def _artificial_fits(
    A: np.ndarray, a: np.ndarray, B: np.ndarray, b: np.ndarray, moments: Moments
) -> dict[str, dict]:
    ridge, made = L2(1.0 / len(a)), {}

    def keep(label: str, fit: object) -> None:
        start = time.process_time()
        w, shift = fit()
        seconds = time.process_time() - start
        made[label] = judge(B @ w + shift, b) | {"cpu": seconds}

    def solved(loss: object, solver: object = None) -> tuple[np.ndarray, float]:
        problem = Problem(loss, ridge, as_data(A, a, n_threads=1))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = minimise(problem, solver or choose(problem), tol=1e-4, max_iter=300,
                             on_failure="ignore")  # fmt: skip
        return found.coef, found.intercept

    def descent() -> tuple[np.ndarray, float]:
        """Algorithm 12 of the thesis, from the difference of the means."""
        problem = Problem(ExpectedError(), NoPenalty(), as_data(A, a, n_threads=1))
        start = A[a > 0].mean(axis=0) - A[a < 0].mean(axis=0)
        w0 = problem.join(start / np.linalg.norm(start), 0.0)
        found = minimise(problem, GradientDescent(), w0=w0, tol=1e-7, max_iter=250,
                         on_failure="ignore")  # fmt: skip
        return found.coef, found.intercept

    def discriminant() -> tuple[np.ndarray, float]:
        fit = LinearDiscriminantAnalysis(solver="lsqr").fit(A, a)
        return fit.coef_[0], float(fit.intercept_[0])

    keep("exact, error", lambda: moments.best_for_error()[:2])
    keep("exact, AUC", lambda: moments.best_for_auc()[:2])
    keep("estimated, error", descent)
    shrunk = GaussianDiscriminant(shrinkage="auto")
    keep("estimated and shrunk, error", lambda: solved(ExpectedError(), shrunk))
    keep("estimated and shrunk, AUC", lambda: solved(ExpectedAuc(), shrunk))
    for label, loss in (
        ("estimated, error at its least", ExpectedError()), ("estimated, AUC", ExpectedAuc()),
        ("logistic", Logistic()), ("hinge", PairwiseHinge()),
    ):  # fmt: skip
        keep(label, lambda loss=loss: solved(loss))
    keep("LDA", discriminant)
    return made


def judge(scores: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """AUC of scores and accuracy of their signs."""
    return {
        "auc": float(roc_auc_score(y, scores)),
        "accuracy": float(accuracy_score(y > 0, scores > 0)),
    }


def costs(X: np.ndarray, y: np.ndarray) -> dict[str, list[float]]:
    """Test AUC of weighted logistic regression: weights of the class shares, and by DFO-TR."""
    rows = np.random.default_rng(0).permutation(len(y))[:MOST_ROWS]
    X, y = X[rows], y[rows]
    found: dict[str, list[float]] = {"shares": [], "tuned": []}
    folds = [test for _, test in StratifiedKFold(5, shuffle=True, random_state=0).split(X, y)]
    for k, test in enumerate(folds):
        checked = folds[(k + 1) % 5]
        fitted = np.setdiff1d(np.arange(len(y)), np.append(test, checked))
        for key, value in zip(found, _costs_fold(X, y, (fitted, checked, test), k), strict=True):
            found[key].append(value)
    return found


def _costs_fold(
    X: np.ndarray, y: np.ndarray, parts: tuple[np.ndarray, np.ndarray, np.ndarray], seed: int
) -> tuple[float, float]:
    """Test AUC with the weights of the class shares, and with those best on the second part."""
    fitted, checked, test = parts
    known = np.append(fitted, checked)
    Z = StandardScaler().fit(X[known]).transform(X)
    ratio = float((y[known] < 0).sum() / (y[known] > 0).sum())
    start = np.array([np.log10(ratio), 0.0, -np.log10(len(known))])

    def value(point: np.ndarray, rows: np.ndarray, judged: np.ndarray) -> float:
        w = _weighted(Z[rows], y[rows], *(10.0**point))
        return float(roc_auc_score(y[judged], Z[judged] @ w))

    best = minimise_black_box(
        lambda point: -value(point, fitted, checked), start,
        bounds=[(at - 3.0, at + 3.0) for at in start], budget=EVALUATIONS, kind="stepwise",
        restarts=False, seed=seed,
    ).x  # fmt: skip
    return value(start, known, test), value(best, fitted, test)


def _weighted(X: np.ndarray, y: np.ndarray, plus: float, minus: float, ridge: float) -> np.ndarray:
    """Weights of ``mean C(y) log(1 + exp(-y s)) + ridge/2 |w|^2``; our mean is a weighted one."""
    weight = np.where(y > 0, plus, minus)
    data = as_data(X, y, weight=weight, n_threads=1)
    problem = Problem(Logistic(), L2(ridge / float(weight.mean())), data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = minimise(problem, choose(problem), tol=1e-4, max_iter=200, on_failure="ignore")
    return found.coef


def projections(X: np.ndarray, y: np.ndarray, count: int = 200) -> dict[str, float]:
    """Median absolute skewness and excess kurtosis of random projections of both classes."""
    Z = StandardScaler().fit_transform(X)
    W = np.random.default_rng(0).standard_normal((Z.shape[1], count))
    made = {}
    for label, rows in (("positive", y > 0), ("negative", y < 0)):
        S = Z[rows] @ W
        made[f"{label} skewness"] = float(np.median(np.abs(skew(S))))
        made[f"{label} kurtosis"] = float(np.median(np.abs(kurtosis(S))))
    return made


def progress(X: np.ndarray, y: np.ndarray) -> dict[str, dict]:
    """Test accuracy and AUC of the thesis's descent on four objectives, after so many steps."""
    order = np.random.default_rng(0).permutation(len(y))
    train, test = order[: len(y) * 4 // 5], order[len(y) * 4 // 5 :]
    scaler = StandardScaler().fit(X[train])
    A, B = (np.ascontiguousarray(scaler.transform(X[rows])) for rows in (train, test))
    ridge, made = L2(1.0 / len(train)), {}
    unit = A[y[train] > 0].mean(axis=0) - A[y[train] < 0].mean(axis=0)
    unit /= np.linalg.norm(unit)
    for label, loss, penalty in (
        ("F_error", ExpectedError(), NoPenalty()), ("F_log", Logistic(), ridge),
        ("F_AUC", ExpectedAuc(), NoPenalty()), ("F_hinge", PairwiseHinge(1e-3), ridge),
    ):  # fmt: skip
        problem = Problem(loss, penalty, as_data(A, y[train], n_threads=1))
        seen: list[dict[str, float]] = []

        def look(step: object, problem: Problem = problem, seen: list = seen) -> None:
            w = np.asarray(step.w)
            seen.append(judge(B @ w[: B.shape[1]] + problem.intercept(w), y[test]))

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            minimise(problem, GradientDescent(), w0=problem.join(unit, 0.0), tol=1e-7,
                     max_iter=max(AT_STEPS), on_step=look, on_failure="ignore")  # fmt: skip
        made[label] = {
            key: [seen[min(k, len(seen) - 1)][key] for k in AT_STEPS] for key in seen[0]
        } | {"steps": len(seen) - 1}
    return made


def load(stem: str) -> tuple[object, np.ndarray]:
    """A set of the thesis by its name there."""
    if stem == "mnist":
        X, digit = datasets.mnist_test()
        return X, np.where(digit == 0, 1.0, -1.0)
    if stem == "letter-z":
        X, label = datasets.svmlight("letter", "letter.scale.xz")
        return X.toarray(), np.where(label == 26, 1.0, -1.0)
    if stem == "shuttle":
        return datasets.npz("odds", "shuttle")
    if stem not in datasets.REGISTRY:
        raise datasets.MissingDataSet(f"{stem} is not in the data folder.")
    data = datasets.load(stem)
    return data.X, data.y
