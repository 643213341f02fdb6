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
#: An iteration of our SPDAM is a pass, ten steps of the thesis: the first marks, in steps.
STEPS, PASSES = (10, 20, 40), (1, 2, 4)
#: Batches of Figure 5.1, the rows there, and passes.
BATCHES, FEW_ROWS, MANY = (1, 40, 400, 2000), 4000, (1, 2, 4, 20)


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
    block = int(np.ceil(SHARE * cut))
    made = {
        label: _by_rows(make, A, a, B, b)
        for label, make in (
            ("regSOLAM", lambda: RegSolam(STRENGTH, rate=RATE)),
            ("SPAM", lambda: Spam(STRENGTH)),
        )
    }
    found = batches(A, a, B, b, block, PASSES)
    return made | {"SPDAM": found | {"steps": found["passes"]}}


def _auc(w: np.ndarray, X: object, y: np.ndarray) -> float:
    return float(roc_auc_score(y, X @ w))


def _by_rows(make: object, A: object, a: np.ndarray, B: object, b: np.ndarray) -> dict[str, object]:
    """A learner of rows: a step reads one."""
    make().partial_fit(A[:10], a[:10], classes=[-1.0, 1.0])  # compile
    rows = {"steps": list(STEPS), "passes": [p * len(a) for p in PASSES]}
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
    A: object, a: np.ndarray, B: object, b: np.ndarray, block: int, marks: tuple[int, ...]
) -> dict[str, object]:
    """SPDAM with ``block`` rows in a step, after so many passes."""
    problem = Problem(PairwiseSquare(), L2(STRENGTH), as_data(A, a, n_threads=1))
    seen, looking = [], 0.0

    def look(step: object) -> None:
        nonlocal looking
        now = time.process_time()
        seen.append(_auc(np.asarray(step.w), B, b))
        looking += time.process_time() - now

    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        minimise(problem, Spdam(batch=block), tol=0.0, max_iter=max(marks), on_step=look, rng=0,
                 on_failure="ignore")  # fmt: skip
    spent = time.process_time() - start - looking
    return {"passes": [seen[min(k, len(seen) - 1)] for k in marks], "cpu": spent}


def sizes(stem: str = "a9a") -> dict[str, dict]:
    """SPDAM with three sizes of its batch (Figure 5.1)."""
    X, y = sets.SETS[stem].load()
    order = np.random.default_rng(0).permutation(len(y))[: FEW_ROWS + 1000]
    X, y = X[order], y[order]
    A, a, B, b = X[:FEW_ROWS], y[:FEW_ROWS], X[FEW_ROWS:], y[FEW_ROWS:]
    return {str(block): batches(A, a, B, b, block, MANY) for block in BATCHES}
