"""Baselines in a report: a constant score, logistic regression and boosted trees."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.impute import SimpleImputer

from auctor.core.errors import AuctorError
from auctor.core.types import Array
from auctor.data import as_matrix
from auctor.data.matrices import is_dense
from auctor.data.preparation import column_scaling
from auctor.estimators.contenders import baseline_contenders
from auctor.reports.judged import Rival
from auctor.training.contest import Rules, make_part
from auctor.training.evaluate import is_curved
from auctor.training.metric import resolve_metric
from auctor.training.verdict import TREES

WHO = "baselines"
#: Penalties that the log-loss baseline can have; it has the first one for any other penalty.
PENALTIES = ("l2", "l1", "elastic_net")
#: Columns beyond which a report has no boosted trees, whose time grows with the columns. Set by
#: hand: on 2,000 rows and 3,922 columns of categories they took ten times as long as the rest of
#: the command.
MOST_TREE_COLUMNS = 500
#: A short description of each baseline.
NOTES = {
    "constant score": "the same for every row",
    "log-loss": "a linear model with the same penalty, tuned by the metric",
    "boosted trees": "of scikit-learn with their own settings",
}


def baselines(
    model: Any,
    train: Any,
    hit: Array,
    test: Any,
    *,
    seed: int = 0,
    on_stage: Callable[[str], None] = lambda stage: None,
) -> list[Rival]:
    """Scores of the test rows by a constant, by logistic regression and by boosted trees.

    All are trained on the same rows as the model, with columns standardised and the threshold
    picked by the rule of the model's metric, as in `auctor compare`. Missing numbers, which an
    additive model accepts, are replaced by the mean of their column. With more than 500 columns
    trees are left out, and the report says so.

    Parameters
    ----------
    model : fitted classifier
        Its metric, penalty, time limit and number of threads are used for the baselines.
    train, test : (n, d) array or CSR matrix
    hit : (n,) bool array
        Which training rows are positive.
    seed : int
    on_stage : callable, optional
        Called with a text that says which baseline is trained.

    Examples
    --------
    >>> import numpy as np
    >>> from auctor import MetricClassifier
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> hit = X[:, 0] > 0.5
    >>> model = MetricClassifier("auc").fit(X[:150], hit[:150])
    >>> [rival.name for rival in baselines(model, X[:150], hit[:150], X[150:])]
    ['constant score', 'log-loss', 'boosted trees']
    """
    penalty = getattr(model, "penalty", None)
    ratio = getattr(model, "l1_ratio", None)
    rules = Rules(
        metric=getattr(model, "metric", "auc"),
        penalty=str(penalty) if str(penalty) in PENALTIES else PENALTIES[0],
        l1_ratio=ratio if isinstance(ratio, float) else None,
        max_seconds=getattr(model, "max_seconds", None),
        n_threads=getattr(model, "n_threads", None),
        seed=seed,
    )
    if is_curved(model):  # the baselines need numbers where an additive model allows missing ones
        fill = SimpleImputer(keep_empty_features=True).fit(train)
        train, test = fill.transform(train), fill.transform(test)
    train, test = as_matrix(train, who=WHO), as_matrix(test, who=WHO)
    # The part with its folds and strengths is made once, on first use, for all baselines.
    scaling = column_scaling(train, centre=is_dense(train))
    part, held = None, scaling.apply(test)
    found = []
    for name, contender in baseline_contenders().items():
        if contender.kind == TREES and train.shape[1] > MOST_TREE_COLUMNS:
            needed = f"left out: {train.shape[1]:,} columns would take long; see auctor compare"
            found.append(Rival(name, None, needed))
            continue
        on_stage(f"training {name} to compare with")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                part = part or make_part(scaling.apply(train), hit, rules)
                scores = contender.fit(part, rules).scores(held)
            found.append(Rival(name, scores, NOTES[name]))
        except (AuctorError, ValueError) as error:  # the report shows the reason instead of scores
            found.append(Rival(name, None, " ".join(str(error).split())))
    return found


def untrained(model: Any, hit: Array, needed: str, *, who: str = WHO) -> list[Rival]:
    """Baselines for a report without training rows: only the constant score has numbers.

    Parameters
    ----------
    model : fitted classifier
    hit : (n,) bool array
        Which of the measured rows are positive; the constant is the best one for them.
    needed : str
        Text on what the other baselines need.
    who : str
        Name used in error messages.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> hit = np.array([True, False, False, False])
    >>> untrained(SimpleNamespace(metric="error"), hit, "")[0].scores.tolist()
    [-1.0, -1.0, -1.0, -1.0]
    """
    chosen = resolve_metric(who, getattr(model, "metric", "auc"), "auto")
    share = float(np.mean(hit))
    # Predict all rows positive, none, or the log-odds of the share of positives.
    scores = (1.0, -1.0, float(np.log(share / (1.0 - share))))
    best = max(scores, key=lambda score: chosen.measure(hit, np.full(hit.size, score), None))
    return [
        Rival("constant score", np.full(hit.size, best), NOTES["constant score"]),
        *(Rival(name, None, needed) for name in NOTES if name != "constant score"),
    ]
