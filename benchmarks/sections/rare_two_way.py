"""The two-way partial AUC of linear models: ours, and LibAUC's loss in closed form."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize
from scipy.special import logsumexp
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler

from auctor import MetricClassifier
from auctor.metrics import partial_auc
from benchmarks.problems import datasets
from benchmarks.run import Settings, bar, table

name = "rare_two_way"
TITLE = "two-way partial AUC: true positive rate above 0.5, false positive rate below 0.3"
SETS = ("cardio", "pageblocks", "wilt", "waveform", "svmguide3", "satimage", "caravan", "vehicle")
MAX_FPR, MIN_TPR = 0.3, 0.5
ROWS = 800
OUTER, INNER = 3, 2
STRENGTHS = np.geomspace(1e-3, 1.0, 3)
METRIC = f"partial_auc({MAX_FPR}, min_tpr={MIN_TPR})"
#: Temperatures of LibAUC's loss, for positives and negatives; tuned with the strength.
TEMPERATURES = (0.1, 1.0)

Maker = Callable[[np.ndarray, np.ndarray, float], np.ndarray]


def _ours(surrogate: str) -> list[Maker]:
    def fit(X: np.ndarray, y: np.ndarray, strength: float) -> np.ndarray:
        model = MetricClassifier(METRIC, surrogate=surrogate, strength=strength, n_threads=1)
        return model.fit(X, y).coef_.ravel()

    return [fit]


def _libauc(X: np.ndarray, y: np.ndarray, strength: float, heat: float) -> np.ndarray:
    """``t log mean_i exp(log mean_j exp(l_ij / t))`` of squared hinges, all pairs, to its optimum.

    The loss that LibAUC 2.0.1 calls ``tpAUC_KL_Loss`` (Zhu et al. 2022), with both temperatures
    equal, without its stochastic estimates.
    """
    pos, neg = X[y], X[~y]

    def value(w: np.ndarray) -> tuple[float, np.ndarray]:
        gap = np.maximum(1.0 - (pos @ w)[:, None] + neg @ w, 0.0)
        logs = gap**2 / heat
        soft = np.exp(logs - logsumexp(logs))  # weights of the pairs in the gradient
        slope = 2.0 * soft * gap
        grad = neg.T @ slope.sum(axis=0) - pos.T @ slope.sum(axis=1) + strength * w
        return float(heat * logsumexp(logs) + 0.5 * strength * (w @ w)), grad

    return np.asarray(
        minimize(value, np.zeros(X.shape[1]), jac=True, method="L-BFGS-B",
                 options={"maxiter": 100}).x
    )  # fmt: skip


def run(settings: Settings) -> dict[str, object]:
    """Means over outer folds; strengths and temperatures by inner folds."""
    methods = {
        "auctor, logistic": _ours("logistic"),
        "auctor, pairwise": _ours("pairwise"),
        "auctor, hinge": _ours("hinge"),
        "LibAUC's loss": [
            lambda X, y, s, heat=heat: _libauc(X, y, s, heat) for heat in TEMPERATURES
        ],
    }
    rows: list[list[object]] = []
    for title in SETS[::4] if settings.quick else SETS:
        if settings.over():
            break
        data = datasets.load(title)
        X = data.X.toarray() if hasattr(data.X, "toarray") else np.asarray(data.X)
        kept = np.random.default_rng(0).permutation(len(X))[:ROWS]
        X, y = X[kept], data.y[kept] > 0
        scores: dict[str, list[float]] = {method: [] for method in methods}
        for train, test in StratifiedKFold(OUTER, shuffle=True, random_state=0).split(X, y):
            scaler = StandardScaler().fit(X[train])
            A, B = scaler.transform(X[train]), scaler.transform(X[test])
            for method, makers in methods.items():
                w = _tuned(makers, A, y[train])
                scores[method].append(_score(y[test], B @ w))
        rows.append([title, len(y), int(y.sum()), *(float(np.mean(s)) for s in scores.values())])
    found = np.array([row[3:] for row in rows], dtype=float)
    return {
        "title": TITLE,
        "bars": [
            bar(f"mean of {method} less LibAUC's loss",
                float((found[:, k] - found[:, 3]).mean()), 0.0)
            for k, method in enumerate(list(methods)[:3])
        ],
        "tables": [table("Standardised area on held-out rows",
                         ["set", "rows", "positives", *methods], rows)],
        "notes": [
            "LibAUC is not run itself: its loss is minimised over all pairs, to its optimum, which "
            "is at least as good as its stochastic steps."
        ],
    }  # fmt: skip


def _score(y: np.ndarray, scores: np.ndarray) -> float:
    return partial_auc(y, scores, MAX_FPR, min_tpr=MIN_TPR, standardised=True)


def _tuned(makers: list[Maker], X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The weights at the strength, and of the maker, that inner folds prefer."""
    import warnings

    folds = list(StratifiedKFold(INNER, shuffle=True, random_state=1).split(X, y))
    best, choice = -1.0, (makers[0], STRENGTHS[0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # vacuous surrogates at some strengths
        for make in makers:
            for strength in STRENGTHS:
                mean = np.mean([_score(y[b], X[b] @ make(X[a], y[a], strength)) for a, b in folds])
                if mean > best:
                    best, choice = float(mean), (make, strength)
        return choice[0](X, y, choice[1])
