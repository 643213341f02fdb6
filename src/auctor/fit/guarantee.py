"""Fits whose threshold holds on new rows with a stated confidence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from auctor import metrics
from auctor.core.errors import DataError
from auctor.core.types import IntArray
from auctor.data.coerce import in_shards
from auctor.fit.folds import folds_by
from auctor.fit.linear import FOLDS
from auctor.fit.metric import Cut
from auctor.fit.parameters import ClassifierParameters, fold_seed
from auctor.fit.result import ClassifierResult, FitOptions, Split
from auctor.fit.targets import Rows

#: Fits a kind of model to rows.
Train: TypeAlias = Callable[[ClassifierParameters, Rows, FitOptions], ClassifierResult]


def guaranteed_fit(
    params: ClassifierParameters, rows: Rows, options: FitOptions, cut: Cut, train: Train
) -> ClassifierResult:
    """Train on some rows, and set the threshold by the others, which the model has never seen.

    Parameters
    ----------
    params : ClassifierParameters
        ``threshold_cv`` is the number of parts, of which one is held out; 5 by default.
    rows : Rows
    options : FitOptions
    cut : Cut
        With a confidence.
    train : callable
        Fits to the training rows.
    """
    to_fit, held = _parts(params, rows)
    inner = replace(params, threshold=0.0)
    options = replace(options, explored=None)  # the fits of a comparison have seen all rows
    if options.offset is not None:
        options = replace(options, offset=options.offset[to_fit])
    if options.splits is not None:
        options = replace(options, splits=[_inside(split, to_fit) for split in options.splits])
    test = rows.take(held)
    hits = test.codes == rows.positive
    if cut.criterion != "precision":  # too few rows are refused before any work
        metrics.best_threshold(hits, np.zeros(held.size), *cut, weight=test.weight)
    result = train(inner, rows.take(to_fit), options)
    result = replace(result, params=replace(result.params, threshold=params.threshold))
    if result.model is None or result.interrupted:
        return result
    model = result.model
    scores = model.positive_scores(model.decision_function(test.matrix))
    threshold = metrics.best_threshold(hits, scores, *cut, weight=test.weight)
    model = replace(
        model,
        intercept=model.intercept - rows.sign * threshold,
        threshold=np.array([rows.sign * threshold]),
    )
    oof = result.oof
    if oof is not None:
        oof = np.full((rows.codes.size, oof.shape[1]), np.nan)
        oof[to_fit] = result.oof
    return replace(result, model=model, oof=oof)


def _parts(params: ClassifierParameters, rows: Rows) -> Split:
    """Rows to train on and rows for the threshold; groups stay whole."""
    if rows.classes.size > 2 or in_shards(rows.matrix):
        got = "data in shards" if rows.classes.size == 2 else f"{rows.classes.size} classes"
        raise DataError(
            f"two classes and rows in memory for a confidence; got {got}. Drop the confidence."
        )
    count = params.threshold_cv or FOLDS
    kept = np.arange(rows.codes.size) if rows.weight is None else np.flatnonzero(rows.weight)
    seen = rows.select_labels(kept)
    fewest = int(np.bincount(seen.codes, minlength=2).min())
    if seen.whole is not None:
        fewest = min(fewest, np.unique(seen.whole).size)
    if fewest < 2:
        raise DataError(
            "two rows of each class, and two groups, for a threshold with a confidence; got "
            f"{fewest}. Pass more rows, or drop the confidence."
        )
    folds = list(folds_by(seen.codes, min(count, fewest), fold_seed(params), seen.groups, seen.by))
    to_fit, held = folds[-1]  # the latest rows, where folds are in time
    return kept[to_fit], kept[held]


def _inside(split: Split, to_fit: IntArray) -> Split:
    """A fold with the numbers that its rows have among those of the fit."""
    train, test = (np.flatnonzero(np.isin(to_fit, part)) for part in split)
    return train, test
