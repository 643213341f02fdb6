"""The classes that model files hold, the codec that writes and reads them, and common checks."""

from __future__ import annotations

import inspect
from functools import cache
from typing import Any

import numpy as np

from auctor import losses, penalties, solvers
from auctor.additive.bins import Bins, PairBins
from auctor.additive.columns import ColumnBins, LevelBins
from auctor.additive.means import MeanBins
from auctor.additive.model import AdditiveModel, AdditiveRegressionModel, Edit
from auctor.additive.parameters import AdditiveParameters, AdditiveRegressorParameters
from auctor.core.codec import KINDS, Codec
from auctor.core.result import Solution, Status, Trace
from auctor.core.types import Array
from auctor.fit.calibrate import Isotonic, Sigmoid
from auctor.fit.model import LinearModel, RegressionModel
from auctor.fit.parameters import (
    ClassifierParameters,
    LinearParameters,
    RegressorParameters,
    SearchParameters,
)
from auctor.fit.reasons import ColumnRanges
from auctor.fit.result import FitResult, ModelChoice, StrengthChoice
from auctor.linear.table_parameters import TableParameters
from auctor.penalties import Separable
from auctor.tables.options import ReadOptions

#: Classes of the parts of linear and additive models.
MODELS = (
    AdditiveModel,
    AdditiveParameters,
    AdditiveRegressionModel,
    AdditiveRegressorParameters,
    Bins,
    ClassifierParameters,
    ColumnBins,
    ColumnRanges,
    Edit,
    FitResult,
    Isotonic,
    LevelBins,
    LinearModel,
    MeanBins,
    ModelChoice,
    PairBins,
    ReadOptions,
    RegressionModel,
    RegressorParameters,
    SearchParameters,
    Sigmoid,
    Solution,
    Status,
    StrengthChoice,
    TableParameters,
    Trace,
)
_CLASSIFIER = ("schema", "metric", "surrogate", "average", "calibrators", "n_threads")
_REGRESSOR = ("schema", "loss", "n_threads")
#: Fields that follow from the parameters, or that are of no use later.
OMITTED = {
    "additive.AdditiveModel": (*_CLASSIFIER, "ranges"),
    "additive.AdditiveRegressionModel": (*_REGRESSOR, "ranges"),
    "additive.PairBins": ("signs",),
    "fit.FitResult": ("oof", "measured", "warnings", "interrupted"),
    "fit.LinearModel": _CLASSIFIER,
    "fit.RegressionModel": _REGRESSOR,
    "fit.StrengthChoice": ("complete",),
    "tables.ReadOptions": ("schema",),
    "saved.Content": ("whole", "meta"),
    "forecast.ClusteredDays": ("cpu_seconds",),
}
#: Arguments that files of earlier versions do not have.
LATER = {
    "additive.AdditiveModel": ("edits",),
    "additive.AdditiveRegressionModel": ("edits",),
    "fit.FitResult": ("fold_scores", "choice"),
    "fit.LinearModel": ("ranges",),
    "fit.RegressionModel": ("ranges",),
}


@cache
def parts() -> dict[str, type[Any]]:
    """The classes of losses, penalties and solvers, by their names in files."""
    kinds = {}
    for module, method in ((losses, "value_grad"), (penalties, "prox"), (solvers, "step")):
        for name in module.__all__:
            part = getattr(module, name)
            if inspect.isclass(part) and hasattr(part, method):
                kinds[f"{module.__name__.removeprefix('auctor.')}.{name}"] = part
    return kinds


@cache
def hierarchy_parts() -> dict[str, type[Any]]:
    """The classes of decoders, taxonomies and forms of labels; needs scikit-learn."""
    from auctor.hierarchy.decoders import DECODERS
    from auctor.hierarchy.estimators.labels import Form
    from auctor.hierarchy.taxonomy import Taxonomy

    kinds = (Taxonomy, Form, *DECODERS.values())
    return {f"hierarchy.{kind.__name__}": kind for kind in kinds}


@cache
def forecast_parts() -> dict[str, type[Any]]:
    """The classes of forecasts; needs scikit-learn."""
    from auctor.forecast.clusters import Clusters
    from auctor.forecast.days import Days
    from auctor.forecast.embedding import Embedding
    from auctor.forecast.estimators import day_models, other_models
    from auctor.forecast.ridge import DayKernel, DayRidge
    from auctor.forecast.tube import Tube

    machines = (day_models.KernelDays, day_models.LandmarkDays, day_models.SvrDays)
    others = (day_models.ClusteredDays, other_models.LinearDays, other_models.ModelOptions)
    kinds = (Clusters, Days, Embedding, DayKernel, DayRidge, Tube, *machines, *others)
    return {f"forecast.{kind.__name__}": kind for kind in kinds}


@cache
def model_parts() -> dict[str, type[Any]]:
    """All other classes, by room and name."""
    from auctor.saved import forecast, hierarchical, kernel, learners, pipelines, store, trees

    own = (
        forecast.SavedForecaster,
        hierarchical.SavedHierarchy,
        kernel.CompressedRows,
        kernel.SavedKernel,
        learners.SavedLearner,
        pipelines.SavedStep,
        store.Content,
        trees.SavedTree,
    )
    kinds = (*MODELS, *own)
    return {f"{kind.__module__.split('.')[1]}.{kind.__name__}": kind for kind in kinds}


def known_parts(where: str) -> dict[str, type[Any]]:
    """The classes that a module or a name in a file refers to."""
    room = where.removeprefix("auctor.").partition(".")[0]
    if room == "hierarchy":
        return hierarchy_parts()
    if room == "forecast":
        return forecast_parts()
    return parts() if room in ("losses", "penalties", "solvers") else model_parts()


def _levels(part: Any) -> dict[str, Any]:
    """The arguments of a `Separable` penalty."""
    return dict(zip(("l1", "l2", "lower", "upper"), part.levels, strict=True))


CODEC = Codec(
    known_parts,
    omitted=OMITTED,
    attributes={Separable: _levels},
    growing=(LinearParameters, ReadOptions, TableParameters),
    later=LATER,
)


# --- checks of the contents of a file; all raise ``ValueError`` -----------------------------------


def need(good: bool, what: str) -> None:
    """Raise ``ValueError``, "a model without ...", unless ``good``."""
    if not good:
        raise ValueError(f"a model without {what}")


def check_labels(classes: Any) -> Array:
    """The array; refuses one without at least two labels in increasing order."""
    good = isinstance(classes, np.ndarray) and classes.ndim == 1 and classes.size >= 2
    need(good and classes.dtype.kind in KINDS + "O", "a list of classes")
    need(bool((classes[:-1] < classes[1:]).all()), "classes that increase")
    if classes.dtype.kind == "f":
        need(bool(np.isfinite(classes).all()), "finite classes")
    for label in classes.tolist():
        if isinstance(label, str):
            label.encode()
    return np.asarray(classes)


def check_names(names: tuple[str, ...] | None, d: int) -> None:
    """Refuse names of columns whose number is another."""
    need(d >= 1 and (names is None or len(names) == d), "a name for each column")


def check_calibrators(calibrators: Any, k: int) -> None:
    """Refuse anything but a calibrator for each of k scores, or ``None``."""
    if calibrators is None:
        return
    need(len(calibrators) == k, "a calibrator for each class")
    for one in calibrators:
        if isinstance(one, Sigmoid):
            need(bool(np.isfinite([one.slope, one.offset]).all()), "finite calibrators")
            continue
        points, levels = one.points, one.levels
        rising = (points[1:] > points[:-1]).all() and (levels[1:] >= levels[:-1]).all()
        finite = np.isfinite(points).all() and np.isfinite(levels).all()
        shaped = points.ndim == 1 and points.shape == levels.shape and points.size > 0
        need(bool(shaped and finite and rising), "points and levels that rise")
        need(levels[0] >= 0.0 and levels[-1] <= 1.0, "probabilities")
