"""A training run: scale the rows, fit a model to them, and watch it on held-out rows."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from auctor import metrics
from auctor.core.errors import AuctorError, ParameterError, speaks_as
from auctor.core.result import Status
from auctor.core.types import Array, FloatArray, Target
from auctor.core.watching import watch
from auctor.data.coerce import stored
from auctor.data.matrices import is_dense
from auctor.data.preparation import Scaling
from auctor.evaluate.progress import Measure, Progress
from auctor.evaluate.results import TrainingRun
from auctor.evaluate.scores import ScoredRows, own_score
from auctor.fit.metric import resolve_metric
from auctor.fit.model import LinearModel
from auctor.fit.parameters import ClassifierParameters
from auctor.fit.prepare import Parts, check_finite
from auctor.fit.result import FitOptions
from auctor.fit.scale import scaled_rows
from auctor.fit.targets import Rows, encode, positive_code, read_groups
from auctor.fit.train_model import check_params, kind_for, train_model
from auctor.kernels.runtime.parallel import limit_threads


@speaks_as("train")
def train(
    params: ClassifierParameters,
    parts: Parts,
    *,
    progress: Progress | None = None,
    seed: int = 0,
    command: str = "",
    word: Callable[[Warning], str] = str,
    warned: Sequence[Warning] = (),
) -> TrainingRun:
    r"""Fit a model to the training rows; Ctrl-C keeps the best model so far, or raises.

    Parameters
    ----------
    params : ClassifierParameters, SearchParameters, AdditiveParameters or AutoParameters
        Keys of ``class_weight`` may be the texts of labels.
    parts : Parts
        From `auctor.fit.prepare.prepare`.
    progress : Progress, optional
        Shows the progress of the fit.
    seed : int
        Seed of the bootstrap of `TrainingRun.measure`.
    command : str
        Command line that reproduces the run, for the model file and the report.
    word : callable
        Turns a warning into text.
    warned : sequence of Warning
        Earlier warnings, such as those of reading the rows.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from auctor.tables import read_table
    >>> from auctor.fit.parameters import ClassifierParameters
    >>> from auctor.fit.prepare import prepare
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "rows.csv")
    ...     rows = [f"{k % 10},{int(k % 10 > 5)}" for k in range(60)]
    ...     _ = path.write_text("\n".join(["a,label", *rows]))
    ...     parts = prepare(read_table(path))
    >>> run = train(ClassifierParameters("auc", strength=0.1), parts)
    >>> run.measure()["score"], run.train_auc
    (1.0, 1.0)
    """
    progress = progress or Progress(None)
    weights = class_weights(params.class_weight, parts.classes)
    params = replace(params, class_weight=weights, pos_label=parts.pos_label)
    check_params(params)
    warnings_so_far = list(warned)
    start = time.perf_counter()
    options = FitOptions()
    with watch(progress), gathered(warnings_so_far):
        rows = _rows(params, parts)
        if kind_for(params).competes:
            params, parts, rows, options = _choose(params, parts, rows)
        # Scaling in place would also change the test rows where these are the training rows.
        rows = scaled_rows(params, rows, in_place=rows.matrix is not parts.test)
        progress.watch_rows(*_measure(params, parts, rows.scaling))
        result = train_model(params, rows, options)
    seconds = time.perf_counter() - start
    warnings_so_far += result.warnings
    if result.interrupted:
        # The user knows of the interrupt; the warning of the solver would only repeat it.
        reason = Status.INTERRUPTED.value
        warnings_so_far = [one for one in warnings_so_far if reason not in str(one)]
    train_auc, train_score = _on_training_rows(result.model, rows)
    return TrainingRun(
        result,
        parts,
        rows,
        command=command,
        seed=seed,
        progress=progress,
        word=word,
        warned=warnings_so_far,
        seconds=seconds,
        train_auc=train_auc,
        train_score=train_score,
    )


def _choose(
    params: ClassifierParameters, parts: Parts, rows: Rows
) -> tuple[ClassifierParameters, Parts, Rows, FitOptions]:
    """The kind of model that the folds choose, with the rows as it reads them."""
    with limit_threads(params.n_threads):
        plan = kind_for(params).choose(params, rows, parts.schema, FitOptions())
    train = plan.rows.matrix
    test = train if parts.test is parts.train else plan.matrix(parts.test)
    changes = {"class_weight": params.class_weight, "pos_label": params.pos_label}
    parts = parts._replace(train=train, test=test, schema=plan.schema)
    return replace(plan.params, **changes), parts, plan.rows, plan.options


def _rows(params: ClassifierParameters, parts: Parts) -> Rows:
    """The training rows with their labels."""
    kind = kind_for(params)
    if is_dense(parts.train) or not kind.keeps_missing:
        check_finite(parts.train, parts.schema.feature_names, gaps=kind.keeps_missing)
    matrix = kind.read_rows(parts.train)
    classes, codes = encode(parts.train_labels, None)
    positive = positive_code(classes, codes, pos_label=parts.pos_label)
    facts, hits = parts.facts, codes == positive
    goal = resolve_metric(params.metric, params.surrogate)
    groups = read_groups(facts.groups, goal, codes.size, for_folds=True)
    return Rows(
        matrix, classes, codes, facts.weight, groups, positive, None, facts.by, facts.costs(hits)
    )


def _on_training_rows(model: LinearModel, rows: Rows) -> tuple[float, float]:
    """AUC and score on the training rows, for comparison; NaN for several classes."""
    if not model.binary:
        return float("nan"), float("nan")
    if rows.scaling is not None:
        coef, intercept = rows.scaling.redo(model.coef, model.intercept)
        model = replace(model, coef=coef, intercept=intercept)
    decision = model.decision_function(rows.matrix)
    seen = ScoredRows(
        rows.codes, decision, None, 0, rows.positive, rows.weight, rows.groups, rows.cost
    )
    return metrics.auc(rows.codes == 1, decision, weight=rows.weight), own_score(model, seen)


def class_weights(weights: Any, classes: Array) -> Any:
    """``class_weight`` with labels as keys in place of their texts, as of a command line.

    Examples
    --------
    >>> class_weights({"1": 5.0}, np.array([0, 1]))
    {1: 5.0}
    """
    if not isinstance(weights, dict):
        return weights
    by_text = {str(label): label for label in classes.tolist()}
    unknown = [name for name in weights if name not in by_text]
    if unknown:
        raise ParameterError(
            f"class weights of the labels {', '.join(by_text)}; got {unknown[0]}. Correct "
            "`class_weight`."
        )
    return {by_text[name]: weight for name, weight in weights.items()}


def _measure(
    params: ClassifierParameters, parts: Parts, scaling: Scaling | None
) -> tuple[Measure, str]:
    """A function from solver parameters to the metric on test rows, and the metric's name.

    AUC replaces metrics of predicted labels, for which the threshold is not known yet.
    """
    metric = resolve_metric(params.metric, params.surrogate)
    matrix = kind_for(params).columns_of_fit(params, parts.train, parts.test)
    data = stored(matrix, Target(np.empty(0)), n_threads=params.n_threads)
    d = data.n_columns

    def measure(w: FloatArray, position: int) -> float:
        # Joint problems of all classes and curves of pairs have more parameters: no value.
        if w.size > d + 1:
            return float("nan")
        coef, offset = w[:d], float(w[d]) if w.size > d else 0.0
        if scaling is not None:
            coef, offset = scaling.undo(coef, offset)
        scores = data.scores(np.ascontiguousarray(coef), offset)
        hit = parts.test_codes == (parts.positive if parts.classes.size == 2 else position)
        try:
            if metric.by_label or metric.per is not None:
                return metrics.auc(hit, scores)
            return float(metric.measure(hit, scores, None))
        except AuctorError:
            return float("nan")

    own = not metric.by_label and metric.per is None
    return measure, str(params.metric) if own else "auc"


@contextmanager
def gathered(warned: list[Warning]) -> Iterator[None]:
    """Append the warnings of a block to a list instead of showing them."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield
        finally:
            warned += [
                one.message if isinstance(one.message, Warning) else UserWarning(one.message)
                for one in caught
            ]
