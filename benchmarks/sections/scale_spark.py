"""Spark with two slots: an evaluation, a round of nothing, jobs of a fit, and MLlib beside it."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import numpy as np

from auctor import MetricClassifier
from auctor.data import as_data
from auctor.losses import Logistic
from auctor.minimise import minimise
from auctor.penalties import L2
from auctor.problem import Problem
from auctor.solvers import choose
from benchmarks.problems import clusters, shards
from benchmarks.run import Settings, bar, table
from benchmarks.sections.scale_dask import times

name = "scale_spark"
title = "Spark with two slots: an evaluation, and logistic regression beside MLlib"
ROUNDS = 200
STRENGTH = 1e-3
#: How far above the least objective an answer may be, as a share of it.
ACCURATE = 1e-6
TOLERANCES = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9)


def run(settings: Settings) -> dict[str, object]:
    """1e6 rows of 50 entries (5e4 with --quick); MLlib on 1e5 rows of 50 in 1e4 columns."""
    lacks = clusters.lacks_spark()
    if lacks:
        return {"title": title, "bars": [], "tables": [], "notes": [lacks]}
    scale = 20 if settings.quick else 1
    with tempfile.TemporaryDirectory() as room, clusters.spark() as session:
        near, far, null = _iteration(session, Path(room, "rows"), 1_000_000 // scale)
        X, y = shards.rows(100_000 // scale, 50, 10_000)
        frame = clusters.vectors(session, Path(room, "few"), X, y).repartition(2).cache()
        frame.count()
        jobs = _jobs(session, frame)
        ours, theirs = _race(frame, X, y)
    return {
        "title": title,
        "bars": [
            bar("Spark / one thread here", far[1] / near[1], 0.85, at_least=False),
            bar("null round, ms", 1e3 * null, 0.5, at_least=False),
            bar("jobs of a fit", jobs, 1, at_least=False),
            bar("MLlib / ours, seconds to 1e-6", _ratio(theirs, ours), 5.0),
        ],
        "tables": [
            table(
                f"Scores and gradient, {1_000_000 // scale:,} rows of 50 entries, seconds",
                ["where", "least", "median"],
                [["one thread here", *near], ["Spark, two tasks", *far]],
            ),
            table(
                "Logistic regression with l2, 100,000 rows of 50 entries in 10,000 columns",
                ["who", "seconds", "objective above the least, relative", "tolerance"],
                [["auctor on Spark", *ours], ["MLlib", *theirs]],
            ),
        ],
        "notes": [
            "Spark's vectors are of doubles, so the rows here are too. Loading is left out on both "
            "sides: MLlib's frame is cached, our rows are with their tasks.",
            "The frame has as many partitions as there are slots; with another number Spark "
            "shuffles it first, which is a job more.",
            "Each takes the loosest of its tolerances that reaches 1e-6; the objective is ours, "
            "in numpy. MLlib does not standardise, as we do not.",
        ],
    }  # fmt: skip


def _ratio(theirs: list[float], ours: list[float]) -> float:
    return theirs[0] / ours[0]


def _iteration(
    session: object, path: Path, n: int
) -> tuple[tuple[float, float], tuple[float, float], float]:
    from auctor.spark import from_spark

    X, y = shards.rows(n, 50, 100_000)
    w, u = (np.random.default_rng(k).normal(size=size) for k, size in enumerate(X.shape[::-1]))
    data = from_spark(clusters.vectors(session, path, X, y), "features", "label")
    try:
        near = times(as_data(X.astype(np.float64), y, n_threads=1), w, u)
        far = times(data, w, u)
        nothing = [(np.zeros(1),)] * len(data.holder.lengths)
        spent = []
        for _ in range(ROUNDS):
            start = time.perf_counter()
            data.workers.each("total", nothing)
            spent.append(time.perf_counter() - start)
    finally:
        data.workers.close()
    return near, far, float(np.median(spent))


def _jobs(session: object, frame: object) -> int:
    """Jobs that Spark ran from the frame to the model."""
    from auctor.spark import from_spark

    tracker = session.sparkContext.statusTracker()
    before = set(tracker.getJobIdsForGroup())
    data = from_spark(frame, "features", "label")
    MetricClassifier("auc", strength=STRENGTH, tol=1e-2).fit(data)
    data.workers.close()
    return len(set(tracker.getJobIdsForGroup()) - before)


def _objective(X: object, y: np.ndarray, w: np.ndarray, intercept: float) -> float:
    return float(np.logaddexp(0.0, -y * (X @ w + intercept)).mean() + 0.5 * STRENGTH * w @ w)


def _race(frame: object, X: object, y: np.ndarray) -> tuple[list[float], list[float]]:
    """Seconds, accuracy and tolerance of both, each at its loosest tolerance that will do."""
    from pyspark.ml.classification import LogisticRegression

    from auctor.spark import from_spark

    problem = Problem(Logistic(), L2(STRENGTH), as_data(X, y))
    least = minimise(problem, choose(problem), tol=1e-11, on_failure="ignore").value
    data = from_spark(frame, "features", "label")
    try:

        def our_fit(tol: float) -> tuple[np.ndarray, float]:
            far = Problem(Logistic(), L2(STRENGTH), data)
            found = minimise(far, choose(far), tol=tol, on_failure="ignore")
            return found.coef, found.intercept

        ours = _loosest(our_fit, X, y, least)
    finally:
        data.workers.close()

    def their_fit(tol: float) -> tuple[np.ndarray, float]:
        model = LogisticRegression(
            regParam=STRENGTH, elasticNetParam=0.0, standardization=False, tol=tol, maxIter=500
        ).fit(frame)
        return model.coefficients.toArray(), model.intercept

    return ours, _loosest(their_fit, X, y, least)


def _loosest(fit: object, X: object, y: np.ndarray, least: float) -> list[float]:
    """Seconds of the second of two runs at the loosest tolerance that is accurate enough."""
    for tol in TOLERANCES:
        above = _objective(X, y, *fit(tol)) / least - 1.0
        if above <= ACCURATE:
            break
    start = time.perf_counter()
    fit(tol)
    return [time.perf_counter() - start, above, tol]
