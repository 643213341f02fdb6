"""Boosted trees trained by losses of metrics beside their own log-loss, on the same splits."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from auctor import metrics
from benchmarks.problems.datasets import load, present
from benchmarks.run import Settings, table

name = "loss_boosters"
SETS = ("caravan", "campaign", "w8a", "ijcnn1", "a9a", "covtype-20k")
SEEDS = 10
#: Shares of the rows to train on and to stop by, and most rows of each part and of the test part.
SHARES, MOST_ROWS = (0.6, 0.2), (3_000, 2_000, 10_000)
ROUNDS, RATE = 100, 0.1
#: Rounds between two looks at the metrics.
EVERY = 5
LIGHTGBM = {
    "log-loss": {"objective": "binary"},
    "log-loss, is_unbalance": {"objective": "binary", "is_unbalance": True},
    "lambdarank": {"objective": "lambdarank"},
    "auc, logistic": ("auc", "logistic"),
    "auc, squared hinge": ("auc", "squared_hinge"),
    "partial AUC 0.1": ("auc@0.1", "auto"),
    "prbep": ("prbep", "auto"),
    "F1": ("f1", "auto"),
}
XGBOOST = {
    "log-loss": {"objective": "binary:logistic"},
    "rank:pairwise": {
        "objective": "rank:pairwise",
        "lambdarank_pair_method": "mean",
        "lambdarank_num_pair_per_sample": 4,
    },
    "auc, squared hinge": ("auc", "squared_hinge"),
}


class Split(NamedTuple):
    """Rows to train on, to choose by and to measure on; labels are 0 and 1."""

    X: list[np.ndarray]
    y: list[np.ndarray]


def split(label: str, seed: int) -> Split:
    """A stratified random split of a set."""
    data, rng = load(label), np.random.default_rng(seed)
    parts: list[list[int]] = [[], [], []]
    sizes = [min(s, m / data.n_rows) for s, m in zip(SHARES, MOST_ROWS[:2], strict=True)]
    sizes.append(min(1.0 - sum(sizes), MOST_ROWS[2] / data.n_rows))
    for side in (-1.0, 1.0):
        rows = rng.permutation(np.flatnonzero(data.y == side))
        cuts = np.rint(rows.size * np.cumsum(sizes)).astype(int)
        for part, some in zip(parts, np.split(rows, cuts), strict=False):
            part.extend(some.tolist())
    dense = data.X.toarray() if sp.issparse(data.X) else np.asarray(data.X)
    return Split([dense[one] for one in parts], [(data.y[one] > 0) * 1.0 for one in parts])


MEASURES: dict[str, Callable[[np.ndarray, np.ndarray], float]] = {
    "AUC": metrics.auc,
    "partial AUC 0.1": lambda y, s: metrics.partial_auc(y, s, 0.1, standardised=True),
    "AP": metrics.average_precision,
    "break-even": metrics.prbep,
    "precision in the top 1 %": lambda y, s: metrics.precision_at_k(y, s, 0.01),
    "F1": lambda y, s: metrics.fbeta(y, s > metrics.best_threshold(y, s, "fbeta", 1.0)),
}


def values(history: list[tuple[np.ndarray, np.ndarray]], rows: Split) -> list[float]:
    """Each metric on the test rows, at the look that is best for it on the validation rows."""
    _, y, y_test = rows.y
    found = []
    for label, measure in MEASURES.items():
        scores = history[int(np.argmax([measure(y, valid) for valid, _ in history]))]
        if label == "F1":  # the threshold is that of the validation rows
            cut = metrics.best_threshold(y, scores[0], "fbeta", 1.0)
            found.append(metrics.fbeta(y_test, scores[1] > cut))
        else:
            found.append(measure(y_test, scores[1]))
    return found


class _Looks:
    """Scores of the validation and test rows at some rounds, through a metric function."""

    def __init__(self) -> None:
        self.calls, self.scores = 0, []

    def __call__(self, scores: np.ndarray, rows: Any) -> tuple[Any, ...]:
        self.calls += 1
        if -(-self.calls // 2) % EVERY == 0:
            self.scores.append(np.array(scores))
        return self.result

    def history(self) -> list[tuple[np.ndarray, np.ndarray]]:
        return list(zip(self.scores[::2], self.scores[1::2], strict=True))


def lightgbm(what: Any, rows: Split, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """LightGBM with an objective of its own, or with that of a metric and surrogate."""
    import lightgbm as lgb

    import auctor.boost as ab

    looks = _Looks()
    looks.result = ("none", 0.0, True)
    ours = isinstance(what, tuple)
    given = (
        what if not ours else {"objective": ab.lightgbm(what[0], y=rows.y[0], surrogate=what[1])}
    )
    ranks = given["objective"] == "lambdarank"
    sets = [
        lgb.Dataset(X, y, group=[y.size] if ranks else None)
        for X, y in zip(rows.X, rows.y, strict=True)
    ]
    for other in sets[1:]:
        other.set_reference(sets[0])
    options = {
        "metric": "none", "num_leaves": 15, "learning_rate": RATE, "verbose": -1,
        "num_threads": 1, "seed": seed,
    }  # fmt: skip
    lgb.train(options | given, sets[0], ROUNDS, sets[1:], feval=looks)
    return looks.history()


def xgboost(what: Any, rows: Split, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """XGBoost with an objective of its own, or with that of a metric and surrogate."""
    import xgboost as xgb

    import auctor.boost as ab

    looks = _Looks()
    looks.result = ("none", 0.0)
    ours = isinstance(what, tuple)
    sets = [xgb.DMatrix(X, y) for X, y in zip(rows.X, rows.y, strict=True)]
    given = {"base_score": 0.0} if ours else what
    if given.get("objective") == "rank:pairwise":
        for one in sets:
            one.set_group([one.num_row()])
    options = {
        "disable_default_eval_metric": 1, "max_depth": 4, "eta": RATE, "nthread": 1,
        "verbosity": 0, "seed": seed,
    }  # fmt: skip
    xgb.train(
        options | given, sets[0], ROUNDS, evals=[(sets[1], "valid"), (sets[2], "test")],
        obj=ab.xgboost(what[0], y=rows.y[0], surrogate=what[1]) if ours else None,
        custom_metric=looks, verbose_eval=False,
    )  # fmt: skip
    return looks.history()


LIBRARIES = {"LightGBM": (lightgbm, LIGHTGBM), "XGBoost": (xgboost, XGBOOST)}


def run(settings: Settings) -> dict[str, object]:
    """All sets seed by seed, until the time is spent."""
    found: dict[str, dict[str, list[list[float]]]] = {}
    sets = [one for one in SETS if present(one) and settings.wants(one)]
    for seed in range(2 if settings.quick else SEEDS):
        for label in sets:
            if settings.over():
                break
            rows = split(label, seed)
            for library, (fit, methods) in LIBRARIES.items():
                if find_spec(library.lower()) is None:
                    continue
                for method, what in methods.items():
                    key = f"{library}, {method}"
                    some = found.setdefault(key, {}).setdefault(label, [])
                    some.append(values(fit(what, rows, seed), rows))
    return summary(found)


def summary(found: dict[str, dict[str, list[list[float]]]]) -> dict[str, object]:
    """Absolute values of log-loss, and paired differences to it, by set and metric."""
    notes = [
        f"At most {MOST_ROWS} rows to train on, to stop by and to measure on; "
        f"{ROUNDS} rounds at the rate {RATE:g}, 15 leaves (XGBoost: depth 4). Every metric "
        "picks its own round on the validation rows, F1 its threshold, too.",
        "Rankers have all rows as one query: lambdarank with its default truncation, rank:pairwise "
        "with pairs drawn from all rows.",
        "Objectives of auctor have the bound of the curvature; `*` is a mean difference of more "
        "than two standard errors over the seeds, whose splits overlap.",
    ]
    tables = []
    counts = {len(some) for by_set in found.values() for some in by_set.values()}
    for k, metric in enumerate(MEASURES):
        sets = list(next(iter(found.values()), {}))
        rows: list[list[object]] = []
        for method, by_set in found.items():
            base = found[f"{method.split(', ')[0]}, log-loss"]
            rows.append([method, *_line(method, base, by_set, sets, k)])
        title_of = f"{metric}: log-loss, and differences to it"
        tables.append(table(title_of, ["method", *sets, "mean", "wins, losses"], rows))
    return {
        "title": "boosted trees: losses of metrics beside log-loss",
        "bars": [],
        "tables": tables,
        "notes": [*notes, f"Seeds of a set: {min(counts, default=0)} to {max(counts, default=0)}."],
        "cells": found,
    }


def _line(
    method: str, base: dict[str, Any], by_set: dict[str, Any], sets: list[str], k: int
) -> list[object]:
    cells, means, clear = [], [], [0, 0]
    for label in sets:
        own = np.array(by_set[label])[:, k]
        if method.endswith(", log-loss"):
            cells.append(f"{own.mean():.4f}")
            means.append(own.mean())
            continue
        off = own - np.array(base[label])[: own.size, k]
        error = off.std(ddof=1) / np.sqrt(off.size) if off.size > 1 else np.inf
        is_clear = abs(off.mean()) > 2.0 * error
        clear[int(off.mean() < 0.0)] += int(is_clear)
        cells.append(f"{off.mean():+.4f}{'*' if is_clear else ''}")
        means.append(off.mean())
    own_loss = method.endswith(", log-loss")
    mean = f"{np.mean(means):.4f}" if own_loss else f"{np.mean(means):+.4f}"
    return [*cells, mean, "" if own_loss else f"{clear[0]}, {clear[1]}"]
