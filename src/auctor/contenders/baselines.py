"""Baselines in a report: a constant score, logistic regression and boosted trees."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from sklearn.impute import SimpleImputer

from auctor.additive.model import AdditiveModel
from auctor.contenders.ours import log_loss_contender
from auctor.contenders.trees import scikit_learn_trees
from auctor.core.errors import AuctorError, speaks_as
from auctor.core.types import Array
from auctor.data import as_matrix
from auctor.data.matrices import is_dense
from auctor.data.preparation import column_scaling
from auctor.evaluate.contest import (
    THEIRS,
    Contender,
    Rules,
    TunedContender,
    TuningRows,
    make_tuning_rows,
)
from auctor.evaluate.trained_metric import Rival
from auctor.evaluate.verdict import CONSTANT, TREES
from auctor.fit.folds import stratified_folds
from auctor.fit.metric import resolve_metric
from auctor.fit.model import LinearModel
from auctor.fit.threshold import unweighted_threshold

#: Penalties that the log-loss baseline can have; it has the first one for any other penalty.
PENALTIES = ("l2", "l1", "elastic_net")
#: Entries beyond which a report has no boosted trees: they take ten CPU seconds.
MOST_TREE_ENTRIES = 10_000_000
#: Training rows of a baseline, at most: a share of those of every class.
MOST_ROWS = 20_000
#: Seconds after which no further baseline is trained.
SECONDS = 20.0
#: Rows that a baseline scores at a time.
BLOCK = 20_000
#: A short description of each baseline.
NOTES = {
    "constant score": "the same for every row",
    "log-loss": "a linear model with the same penalty, tuned by the metric",
    "boosted trees": "of scikit-learn with their own settings",
}


def baseline_contenders() -> dict[str, Contender]:
    """The baselines that every model should beat, by their name in a report."""
    return {
        "constant score": constant_contender(),
        "log-loss": log_loss_contender(),
        "boosted trees": scikit_learn_trees(),
    }


@speaks_as("baselines")
def baselines(
    model: LinearModel,
    params: Mapping[str, Any],
    train: Any,
    hit: Array,
    test: Any,
    *,
    seed: int = 0,
    on_stage: Callable[[str], None] = lambda stage: None,
) -> list[Rival]:
    """Scores of the test rows by a constant, by logistic regression and by boosted trees.

    All are trained on the same rows as the model, at most `MOST_ROWS`, standardised, the threshold
    picked by the rule of the model's metric, as in `auctor compare`. Missing numbers, which an
    additive model accepts, are replaced by the mean of their column. With more than ten
    million entries trees are left out, and the report says so.

    Parameters
    ----------
    model : LinearModel
        Its metric is used for the baselines.
    params : mapping
        Parameters of the model, of which the penalty, the time limit and the number of threads are
        used for the baselines, if it has them.
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
    >>> told = model.model_, model.get_params()
    >>> [rival.name for rival in baselines(*told, X[:150], hit[:150], X[150:])]
    ['constant score', 'log-loss', 'boosted trees']
    """
    penalty, ratio = params.get("penalty"), params.get("l1_ratio")
    rules = Rules(
        metric=model.metric,
        penalty=str(penalty) if str(penalty) in PENALTIES else PENALTIES[0],
        l1_ratio=ratio if isinstance(ratio, float) else None,
        max_seconds=params.get("max_seconds"),
        n_threads=params.get("n_threads"),
        seed=seed,
    )
    begin, total, note = time.perf_counter(), hit.size, ""
    count = math.ceil(total / MOST_ROWS)
    if count > 1:
        rows = next(stratified_folds(hit.astype(np.int64), count, seed))[1]
        train, hit = train[rows], hit[rows]
        note = f"; trained on {rows.size:,} of {total:,} rows"
    blocks = _blocks(model, train, test)
    train = as_matrix(next(blocks))
    scaling = column_scaling(train, centre=is_dense(train))
    # The part with its folds and strengths is made once, on first use, for all baselines.
    part, held = None, [scaling.apply(as_matrix(block)) for block in blocks]
    rivals = []
    for name, contender in baseline_contenders().items():
        if contender.kind == TREES and math.prod(train.shape) > MOST_TREE_ENTRIES:
            needed = f"left out: {train.shape[1]:,} columns would take long; see auctor compare"
            rivals.append(Rival(name, None, needed))
            continue
        if time.perf_counter() - begin > SECONDS:
            rivals.append(Rival(name, None, f"left out: the others took {SECONDS:.0f} seconds"))
            continue
        on_stage(f"training {name} to compare with")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                part = part or make_tuning_rows(scaling.apply(train), hit, rules)
                tuned = contender.fit(part, rules)
                scores = np.concatenate([tuned.scores(block) for block in held])
            rivals.append(Rival(name, scores, NOTES[name] + note, contender.kind))
        except (AuctorError, ValueError) as error:  # the report shows the reason instead of scores
            rivals.append(Rival(name, None, " ".join(str(error).split())))
    return rivals


def _blocks(model: LinearModel, train: Any, test: Any) -> Iterator[Any]:
    """The training rows, then the test rows in blocks, as columns of numbers without gaps."""
    parts = [test[at : at + BLOCK] for at in range(0, test.shape[0], BLOCK)]
    if not isinstance(model, AdditiveModel):
        yield from (train, *parts)
        return
    fill = SimpleImputer(keep_empty_features=True)
    yield fill.fit_transform(model.bins.expanded(train, train)[0])
    for part in parts:
        yield fill.transform(model.bins.expanded(train, part)[1])


def untrained(metric: Any, hit: Array, needed: str) -> list[Rival]:
    """Baselines for a report without training rows: only the constant score has numbers.

    Parameters
    ----------
    metric : str or loss
        The metric of the model.
    hit : (n,) bool array
        Which of the measured rows are positive; the constant is the best one for them.
    needed : str
        Text on what the other baselines need.

    Examples
    --------
    >>> hit = np.array([True, False, False, False])
    >>> untrained("error", hit, "")[0].scores.tolist()
    [-1.0, -1.0, -1.0, -1.0]
    """
    measure = resolve_metric(metric, "auto")
    share = float(np.mean(hit))
    # Predict all rows positive, none, or the log-odds of the share of positives.
    scores = (1.0, -1.0, float(np.log(share / (1.0 - share))))
    best = max(scores, key=lambda score: measure.measure(hit, np.full(hit.size, score), None))
    return [
        Rival("constant score", np.full(hit.size, best), NOTES["constant score"], CONSTANT),
        *(Rival(name, None, needed) for name in NOTES if name != "constant score"),
    ]


def constant_contender() -> Contender:
    """The same score for every row."""
    return Contender("constant", THEIRS, _fit_constant, kind=CONSTANT)


def _fit_constant(part: TuningRows, rules: Rules) -> TunedContender:
    """The same score for every row, with the threshold by the same rule.

    For metrics of log-odds the score is the log-odds of the share of positives.
    """
    share = float(np.average(part.hits, weights=part.weight))
    score = math.log(share / (1.0 - share)) if rules.objective.by_level else 0.0
    cut = unweighted_threshold(
        rules.objective, part.hits, np.full(part.hits.size, score), part.weight
    )
    return TunedContender(lambda X: np.full(X.shape[0], score - cut))
