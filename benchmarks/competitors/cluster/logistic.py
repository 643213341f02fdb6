"""Ours and dask-ml's logistic regression on one cluster; a program for dask-ml's environment."""

from __future__ import annotations

import json
import sys
import time
import warnings

import dask.array as arrays
import numpy as np
from dask_ml.linear_model import LogisticRegression

from auctor import MetricClassifier
from benchmarks.problems import clusters

warnings.simplefilter("ignore")

STRENGTH, ROUNDS = 1e-3, 3
n, d = (int(sys.argv[1]) if len(sys.argv) > 1 else 1000), 50
rng = np.random.default_rng(0)
X = rng.normal(size=(n, d))
y = (X @ rng.normal(size=d) + 5.0 * rng.normal(size=n) > 6.0).astype(float)


def objective(w: np.ndarray, b: float) -> float:
    signs = np.where(y > 0, 1.0, -1.0)
    return float(np.logaddexp(0.0, -signs * (X @ w + b)).mean() + 0.5 * STRENGTH * w @ w)


def theirs(rows: object, labels: object) -> tuple[np.ndarray, float]:
    # dask-ml adds its losses up and multiplies the penalty by 1 / C; the intercept is penalised.
    made = LogisticRegression(penalty="l2", C=1.0 / (n * STRENGTH), solver="lbfgs")
    made.fit(rows, labels)
    return np.ravel(made.coef_), float(np.ravel(made.intercept_)[0])


def ours(rows: object, labels: object) -> tuple[np.ndarray, float]:
    made = MetricClassifier("log_loss", strength=STRENGTH, standardise=False)
    made.fit(rows, labels)
    return np.ravel(made.coef_), float(np.ravel(made.intercept_)[0])


if __name__ == "__main__":
    found = {}
    with clusters.dask(2) as client:
        rows = client.persist(arrays.from_array(X, chunks=(n // 4, d)))
        labels = client.persist(arrays.from_array(y, chunks=n // 4))
        for who, fit in (("auctor", ours), ("dask-ml", theirs)):
            fit(rows, labels)
            times = []
            for _ in range(ROUNDS):
                start = time.perf_counter()
                answer = fit(rows, labels)
                times.append(time.perf_counter() - start)
            found[who] = [min(times), float(np.median(times)), objective(*answer)]
    print(json.dumps(found))
