"""Bands of the curves of an additive model: how far they move from one sample to another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from auctor.core.result import Solution
from auctor.core.types import FloatArray, Target
from auctor.solvers.sparse.path import with_strength
from auctor.training.additive import (
    AdditiveParameters,
    AdditiveRegressorParameters,
    curve_penalty,
    plain,
)
from auctor.training.additive_model import (
    AdditiveModel,
    AdditiveRegressionModel,
    smooth_surrogate,
)
from auctor.training.bins import Bins
from auctor.training.parameters import ClassifierParameters, RegressorParameters
from auctor.training.targets import Rows
from auctor.training.train import train_classifier, train_regressor

#: Shares of the bootstrap curves between which a band lies: 95 % of them.
BAND = (0.025, 0.975)


def draws(n: int, weight: FloatArray | None, repeats: int, seed: int) -> Iterator[FloatArray]:
    """Row weights of bootstrap samples: how often each of n rows is drawn, times its weight."""
    rng = np.random.default_rng(seed)
    for _ in range(repeats):
        times = rng.multinomial(n, np.full(n, 1.0 / n)).astype(np.float64)
        yield times if weight is None else times * weight


def classifier_samples(
    who: str,
    given: AdditiveParameters,
    model: AdditiveModel,
    rows: Rows,
    strength: float,
    solutions: Sequence[Solution],
    samples: Iterator[FloatArray],
) -> Iterator[FloatArray]:
    """Weights of lines, jumps and cells fitted to each bootstrap sample, from the fitted ones on.

    Bins, pairs and strength are those of the model.
    """
    penalty = curve_penalty(given.penalty, model.bins, model.signs)
    part = plain(
        ClassifierParameters,
        given,
        with_strength(penalty, strength),
        strength,
        surrogate=smooth_surrogate(who, given.metric, given.surrogate),
        warm_start=True,
        calibrate=None,
        threshold_cv=None,
    )
    binned = replace(rows, matrix=model.bins.encoded(rows.matrix))
    for weight in samples:
        kept = weight > 0.0
        if np.unique(rows.codes[kept]).size == rows.classes.size:
            trained = train_classifier(who, part, replace(binned, weight=weight), solutions)
            yield trained.model.coef


def regressor_samples(
    who: str,
    given: AdditiveRegressorParameters,
    model: AdditiveRegressionModel,
    matrix: object,
    y: FloatArray,
    strength: float,
    solution: Solution,
    samples: Iterator[FloatArray],
) -> Iterator[FloatArray]:
    """The same for a regression."""
    penalty = with_strength(curve_penalty(given.penalty, model.bins, model.signs), strength)
    part = plain(RegressorParameters, given, penalty, strength, warm_start=True)
    binned = model.bins.encoded(matrix)
    for weight in samples:
        yield train_regressor(who, part, binned, Target(y, weight), solution)[0].coef


def bands(bins: Bins, thetas: Sequence[FloatArray]) -> dict[int, FloatArray]:
    """Quantiles of the curves of some weight vectors, by column: arrays (2, values)."""
    curves: dict[int, list[FloatArray]] = {j: [] for j in range(len(bins.columns))}
    for theta in thetas:
        tables = bins.tables(theta)
        for j, column in enumerate(bins.columns):
            curves[j].append(tables[j][1:] - float(column.share @ tables[j]))
    return {j: np.quantile(np.array(found), BAND, axis=0) for j, found in curves.items()}
