"""Trees whose splits are chosen by the AUC against the trees of scikit-learn, tuned alike."""

from __future__ import annotations

import time

import numpy as np

from auctor.lab.trees import AucTreeClassifier
from auctor.metrics import auc
from benchmarks.problems import frames
from benchmarks.run import Settings, bar, table

name = "auc_trees"
TABLES = (
    "diabetes", "australian", "svmguide3", "segment", "satellite", "wilt", "waveform",
    "page-blocks0", "abalone9-18", "adult",
)  # fmt: skip
#: Rows to train on, at most; the others are tested on.
TRAIN = 2000
SEEDS = 2
#: Least number of rows in a leaf, of all trees.
LEAF = 5
#: Strengths of pruning that scikit-learn's trees try, at most.
STRENGTHS = 30
#: Trees in a forest.
TREES = 50


def _numbers(name: str) -> tuple[np.ndarray, np.ndarray]:
    """A table as numbers: a column of zeros and ones for each level of a category."""
    import pandas as pd

    frame, positive = frames.load(name)
    levels = [column for column in frame if frame[column].dtype.name == "category"]
    return pd.get_dummies(frame, columns=levels, dtype=float).to_numpy(dtype=float), positive


def _auc_tree(X: np.ndarray, y: np.ndarray, seed: int) -> object:
    return AucTreeClassifier(min_leaf=LEAF, random_state=seed).fit(X, y)


def _their_tree(X: np.ndarray, y: np.ndarray, seed: int) -> object:
    """Criterion, class weights and strength of pruning by the AUC on the same five folds."""
    from sklearn.model_selection import GridSearchCV, StratifiedKFold
    from sklearn.tree import DecisionTreeClassifier

    grids = []
    for criterion in ("gini", "entropy"):
        for weight in (None, "balanced"):
            tree = DecisionTreeClassifier(
                criterion=criterion, class_weight=weight, min_samples_leaf=LEAF, random_state=0
            )
            steps = np.unique(tree.cost_complexity_pruning_path(X, y).ccp_alphas.clip(0.0))
            strengths = np.concatenate(([0.0], np.sqrt(steps[1:] * steps[:-1]), steps[-1:]))
            some = np.unique(np.linspace(0, strengths.size - 1, STRENGTHS).round().astype(int))
            grids.append(
                {
                    "criterion": [criterion],
                    "class_weight": [weight],
                    "ccp_alpha": strengths[some][::-1],
                }
            )
    folds = StratifiedKFold(5, shuffle=True, random_state=seed)
    tree = DecisionTreeClassifier(min_samples_leaf=LEAF, random_state=0)
    return GridSearchCV(tree, grids, scoring="roc_auc", cv=folds).fit(X, y)


def _auc_forest(X: np.ndarray, y: np.ndarray, seed: int) -> object:
    """Bagged trees by AUC, each on a random half of the columns."""
    from sklearn.ensemble import BaggingClassifier

    tree = AucTreeClassifier(0.0, min_leaf=1.0, max_leaves=10_000)
    return BaggingClassifier(tree, TREES, max_features=0.5, random_state=seed).fit(X, y)


def _their_forest(X: np.ndarray, y: np.ndarray, seed: int) -> object:
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(TREES, random_state=seed).fit(X, y)


MODELS = {
    "tree by AUC": _auc_tree,
    "scikit-learn tree": _their_tree,
    "50 trees by AUC": _auc_forest,
    "random forest, 50": _their_forest,
}


def run(settings: Settings) -> dict[str, object]:
    """AUC on test rows, leaves and CPU seconds of each model and table."""
    cells: dict[str, dict[str, list[float]]] = {}
    _auc_tree(np.arange(40.0)[:, None], np.arange(40) % 3 == 0, 0)  # compiles
    for table_name in TABLES[:2] if settings.quick else TABLES:
        if not settings.wants(table_name) or settings.over():
            continue
        X, positive = _numbers(table_name)
        found: dict[str, list[float]] = {}
        for seed in range(1 if settings.quick else SEEDS):
            train, test = frames.split(positive, seed, TRAIN)
            for label, fit in MODELS.items():
                cpu = time.process_time()
                model = fit(X[train], positive[train], seed)
                cpu = time.process_time() - cpu
                value = auc(positive[test], model.predict_proba(X[test])[:, 1])
                kept = getattr(model, "best_estimator_", model)
                leaves = getattr(kept, "n_leaves_", None) or getattr(kept, "tree_", None)
                count = float(getattr(leaves, "n_leaves", leaves) or np.nan)
                found.setdefault(label, []).append(value)
                found.setdefault(f"{label} leaves", []).append(count)
                found.setdefault(f"{label} cpu", []).append(cpu)
        cells[table_name] = found
    return summary(cells)


def summary(cells: dict[str, dict[str, list[float]]]) -> dict[str, object]:
    """Means over the splits of each table."""
    mean = {
        name: {key: float(np.mean(values)) for key, values in found.items()}
        for name, found in cells.items()
    }
    ours, theirs, forest, random = MODELS
    leads = [one[ours] - one[theirs] for one in mean.values()]
    bagged = [one[forest] - one[random] for one in mean.values()]
    lines = [
        [name, *(one[label] for label in MODELS), one[f"{ours} leaves"], one[f"{theirs} leaves"],
         one[f"{ours} cpu"], one[f"{theirs} cpu"]]
        for name, one in mean.items()
    ]  # fmt: skip
    headings = ["table", *MODELS, "leaves", "their leaves", "CPU s", "their CPU s"]
    wins = sum(lead > 0.0 for lead in leads)
    return {
        "title": f"AUC on test rows of trees by AUC, {len(cells)} tables",
        "bars": [bar("mean AUC above scikit-learn's tree", float(np.mean(leads)), 0.0)],
        "tables": [table("Mean over the splits", headings, lines)],
        "notes": [
            f"At most {TRAIN:,} rows to train on, {SEEDS} splits, at least {LEAF} rows in a leaf. "
            "The strength of pruning is chosen by the AUC on five folds; scikit-learn's tree also "
            "chooses its criterion (gini, entropy) and class weights (none, balanced).",
            f"The tree by AUC is ahead on {wins} of {len(cells)} tables. Forests: mean AUC "
            f"{np.mean(bagged):+.4f} against a random forest, ahead on "
            f"{sum(lead > 0.0 for lead in bagged)} of {len(cells)}: there is no forest of its own; "
            "BaggingClassifier of scikit-learn makes one.",
        ],
        "cells": cells,
    }
