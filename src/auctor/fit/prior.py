"""Probabilities for a share of positives other than that of the training rows."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from auctor.core.errors import DataError, ParameterError
from auctor.fit.metric import resolve_metric
from auctor.fit.parameters import ClassifierParameters, states_cut
from auctor.fit.result import ClassifierResult
from auctor.fit.targets import Rows, row_weight


def with_prior(
    params: ClassifierParameters, rows: Rows, result: ClassifierResult
) -> ClassifierResult:
    """The result with the log-odds of its model moved from the training share to ``prior``.

    With pi the prior and q the share of positives, by weight, in the rows that the probabilities
    were fitted to, ``logit p' = logit p + logit pi - logit q`` (Bayes; Saerens et al. 2002). A
    model of log-odds has q with its class weights and moves its scores; a calibrated one has q
    with sample weights only and moves its calibrator. The labels change only where they say which
    probability is above one half.
    """
    if rows.classes.size > 2:
        raise DataError(f"two classes for `prior`; got {rows.classes.size}. Drop `prior`.")
    model = result.model
    if model is None or params.prior is None:
        return result
    if model.calibrators is None:
        raise ParameterError(
            "probabilities for `prior`; got a model without. Set `calibrate='sigmoid'`, or drop it."
        )
    calibrated = params.calibrate is not None
    weight = rows.weight if calibrated else row_weight(params.class_weight, rows)
    share = float(np.average(rows.codes == rows.positive, weights=weight))
    shift = math.log(params.prior / (1.0 - params.prior) * (1.0 - share) / share)
    if calibrated:
        moved = [one.moved(shift) for one in model.calibrators]
        return replace(result, model=replace(model, calibrators=moved), calibrators=moved)
    # Scores are log-odds. A threshold by a rule moves with them, so that labels stay.
    signed = rows.sign * shift
    rule = states_cut(params) or resolve_metric(params.metric, params.surrogate).cut is not None
    model = replace(
        model,
        intercept=model.intercept + (0.0 if rule else signed),
        threshold=model.threshold + (signed if rule else 0.0),
    )
    return replace(result, model=model)
