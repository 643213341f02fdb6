"""Monotone curves on random problems, and scorecards of five columns on rare positives."""

from __future__ import annotations

import warnings

import numpy as np
import scipy.sparse as sp
from sklearn.metrics import f1_score, roc_auc_score
from sklearn.model_selection import train_test_split

from benchmarks.problems import datasets
from benchmarks.run import Settings, bar, table

name = "additive_checks"
PROBLEMS = 1_000
#: Sets with rare positives.
RARE = ("cardio", "pageblocks", "wilt")
ROWS = 2_500
CARD_COLUMNS = 5


def run(settings: Settings) -> dict[str, object]:
    """Both parts."""
    count = PROBLEMS // 20 if settings.quick else PROBLEMS
    violated, uncertified = _monotone(count)
    rows, losses, cuts = [], [], []
    notes = [
        f"{count} random problems of 60 to 200 rows and three columns, two of them monotone, by "
        "all three penalties.",
        "The five columns are those whose curves in the full model rank the training rows best, "
        "picked one after the other; the small model is fitted anew, and its points rounded on the "
        "training rows.",
    ]
    for stem in RARE[: 1 if settings.quick else None]:
        try:
            row = _card(datasets.load(stem))
        except datasets.MissingDataSet as error:
            notes.append(str(error))
            continue
        losses.append(row[1] - row[3])
        cuts.append([stem, *_cuts(datasets.load(stem))])
        rows.append([stem, *row])
    within = sum(loss <= 0.01 for loss in losses)
    return {
        "title": "Monotone curves and scorecards",
        "bars": [
            bar("curves that go the wrong way", violated, 0, at_least=False),
            bar("monotone fits without a certified gap", uncertified, 0, at_least=False),
            bar("sets on which a card of five columns loses at most .01 AUC", within, 2),
        ],
        "tables": [
            table(
                "Scorecards of five columns, test AUC",
                [
                    "set",
                    "columns",
                    "full model",
                    "five columns",
                    "whole points",
                    "lines of the card",
                ],
                rows,
            ),
            table(
                "Test F1, mean of four splits, by where the threshold is picked",
                ["set", "training scores", "scores of five folds left out"],
                cuts,
            ),
        ],
        "notes": notes,
        "cells": {"scorecards": rows, "cuts": cuts},
    }


def _monotone(count: int) -> tuple[int, int]:
    """How many curves went the wrong way, and how many fits had no certificate."""
    from auctor import AdditiveClassifier

    violated = uncertified = 0
    for seed in range(count):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(60, 200))
        X = np.round(rng.normal(size=(n, 3)), int(rng.integers(0, 3)))
        y = rng.permutation(np.arange(n) % 3 == 0) if seed % 2 else X[:, 0] - X[:, 1] > 0.3
        if not 0 < y.sum() < n:
            continue
        signs = rng.choice([-1, 1], size=2)
        strength = 10.0 ** rng.uniform(-4, -1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = AdditiveClassifier(
                "log_loss" if seed % 3 else "auc",
                strength=strength,
                penalty=("fused", "group", "smooth")[seed // 3 % 3],
                monotone={0: int(signs[0]), 1: int(signs[1])},
                n_threads=1,
            ).fit(X, y)
        for column, sign in enumerate(signs):
            level = model.curve(column)[1]
            violated += bool((sign * np.diff(level) < 0.0).any())
        uncertified += not model.solution_.certified
    return violated, uncertified


def _rows(data: datasets.DataSet) -> tuple[np.ndarray, np.ndarray]:
    X = data.X.toarray() if sp.issparse(data.X) else np.asarray(data.X)
    y = data.y > 0
    if y.size > ROWS:
        rows = np.random.default_rng(0).choice(y.size, ROWS, replace=False)
        X, y = X[rows], y[rows]
    return X, y


def _cuts(data: datasets.DataSet) -> list[float]:
    """Test F1 of a threshold on training scores, and of one on scores of rows left out."""
    from auctor import AdditiveClassifier
    from auctor.metrics import best_threshold

    X, y = _rows(data)
    found: list[list[float]] = [[], []]
    for seed in range(4):
        A, B, a, b = train_test_split(X, y, test_size=0.5, stratify=y, random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = AdditiveClassifier("f1", members=5, n_threads=1).fit(A, a)
        signs = np.where(np.asarray(a) > 0, 1.0, -1.0)
        shift = best_threshold(signs, model.decision_function(A), "fbeta", 1.0)
        for scores, cut in zip(found, (shift, 0.0), strict=True):
            scores.append(float(f1_score(b, model.decision_function(B) > cut)))
    return [float(np.mean(scores)) for scores in found]


def _five(parts: np.ndarray, y: np.ndarray) -> list[int]:
    """The columns whose contributions together rank the training rows best, one after the other."""
    chosen: list[int] = []
    while len(chosen) < min(CARD_COLUMNS, parts.shape[1]):
        total = parts[:, chosen].sum(axis=1)
        left = [j for j in range(parts.shape[1]) if j not in chosen]
        chosen.append(max(left, key=lambda j: roc_auc_score(y, total + parts[:, j])))
    return chosen


def _card(data: datasets.DataSet) -> list[object]:
    from auctor import AdditiveClassifier

    X, y = _rows(data)
    X, Xt, y, yt = train_test_split(X, y, test_size=0.4, stratify=y, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        full = AdditiveClassifier(n_threads=1).fit(X, y)
        best = _five(full.explain(X), y)
        small = AdditiveClassifier(n_threads=1).fit(X[:, best], y)
    card = small.scorecard(X=X[:, best], y=y)
    points: dict[str, object] = {}
    exec(card.to_python(), points)
    names = small.names_
    totals = [points["points"](dict(zip(names, row, strict=True))) for row in Xt[:, best].tolist()]
    scores = [roc_auc_score(yt, full.decision_function(Xt))]
    scores += [roc_auc_score(yt, small.decision_function(Xt[:, best])), roc_auc_score(yt, totals)]
    return [int(X.shape[1]), *map(float, scores), len(card.rows)]
