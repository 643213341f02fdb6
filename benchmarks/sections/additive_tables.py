"""Curves with pairs beside EBM, boosted trees and linear models: many tables, the same rows."""

from __future__ import annotations

import json
import math
import os
import resource
import subprocess
import sys
import time
import warnings
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.metrics import average_precision_score, f1_score, log_loss, roc_auc_score

from benchmarks.problems import datasets, frames
from benchmarks.run import Settings, bar, machine_facts, table

if TYPE_CHECKING:
    from collections.abc import Callable

name = "additive_tables"
#: Rows to train on, except on the tables below.
ROWS = 3_000
#: Tables that are measured a second time with more rows to train on.
LARGE = {"adult": 20_000, "elec2": 20_000, "credit-default": 20_000}
SIZES = {name: ROWS for name in frames.FRAMES} | {f"{name}, {n}": n for name, n in LARGE.items()}
SPLITS = 2
#: Smallest probability in the log-loss.
LEAST = 1e-6


class Fit(NamedTuple):
    """What a method gives for the rows of a test set."""

    probability: np.ndarray
    #: Terms of the model, where it has any.
    terms: int | None = None
    #: Numbers that the model consists of.
    size: int | None = None
    #: Rows that are flagged for F1, where the method chooses a threshold for it.
    flagged: np.ndarray | None = None
    #: Largest certified gap over tol of the members, where there is a certificate.
    gap: float | None = None


def _matrix(frame: Any) -> tuple[Any, Any]:
    """One-hot columns for categories, medians for missing values, standardised numbers."""
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    text = make_pipeline(
        SimpleImputer(strategy="constant", fill_value="missing"),
        OneHotEncoder(handle_unknown="ignore"),
    )
    numbers = make_pipeline(SimpleImputer(strategy="median", add_indicator=True), StandardScaler())
    return make_column_transformer(
        (text, make_column_selector(dtype_include="category")),
        (numbers, make_column_selector(dtype_include="number")),
        sparse_threshold=0.0,
    ), frame


def _additive(train: Any, y: np.ndarray, test: Any, seed: int, **changes: Any) -> Fit:
    from auctor import AdditiveClassifier

    # Scores do not depend on the metric; with "f1" held-out rows choose its threshold.
    model = AdditiveClassifier("f1", n_threads=1, random_state=seed, **changes)
    model.fit(train, y)
    return Fit(
        model.predict_proba(test)[:, 1],
        terms=len(model.names_),
        size=model.coef_.size,
        flagged=model.predict(test) == 1,
        gap=model.gap_ / model.tol,
    )


def _curves(train: Any, y: np.ndarray, test: Any, seed: int) -> Fit:
    return _additive(train, y, test, seed, interactions=0)


def _both(train: Any, y: np.ndarray, test: Any, seed: int) -> Fit:
    return _additive(train, y, test, seed, pair_penalty="both")


def _five_folds(train: Any, y: np.ndarray, test: Any, seed: int) -> Fit:
    """The same model with the threshold that scikit-learn picks on five folds of its own."""
    from sklearn.model_selection import TunedThresholdClassifierCV

    from auctor import AdditiveClassifier

    model = AdditiveClassifier("f1", n_threads=1, random_state=seed)
    tuned = TunedThresholdClassifierCV(model, scoring="f1", cv=5, random_state=seed).fit(train, y)
    return Fit(tuned.predict_proba(test)[:, 1], flagged=tuned.predict(test) == 1)


def _linear(train: Any, y: np.ndarray, test: Any, seed: int) -> Fit:
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline

    prepare, _ = _matrix(train)
    model = make_pipeline(prepare, LogisticRegression(max_iter=2000))
    grid = {"logisticregression__C": np.geomspace(1e-3, 1e2, 6)}
    search = GridSearchCV(model, grid, scoring="neg_log_loss", cv=5).fit(train, y)
    return Fit(search.predict_proba(test)[:, 1], size=search.n_features_in_)


def _ebm(train: Any, y: np.ndarray, test: Any, seed: int, **changes: object) -> Fit:
    from interpret.glassbox import ExplainableBoostingClassifier

    model = ExplainableBoostingClassifier(n_jobs=1, random_state=seed, **changes).fit(train, y)
    size = sum(np.asarray(scores).size for scores in model.term_scores_)
    return Fit(model.predict_proba(test)[:, 1], terms=len(model.term_features_), size=size)


def _ebm_curves(train: Any, y: np.ndarray, test: Any, seed: int) -> Fit:
    return _ebm(train, y, test, seed, interactions=0)


def _lightgbm(train: Any, y: np.ndarray, test: Any, seed: int) -> Fit:
    from lightgbm import LGBMClassifier

    model = LGBMClassifier(n_jobs=1, verbose=-1, random_state=seed).fit(train, y)
    return Fit(model.predict_proba(test)[:, 1], size=_tree_numbers(model))


def _tree_numbers(model: Any) -> int:
    """A number for each leaf, and a column and a threshold for each split."""
    leaves = sum(tree["num_leaves"] for tree in model.booster_.dump_model()["tree_info"])
    return 3 * leaves - 2 * int(model.booster_.num_trees())


def _lightgbm_tuned(train: Any, y: np.ndarray, test: Any, seed: int) -> Fit:
    from lightgbm import LGBMClassifier
    from sklearn.model_selection import GridSearchCV

    grid = [{"num_leaves": [4, 15, 31], "n_estimators": [100, 300], "learning_rate": [0.05]}]
    model = LGBMClassifier(n_jobs=1, verbose=-1, random_state=seed)
    search = GridSearchCV(model, grid, scoring="neg_log_loss", cv=3).fit(train, y)
    size = _tree_numbers(search.best_estimator_)
    return Fit(search.predict_proba(test)[:, 1], size=size)


def _catboost(train: Any, y: np.ndarray, test: Any, seed: int) -> Fit:
    from catboost import CatBoostClassifier

    text = [c for c in train if train[c].dtype == "category"]
    train, test = train.copy(), test.copy()
    for column in text:
        train[column] = train[column].astype(object).fillna("missing").astype(str)
        test[column] = test[column].astype(object).fillna("missing").astype(str)
    model = CatBoostClassifier(
        verbose=0, thread_count=1, random_seed=seed, cat_features=text, allow_writing_files=False
    ).fit(train, y)
    # A tree has the same split at all nodes of a level.
    depth = int(model.get_all_params()["depth"])
    size = int(model.tree_count_) * (2**depth + 2 * depth)
    return Fit(model.predict_proba(test)[:, 1], size=size)


#: Our model with both penalties on maps.
BOTH = "pairs, both penalties"
METHODS: dict[str, Callable[..., Fit]] = {
    "curves with pairs": _additive,
    BOTH: _both,
    "curves": _curves,
    "linear": _linear,
    "EBM": _ebm,
    "EBM, no pairs": _ebm_curves,
    "LightGBM": _lightgbm,
    "LightGBM, tuned": _lightgbm_tuned,
    "CatBoost": _catboost,
}
#: Our model with another threshold: a cell of its own, for F1 alone.
FIVE_FOLDS = "threshold of five folds"
CELLS = METHODS | {FIVE_FOLDS: _five_folds}
#: A table with so few positives to test on that its difference is chance.
FEW = "abalone9-18"
#: Methods that compile on their first call, which nobody's clock counts.
COMPILED = ("curves with pairs", BOTH, "curves", FIVE_FOLDS)
#: Effort of a method, relative to one fit of curves with pairs.
EFFORT = {"EBM": 15, "thr": 6}
#: Package that a method needs.
NEEDS = {"EBM": "interpret", "Lig": "lightgbm", "Cat": "catboost"}


def run(settings: Settings) -> dict[str, object]:
    """Every table, split and method; one process for each method on a table."""
    cells: dict[str, dict[str, Any]] = {item: dict(cell) for item, cell in settings.known.items()}
    notes, todo = [], []
    facts = machine_facts()
    where = f"{facts['cpu']}, {facts['cores']} cores, on {str(facts['date'])[:10]}"
    for item in list(SIZES)[: 2 if settings.quick else None]:
        wanted = [
            method
            for method in CELLS
            if method not in cells.get(item, {}) and settings.wants(f"{item}:{method}")
        ]
        try:
            frame, _ = frames.FRAMES[item.partition(",")[0]]() if wanted else (None, None)
        except datasets.MissingDataSet as error:
            notes.append(str(error))
            continue
        for method in wanted:
            package = NEEDS.get(method[:3])
            if package and find_spec(package) is None:
                notes.append(f"{method} was not run: {package} is not installed.")
            else:
                work = min(SIZES[item], len(frame)) * frame.shape[1] * EFFORT.get(method[:3], 1)
                todo.append((work, item, method))
    # The longest first, so that the cores end together; with a budget, as many as possible.
    todo.sort(reverse=math.isinf(settings.deadline))

    def one(cell: tuple[int, str, str]) -> None:
        _, item, method = cell
        if settings.over():
            return
        done = subprocess.run(
            [sys.executable, "-m", __name__, item.partition(",")[0], str(SIZES[item]), method],
            capture_output=True, text=True, check=False,
            env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        )  # fmt: skip
        if done.returncode:
            notes.append(f"{method} failed on {item}: {done.stderr.strip().splitlines()[-1][:200]}")
            return
        found = json.loads(done.stdout.splitlines()[-1]) | {"where": where}
        cells.setdefault(item, {})[method] = found
        print(f"   {item}: {method}", flush=True)

    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        list(pool.map(one, todo))
    made = summary({item: cells[item] for item in SIZES if item in cells})
    return made | {"notes": [*made["notes"], *sorted(set(notes))]}


def summary(cells: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """What is shown of the cells, by table and method."""
    notes = [
        f"{SPLITS} splits; at most {ROWS} rows and two thirds of a table to train on (20,000 where "
        "the name says so), the rest to test on; everybody on the same rows, one thread each.",
        "Everybody gets the same frame: categories as categories, missing values as missing; the "
        "linear model gets one-hot columns, medians and indicators.",
        "LightGBM is tuned over six settings on three folds by log-loss, the linear model over six "
        "strengths on five folds. CPU seconds are those of the fit, after a fit to a few rows that "
        "compiles what has to be compiled.",
    ]
    machines: dict[str, Counter[str]] = {}
    for cell in cells.values():
        for method, values in cell.items():
            if "where" in values:
                machines.setdefault(values["where"], Counter())[method] += 1
    for where, counts in machines.items():
        parts = ", ".join(f"{method} on {count} tables" for method, count in counts.items())
        notes.append(
            f"Measured on {where}: {parts}. CPU seconds of different machines do not compare."
        )
    return {
        "title": "Test values and CPU seconds on many tables",
        "bars": _bars(cells),
        "tables": [
            _table(cells, "auc", "Test AUC", "{:.4f}"),
            _table(cells, "log_loss", "Test log-loss", "{:.4f}"),
            _table(cells, "average_precision", "Test average precision", "{:.4f}"),
            _table(cells, "f1", "Test F1 at the method's threshold, else one half", "{:.4f}"),
            _thresholds(cells),
            _table(cells, "cpu", "CPU seconds of a fit", "{:.2f}"),
            _table(cells, "memory", "Peak memory of the process beyond its imports, MB", "{:.0f}"),
            _table(cells, "size", "Numbers in the model", "{:.0f}"),
            _table(cells, "terms", "Terms: columns and pairs", "{:.0f}"),
        ],
        "notes": notes,
        "cells": cells,
    }  # fmt: skip


def measure(stem: str, rows: int, method: str) -> dict[str, list[float | None]]:
    """All splits of one table by one method, in this process."""
    frame, positive = frames.load(stem)
    warm = np.r_[np.flatnonzero(positive)[:60], np.flatnonzero(~positive)[:140]]
    found: dict[str, list[float | None]] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if method in COMPILED:
            CELLS[method](frame.iloc[warm], positive[warm], frame.iloc[warm], 0)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for seed in range(SPLITS):
            train, test = frames.split(positive, seed, rows)
            X, y, new = frame.iloc[train], positive[train].astype(int), frame.iloc[test]
            start = time.process_time()
            fit = CELLS[method](X, y, new, seed)
            cpu = time.process_time() - start
            truth, p = positive[test], np.clip(fit.probability, LEAST, 1.0 - LEAST)
            flagged = fit.probability >= 0.5 if fit.flagged is None else fit.flagged
            values = {
                "auc": roc_auc_score(truth, fit.probability),
                "average_precision": average_precision_score(truth, fit.probability),
                "log_loss": log_loss(truth, p),
                "f1": f1_score(truth, flagged),
                "cpu": cpu,
                "terms": fit.terms,
                "size": fit.size,
                "gap": fit.gap,
                "memory": (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024,
            }
            for key, value in values.items():
                found.setdefault(key, []).append(None if value is None else float(value))
    return found


def _difference(cells: dict[str, Any], ours: str, other: str, what: str) -> np.ndarray:
    """Differences of the means over the splits, a value for each table."""
    both = [cell for cell in cells.values() if {ours, other} <= cell.keys()]
    return np.array([np.mean(cell[ours][what]) - np.mean(cell[other][what]) for cell in both])


def _machine(cell: dict[str, Any]) -> str:
    """Where a cell was measured, without the day."""
    return str(cell.get("where", "")).partition(", on ")[0]


def _bars(cells: dict[str, Any]) -> list[dict[str, object]]:
    ours, plain = "curves with pairs", "curves"
    rows = []
    for other in ("EBM", "LightGBM, tuned", plain):
        auc = _difference(cells, ours, other, "auc")
        loss = _difference(cells, ours, other, "log_loss")
        if auc.size < 2:
            continue
        error = auc.std(ddof=1) / np.sqrt(auc.size)
        least = {"EBM": -0.006, plain: -0.003}.get(other, -0.05)
        rows += [
            bar(f"AUC - {other}, mean of {auc.size} tables (SE {error:.4f})", auc.mean(),
                0.007 if other == plain else 0.0),
            bar(f"AUC - {other}, mean less two SE", auc.mean() - 2 * error, -0.002),
            bar(f"AUC - {other}, least", auc.min(), least),
            bar(f"log-loss - {other}, mean", loss.mean(), 0.0, at_least=False),
        ]  # fmt: skip
        if other == "EBM" and FEW in cells:
            rest = _difference({k: v for k, v in cells.items() if k != FEW}, ours, other, "auc")
            error = rest.std(ddof=1) / np.sqrt(rest.size)
            text = (
                f"AUC - {other}, mean less two SE, without {FEW}, which has 14 positives to test on"
            )
            rows.append(bar(text, rest.mean() - 2 * error, -0.002))
    for text, large, limit in (("3,000 rows", False, 15.0), ("20,000 rows", True, 10.0)):
        ratios = [
            np.mean(cell["EBM"]["cpu"]) / np.mean(cell[ours]["cpu"])
            for item, cell in cells.items()
            if {"EBM", ours} <= cell.keys() and (", " in item) is large
            if _machine(cell["EBM"]) == _machine(cell[ours])
        ]
        if ratios:
            value = float(np.exp(np.mean(np.log(ratios))))
            tables = f"{len(ratios)} on one machine"
            rows.append(bar(f"EBM's CPU over ours, geometric mean, {text}, {tables}", value, limit))
    twins = _difference(cells, BOTH, ours, "auc")
    if twins.size > 1:
        error = twins.std(ddof=1) / np.sqrt(twins.size)
        text = f"AUC of both penalties - ridge alone, mean of {twins.size} tables (SE {error:.4f})"
        rows.append(bar(text, twins.mean(), 0.0))
        loss = _difference(cells, BOTH, ours, "log_loss")
        rows.append(
            bar("log-loss of both penalties - ridge alone", loss.mean(), 0.0, at_least=False)
        )
    picked = _difference(cells, ours, FIVE_FOLDS, "f1")
    if picked.size > 1:
        error = picked.std(ddof=1) / np.sqrt(picked.size)
        text = f"F1 - at a threshold of five folds, mean of {picked.size} tables (SE {error:.4f})"
        rows.append(bar(text, picked.mean(), 0.0))
    gaps = [max(cell[ours]["gap"]) for cell in cells.values() if ours in cell]
    if gaps:
        rows.append(bar("largest gap of a member over tol", max(gaps), 1.0, at_least=False))
    for item, limit in (("letter", 0.965), ("ijcnn1", 0.978), ("adult, 20000", 0.927)):
        if ours in cells.get(item, {}):
            rows.append(bar(f"AUC on {item}", np.mean(cells[item][ours]["auc"]), limit))
    return [{**row, "value": float(row["value"]), "pass": bool(row["pass"])} for row in rows]


def _table(cells: dict[str, Any], what: str, title: str, form: str) -> dict[str, object]:
    rows: list[list[object]] = []
    for item, cell in cells.items():
        values = [cell.get(method, {}).get(what, [None]) for method in METHODS]
        rows.append([item, *("-" if None in v else form.format(np.mean(v)) for v in values)])
    return table(title, ["table", *METHODS], rows)


def _thresholds(cells: dict[str, Any]) -> dict[str, object]:
    """F1 of curves with pairs by where the threshold is picked."""
    rows: list[list[object]] = [
        [
            item,
            *(f"{np.mean(cell[method]['f1']):.4f}" for method in ("curves with pairs", FIVE_FOLDS)),
        ]
        for item, cell in cells.items()
        if {"curves with pairs", FIVE_FOLDS} <= cell.keys()
    ]
    columns = ["table", "rows left out by the members", "five folds and a new fit"]
    return table("Test F1 of curves with pairs, by the rows that pick the threshold", columns, rows)


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1], int(sys.argv[2]), sys.argv[3])))
