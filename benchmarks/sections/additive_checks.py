"""Monotone curves on random problems, and scorecards of five columns on rare positives."""

from __future__ import annotations

import warnings

import numpy as np
import scipy.sparse as sp
from sklearn.metrics import roc_auc_score
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
    rows, losses = [], []
    notes = [f"{count} random problems of 60 to 200 rows and three columns, two of them monotone."]
    for stem in RARE[: 1 if settings.quick else None]:
        try:
            row = _card(datasets.load(stem))
        except datasets.MissingDataSet as error:
            notes.append(str(error))
            continue
        losses.append(row[1] - row[3])
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
            )
        ],
        "notes": notes,
        "cells": {"scorecards": rows},
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
                monotone={0: int(signs[0]), 1: int(signs[1])},
                n_threads=1,
            ).fit(X, y)
        for column, sign in enumerate(signs):
            level = model.curve(column)[1]
            violated += bool((sign * np.diff(level) < 0.0).any())
        uncertified += not model.solution_.certified
    return violated, uncertified


def _card(data: datasets.DataSet) -> list[object]:
    from auctor import AdditiveClassifier

    X = data.X.toarray() if sp.issparse(data.X) else np.asarray(data.X)
    y = data.y > 0
    if y.size > ROWS:
        rows = np.random.default_rng(0).choice(y.size, ROWS, replace=False)
        X, y = X[rows], y[rows]
    X, Xt, y, yt = train_test_split(X, y, test_size=0.4, stratify=y, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        full = AdditiveClassifier(n_threads=1).fit(X, y)
        best = np.argsort(-full.explain(X).std(axis=0), kind="stable")[:CARD_COLUMNS]
        small = AdditiveClassifier(n_threads=1).fit(X[:, best], y)
    card = small.scorecard()
    points: dict[str, object] = {}
    exec(card.to_python(), points)
    names = small.names_
    totals = [points["points"](dict(zip(names, row, strict=True))) for row in Xt[:, best].tolist()]
    scores = [roc_auc_score(yt, full.decision_function(Xt))]
    scores += [roc_auc_score(yt, small.decision_function(Xt[:, best])), roc_auc_score(yt, totals)]
    return [int(X.shape[1]), *map(float, scores), len(card.rows)]
