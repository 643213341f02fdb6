"""What chapters 3 to 6 of Natole's thesis ask for beyond online.md: anomalies, and curves."""

from __future__ import annotations

import time
import warnings

import numpy as np
from sklearn.metrics import roc_auc_score

from auctor.data import as_data
from auctor.lab.learners import RegSolam, Spam
from auctor.lab.solvers import Spdam
from auctor.losses import PairwiseSquare
from auctor.minimise import minimise
from auctor.penalties import L2
from auctor.problem import Problem
from benchmarks.online import sets
from benchmarks.problems import datasets
from benchmarks.sections import online_tables

#: Most rows of a set of outliers, and folds (the thesis has 25).
MOST_ROWS, FOLDS = 3000, 5
OUTLIERS = (
    "campaign", "cardio", "internetads", "letter", "optdigits", "pageblocks", "pendigits",
    "satellite", "satimage-2", "shuttle", "skin", "vowels", "waveform", "wilt",
)  # fmt: skip
METHODS = ("regSOLAM", "SPAM-L2", "SPDAM", "B-LS-SVM", online_tables.US)
CURVES = ("diabetes", "fourclass", "splice", "usps", "a9a", "cardio", "satellite")
#: As the authors' drivers have them: strength, rate, share of the rows in a step of SPDAM.
STRENGTH, RATE, SHARE = 1e-3, 10.0, 0.1
STEPS = (1, 3, 10, 40)
PASSES = (0.1, 0.3, 1.0, 4.0)


def outliers(stem: str) -> tuple[np.ndarray, np.ndarray]:
    """A set of outliers with rows centred and of length one, as the thesis has its sets."""
    X, y = datasets.npz("odds", stem)
    rows = np.random.default_rng(0).permutation(len(y))[:MOST_ROWS]
    return sets.unit_rows(X[rows], centred=True), y[rows]


def anomalies(stem: str) -> dict[str, dict]:
    """Test AUC of every method, tuned on inner folds."""
    X, y = outliers(stem)
    return {"rows": len(y), "columns": X.shape[1], "positive": float((y > 0).mean())} | {
        method: online_tables.measured_cell(X, y, online_tables.METHODS[method], 600.0, folds=FOLDS)
        for method in METHODS
    }


def curves(stem: str) -> dict[str, dict]:
    """Test AUC after so many steps and passes, and CPU seconds of the whole run."""
    X, y = outliers(stem) if stem in OUTLIERS else sets.SETS[stem].load()
    order = np.random.default_rng(0).permutation(len(y))
    cut = len(y) * 4 // 5
    train, test = order[:cut], order[cut:]
    A, a, B, b = X[train], y[train], X[test], y[test]
    block = max(1, round(SHARE * cut))
    made = {
        label: _by_rows(make, A, a, B, b, block)
        for label, make in (
            ("regSOLAM", lambda: RegSolam(STRENGTH, rate=RATE)),
            ("SPAM", lambda: Spam(STRENGTH)),
        )
    }
    return made | {"SPDAM": batches(A, a, B, b, block), "block": block}


def _auc(w: np.ndarray, X: object, y: np.ndarray) -> float:
    return float(roc_auc_score(y, X @ w))


def _by_rows(
    make: object, A: object, a: np.ndarray, B: object, b: np.ndarray, block: int
) -> dict[str, object]:
    """A learner of rows; a step of the others is a block of rows here."""
    make().partial_fit(A[:10], a[:10], classes=[-1.0, 1.0])  # compile
    rows = {"steps": list(STEPS), "passes": [round(p * len(a)) for p in PASSES]}
    learner, seen, spent, made = make(), 0, 0.0, {}
    for mark in sorted({*rows["steps"], *rows["passes"]}):
        start = time.process_time()
        while seen < mark:
            low = seen % len(a)
            high = min(len(a), low + mark - seen)
            learner.partial_fit(A[low:high], a[low:high], classes=[-1.0, 1.0])
            seen += high - low
        spent += time.process_time() - start
        made[mark] = _auc(learner.coef_[0], B, b) if len(np.unique(a[:seen])) > 1 else 0.5
    return {key: [made[mark] for mark in marks] for key, marks in rows.items()} | {"cpu": spent}


def batches(
    A: object, a: np.ndarray, B: object, b: np.ndarray, block: int, most: float = PASSES[-1]
) -> dict[str, object]:
    """Steps of SPDAM with ``block`` rows, up to ``most`` passes."""
    problem = Problem(PairwiseSquare(), L2(STRENGTH), as_data(A, a, n_threads=1))
    seen, start = [], time.process_time()
    looking = 0.0

    def look(step: object) -> bool:
        nonlocal looking
        now = time.process_time()
        seen.append(_auc(np.asarray(step.w), B, b))
        looking += time.process_time() - now
        return False

    steps = max(max(STEPS), int(np.ceil(most * len(a) / block)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        minimise(problem, Spdam(batch=block), tol=0.0, max_iter=steps, on_step=look, rng=0,
                 on_failure="ignore")  # fmt: skip
    spent = time.process_time() - start - looking
    at = [round(p * len(a) / block) for p in PASSES]
    return {
        "steps": [seen[min(k, len(seen) - 1)] for k in STEPS],
        "passes": [seen[min(k, len(seen) - 1)] for k in at],
        "iterations": len(seen) - 1,
        "cpu": spent,
    }


def sizes(stem: str = "a9a") -> dict[str, dict]:
    """SPDAM with three sizes of its batch (Figure 5.1)."""
    X, y = sets.SETS[stem].load()
    order = np.random.default_rng(0).permutation(len(y))[:5000]
    X, y = X[order], y[order]
    A, a, B, b = X[:4000], y[:4000], X[4000:], y[4000:]
    return {str(block): batches(A, a, B, b, block, most=2.0) for block in (1, 40, 400, 2000)}
