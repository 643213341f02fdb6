"""Saving and loading estimators of auctor.hierarchy: taxonomy, weights and decoder."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from auctor.core.codec import conforms
from auctor.data.matrices import compressed_rows, dense_array, is_dense
from auctor.saved.classes import class_of
from auctor.saved.values import CODEC, Arrays, Json, floats, matrix, need

#: Arrays of a kernel model with an entry for every column.
COLUMNS = ("centre", "scale")


def describe(estimator: Any, arrays: Arrays) -> Json:
    """The fitted attributes as JSON; adds their arrays to ``arrays``."""
    coef: Any = estimator.models_.coef
    dense = np.asarray(dense_array(coef), dtype=np.float64)
    entry: Json = {
        "taxonomy": CODEC.encode(estimator.taxonomy_, "taxonomy", arrays),
        "form": estimator.form_.name,
        "sparse": not is_dense(coef),
        "coef": CODEC.encode(dense, "coef", arrays),
    }
    vectors: dict[str, Any] = {}
    if hasattr(estimator, "kernel_"):
        entry["kernel"] = CODEC.encode(tuple(estimator.kernel_), "kernel", arrays)
        vectors = {name: getattr(estimator.models_, name) for name in ("centre", "scale", "rows")}
    vectors |= {
        "intercept": estimator.models_.intercept,
        "slope": estimator.calibration_.slope,
        "offset": estimator.calibration_.offset,
        "seen": estimator.seen_,
    }
    if hasattr(estimator, "stays_"):
        vectors["stays"] = estimator.stays_
    else:
        entry["decoder"] = CODEC.encode(estimator.decoder_, "decoder", arrays)
        entry["objective"] = CODEC.encode(float(estimator.objective_), "objective", arrays)
    return entry | {name: CODEC.encode(one, name, arrays) for name, one in vectors.items()}


def read_estimator(name: str, params: dict[str, Any], d: int, fitted: Json, arrays: Arrays) -> Any:
    """The estimator that a file describes, checked; removes what it reads from the arguments."""
    from auctor.hierarchy.calibration import Calibration
    from auctor.hierarchy.kernel_ridge import Kernel, KernelModels
    from auctor.hierarchy.labels import Form
    from auctor.hierarchy.nodes import NodeModels
    from auctor.hierarchy.taxonomy import Taxonomy

    kind = class_of(name)
    need(params.keys() <= set(inspect.signature(kind).parameters), "parameters of this version")
    estimator = kind(**params)
    estimator.check_parameters()
    taxonomy = CODEC.decode(fitted.pop("taxonomy"), arrays)
    need(isinstance(taxonomy, Taxonomy), "a taxonomy")
    size = taxonomy.n_nodes
    estimator.taxonomy_, estimator.form_ = taxonomy, Form[fitted.pop("form")]
    kernel = CODEC.decode(fitted.pop("kernel", None), arrays)
    need((kernel is not None) == (params.get("features") == "kernel"), "a kernel")
    n, rows = size, None
    if kernel is not None:
        rows = CODEC.decode(fitted.pop("rows"), arrays)
        n = len(rows) if isinstance(rows, np.ndarray) and rows.ndim else 0
    coef: Any = matrix(fitted.pop("coef"), (size, d) if rows is None else (n, size), arrays)
    if fitted.pop("sparse"):
        coef = compressed_rows(coef)
    intercept, slope, offset = (
        floats(CODEC.decode(fitted.pop(key), arrays), (size,))
        for key in ("intercept", "slope", "offset")
    )
    estimator.models_ = NodeModels(coef, intercept)
    if kernel is not None:
        need(conforms(kernel, tuple[float, float, float]), "a kernel")
        need(min(kernel) > 0.0 and max(kernel) < np.inf, "a kernel")
        estimator.kernel_ = Kernel(*kernel)
        centre, scale = (floats(CODEC.decode(fitted.pop(key), arrays), (d,)) for key in COLUMNS)
        need(bool((scale > 0.0).all()), "scales above 0")
        rows = floats(rows, (n, d))
        estimator.models_ = KernelModels(estimator.kernel_, centre, scale, rows, coef, intercept)
    estimator.calibration_ = Calibration(slope, offset)
    estimator.adopt_seen(_flags(fitted.pop("seen"), size, arrays))
    if name == "TopDownClassifier":
        _ = taxonomy.parent  # refuses labels with several parents
        estimator.adopt_ends(_flags(fitted.pop("stays"), size, arrays))
        need(estimator.ends_.size > 0, "a class")
    else:
        estimator.classes_ = list(taxonomy.names)
        estimator.decoder_ = CODEC.decode(fitted.pop("decoder"), arrays)
        need(hasattr(estimator.decoder_, "decode"), "a decoder")
        estimator.objective_ = float(CODEC.decode(fitted.pop("objective"), arrays))
    return estimator


def _flags(entry: Any, size: int, arrays: Arrays) -> Any:
    """A bool array with an entry for every label."""
    found = CODEC.decode(entry, arrays)
    good = isinstance(found, np.ndarray) and found.dtype == np.bool_ and found.shape == (size,)
    need(good, "a flag for every label")
    return found
