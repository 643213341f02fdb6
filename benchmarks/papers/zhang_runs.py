"""Traces for Zhang, Saha and Vishwanathan: smoothing with L-BFGS, cutting planes, our default."""

from __future__ import annotations

import time
import warnings
from functools import lru_cache

import numpy as np
from scipy.sparse import vstack

from auctor import losses, metrics
from auctor.data import as_data
from auctor.lab.solvers import AcceleratedGradient
from auctor.minimise import minimise
from auctor.penalties import L2
from auctor.problem import Problem
from auctor.solvers import Bmrm, Lbfgs, choose
from benchmarks.problems import datasets, taxonomies
from benchmarks.sections.cutting_planes import unit_rows
from benchmarks.sections.smoothing import make_data

#: Our names of the two measures and the factor from c epsilon to our width in score units.
MEASURES = {"PRBEP": ("Prbep", 1.0), "AUC": ("PairwiseHinge", 2.0)}
#: The paper's accuracy and its default constant.
EPSILON, CONSTANT = 1e-3, 10
#: Within this share of the least objective a run has arrived (Table 2 of the paper).
NEAR = 0.01
#: CPU seconds that a run may take.
CAP = 2.0
#: Steps that are judged on the test rows: the first ones, then one in so many.
OFTEN = 20
#: Evaluations and CPU seconds at which the test scores of the figures are read.
AT_EVALUATIONS = (2, 5, 10, 20, 50, 100, 300)
AT_SECONDS = (0.01, 0.03, 0.1, 0.3, 1.0, 2.0)

Step = tuple[float, float, int, float]


@lru_cache(maxsize=2)
def load(stem: str) -> tuple[object, np.ndarray, object, np.ndarray]:
    """Training and test rows: the published split if there is one, else a fifth at random."""
    if stem == "adult9":
        X, y = datasets.svmlight("a9a", "a9a.xz", features=123)
        Z, z = datasets.svmlight("a9a", "a9a.t.xz", features=123)
        return X, np.where(y > 0, 1.0, -1.0), Z, np.where(z > 0, 1.0, -1.0)
    if stem == "tiny":
        X, y = make_data(300, 5, 0.3, 0)
        return X[:200], y[:200], X[200:], y[200:]
    if stem in ("reuters-ccat", "reuters-c11"):
        datasets.stored("rcv1-dev")
        data = taxonomies.rcv1_dev()
        X = datasets.as_csr(vstack([data.X, data.X_test]))
        column = data.taxonomy.names.index(stem.split("-")[1].upper())
        y = np.where(np.concatenate([data.Y[:, column], data.Y_test[:, column]]) > 0, 1.0, -1.0)
    else:
        data = datasets.load({"covertype": "covtype-20k", "web8": "w8a"}.get(stem, stem))
        X, y = (data.X if stem == "web8" else unit_rows(data.X)), data.y
    order = np.random.default_rng(0).permutation(len(y))
    train, test = np.sort(order[len(y) // 5 :]), np.sort(order[: len(y) // 5])
    return X[train], y[train], X[test], y[test]


def _problem(X: object, y: np.ndarray, measure: str, strength: float) -> Problem:
    loss = getattr(losses, MEASURES[measure][0])()
    return Problem(loss, L2(strength), as_data(X, y, n_threads=1))


def smoothed(exact: Problem, measure: str, constant: float = CONSTANT) -> Problem:
    """The objective that is smoothed by the paper's constant."""
    return exact.with_loss(exact.loss.smoothed(MEASURES[measure][1] * constant * EPSILON))


def cell(stem: str, measure: str, strength: float, cap: float = CAP) -> dict[str, dict]:
    """Objective, CPU seconds, evaluations and test score along three solvers."""
    X, y, Z, z = load(stem)
    exact = _problem(X, y, measure, strength)
    smooth = smoothed(exact, measure)
    judge = metrics.auc if measure == "AUC" else metrics.prbep
    runs = {
        "SMS": (smooth, Lbfgs()),
        "BMRM": (exact, Bmrm(line_search=False)),
        "default": (exact, choose(exact)),
    }
    traces = {
        label: trace(problem, solver, exact, lambda w: float(judge(z, Z @ w)), cap)
        for label, (problem, solver) in runs.items()
    }
    least = min(step[0] for steps in traces.values() for step in steps)
    return {"least": least} | {label: _told(steps, least) for label, steps in traces.items()}


def trace(
    problem: Problem, solver: object, exact: Problem, judge: object, cap: float
) -> list[Step]:
    """Exact objective, CPU seconds, evaluations, test score after every step; looking is free."""
    steps: list[Step] = []
    clock = {"start": 0.0, "paused": 0.0}

    def look(step: object) -> bool:
        now = time.process_time()
        spent = now - clock["start"] - clock["paused"]
        w = np.asarray(step.w)
        value = exact.evaluate(w).value if problem is not exact else step.value
        old = len(steps) > OFTEN and len(steps) % OFTEN
        score = steps[-1][3] if old else judge(w)
        steps.append((float(value), spent, int(step.evaluations), score))
        clock["paused"] += time.process_time() - now
        return spent > cap

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        minimise(problem, solver, tol=1e-5, max_iter=3, rng=0, on_failure="ignore")  # compile
        clock["start"] = time.process_time()
        found = minimise(problem, solver, tol=1e-5, max_iter=10**5, on_step=look, rng=0,
                         on_failure="ignore")  # fmt: skip
    steps[-1] = (*steps[-1][:3], judge(found.coef))
    return steps


def _told(steps: list[Step], least: float) -> dict[str, object]:
    arrived = next((s for s in steps if s[0] <= least * (1.0 + NEAR)), None)
    return {
        "seconds": None if arrived is None else arrived[1],
        "evaluations": None if arrived is None else arrived[2],
        "value": min(s[0] for s in steps),
        "score": steps[-1][3],
        "by evaluations": [_before(steps, 2, at) for at in AT_EVALUATIONS],
        "by seconds": [_before(steps, 1, at) for at in AT_SECONDS],
    }


def _before(steps: list[Step], column: int, limit: float) -> float | None:
    """The last test score within the limit."""
    return next((s[3] for s in reversed(steps) if s[column] <= limit), None)


def constants(stem: str, measure: str, strength: float = 1e-6) -> dict[str, dict]:
    """Gap and evaluations at the smoothed minimum for three constants, and of accelerated steps."""
    X, y, Z, z = load(stem)
    exact = _problem(X, y, measure, strength)
    judge = metrics.auc if measure == "AUC" else metrics.prbep
    made = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        least = minimise(exact, choose(exact), tol=1e-5, max_seconds=4 * CAP,
                         on_failure="ignore").value  # fmt: skip
        for label, constant, solver in (
            ("c = 1000", 1000, Lbfgs()), ("c = 100", 100, Lbfgs()), ("c = 10", 10, Lbfgs()),
            ("c = 10, accelerated gradient", 10, AcceleratedGradient()),
        ):  # fmt: skip
            problem = smoothed(exact, measure, constant)
            found = minimise(problem, solver, tol=1e-6, max_iter=2000, max_seconds=4 * CAP,
                             on_failure="ignore")  # fmt: skip
            made[label] = {
                "gap": float(exact.evaluate(found.coef).value - least),
                "smooth": float(found.value),
                "evaluations": int(found.evaluations),
                "score": float(judge(z, Z @ found.coef)),
            }
    return made
