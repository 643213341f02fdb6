"""Kernel machines from rows and parameters: support vector machines and kernel ridge regression.

The training functions issue no warnings. They return them with the model, and the estimator that
the user called issues them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from auctor import metrics
from auctor.core.checks import check_choice, check_real
from auctor.core.errors import ConvergenceWarning, DataError, ParameterError
from auctor.core.types import FloatArray, IntArray, Target
from auctor.fit.calibrate import KINDS, Calibrator, fit_calibrators
from auctor.fit.class_scores import REST, ClassPairs
from auctor.fit.folds import stratified_folds
from auctor.fit.metric import resolve_metric
from auctor.fit.targets import Rows, row_weight
from auctor.fit.threshold import unweighted_cut
from auctor.kernel.dual import DualSolution
from auctor.kernel.machine import (
    KernelModel,
    check_definite,
    classification,
    combine,
    make_points,
    regression,
    solve_dual,
    solve_ridge,
)
from auctor.kernel.parameters import (
    KERNELS,
    KernelParameters,
    check_kernel,
    kernel_width,
    loss_weight,
)
from auctor.kernel.points import GivenPoints, Points, ProductPoints

#: Folds whose held-out scores calibrate probabilities: the usual 5.
FOLDS = 5
#: The metric that machines minimise a bound of, so that their threshold is 0.
ERROR = "error"


@dataclass(eq=False, repr=False, kw_only=True)
class KernelClassifierParameters(KernelParameters):
    """Parameters of `auctor.KernelClassifier`."""

    metric: str = "error"
    pos_label: Any = None
    multiclass: str = "ovo"
    class_weight: Any = None
    calibrate: str | None = None
    random_state: int | None = None


@dataclass(eq=False, repr=False, kw_only=True)
class KernelRegressorParameters(KernelParameters):
    """Parameters of `auctor.KernelRegressor`."""

    loss: str = "epsilon_insensitive"
    epsilon: float = 0.1
    shift: float = 0.0


@dataclass(frozen=True, eq=False)
class TrainedKernel:
    """A kernel machine and how its solves ended.

    Parameters
    ----------
    support : (n_support,) int array
        Indices of the support vectors among the rows of the fit.
    gamma : float
        Width of the kernel.
    gap : float
        Duality gap divided by the sum of the weights of the loss; the largest one over the score
        functions.
    solutions : sequence of DualSolution
        One per score function; none for the squared loss, which needs no iterations.
    threshold : float
        Of the scores of two classes, those of the second class.
    """

    model: KernelModel
    support: IntArray
    gamma: float
    gap: float
    solutions: Sequence[DualSolution] = ()
    calibrators: list[Calibrator] | None = None
    threshold: float = 0.0
    warnings: list[Warning] = field(default_factory=list)


def check_kernel_classifier(params: KernelClassifierParameters) -> None:
    """Raise `ParameterError` for invalid parameters of a classifier."""
    check_kernel(params)
    check_choice("multiclass", params.multiclass, ("ovo", "ovr"))
    if params.calibrate is not None:
        check_choice("calibrate", params.calibrate, tuple(KINDS))
    if resolve_metric(params.metric, "auto").by_level:
        raise ParameterError(
            "a `metric` of labels or of a ranking: the scores of a kernel machine are no log-odds; "
            f"got {params.metric!r}. Pass another one, and measure the probabilities of "
            "`calibrate='sigmoid'`."
        )


def check_kernel_regressor(params: KernelRegressorParameters) -> None:
    """Raise `ParameterError` for invalid parameters of a regressor."""
    check_kernel(params)
    check_choice("loss", params.loss, ("epsilon_insensitive", "squared"))
    check_real("epsilon", params.epsilon, low=0.0)
    check_real("shift", params.shift)
    if params.loss == "squared" and params.shift != 0.0:
        raise ParameterError(
            f"the epsilon-insensitive loss for a shift; got shift={params.shift:g} with the "
            "squared loss. Use `loss='epsilon_insensitive'`, or add the shift to y."
        )


def train_kernel_classifier(params: KernelClassifierParameters, rows: Rows) -> TrainedKernel:
    """Fit a support vector machine for each pair of classes, or each class against the rest.

    Parameters
    ----------
    params : KernelClassifierParameters
        Checked already.
    rows : Rows
        With a C-contiguous array, a CSR matrix, or the kernel values of a precomputed kernel.
    """
    weight = row_weight(params.class_weight, rows)
    training = _training_points(params, rows.matrix, rows.weight, weight)
    codes = rows.codes[training.kept]
    pairs = ClassPairs(rows.classes.size, params.multiclass)
    model, support, solved = _solve_pairs(params, pairs, training.points, codes, training.caps)
    goal = resolve_metric(params.metric, "auto")
    cut = unweighted_cut(goal) if pairs.n_classes == 2 and goal.name != ERROR else None
    # Training scores of a flexible kernel are too good: both take scores of held-out rows.
    held_out = None
    if params.calibrate is not None or cut is not None:
        held_out = _held_out(params, pairs, training, codes)
    calibrators, threshold = None, 0.0
    if params.calibrate is not None and held_out is not None:
        hits = [codes == code for code in pairs.scored]
        weight = training.caps / training.loss_weight
        calibrators = fit_calibrators(str(params.calibrate), held_out, hits, weight)
    if cut is not None and held_out is not None:
        y = np.where(codes == rows.positive, 1.0, -1.0)
        own = None if rows.weight is None else rows.weight[training.kept]
        scores = rows.sign * held_out[:, 0]
        threshold = rows.sign * metrics.best_threshold(y, scores, *cut, weight=own)
    solutions = [one for one, _ in solved]
    return TrainedKernel(
        model,
        training.kept[support],
        training.gamma,
        max(gap for _, gap in solved),
        solutions,
        calibrators,
        threshold,
        _unconverged(params, solutions),
    )


def train_kernel_regressor(
    params: KernelRegressorParameters, matrix: Any, target: Target
) -> TrainedKernel:
    """Fit support vector regression or, for the squared loss, kernel ridge regression.

    The matrix is as in `train_kernel_classifier`; the parameters were checked already.
    """
    training = _training_points(params, matrix, target.weight, target.weight)
    points, caps = training.points, training.caps
    y = target.y[training.kept]
    solutions: list[DualSolution] = []
    if params.loss == "squared":  # a linear system instead of a dual with bounds
        beta, intercept, gap = solve_ridge(points, y, caps)
    else:
        one = solve_dual(points, regression(y, caps, params.epsilon, params.shift), params)
        # Each row has two dual variables, one for either side of the tube.
        beta, intercept, gap = one.beta[: y.size] + one.beta[y.size :], one.intercept, one.gap
        solutions = [one]
    model, support = combine(points, [(np.arange(y.size), beta)], [intercept], params.n_threads)
    return TrainedKernel(
        model,
        training.kept[support],
        training.gamma,
        gap / float(caps.sum()),
        solutions,
        warnings=_unconverged(params, solutions),
    )


def stored_model(
    params: KernelParameters,
    matrix: Any,
    support: IntArray,
    coef: FloatArray,
    intercept: FloatArray,
    *,
    gamma: float,
    double: bool,
) -> KernelModel:
    """The model of support vectors and coefficients that were stored, such as in a file.

    Parameters
    ----------
    params : KernelParameters
        The kernel is a name.
    matrix : array or CSR matrix
        The support vectors; for a precomputed kernel an array without rows that has the columns of
        the kernel matrix.
    support : (n_support,) int array
        Indices of the support vectors among the rows of the fit.
    coef, intercept : arrays
        As in `KernelModel`.
    gamma : float
        Width of the kernel.
    double : bool
        Whether products are computed in float64 rather than float32.
    """
    kernel = KERNELS[params.kernel](params, gamma) if isinstance(params.kernel, str) else None
    points: Points
    if kernel is None:
        points = GivenPoints(matrix, support)
    else:
        points = ProductPoints(matrix, kernel, np.float64 if double else np.float32)
    return KernelModel(points, coef, intercept, params.n_threads)


# --- parts of a fit ---------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Training:
    """The rows of positive weight, with their kernel."""

    points: Points
    kept: IntArray  # their indices among all rows
    caps: FloatArray  # upper bounds of their dual variables: C times the weights of the loss
    loss_weight: float  # C
    gamma: float


def _training_points(
    params: KernelParameters,
    matrix: Any,
    sample_weight: FloatArray | None,
    weight: FloatArray | None,
) -> _Training:
    """The rows that take part in a fit; ``weight`` is the row weight times the class weight."""
    n = matrix.shape[0]
    C = loss_weight(params, float(n) if weight is None else float(weight.sum()))
    caps = np.full(n, C) if weight is None else C * weight
    kept = np.flatnonzero(caps)  # rows of weight zero take no part
    gamma = kernel_width(params.gamma, matrix, sample_weight)
    kernel: Any = params.kernel
    if isinstance(kernel, str):
        kernel = KERNELS[kernel](params, gamma)
    points = make_points(matrix, kernel, params.tol)
    check_definite(points)
    if kept.size < points.size:
        points = points.only(kept)
    return _Training(points, kept, caps[kept], C, gamma)


def _solve_pairs(
    params: KernelClassifierParameters,
    pairs: ClassPairs,
    points: Points,
    codes: IntArray,
    caps: FloatArray,
) -> tuple[KernelModel, IntArray, list[tuple[DualSolution, float]]]:
    """Solve every score function: the joint model, its support, solutions with their gaps."""
    parts, solved = [], []
    for positive, negative in pairs.pairs:
        if negative == REST:
            index = np.arange(codes.size)
        else:
            index = np.flatnonzero((codes == positive) | (codes == negative))
        mine = points if index.size == points.size else points.only(index)
        # A binary problem on the rows of the two sides, with its gap per unit of loss.
        dual = classification(np.where(codes[index] == positive, 1.0, -1.0), caps[index])
        one = solve_dual(mine, dual, params)
        parts.append((index, one.beta))
        solved.append((one, one.gap / float(caps[index].sum())))
    intercepts = [one.intercept for one, _ in solved]
    return *combine(points, parts, intercepts, params.n_threads), solved


def _held_out(
    params: KernelClassifierParameters, pairs: ClassPairs, training: _Training, codes: IntArray
) -> FloatArray:
    """Scores of every row by a machine of the stratified folds that do not have it."""
    count = min(FOLDS, int(np.bincount(codes).min()))
    if count < 2:
        raise DataError(
            "two rows of every class for {option}, which take held-out rows; got a class with "
            "one. Drop it, or that class.",
            option="calibrate" if params.calibrate else "metric",
        )
    # The kernel of the training rows is used again: a fold is a subset of its points.
    points, caps = training.points, training.caps
    scores = np.empty((codes.size, len(pairs.scored)))
    seed = 0 if params.random_state is None else params.random_state
    for train, test in stratified_folds(codes, count, seed):
        part = points.only(train)
        model, _, _ = _solve_pairs(params, pairs, part, codes[train], caps[train])
        scores[test] = pairs.scores(model.scores(points.rows(test)))
    return scores


def _unconverged(params: KernelParameters, solutions: Sequence[DualSolution]) -> list[Warning]:
    """A warning if solves missed the tolerance, with their largest violation."""
    late = [one for one in solutions if not one.converged]
    if not late:
        return []
    worst = max(one.violation for one in late)
    return [
        ConvergenceWarning(
            does=f"stopped after {params.max_iter} blocks: the optimality conditions are violated "
            f"by {worst:.3g}, the tolerance is {params.tol:.3g}. Increase `max_iter` or "
            "`tol`, or scale the columns."
        )
    ]
