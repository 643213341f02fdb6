"""Boosted trees as contenders: scikit-learn, LightGBM and EBM, with their own settings."""

from __future__ import annotations

import importlib.util
import math
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import ConvergenceWarning as TheirWarning

from auctor.core.errors import DataError
from auctor.core.types import FloatArray
from auctor.data.matrices import dense_array, is_dense
from auctor.evaluate.contest import THEIRS, Contender, Rules, TunedContender, TuningRows
from auctor.evaluate.verdict import PAIRED, TREES
from auctor.fit.threshold import unweighted_threshold

#: Entries of a dense matrix for trees, at most: 1.6 GB of floats.
MOST_ENTRIES = 200_000_000


def scikit_learn_trees() -> Contender:
    """The boosted trees of scikit-learn."""
    return tree_contender("HistGradientBoosting", THEIRS, _hist_boosting)


def tree_contender(name: str, library: str, make: Callable[[Rules], Any]) -> Contender:
    """Boosted trees with default parameters; ``make`` returns an unfitted classifier."""
    return Contender(name, library, partial(_fit_trees, make), TheirWarning, TREES)


def _hist_boosting(rules: Rules) -> HistGradientBoostingClassifier:
    return HistGradientBoostingClassifier(random_state=rules.seed)


def _fit_trees(make: Callable[[Rules], Any], part: TuningRows, rules: Rules) -> TunedContender:
    """Fit trees; the threshold is picked on inner folds, because trees overfit training scores."""
    X, metric = _dense(part.matrix), rules.objective
    with warnings.catch_warnings():
        # LightGBM names the columns of an array and later warns that the names are missing.
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        # Out-of-fold scores for the threshold, then the model of all training rows.
        scores = np.zeros(part.hits.size)
        for train, test in part.inner if metric.cut is not None else ():
            grown = make(rules).fit(X[train], part.hits[train], sample_weight=part.weight_of(train))
            scores[test] = _log_odds(grown, X[test])
        cut = unweighted_threshold(metric, part.hits, scores, part.weight)
        model = make(rules).fit(X, part.hits, sample_weight=part.weight)
    return TunedContender(lambda new: _log_odds(model, _dense(new)) - cut)


def _log_odds(model: Any, X: FloatArray) -> FloatArray:
    """Log-odds by boosted trees, from `decision_function` or from LightGBM's raw scores."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        if hasattr(model, "decision_function"):
            return np.asarray(model.decision_function(X), dtype=np.float64)
        return np.asarray(model.predict(X, raw_score=True), dtype=np.float64)


def _dense(matrix: Any) -> FloatArray:
    """The matrix as a dense array; raises if it has more than `MOST_ENTRIES` entries."""
    if is_dense(matrix):
        return np.asarray(matrix)
    if math.prod(matrix.shape) > MOST_ENTRIES:
        raise DataError(
            f"at most {MOST_ENTRIES:,} entries to grow trees; got {math.prod(matrix.shape):,}. Use "
            "fewer columns."
        )
    return dense_array(matrix)


def boosted_contenders() -> list[Contender]:
    """LightGBM with its default settings; an empty list if it is not installed."""
    if importlib.util.find_spec("lightgbm") is None:
        return []
    return [tree_contender("LightGBM", "lightgbm", _lightgbm)]


def explainable_contenders() -> list[Contender]:
    """The explainable boosting machine of interpret; an empty list if it is not installed."""
    if importlib.util.find_spec("interpret") is None:
        return []
    return [tree_contender("EBM", "interpret", _explainable)._replace(kind=PAIRED)]


def _explainable(rules: Rules) -> Any:
    """A machine with its default settings, which respects the seed and the threads."""
    from interpret.glassbox import ExplainableBoostingClassifier

    return ExplainableBoostingClassifier(random_state=rules.seed, n_jobs=rules.n_threads or 1)


def _lightgbm(rules: Rules) -> Any:
    """A LightGBM classifier that respects the seed and the threads of a comparison."""
    from lightgbm import LGBMClassifier

    return LGBMClassifier(random_state=rules.seed, n_jobs=rules.n_threads or 1, verbose=-1)
