"""Bootstrap bands of the curves of an additive model: how much they vary between samples."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from auctor.additive.bins import Bins
from auctor.additive.model import AdditiveModel, AdditiveRegressionModel
from auctor.additive.parameters import (
    AdditiveParameters,
    AdditiveRegressorParameters,
    curve_penalty,
    linear_parameters,
)
from auctor.additive.train import smooth_surrogate
from auctor.core.result import Solution
from auctor.core.types import FloatArray, Target
from auctor.fit.fitted import FittedClassifier
from auctor.fit.linear import train_classifier, train_regressor
from auctor.fit.parameters import ClassifierParameters, RegressorParameters
from auctor.fit.targets import Rows

#: Quantiles of the bootstrap curves between which a band lies.
BAND = (0.025, 0.975)
#: Bootstrap samples of a band.
REPEATS = 20


def draws(n: int, weight: FloatArray | None, repeats: int, seed: int) -> Iterator[FloatArray]:
    """Row weights (n,) of bootstrap samples: how often a row is drawn, times its weight."""
    rng = np.random.default_rng(seed)
    for _ in range(repeats):
        times = rng.multinomial(n, np.full(n, 1.0 / n)).astype(np.float64)
        yield times if weight is None else times * weight


def bands_of(fitted: FittedClassifier, rows: Rows) -> dict[int, FloatArray]:
    """Bands of the curves of an additive classifier from `REPEATS` samples of its training rows."""
    given, model = fitted.given, fitted.model
    assert isinstance(given, AdditiveParameters)
    assert isinstance(model, AdditiveModel)
    assert fitted.strength is not None
    seed = 0 if given.random_state is None else given.random_state
    samples = draws(rows.codes.size, rows.weight, REPEATS, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        refitted = classifier_samples(
            given, model, rows, fitted.strength, fitted.solutions, samples
        )
        return bands(model.bins, [coef[0] for coef in refitted])


def classifier_samples(
    given: AdditiveParameters,
    model: AdditiveModel,
    rows: Rows,
    strength: float,
    solutions: Sequence[Solution],
    samples: Iterator[FloatArray],
) -> Iterator[FloatArray]:
    """Coefficients fitted to each bootstrap sample, warm-started from those of the model.

    Bins, pairs and strength are those of the model. A sample that lacks a class is skipped.
    """
    penalty = curve_penalty(given.penalty, model.bins, model.signs)
    part = linear_parameters(
        ClassifierParameters,
        given,
        penalty.with_strength(strength),
        strength,
        surrogate=smooth_surrogate(given.metric, given.surrogate),
        warm_start=True,
        calibrate=None,
        threshold_cv=None,
    )
    binned = replace(rows, matrix=model.bins.encoded(rows.matrix))
    for weight in samples:
        kept = weight > 0.0
        if np.unique(rows.codes[kept]).size == rows.classes.size:
            trained = train_classifier(part, replace(binned, weight=weight), solutions)
            yield trained.model.coef


def regressor_samples(
    given: AdditiveRegressorParameters,
    model: AdditiveRegressionModel,
    matrix: object,
    y: FloatArray,
    strength: float,
    solution: Solution,
    samples: Iterator[FloatArray],
) -> Iterator[FloatArray]:
    """Coefficients of a regression fitted to each bootstrap sample, warm-started.

    Bins, pairs and strength are those of the model.
    """
    penalty = curve_penalty(given.penalty, model.bins, model.signs).with_strength(strength)
    part = linear_parameters(RegressorParameters, given, penalty, strength, warm_start=True)
    binned = model.bins.encoded(matrix)
    for weight in samples:
        yield train_regressor(part, binned, Target(y, weight), solution)[0].coef


def bands(bins: Bins, thetas: Sequence[FloatArray]) -> dict[int, FloatArray]:
    """Quantiles `BAND` of the curves of several coefficient vectors.

    Returns an array (2, codes) for each column. Curves have mean 0 over the training rows.
    """
    curves: dict[int, list[FloatArray]] = {j: [] for j in range(len(bins.columns))}
    for theta in thetas:
        tables = bins.tables(theta)
        for j, column in enumerate(bins.columns):
            curves[j].append(tables[j][1:] - float(column.share @ tables[j]))
    return {j: np.quantile(np.array(found), BAND, axis=0) for j, found in curves.items()}
